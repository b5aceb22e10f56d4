"""Creates, deletes and lists warrants (docs/compatibility.md#warrants)."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial

from magistrate.engine.terms import WILDCARD, Revision, TypeName, object_id_or_wildcard, relation_name, type_name
from magistrate.engine.warrants import Warrant
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.definitions import read_definition
from magistrate.operations.paging import ListKind, Page, Sort, Wanted, read_page
from magistrate.store.contract import Judge, NewWarrant, Snapshot, Stamp, WarrantFilter

WARRANT_LIST: ListKind[Warrant] = ListKind(
    "warrants", {"createdAt": Sort("createdAt", lambda row: (row.created_at, row.number))}
)

EXPIRED_WARRANT_LIST: ListKind[Warrant] = replace(WARRANT_LIST, name="expired-warrants")

FILTERS: Mapping[str, tuple[str, Callable[[str, str], str]]] = {
    "objectType": ("object_type", type_name),
    "objectId": ("object_id", object_id_or_wildcard),
    "relation": ("relation", relation_name),
    "subjectType": ("subject_type", type_name),
    "subjectId": ("subject_id", object_id_or_wildcard),
    "subjectRelation": ("subject_relation", relation_name),
}
"""Maps parameters to their column and the values they can have at all."""

_NOTHING = "!"
"""Stands for a filter that matches nothing, because it is neither a name nor an id."""


async def create_warrants(
    ctx: Context, new: Sequence[NewWarrant], stamp: Stamp, element: Callable[[int], str]
) -> Snapshot[tuple[Warrant, ...]]:
    """Stores each warrant unless it is stored already, and creates the objects and subjects that are missing; returns
    one row for each, in the same order. All or nothing.

    Raises InvalidParameter if the type of an object, or the relation on it, is not defined, or a warrant has expired
    already; `element` returns the prefix of the parameter's name, by the position of the warrant."""
    return await ctx.store.put_warrants(new, judge_warrants(new, element, stamp.at), stamp)


async def delete_warrants(ctx: Context, named: Sequence[NewWarrant], stamp: Stamp) -> Revision:
    """Deletes the warrants. Raises NotFound for the first that does not exist, and then deletes none."""
    return await ctx.store.delete_warrants(named, stamp)


def read_filter(parameters: Mapping[str, str], now: int, is_expired: bool = False) -> WarrantFilter:
    """Returns the filter that the parameters of a list describe (docs/compatibility.md#warrants). An id also matches
    `*`. It selects warrants that have not expired by `now`, or those that have expired."""
    equal: dict[str, str] = {}
    among: dict[str, tuple[str, ...]] = {}
    for parameter, (column, allowed) in FILTERS.items():
        text = parameters.get(parameter)
        if not text or (parameter == "objectId" and text == WILDCARD):
            continue
        try:
            value = allowed(text, parameter)
        except InvalidParameter:
            value = _NOTHING
        if column.endswith("_id"):
            among[column] = tuple(dict.fromkeys([value, WILDCARD]))
        else:
            equal[column] = value
    return WarrantFilter(equal, among, None if is_expired else now, is_expired)


async def list_warrants(
    ctx: Context, wanted: Wanted, only: WarrantFilter, freshness: Freshness
) -> Snapshot[Page[Warrant]]:
    read = partial(ctx.store.list_warrants, only=only)
    return await read_page(list_kind(only.is_expired), wanted, freshness, ctx.store.identity, read)


def list_kind(is_expired: bool) -> ListKind[Warrant]:
    """Returns the list of warrants, or that of the expired ones; neither takes the cursors of the other."""
    return EXPIRED_WARRANT_LIST if is_expired else WARRANT_LIST


def judge_warrants(new: Sequence[NewWarrant], element: Callable[[int], str], at: int | None) -> Judge:
    """Returns a function that validates the warrants. They may not have expired at the time `at`, if it is given."""

    def judge(definitions: Mapping[TypeName, str]) -> None:
        defined = {name: read_definition(definition).relations for name, definition in definitions.items()}
        for place, warrant in enumerate(new):
            fault = warrant_fault(warrant, defined)
            if fault is None and at is not None and warrant.expires_at is not None and warrant.expires_at <= at:
                fault = InvalidParameter("expiresAt", "must be in the future")
            if fault is not None:
                raise fault.within(element(place))

    return judge


def warrant_fault(warrant: NewWarrant, defined: Mapping[TypeName, Container[str]]) -> InvalidParameter | None:
    """Returns why the warrant is not valid with the object types that have these relations, or None."""
    relations = defined.get(warrant.object.type)
    if relations is None:
        return InvalidParameter("objectType", "the object type does not exist.")
    if warrant.relation not in relations:
        return InvalidParameter("relation", "the relation does not exist on the specified object type.")
    return None
