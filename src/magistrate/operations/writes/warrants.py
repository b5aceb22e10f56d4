"""Creates, deletes and lists warrants (docs/compatibility.md#warrants)."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from magistrate.engine.model.object_types import DefinedType
from magistrate.engine.model.undefined_names import find_names_fault
from magistrate.engine.names import WILDCARD, Revision, TypeName
from magistrate.engine.terms import object_id_or_wildcard, relation_name, type_name
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import Freshness, require_stored
from magistrate.operations.context import Context
from magistrate.operations.models.definitions import read_definition
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant, Stamp, ValidateTypes
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite, WriteCounts

TARGET_HOLD_SECONDS = 0.010
"""Sets how long a chunk should hold other writers. A machine or a disk that is suddenly busy makes the chunk take
several times as long, and a writer that waits for it should still be answered within 50 ms."""
FIRST_CHUNK = 100
MIN_CHUNK = 20
"""Bounds what a slow store makes of a chunk: with fewer rows, most of the time would go into the commit."""
MAX_CHUNK = 250


class ChunkSize:
    """Holds the number of rows that the next chunk should have."""

    def __init__(self) -> None:
        self.rows = FIRST_CHUNK

    def adapt(self, rows: int, hold_seconds: float) -> None:
        """Takes into account that a chunk of `rows` rows held other writers so long. The next one has as many as would
        have held them for TARGET_HOLD_SECONDS, but at most twice as many as this one."""
        fitting = rows * TARGET_HOLD_SECONDS / hold_seconds if hold_seconds > 0 else MAX_CHUNK
        self.rows = max(MIN_CHUNK, min(MAX_CHUNK, 2 * rows, int(fitting)))


def pause_seconds(hold_seconds: float) -> float:
    """Returns how long to wait until the next chunk: as long as the last one held other writers, but not longer than
    one is meant to.

    SQLite has no queue for the writers of several processes; those that wait try again every few milliseconds. They
    find the lock free every second time instead of hardly ever."""
    return min(hold_seconds, TARGET_HOLD_SECONDS)


WARRANT_LIST: ListKind[Warrant] = ListKind(
    "warrants", {"createdAt": Sort("createdAt", lambda row: (row.created_at, row.number))}
)

ORPHANED_WARRANT_LIST: ListKind[Warrant] = replace(WARRANT_LIST, name="stranded-warrants")

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

MAX_ORPHANED_PATTERNS = 500
"""Limits the patterns that one statement of a list selects by; SQLite takes 32,766 values in a statement."""

_NOTHING = "!"
"""Stands for a filter that matches nothing, because it is neither a name nor an id."""


class DeletedMatches(NamedTuple):
    """Counts the warrants that a delete by filter deleted. `has_more`: more matched than it was to delete."""

    deleted: int
    has_more: bool


async def create_warrants(
    ctx: Context, new: Sequence[NewWarrant], stamp: Stamp, element: Callable[[int], str]
) -> Snapshot[tuple[Warrant, ...]]:
    """Stores each warrant unless it is stored already, and creates the objects and subjects that are missing; returns
    one row for each, in the same order. All or nothing.

    Raises InvalidParameter if the type of an object, or the relation on it, is not defined, or a warrant has expired
    already; `element` returns the prefix of the parameter's name, by the position of the warrant."""
    return await ctx.store.put_warrants(new, build_warrant_validation(new, element, stamp.at), stamp)


async def write(
    ctx: Context, atomic_write: AtomicWrite, stamp: Stamp, element: Callable[[int], str]
) -> Snapshot[WriteCounts]:
    """Deletes and creates warrants and objects, all or nothing, if all preconditions hold.

    Raises RevisionLost, PreconditionFailed; NotFound for the first that is to be deleted and does not exist; and
    InvalidParameter for new warrants, as `create_warrants` does."""
    for precondition in atomic_write.preconditions:
        if isinstance(precondition.required, RevisionId):
            await require_stored(ctx.store, precondition.required)
    return await ctx.store.write(
        atomic_write, build_warrant_validation(atomic_write.warrants, element, stamp.at), stamp
    )


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


def read_exact_filter(parameters: Mapping[str, str | None]) -> Mapping[str, str]:
    """Returns the columns and values that the members of a filter name. An id matches itself only: `*` matches `*`.

    Raises InvalidParameter for a value that no warrant can have, and if no member is given."""
    equal = {
        column: allowed(text, parameter)
        for parameter, (column, allowed) in FILTERS.items()
        if (text := parameters[parameter]) is not None
    }
    if not equal:
        raise InvalidParameter("filter", f"must have at least one of {', '.join(FILTERS)}")
    return equal


async def delete_matching(
    ctx: Context, equal: Mapping[str, str], most: int, stamp: Callable[[], Stamp], is_dry_run: bool = False
) -> Snapshot[DeletedMatches]:
    """Deletes up to `most` of the warrants whose columns have these values now, in several writes, between which others
    can write; those that match from now on stay. A dry run only counts them.

    If it is broken off, some are deleted, and repeating it continues. Warrants that another request deletes at the same
    time are skipped, and others that matched are deleted in their place."""
    matched = await ctx.store.match_warrants(equal, most + 1, ctx.now())
    matches, has_more = matched.value[:most], len(matched.value) > most
    if is_dry_run:
        return Snapshot(matched.revision, DeletedMatches(len(matches), has_more))
    size, began_at, revision, deleted = ChunkSize(), matched.revision, matched.revision, 0
    while matches:
        chunk = matches[: size.rows]
        written = await ctx.store.delete_matches(chunk, stamp())
        revision, deleted = written.revision, deleted + written.value.deleted
        size.adapt(len(chunk), written.value.blocking_seconds)
        matches = matches[len(chunk) :]
        if written.value.deleted < len(chunk):
            remaining = most - deleted
            matched = await ctx.store.match_warrants(equal, remaining + 1, ctx.now(), up_to=began_at)
            matches, has_more = matched.value[:remaining], len(matched.value) > remaining
            if len(matches) > size.rows:
                # In the same order, the two would find each other's chunks again and again.
                first = random.randrange(len(matches))
                matches = matches[first:] + matches[:first]
        if matches:
            await asyncio.sleep(pause_seconds(written.value.blocking_seconds))
    return Snapshot(revision, DeletedMatches(deleted, has_more))


async def list_warrants(
    ctx: Context, page_request: PageRequest, only: WarrantFilter, freshness: Freshness
) -> Snapshot[Page[Warrant]]:
    read = partial(ctx.store.list_warrants, only=only)
    return await read_page(list_kind(only.is_expired), page_request, freshness, ctx.store, read=read)


async def list_orphaned(
    ctx: Context, page_request: PageRequest, only: WarrantFilter, freshness: Freshness
) -> Snapshot[Page[Warrant]]:
    """Lists the warrants that match the filter and do not count, because allowed types forbid them. Raises
    InvalidParameter if they have too many patterns for one statement."""

    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[Warrant]]:
        newest = await ctx.store.read_warrants((), at, 1)
        model = await ctx.caches.models.at(newest.revision, newest.model_revision)
        object_type = only.equal.get("object_type")
        patterns = frozenset(pattern for pattern in model.orphaned if object_type in (None, pattern.object_type))
        if not patterns:
            return Snapshot(newest.revision, PageSlice((), precedes=False, follows=False))
        if len(patterns) > MAX_ORPHANED_PATTERNS:
            raise InvalidParameter("objectType", "there are too many: list those of one object type")
        return await ctx.store.list_warrants(bounds, replace(only, patterns=patterns), newest.revision)

    return await read_page(ORPHANED_WARRANT_LIST, page_request, freshness, ctx.store, read=read)


def list_kind(is_expired: bool, is_orphaned: bool = False) -> ListKind[Warrant]:
    """Returns the list of warrants, or that of the expired or orphaned ones; none takes the cursors of another."""
    if is_orphaned:
        return ORPHANED_WARRANT_LIST
    return EXPIRED_WARRANT_LIST if is_expired else WARRANT_LIST


def build_warrant_validation(new: Sequence[NewWarrant], element: Callable[[int], str], at: int | None) -> ValidateTypes:
    """Returns a function that validates the warrants. They may not have expired at the time `at`, if it is given."""

    def validate(definitions: Mapping[TypeName, str]) -> None:
        defined = {name: read_definition(definition) for name, definition in definitions.items()}
        first_places: dict[tuple[str | int | None, ...], int] = {}
        for place, warrant in enumerate(new):
            first_places.setdefault(_describe_validated(warrant), place)
        for place in first_places.values():  # in ascending order
            fault = find_warrant_fault(new[place], defined, at)
            if fault is not None:
                raise fault.within(element(place))

    return validate


def _describe_validated(warrant: NewWarrant) -> tuple[str | int | None, ...]:
    """Returns what `find_warrant_fault` looks at: of two warrants that are alike in it, both have the same fault."""
    on_object, subject = warrant.object, warrant.subject
    return on_object.type, warrant.relation, subject.type, subject.id == WILDCARD, subject.relation, warrant.expires_at


def find_warrant_fault(
    warrant: NewWarrant, defined: Mapping[TypeName, DefinedType], at: int | None
) -> InvalidParameter | None:
    """Returns why the warrant cannot be written with these object types, or None. It may not have expired at the time
    `at`, if it is given."""
    fault = warrant_fault(warrant, defined)
    if fault is None and at is not None and warrant.expires_at is not None and warrant.expires_at <= at:
        return InvalidParameter("expiresAt", "must be in the future")
    return fault


def warrant_fault(warrant: NewWarrant, defined: Mapping[TypeName, DefinedType]) -> InvalidParameter | None:
    """Returns why the warrant is not valid with these object types, or None."""
    return find_names_fault(warrant.names, defined)
