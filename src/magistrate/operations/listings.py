"""Caches sorted query results, so that a later page of the same listing need not be computed again."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from cachetools import LRUCache

from magistrate.engine.conditions import ALWAYS
from magistrate.engine.dismantling import dismantle
from magistrate.engine.query import Query
from magistrate.engine.query.rows import QueryRow, RelationResult
from magistrate.engine.terms import ObjectId, RelationName, Revision, TypeName
from magistrate.operations.kept_page import KEPT_PAGE_ENTRIES, KeptPage
from magistrate.operations.set_listings import SetListing
from magistrate.store.contract import PageSlice, Slice

Entry = tuple[TypeName, ObjectId, RelationName]
SortKey = tuple[str | int, ...]
"""The key ends in an Entry."""

ListingKey = tuple[Revision, str, Query, bytes]
"""Holds the revision, sort, query and a digest of the context and of the time, if the request states one: all that the
rows depend on except the time of the request."""


LEAST_ENTRIES = 50
"""Sets the number of entries that even an empty listing counts as, because of its memory."""


@dataclass(frozen=True, slots=True)
class SnapshotListing:
    """Holds all rows at one revision. `keys` has their sort keys, smallest first. `size` counts the values and warrants
    that the results hold. From `valid_until` on, in microseconds since 1970 UTC, a warrant has reached a time limit and
    the rows may differ."""

    keys: list[SortKey]
    results_by_name: dict[tuple[TypeName, RelationName], RelationResult]
    size: int = 0
    valid_until: int = ALWAYS
    kept_page: KeptPage = field(default_factory=KeptPage, compare=False)

    @property
    def entries(self) -> int:
        """Returns how much is held in memory: rows, values and warrants, one or two hundred bytes each."""
        return LEAST_ENTRIES + KEPT_PAGE_ENTRIES + len(self.keys) + self.size

    def count_rows(self) -> int:
        """Returns the number of rows on all pages."""
        return len(self.keys)

    def slice(self, wanted: Slice) -> PageSlice[QueryRow]:
        known = self.kept_page.find(wanted)
        if known is not None:
            return known
        page = self._cut_slice(wanted)
        self.kept_page.keep(wanted, page)
        return page

    def _cut_slice(self, wanted: Slice) -> PageSlice[QueryRow]:
        upwards = wanted.descending == wanted.backwards
        start, end = self._bounds(wanted.boundary, upwards)
        if upwards:
            end = min(start + wanted.limit, end)
        else:
            start = max(end - wanted.limit, start)
        rows = tuple(self._row(key) for key in self.keys[start:end])
        below, above = bool(rows) and start > 0, bool(rows) and end < len(self.keys)
        if wanted.descending:
            return PageSlice(rows[::-1], precedes=above, follows=below)
        return PageSlice(rows, precedes=below, follows=above)

    def release(self) -> Iterator[int]:
        """Frees what it holds, and yields how much was freed since it yielded last. It must not be used afterwards."""
        yield from dismantle([self.keys, self.results_by_name])

    def _bounds(self, boundary: SortKey | None, upwards: bool) -> tuple[int, int]:
        """Returns the bounds of the rows on the wanted side of the boundary, which need not be a row itself."""
        if boundary is None:
            return 0, len(self.keys)
        if upwards:
            return bisect_right(self.keys, boundary), len(self.keys)
        return 0, bisect_left(self.keys, boundary)

    def _row(self, key: SortKey) -> QueryRow:
        of_type, id, relation = key[-3:]
        name = TypeName(str(of_type))
        return self.results_by_name[name, RelationName(str(relation))].row(name, ObjectId(str(id)))


class Listings:
    """Caches the most recently used listings, up to a total number of entries."""

    def __init__(self, most_entries: int) -> None:
        self._listings: LRUCache[ListingKey, SnapshotListing | SetListing] = LRUCache(most_entries, getsizeof=_ENTRIES)
        self._numbering: object = None

    def find(self, key: ListingKey, now: int) -> SnapshotListing | SetListing | None:
        """Returns the listing unless it is not valid any more."""
        listing = self._listings.get(key)
        return listing if listing is not None and now < listing.valid_until else None

    def keep(self, key: ListingKey, listing: SnapshotListing | SetListing) -> list[SnapshotListing | SetListing]:
        """Adds the listing, and returns those that are evicted for it: the listing itself if it is larger than the
        capacity. Those with another numbering of ids are evicted, too: all of its ids are in memory for as long as one
        of them is."""
        capacity, entries = self._listings.maxsize, listing.entries
        if entries > capacity:
            return [listing]
        former = self._listings.pop(key, None)
        evicted = [] if former is None else [former]
        if isinstance(listing, SetListing) and listing.numbering is not self._numbering:
            self._numbering = listing.numbering
            outdated = [known for known, one in self._listings.items() if isinstance(one, SetListing)]
            evicted += [self._listings.pop(known) for known in outdated]
        while self._listings.currsize + entries > capacity:
            evicted.append(self._listings.popitem()[1])
        self._listings[key] = listing
        return evicted

    def evict(self) -> list[SnapshotListing | SetListing]:
        """Evicts all listings, and returns them."""
        evicted = [*self._listings.values()]
        self._listings.clear()
        return evicted


_ENTRIES = attrgetter("entries")
