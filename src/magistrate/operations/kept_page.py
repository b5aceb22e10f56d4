"""Keeps the first page of a listing, which is requested again and again."""

from dataclasses import dataclass

from magistrate.engine.query.rows import QueryRow
from magistrate.operations.paging import DEFAULT_LIMIT, Page
from magistrate.store.contract import PageSlice, Slice, StoredObject

MOST_KEPT_ROWS = DEFAULT_LIMIT
KEPT_PAGE_ENTRIES = 6 * MOST_KEPT_ROWS
"""Sets what a kept page counts as, in entries of one or two hundred bytes: a row, its warrant, its object, and these as
they are rendered."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Represents a row of the response. `stored` is the object or subject of the row; None for a row that stands for
    all of a type."""

    row: QueryRow
    stored: StoredObject | None


@dataclass(slots=True)
class KeptPage:
    """Holds the rows at the beginning of a listing, if these were at most MOST_KEPT_ROWS, and the page made of them."""

    _wanted: Slice | None = None
    _slice: PageSlice[QueryRow] | None = None
    _list_name: str = ""
    _page: Page[StoredRow] | None = None

    def find(self, wanted: Slice) -> PageSlice[QueryRow] | None:
        return self._slice if self._wanted == wanted else None

    def keep(self, wanted: Slice, rows: PageSlice[QueryRow]) -> None:
        if wanted.boundary is None and len(rows.rows) <= MOST_KEPT_ROWS:
            self._wanted, self._slice, self._page = wanted, rows, None

    def find_page(self, wanted: Slice, list_name: str) -> Page[StoredRow] | None:
        """Returns the page, whose cursors are those of the list of this name."""
        return self._page if self._wanted == wanted and self._list_name == list_name else None

    def keep_page(self, wanted: Slice, list_name: str, page: Page[StoredRow]) -> None:
        if self._wanted == wanted:
            self._list_name, self._page = list_name, page
