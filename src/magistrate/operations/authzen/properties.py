"""Provides the properties of subjects, resources and actions as policy variables (docs/authzen.md#properties).

The stored meta of a subject and a resource are read only if a policy reads these variables. Nobody knows that before:
a first pass has the properties of the request alone, in an ObservedContext. If a policy read one of the variables, the
pass is discarded, and another one has the stored meta, too."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.errors import InvalidParameter
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint

SUBJECT, RESOURCE, ACTION = "subject", "resource", "action"
ENTITIES = frozenset({SUBJECT, RESOURCE, ACTION})
"""Names the variables that hold properties."""
STORED = frozenset({SUBJECT, RESOURCE})
"""Names those of them that fall back to stored meta."""
NO_PROPERTIES: Mapping[str, Any] = {}

META_AT_ONCE = 50
"""Limits the objects whose meta is read by one statement: 2.5 MB at most, usually some kilobytes."""
DECODED_AT_ONCE = 262_144
"""Sets the characters of meta after which other requests run (256 Ki); decoding these takes a millisecond or two."""
MAX_META_CHARACTERS = 8_388_608
"""Limits the meta in the contexts of one request, in characters of JSON (8 Mi), as much as contexts may have that the
request itself holds."""
TOO_MUCH_META = f"have more than {MAX_META_CHARACTERS} characters of stored meta together: send fewer at once"

Properties = Mapping[ObjectRef, Mapping[str, Any]]
"""Holds the stored meta of objects; those without any are left out."""


class ObservedContext(dict[str, Any]):
    """Holds policy variables, and adds to `reads` the names of those in STORED that a policy reads, whether or not they
    are there. All contexts of a request share one set, because checks with equal contexts share results. The variable
    of the action is always there."""

    __slots__ = ("_reads",)

    def __init__(self, variables: Mapping[str, Any], reads: set[str]) -> None:
        super().__init__(variables)
        self._reads = reads

    def get(self, name: str, default: Any = None) -> Any:
        if name == ACTION:
            return super().get(ACTION, NO_PROPERTIES)
        if name in STORED:
            self._reads.add(name)
        return super().get(name, default)

    def __missing__(self, name: str) -> Any:
        if name == ACTION:
            return NO_PROPERTIES
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self._reads.update(STORED)  # a policy that reads the context as a whole
        return super().__iter__()


async def add_meta(ctx: Context, checks: Sequence[Check], at: Revision) -> list[Check]:
    """Returns the checks with contexts in which `subject` and `resource` have the stored meta of this revision where
    the request had no property of the name. All three variables are objects then, perhaps empty ones. Checks that share
    subject, object and context share the new one, too.

    Raises InvalidParameter if there is too much meta."""
    keys = [(get_subject(check), check.object, id(check.context)) for check in checks]
    properties = await read_properties(ctx, [ref for *refs, _ in dict.fromkeys(keys) for ref in refs], at)
    contexts: dict[tuple[ObjectRef, ObjectRef, int], Mapping[str, Any]] = {}
    for key, check in zip(keys, checks, strict=True):
        if key not in contexts:
            contexts[key] = build_context(check, properties)
    return [replace(check, context=contexts[key]) for key, check in zip(keys, checks, strict=True)]


def get_subject(check: Check) -> ObjectRef:
    return ObjectRef(check.subject.type, check.subject.id)


def build_context(check: Check, properties: Properties) -> Mapping[str, Any]:
    """Returns the variables of a check with these properties below those that the request had."""
    variables = dict(check.context.items())
    return {
        **variables,
        SUBJECT: {**properties.get(get_subject(check), {}), **variables.get(SUBJECT, {})},
        RESOURCE: {**properties.get(check.object, {}), **variables.get(RESOURCE, {})},
        ACTION: variables.get(ACTION, NO_PROPERTIES),
    }


async def read_properties(ctx: Context, refs: Iterable[ObjectRef], at: Revision) -> Properties:
    """Returns the stored meta of these objects at this revision. Raises InvalidParameter if it is too much, where that
    of an object counts as often as the object occurs: so often it will be in contexts."""
    uses = Counter(refs)
    distinct, properties, remaining, decoded = list(uses), dict[ObjectRef, Mapping[str, Any]](), MAX_META_CHARACTERS, 0
    for start in range(0, len(distinct), META_AT_ONCE):
        for stored in (await ctx.store.find_objects(distinct[start : start + META_AT_ONCE], at)).value:
            if stored.meta is None:
                continue
            ref = ObjectRef(stored.type, stored.id)
            remaining -= len(stored.meta) * uses[ref]
            if remaining < 0:
                raise InvalidParameter("evaluations", TOO_MUCH_META)
            properties[ref] = msgspec.json.decode(stored.meta)
            decoded += len(stored.meta)
            if decoded >= DECODED_AT_ONCE:
                decoded = 0
                await checkpoint()
    return properties
