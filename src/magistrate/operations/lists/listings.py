"""Holds the rows of queries in order, cuts pages out of them, and caches them, so that a later page of the same listing
need not be computed again."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from cachetools import LRUCache

from magistrate.engine.byte_sizes import (
    NUMBER_BYTES,
    OBJECT_BYTES,
    POINTER_BYTES,
    SEQUENCE_BYTES,
    SLOT_BYTES,
    CacheBytes,
    measure_text,
    measure_texts,
    measure_warrant,
)
from magistrate.engine.cache.segments import stay_as_large
from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.lists.language import ObjectsQuery, Query
from magistrate.engine.lists.results import QueryRow, RelationResult
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, Work, free_containers
from magistrate.operations.paging import DEFAULT_LIMIT, Page, cut_sorted
from magistrate.store.contract.lists import PageSlice, Slice
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredObject

Entry = tuple[TypeName, ObjectId, RelationName]
SortKey = tuple[str | int, ...]
"""The key ends in an Entry."""

ListingKey = tuple[Revision, str, Query, bytes]
"""Holds the revision, sort, query and a digest of the context and of the time, if the request states one: all that the
rows depend on except the time of the request."""

LISTING_BYTES = 2_000
"""Counts a listing without any rows."""
EMPTY_SHARE = 8
"""Divides the bytes of all listings: an eighth is for those without rows, so that lists of subjects that do not exist
evict no others."""
LARGE_PAGE_SHARE = 8
"""Divides the bytes of all listings: a page that takes more than an eighth of them is not kept."""


MAX_KEPT_ROWS = DEFAULT_LIMIT
ROW_BYTES = 8 * OBJECT_BYTES
"""Counts a row without its warrant, and the object of it without its meta, both as they are stored and as they are
rendered."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Represents a row of the response. `stored` is the object or subject of the row; None for a row that stands for
    all of a type."""

    row: QueryRow
    stored: StoredObject | None


@dataclass(slots=True)
class KeptPage:
    """Holds the rows at the beginning of a listing, if these were at most MAX_KEPT_ROWS, and the page made of them.
    `bytes` says what they take in memory."""

    bytes: int = 0
    _cut_bounds: Slice | None = None
    _slice: PageSlice[QueryRow] | None = None
    _list_name: str = ""
    _page: Page[StoredRow] | None = None

    def find(self, bounds: Slice) -> PageSlice[QueryRow] | None:
        return self._slice if self._cut_bounds == bounds else None

    def keep(self, bounds: Slice, rows: PageSlice[QueryRow]) -> None:
        if bounds.boundary is None and len(rows.rows) <= MAX_KEPT_ROWS:
            self._cut_bounds, self._slice, self._page = bounds, rows, None
            self.bytes = sum(map(_measure_row, rows.rows))

    def find_page(self, bounds: Slice, list_name: str) -> Page[StoredRow] | None:
        """Returns the page, whose cursors are those of the list of this name."""
        return self._page if self._cut_bounds == bounds and self._list_name == list_name else None

    def keep_page(self, bounds: Slice, list_name: str, page: Page[StoredRow]) -> None:
        if self._cut_bounds == bounds:
            self._list_name, self._page = list_name, page
            self.bytes = sum([_measure_row(row.row) + _measure_object(row.stored) for row in page.rows])
            self.bytes += measure_text(page.prev_cursor or "") + measure_text(page.next_cursor or "")

    def clear(self) -> None:
        """Releases the rows and the page, because they take too much."""
        self._cut_bounds = self._slice = self._page = None
        self.bytes = 0


def _measure_row(row: QueryRow) -> int:
    return ROW_BYTES + 2 * measure_text(row.id) + (0 if row.warrant is None else 2 * measure_warrant(row.warrant))


def _measure_object(stored: StoredObject | None) -> int:
    return 0 if stored is None else 2 * (measure_text(stored.id) + measure_text(stored.meta or ""))


class Listing(ABC):
    """Holds all rows of a query at one revision, in order, and cuts pages out of them. From `valid_until` on, in
    microseconds since 1970 UTC, a warrant has reached a time limit and the rows may differ. `numbering` is that of the
    ids that it holds as numbers; None if it holds the rows by value, so that pages are cut without reading warrants."""

    __slots__ = ()

    valid_until: int
    numbering: object | None
    kept_page: KeptPage

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Returns what it takes in memory now."""
        ...

    @abstractmethod
    def count_rows(self) -> int:
        """Returns the number of rows on all pages."""
        ...

    @abstractmethod
    def release(self) -> Iterator[int]:
        """Frees what it holds, and yields how much was freed since it yielded last. It must not be used afterwards."""
        ...

    async def read_slice(self, bounds: Slice, store: Store, work: Work) -> PageSlice[QueryRow]:
        """Returns a part of the rows."""
        kept = self.kept_page.find(bounds)
        if kept is not None:
            return kept
        page = await self._cut_slice(bounds, store, work)
        self.kept_page.keep(bounds, page)
        return page

    @abstractmethod
    async def _cut_slice(self, bounds: Slice, store: Store, work: Work) -> PageSlice[QueryRow]: ...


@dataclass(frozen=True, slots=True)
class SnapshotListing(Listing):
    """Holds the rows by value. `keys` has their sort keys, smallest first. `own_bytes` says what `measure_rows`
    has found."""

    keys: list[SortKey]
    results_by_name: dict[tuple[TypeName, RelationName], RelationResult]
    own_bytes: int = 0
    valid_until: int = ALWAYS
    kept_page: KeptPage = field(default_factory=KeptPage, compare=False)
    numbering: None = field(default=None, init=False)

    @property
    def bytes(self) -> int:
        return LISTING_BYTES + self.own_bytes + self.kept_page.bytes

    def count_rows(self) -> int:
        return len(self.keys)

    def release(self) -> Iterator[int]:
        yield from free_containers([self.keys, self.results_by_name])

    async def _cut_slice(self, bounds: Slice, store: Store, work: Work) -> PageSlice[QueryRow]:
        return self.cut_slice(bounds)

    def cut_slice(self, bounds: Slice) -> PageSlice[QueryRow]:
        return cut_sorted(self.keys, bounds, lambda place: self._row(self.keys[place]))

    def _row(self, key: SortKey) -> QueryRow:
        of_type, row_id, relation = key[-3:]
        name = TypeName(str(of_type))
        return self.results_by_name[name, RelationName(str(relation))].row(name, ObjectId(str(row_id)))


def measure_rows(keys: Sequence[SortKey], results: Iterable[RelationResult]) -> Iterator[int]:
    """Yields what some of these keys, and of the values and warrants of these results, take in memory, until all are
    measured."""
    for start in range(0, len(keys), ITEMS_AT_ONCE):
        some = keys[start : start + ITEMS_AT_ONCE]
        yield measure_texts([str(key[-2]) for key in some], SEQUENCE_BYTES + NUMBER_BYTES + 4 * POINTER_BYTES)
    for result in {id(result): result for result in results}.values():
        yield OBJECT_BYTES * (1 + result.reports.steps)
        for container in result.containers:
            items = iter(container.items() if isinstance(container, dict) else ())
            while some_items := [*islice(items, ITEMS_AT_ONCE)]:
                yield sum([SLOT_BYTES + measure_text(row_id) + _measure_report(value) for row_id, value in some_items])


def _measure_report(value: object) -> int:
    """Returns what a value of an id takes, which may be a warrant, perhaps with its place."""
    warrant = value[-1] if isinstance(value, tuple) else value
    return SEQUENCE_BYTES + measure_warrant(warrant) if isinstance(warrant, Warrant) else 0


def measure_key(key: ListingKey) -> int:
    """Returns what a key takes in memory; its query may name a thousand relations."""
    query = key[2]
    further = query.further if isinstance(query, ObjectsQuery) else ()
    named = [
        query.subject if isinstance(query, ObjectsQuery) else query.object,
        *(condition.subject for condition in further),
    ]
    names = [
        *(query.relations or ()),
        *(query.types or ()),
        *(name for condition in further for name in condition.relations or ()),
    ]
    return 4 * OBJECT_BYTES * len(named) + measure_texts([ref.id for ref in named]) + measure_texts(names)


class _Kept(NamedTuple):
    listing: Listing
    bytes: int


class Listings:
    """Caches the most recently used listings, up to a total number of bytes; those without rows apart."""

    def __init__(self, max_bytes: int, grow: Callable[[], bool] = stay_as_large) -> None:
        """`grow` is called when there is no space. It may set another limit with `resize`, and returns whether it
        has."""
        self._listings: LRUCache[ListingKey, _Kept] = LRUCache(math.inf, getsizeof=_BYTES)
        self._empty: LRUCache[ListingKey, _Kept] = LRUCache(math.inf, getsizeof=_BYTES)
        self._numbering: object = None
        self._grow = grow
        self.resize(max_bytes)

    def measure(self) -> Sequence[CacheBytes]:
        """Returns how many bytes the listings take, and the limits on them."""
        return [
            CacheBytes("lists", int(self._listings.currsize), self._max_bytes),
            CacheBytes("empty_lists", int(self._empty.currsize), self._max_bytes_of_empty),
        ]

    def resize(self, max_bytes: int) -> list[Listing]:
        """Sets the limit on the bytes of all listings, and returns those that are evicted for it."""
        self._max_bytes_of_empty = max_bytes // EMPTY_SHARE
        self._max_bytes = max_bytes - self._max_bytes_of_empty
        return [*_evict_above(self._listings, self._max_bytes), *_evict_above(self._empty, self._max_bytes_of_empty)]

    def _find_limit(self, cache: "LRUCache[ListingKey, _Kept]") -> int:
        return self._max_bytes if cache is self._listings else self._max_bytes_of_empty

    def find(self, key: ListingKey, now: int) -> Listing | None:
        """Returns the listing unless it is not valid any more."""
        kept = self._listings.get(key) or self._empty.get(key)
        return kept.listing if kept is not None and now < kept.listing.valid_until else None

    def keep(self, key: ListingKey, listing: Listing) -> list[Listing]:
        """Adds the listing, and returns those that are evicted for it: the listing itself if it is larger than the
        capacity. Those with another numbering of ids are evicted, too: all of its ids are in memory for as long as one
        of them is."""
        cache = self._listings if listing.count_rows() else self._empty
        kept = _Kept(listing, listing.bytes + measure_key(key))
        while cache.currsize + kept.bytes > self._find_limit(cache) and self._grow():
            pass
        if kept.bytes > self._find_limit(cache):
            return [listing]
        former = [cache.pop(key).listing for cache in (self._listings, self._empty) if key in cache]
        evicted = [other for other in former if other is not listing]
        if listing.numbering is not None and listing.numbering is not self._numbering:
            self._numbering = listing.numbering
            evicted += self._evict_numbered()
        evicted += _evict_above(cache, self._find_limit(cache) - kept.bytes)
        cache[key] = kept
        return evicted

    def update(self, key: ListingKey, listing: Listing) -> list[Listing]:
        """Counts the page that a listing keeps now, and returns the listings that are evicted for it. A page for which
        there is no space is not kept."""
        kept = self._listings.get(key) or self._empty.get(key)
        if kept is None or kept.listing is not listing or kept.bytes == listing.bytes + measure_key(key):
            return []
        while LARGE_PAGE_SHARE * listing.kept_page.bytes > self._max_bytes and self._grow():
            pass
        if LARGE_PAGE_SHARE * listing.kept_page.bytes > self._max_bytes:
            listing.kept_page.clear()
        evicted = self.keep(key, listing)
        if any(other is listing for other in evicted):
            self._listings.pop(key, None)
            self._empty.pop(key, None)
        return evicted

    def _evict_numbered(self) -> list[Listing]:
        """Evicts the listings that hold numbers of ids."""
        evicted: list[Listing] = []
        for cache in (self._listings, self._empty):
            outdated = [key for key, kept in cache.items() if kept.listing.numbering is not None]
            evicted += [cache.pop(key).listing for key in outdated]
        return evicted

    def evict(self) -> list[Listing]:
        """Evicts all listings, and returns them."""
        evicted = [kept.listing for cache in (self._listings, self._empty) for kept in cache.values()]
        self._listings.clear()
        self._empty.clear()
        return evicted


def _evict_above(cache: "LRUCache[ListingKey, _Kept]", max_bytes: int) -> list[Listing]:
    """Evicts the listings that have not been used for longest until the others take at most so many bytes."""
    evicted = []
    while cache and cache.currsize > max_bytes:
        evicted.append(cache.popitem()[1].listing)
    return evicted


_BYTES = attrgetter("bytes")
