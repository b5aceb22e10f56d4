"""Keeps the first page of a listing, which is requested again and again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from magistrate.engine.query.rows import QueryRow
from magistrate.engine.terms import ObjectRef
from magistrate.operations.paging import DEFAULT_LIMIT
from magistrate.store.contract import PageSlice, Slice, StoredObject

MOST_KEPT_ROWS = DEFAULT_LIMIT
KEPT_PAGE_ENTRIES = 4 * MOST_KEPT_ROWS
"""Sets what a kept page counts as, in entries of one or two hundred bytes: a row, its warrant and its object."""


@dataclass(slots=True)
class KeptPage:
    """Holds the rows at the beginning of a listing and their stored objects, if these were at most MOST_KEPT_ROWS."""

    _wanted: Slice | None = None
    _page: PageSlice[QueryRow] | None = None
    _stored: Mapping[ObjectRef, StoredObject] | None = field(default=None, repr=False)

    def find(self, wanted: Slice) -> PageSlice[QueryRow] | None:
        return self._page if self._wanted == wanted else None

    def find_stored(self, wanted: Slice) -> Mapping[ObjectRef, StoredObject] | None:
        return self._stored if self._wanted == wanted else None

    def keep(self, wanted: Slice, page: PageSlice[QueryRow]) -> None:
        if wanted.boundary is None and len(page.rows) <= MOST_KEPT_ROWS:
            self._wanted, self._page, self._stored = wanted, page, None

    def keep_stored(self, wanted: Slice, stored: Mapping[ObjectRef, StoredObject]) -> None:
        if self._wanted == wanted:
            self._stored = stored
