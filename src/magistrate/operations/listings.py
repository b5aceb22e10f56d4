"""What queries have found, sorted, so that a later page of the same listing need not be worked out again."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from magistrate.engine.query import Query
from magistrate.engine.query.listed import Listed, Row
from magistrate.engine.terms import ObjectId, RelationName, Revision, TypeName
from magistrate.store.contract import Portion, Slice

Entry = tuple[TypeName, ObjectId, RelationName]
SortKey = tuple[str | int, ...]
"""Ends in an Entry."""

ListingKey = tuple[Revision, str, Query, bytes]
"""Revision, sort, query and a digest of the context: all that the rows depend on, but for the time."""


LEAST_ENTRIES = 50
"""That even an empty listing takes as much memory as."""


@dataclass(frozen=True, slots=True)
class SnapshotListing:
    """All rows at one revision. `keys` has what they are sorted by, smallest first."""

    keys: Sequence[SortKey]
    listed: Mapping[tuple[TypeName, RelationName], Listed]

    @property
    def entries(self) -> int:
        """How much is held in memory: rows, values and warrants, a hundred bytes or two for each."""
        return LEAST_ENTRIES + len(self.keys) + sum(one.entries + one.reports.steps for one in self.listed.values())

    def portion(self, wanted: Slice) -> Portion[Row]:
        upwards = wanted.descending == wanted.backwards
        start, end = self._bounds(wanted.boundary, upwards)
        if upwards:
            end = min(start + wanted.limit, end)
        else:
            start = max(end - wanted.limit, start)
        rows = tuple(self._row(key) for key in self.keys[start:end])
        below, above = bool(rows) and start > 0, bool(rows) and end < len(self.keys)
        if wanted.descending:
            return Portion(rows[::-1], precedes=above, follows=below)
        return Portion(rows, precedes=below, follows=above)

    def _bounds(self, boundary: SortKey | None, upwards: bool) -> tuple[int, int]:
        """Of the rows on the wanted side of the boundary, which need not be a row itself."""
        if boundary is None:
            return 0, len(self.keys)
        if upwards:
            return bisect_right(self.keys, boundary), len(self.keys)
        return 0, bisect_left(self.keys, boundary)

    def _row(self, key: SortKey) -> Row:
        of_type, id, relation = key[-3:]
        name = TypeName(str(of_type))
        return self.listed[name, RelationName(str(relation))].row(name, ObjectId(str(id)))


class Listings:
    """The ones that were asked for lately, with at most so many entries together."""

    def __init__(self, most_entries: int) -> None:
        self._most_entries = most_entries
        self._entries = 0
        self._listings: dict[ListingKey, SnapshotListing] = {}  # the least lately used first

    def find(self, key: ListingKey) -> SnapshotListing | None:
        listing = self._listings.pop(key, None)
        if listing is not None:
            self._listings[key] = listing
        return listing

    def keep(self, key: ListingKey, listing: SnapshotListing) -> None:
        """Unless it is too large to be kept at all."""
        entries = listing.entries
        if entries > self._most_entries:
            return
        self._forget(key)
        while self._entries + entries > self._most_entries:
            self._forget(next(iter(self._listings)))
        self._listings[key] = listing
        self._entries += entries

    def _forget(self, key: ListingKey) -> None:
        listing = self._listings.pop(key, None)
        if listing is not None:
            self._entries -= listing.entries
