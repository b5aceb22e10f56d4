"""Provides the properties of subjects, resources and actions as policy variables (docs/authzen.md#properties).

The stored meta of a subject and a resource are read only if a policy reads these variables. Nobody knows that before:
a first pass has the properties of the request alone, in an ObservedContext. If a policy read one of the variables, the
pass is discarded, and another one has the stored meta, too."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.engine.evaluation import Check
from magistrate.engine.terms import ObjectRef, Revision
from magistrate.errors import BudgetExceeded
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint

SUBJECT, RESOURCE, ACTION = "subject", "resource", "action"
ENTITIES = frozenset({SUBJECT, RESOURCE, ACTION})
"""Names the variables that hold properties."""

META_AT_ONCE = 100
"""Limits the objects whose meta is read and decoded before a yield: 5 MB at most, usually some kilobytes."""
MOST_META_CHARACTERS = 16_777_216
"""Limits the meta that one request reads, in characters of JSON (16 Mi)."""

Properties = Mapping[ObjectRef, Mapping[str, Any]]
"""Holds the stored meta of objects; those without any are left out."""


class ObservedContext(dict[str, Any]):
    """Holds policy variables, and adds to `reads` the names of those in ENTITIES that a policy reads, whether or not
    they are there. All contexts of a request share one set, because checks with equal contexts share results."""

    __slots__ = ("_reads",)

    def __init__(self, variables: Mapping[str, Any], reads: set[str]) -> None:
        super().__init__(variables)
        self._reads = reads

    def get(self, name: str, default: Any = None) -> Any:
        if name in ENTITIES:
            self._reads.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._reads.update(ENTITIES)  # a policy that reads the context as a whole
        return super().__iter__()


async def add_meta(ctx: Context, checks: Sequence[Check], at: Revision) -> list[Check]:
    """Returns the checks with contexts in which `subject` and `resource` have the stored meta of this revision where
    the request had no property of the name. All three variables are objects then, perhaps empty ones.

    Raises BudgetExceeded if there is too much meta."""
    refs = [ref for check in checks for ref in (get_subject(check), check.object)]
    known = await read_properties(ctx, refs, at)
    return [add_properties(check, known) for check in checks]


def get_subject(check: Check) -> ObjectRef:
    return ObjectRef(check.subject.type, check.subject.id)


def add_properties(check: Check, known: Properties) -> Check:
    """Returns the check with these properties below those that the request had."""
    given = dict(check.context.items())
    variables = {
        SUBJECT: {**known.get(get_subject(check), {}), **given.get(SUBJECT, {})},
        RESOURCE: {**known.get(check.object, {}), **given.get(RESOURCE, {})},
        ACTION: given.get(ACTION, {}),
    }
    return replace(check, context={**given, **variables})


async def read_properties(ctx: Context, refs: Iterable[ObjectRef], at: Revision) -> Properties:
    """Returns the stored meta of these objects at this revision. Raises BudgetExceeded if it is too much."""
    distinct, known, left = list(dict.fromkeys(refs)), {}, MOST_META_CHARACTERS
    for start in range(0, len(distinct), META_AT_ONCE):
        if start:
            await checkpoint()
        found = (await ctx.store.find_objects(distinct[start : start + META_AT_ONCE], at)).value
        for one in found:
            left -= len(one.meta or "")
            if left < 0:
                raise BudgetExceeded(MOST_META_CHARACTERS)
            if one.meta is not None:
                known[ObjectRef(one.type, one.id)] = msgspec.json.decode(one.meta)
    return known
