"""Pages through any sorted list (docs/compatibility.md#lists-and-cursors): reads which part a request wants, and makes
the cursors to the next and previous pages.

A list declares how it can be sorted (`ListKind`); the holder of the rows cuts out the wanted `Slice` and returns a
`PageSlice` (both in store/contract/lists.py); `read_page` makes the page. This module does not know the rows.

A cursor is the URL-safe base64, without padding, of a JSON array [list, sort, *values of the sort's columns in the
boundary row] after 8 bytes of its keyed BLAKE2b. It is therefore a pure function of list, sort and row, and one that
was damaged, made up, or made by another store or for another list or sort is recognized. The cursors of a snapshot have
[list, [revision, bits]] in place of the list, those of a listing as of the past
[list, [revision, bits], time of the policies]; earlier versions had no bits."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter, RevisionUnavailable
from magistrate.operations.consistency import Freshness, TokenCodec, compute_mac, decode_text, require_stored
from magistrate.operations.history.times import read_time
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.revisions import RevisionId, RevisionStore
from magistrate.store.contract.stored_rows import Identity

SIDES = ("after", "before")

EARLIEST = -1
"""Precedes every creation time."""


@dataclass(frozen=True, slots=True)
class LegacyCursor:
    """Represents the row that a request names; it need not exist. `is_upwards`: rows above it in sort order are
    wanted."""

    side: str
    id: str
    value: str | None
    is_upwards: bool

    @property
    def id_parameter(self) -> str:
        return f"{self.side}Id"

    def invalid_value(self, message: str) -> InvalidParameter:
        return InvalidParameter(f"{self.side}Value", message)

    def text(self) -> str | None:
        """Returns the value as text. Raises InvalidParameter for one that no store can hold."""
        if self.value is not None and "\0" in self.value:
            raise self.invalid_value("must not contain the character NUL")
        return self.value

    def time(self) -> int:
        """Returns the value in microseconds since 1970 UTC. Raises InvalidParameter unless it is an RFC 3339 time."""
        return EARLIEST if self.value is None else read_time(self.value, f"{self.side}Value")


def legacy_side(parameters: Mapping[str, str]) -> str | None:
    """Returns on which side of a row the page lies; None if no legacy cursor is given.

    Raises InvalidRequest if both sides are given, or newer cursors besides, MissingParameter for a value without its
    id.
    """
    sides = [side for side in SIDES if f"{side}Id" in parameters or f"{side}Value" in parameters]
    if not sides:
        return None
    if len(sides) > 1:
        raise InvalidRequest("cannot pass both after and before parameters together")
    if "nextCursor" in parameters or "prevCursor" in parameters:
        raise InvalidRequest(f"cannot pass {sides[0]} parameters and a cursor together")
    if not parameters.get(f"{sides[0]}Id"):
        raise MissingParameter(f"{sides[0]}Id")
    return sides[0]


T = TypeVar("T")

DEFAULT_LIMIT = 25
MAX_LIMIT = 1_000
MAX_SEARCH_LENGTH = 1_024
"""Limits `q` of a list in characters."""
MAX_CURSOR_LENGTH = 4_096
"""Limits a cursor in characters; ours are shorter: where cursors are returned, the values are at most two names, an id
and a time."""

Values = tuple[str | int, ...]

_CURSORS = TokenCodec(compute_mac, check_bytes=8, check_is_first=True)


@dataclass(frozen=True, slots=True)
class Sort(Generic[T]):
    """Represents one sort order. `name` is the one that the holder of the rows uses; `values` of a row are unique in
    the list."""

    name: str
    values: Callable[[T], Values]


@dataclass(frozen=True, slots=True)
class ListKind(Generic[T]):
    """Describes a list. `name` goes into cursors. `sorts` are by the name callers use, the default first; a sort may
    have two names. `is_snapshot`: all pages are of one revision even if the request does not demand it. `is_log`: rows
    never change, and new rows are the newest: the list is descending by default, and there are no snapshots.
    `legacy_values`: returns the boundary that a legacy cursor stands for, by the name of the sort; None if the rows
    have no id that callers know. `has_cursors`: pages have cursors for their beginning and end; without, values may be
    of any length. `is_versioned`: the rows of earlier revisions are known, so there can be snapshots."""

    name: str
    sorts: Mapping[str, Sort[T]]
    is_snapshot: bool = False
    is_log: bool = False
    legacy_values: Callable[[str, LegacyCursor], Values] | None = None
    has_cursors: bool = True
    is_versioned: bool = True

    @property
    def takes_snapshot(self) -> bool:
        """Returns whether requests can demand a snapshot, which they need not for every list."""
        return self.is_versioned and not self.is_snapshot and not self.is_log

    @property
    def default_order(self) -> str:
        return "DESC" if self.is_log else "ASC"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Represents the page that is requested. `at`: the revision of the first page of the snapshot it belongs to, None
    for a page at the newest revision; `bits`: those of that revision, if they are known. `is_snapshot`: its cursors
    lead to pages of the same revision. `now`: the time, in microseconds since 1970 UTC, at which the policies of a
    listing as of the past are evaluated; None for any other listing."""

    slice: Slice
    at: Revision | None = None
    is_snapshot: bool = False
    now: int | None = None
    bits: int | None = None


@dataclass(slots=True)
class Rendering:
    """Holds what a page was rendered as for callers that may use these object types, None being all."""

    object_types: frozenset[str] | None = None
    answer: Any = None

    def find(self, object_types: frozenset[str] | None) -> Any:
        """Returns the answer for such callers, or None."""
        return self.answer if self.object_types == object_types else None

    def keep(self, object_types: frozenset[str] | None, answer: object) -> None:
        self.object_types, self.answer = object_types, answer


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Holds the rows and cursors of a page. A cursor is None when nothing precedes or follows, or the list has none.
    `total` counts the rows of all pages, None if they are not known."""

    rows: Sequence[T]
    prev_cursor: str | None
    next_cursor: str | None
    total: int | None = None
    rendering: Rendering = field(default_factory=Rendering, compare=False, repr=False)


def read_search(parameters: Mapping[str, str]) -> str | None:
    """Returns `q`; None if absent or empty. Raises InvalidParameter."""
    text = parameters.get("q") or None
    if text is not None and len(text) > MAX_SEARCH_LENGTH:
        raise InvalidParameter("q", f"must be at most {MAX_SEARCH_LENGTH} characters long")
    if text is not None and "\0" in text:
        raise InvalidParameter("q", "must not contain the character NUL")
    return text


def read_page_request(kind: ListKind[T], parameters: Mapping[str, str], identity: Identity) -> PageRequest:
    """Returns the page that the parameters of a request describe.

    Raises InvalidParameter for the first fault in the order page, limit, sortOrder, sortBy, snapshot, legacy cursors,
    cursors; InvalidRequest if two of these are there."""
    _read_number(parameters, "page", "must be an integer greater than 0", default=1)
    bounds = f"must be an integer greater than 0 and less than or equal to {MAX_LIMIT}"
    limit = _read_number(parameters, "limit", bounds, default=DEFAULT_LIMIT, maximum=MAX_LIMIT)
    order = parameters.get("sortOrder") or kind.default_order
    if order not in ("ASC", "DESC"):
        raise InvalidParameter("sortOrder", "must be ASC or DESC")
    sort = kind.sorts.get(parameters.get("sortBy") or next(iter(kind.sorts)))
    if sort is None:
        raise InvalidParameter("sortBy", "unsupported sortBy")
    start = Slice(sort.name, limit, order == "DESC")
    is_snapshot = _read_snapshot(kind, parameters)
    if side := legacy_side(parameters):
        return PageRequest(_read_legacy_slice(kind, parameters, side, start), None, is_snapshot)
    if "nextCursor" in parameters and "prevCursor" in parameters:
        raise InvalidRequest("cannot pass both nextCursor and prevCursor together")
    for name in ("nextCursor", "prevCursor"):
        if name in parameters:
            at, now, boundary = _read_cursor(kind, sort, parameters[name], identity, parameter=name)
            following = replace(start, boundary=boundary, backwards=name == "prevCursor")
            if at is None:
                return PageRequest(following, None, is_snapshot, now)
            return PageRequest(following, at.revision, True, now, bits=at.bits)
    return PageRequest(start, None, is_snapshot)


def _read_legacy_slice(kind: ListKind[T], parameters: Mapping[str, str], side: str, start: Slice) -> Slice:
    default = next(iter(kind.sorts))
    if kind.legacy_values is None:
        raise InvalidParameter(f"{side}Id", "this list has no ids to go on from: use nextCursor")
    if f"{side}Value" in parameters and parameters.get("sortBy") == default:
        raise InvalidRequest(f"cannot pass afterValue or beforeValue when sorting by {default}")
    backwards = side == "before"
    row = LegacyCursor(side, parameters[f"{side}Id"], parameters.get(f"{side}Value"), start.descending == backwards)
    boundary = kind.legacy_values(parameters.get("sortBy") or default, row)
    return replace(start, boundary=boundary, backwards=backwards)


def _read_snapshot(kind: ListKind[T], parameters: Mapping[str, str]) -> bool:
    if kind.is_log or not kind.is_versioned:
        return False
    snapshot = parameters.get("snapshot") or "false"
    if snapshot not in ("true", "false"):
        raise InvalidParameter("snapshot", "must be true or false")
    return kind.is_snapshot or snapshot == "true"


class PageReader(Protocol[T]):
    def __call__(self, part: Slice, /, *, at: Revision | None) -> Awaitable[Snapshot[PageSlice[T]]]:
        """Returns the part of the list at this revision, or at the newest. Raises RevisionUnavailable."""
        ...


async def read_page(
    kind: ListKind[T], page_request: PageRequest, freshness: Freshness, store: RevisionStore, read: PageReader[T]
) -> Snapshot[Page[T]]:
    """Returns the page that is cut out by `read`.

    Raises RevisionLost for a token, or a cursor of a snapshot, whose write the store does not hold; InvalidParameter if
    the revision of a snapshot is no longer retained, and RevisionUnavailable if that of a listing as of the past is
    not. Later pages of a snapshot are of its revision, whatever the token."""
    if page_request.at is not None:
        await require_stored(store, RevisionId(page_request.at, page_request.bits))
    try:
        part = await read(page_request.slice, at=page_request.at)
    except RevisionUnavailable:
        if page_request.at is not None:  # what was known may have been lost
            await require_stored(store, RevisionId(page_request.at, page_request.bits))
        if page_request.now is not None:
            raise
        cursor = "prevCursor" if page_request.slice.backwards else "nextCursor"
        message = "its listing began at a revision that is not kept any more: begin again without a cursor"
        raise InvalidParameter(cursor, message) from None
    if page_request.at is None:
        freshness.demand(part.revision)
    at = await store.identify(part.revision) if page_request.is_snapshot else None
    return Snapshot(part.revision, _page_of(kind, page_request, part, at, identity=store.identity))


def _page_of(
    kind: ListKind[T],
    page_request: PageRequest,
    part: Snapshot[PageSlice[T]],
    at: RevisionId | None,
    identity: Identity,
) -> Page[T]:
    """Returns the page of a slice; `at` identifies the revision of a snapshot."""
    [sort] = {sort.name: sort for sort in kind.sorts.values() if sort.name == page_request.slice.sort}.values()
    page_slice = part.value
    if not kind.has_cursors:
        return Page(page_slice.rows, None, None)
    time = [] if page_request.now is None else [page_request.now]
    named = kind.name if at is None else [kind.name, at, *time]

    def cursor(row: T) -> str:
        return write_cursor(identity, [named, sort.name, *sort.values(row)])

    return Page(
        page_slice.rows,
        cursor(page_slice.rows[0]) if page_slice.precedes else None,
        cursor(page_slice.rows[-1]) if page_slice.follows else None,
    )


def cut_sorted(keys: Sequence[Values], bounds: Slice, build_row: Callable[[int], T]) -> PageSlice[T]:
    """Returns the wanted slice of rows with these sort keys, smallest first, each built from its place. The boundary
    need not be a row itself."""
    start, end, boundary = 0, len(keys), bounds.boundary
    if bounds.descending == bounds.backwards:
        start = 0 if boundary is None else bisect_right(keys, boundary)
        end = min(start + bounds.limit, end)
    else:
        end = end if boundary is None else bisect_left(keys, boundary)
        start = max(end - bounds.limit, start)
    rows = tuple([build_row(place) for place in range(start, end)])
    below, above = bool(rows) and start > 0, bool(rows) and end < len(keys)
    if bounds.descending:
        return PageSlice(rows[::-1], precedes=above, follows=below)
    return PageSlice(rows, precedes=below, follows=above)


def _read_number(
    parameters: Mapping[str, str], name: str, message: str, default: int, maximum: int | None = None
) -> int:
    text = parameters.get(name) or str(default)
    if not re.fullmatch(r"\+?[0-9]{1,18}", text):
        raise InvalidParameter(name, message)
    number = int(text)
    if number < 1 or (maximum is not None and number > maximum):
        raise InvalidParameter(name, message)
    return number


def write_cursor(identity: Identity, content: Sequence[object]) -> str:
    return _CURSORS.encode(msgspec.json.encode(content), bytes.fromhex(identity.cursor_key))


def read_cursor(identity: Identity, parameter: str, text: str) -> list[Any]:
    """Returns the content of a cursor of this store. Raises InvalidParameter."""
    if len(text) > MAX_CURSOR_LENGTH or decode_text(text) is None:
        raise InvalidParameter(parameter, "invalid cursor")
    content = _CURSORS.decode(text, bytes.fromhex(identity.cursor_key))
    if content is None:
        raise InvalidParameter(parameter, "invalid cursor: it is damaged, or of another store")
    decoded: list[Any] = msgspec.json.decode(content)
    return decoded


def _read_cursor(
    kind: ListKind[T], sort: Sort[T], text: str, identity: Identity, parameter: str
) -> tuple[RevisionId | None, int | None, Values]:
    """Returns the revision and the time of the listing, as far as the cursor has them, and the boundary. Raises
    InvalidParameter."""
    named, of_sort, *values = read_cursor(identity, parameter, text)
    of_kind, at, now, *_ = [*(named if isinstance(named, list) else [named]), None, None]
    if of_kind != kind.name or of_sort != sort.name:
        raise InvalidParameter(parameter, "invalid cursor: it is of another list, or of another sortBy")
    return None if at is None else read_revision_id(at), now, tuple(values)


def read_revision_id(at: Any) -> RevisionId:
    """Returns the revision in a cursor, which has no bits if an earlier version made it."""
    revision, bits = at if isinstance(at, list) else (at, None)
    return RevisionId(Revision(revision), bits)
