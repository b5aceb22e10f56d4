"""Adds the names that OpenFGA's API has to answers that are full of ours (docs/openfga.md#in-answers-of-v2)."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call, Deferred, Handler, answer_call
from magistrate.engine.warrants.notation import read_rendered_check
from magistrate.operations.openfga.names import UsedNames, find_shown_names
from magistrate.operations.scheduling import checkpoint

A = TypeVar("A", bound=msgspec.Struct)

VALUES_AT_ONCE = 4_000
"""Limits the members of an answer that are read before a yield, which takes a millisecond or two."""


class OpenFgaNames(msgspec.Struct, omit_defaults=True):
    """Maps what types, relations, ids and conditions in the answer are called here to what OpenFGA's API calls them,
    as far as that differs. Tuples of the relation `viewer` are stored as warrants of `direct_viewer`."""

    types: Mapping[str, str] = {}
    relations: Mapping[str, str] = {}
    ids: Mapping[str, str] = {}
    conditions: Mapping[str, str] = {}


Named = OpenFgaNames | msgspec.UnsetType


def with_openfga_names(handler: Handler[A]) -> Handler[A]:
    """Returns a handler whose answers have `names`, in stores with an authorization model of OpenFGA's API. All other
    answers are those of the given handler."""

    async def wait_and_add(call: Call[Any]) -> Answer[A]:
        answer = await answer_call(handler, call)
        return await _add_names(call, answer) if call.context.caches.openfga.may_have_tuples else answer

    def add_or_defer(call: Call[Any]) -> Answer[A] | Deferred[A]:
        begun = handler(call)
        if not isinstance(begun, Answer):
            return Deferred(partial(_add_when_made, call, begun))
        return Deferred(partial(_add_names, call, begun)) if call.context.caches.openfga.may_have_tuples else begun

    return wraps(handler)(wait_and_add if iscoroutinefunction(handler) else add_or_defer)


async def _add_when_made(call: Call[Any], begun: Any) -> Answer[Any]:
    answer = await begun
    return await _add_names(call, answer) if call.context.caches.openfga.may_have_tuples else answer


async def _add_names(call: Call[Any], answer: Answer[A]) -> Answer[A]:
    used = UsedNames()
    for place, (member, value) in enumerate(_list_texts(answer.value)):
        if place % VALUES_AT_ONCE == VALUES_AT_ONCE - 1:
            await checkpoint()
        _ADDITIONS.get(member, _ignore)(used, value)
    shown = await find_shown_names(call.context, used)
    if shown is None:
        return answer
    return answer.with_value(msgspec.structs.replace(answer.value, names=OpenFgaNames(*shown)))


def _list_texts(answer: msgspec.Struct) -> Iterator[tuple[str, str]]:
    """Yields each text in an answer with the name of its member, at any depth; values of `meta` and `context` are not
    read."""
    waiting: list[tuple[str, object]] = [("", answer)]
    while waiting:
        member, value = waiting.pop()
        if isinstance(value, str):
            yield member, value
        elif isinstance(value, list | tuple):
            waiting += [(member, each) for each in value]
        elif isinstance(value, msgspec.Struct):
            waiting += [(name, getattr(value, name)) for name in value.__struct_fields__]


def _ignore(used: UsedNames, value: str) -> None:
    """Is for members that have no names."""


def _add_check(used: UsedNames, value: str) -> None:
    names = read_rendered_check(value)
    if names is not None:
        used.types.update((names.object_type, names.subject_type))
        used.ids.update((names.object_id, names.subject_id))
        used.relations.update(filter(None, (names.relation, names.subject_relation)))


_ADDITIONS: Mapping[str, Callable[[UsedNames, str], None]] = {
    **dict.fromkeys(("object_type", "subject_type"), lambda used, value: used.types.add(value)),
    **dict.fromkeys(("object_id", "subject_id"), lambda used, value: used.ids.add(value)),
    **dict.fromkeys(("relation", "subject_relation"), lambda used, value: used.relations.add(value)),
    **dict.fromkeys(("rule", "note", "unknown", "policy", "text"), UsedNames.add_text),
    "check": _add_check,
}
