"""Keeps the first page of a listing, which is requested again and again."""

from dataclasses import dataclass

from magistrate.engine.byte_sizes import OBJECT_BYTES, measure_text, measure_warrant
from magistrate.engine.query.rows import QueryRow
from magistrate.operations.paging import DEFAULT_LIMIT, Page
from magistrate.store.contract import PageSlice, Slice, StoredObject

MOST_KEPT_ROWS = DEFAULT_LIMIT
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
    """Holds the rows at the beginning of a listing, if these were at most MOST_KEPT_ROWS, and the page made of them.
    `bytes` says what they take in memory."""

    bytes: int = 0
    _wanted: Slice | None = None
    _slice: PageSlice[QueryRow] | None = None
    _list_name: str = ""
    _page: Page[StoredRow] | None = None

    def find(self, wanted: Slice) -> PageSlice[QueryRow] | None:
        return self._slice if self._wanted == wanted else None

    def keep(self, wanted: Slice, rows: PageSlice[QueryRow]) -> None:
        if wanted.boundary is None and len(rows.rows) <= MOST_KEPT_ROWS:
            self._wanted, self._slice, self._page = wanted, rows, None
            self.bytes = sum(map(_measure_row, rows.rows))

    def find_page(self, wanted: Slice, list_name: str) -> Page[StoredRow] | None:
        """Returns the page, whose cursors are those of the list of this name."""
        return self._page if self._wanted == wanted and self._list_name == list_name else None

    def keep_page(self, wanted: Slice, list_name: str, page: Page[StoredRow]) -> None:
        if self._wanted == wanted:
            self._list_name, self._page = list_name, page
            self.bytes = sum([_measure_row(one.row) + _measure_object(one.stored) for one in page.rows])
            self.bytes += measure_text(page.prev_cursor or "") + measure_text(page.next_cursor or "")

    def clear(self) -> None:
        """Releases the rows and the page, because they take too much."""
        self._wanted = self._slice = self._page = None
        self.bytes = 0


def _measure_row(row: QueryRow) -> int:
    return ROW_BYTES + 2 * measure_text(row.id) + (0 if row.warrant is None else 2 * measure_warrant(row.warrant))


def _measure_object(stored: StoredObject | None) -> int:
    return 0 if stored is None else 2 * (measure_text(stored.id) + measure_text(stored.meta or ""))
