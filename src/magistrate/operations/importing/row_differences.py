"""Finds the rows in which two sides differ, however many rows there are.

The sides list their rows in different orders, so the rows have to be sorted before they can be compared. That is left
to a temporary SQLite database, which sorts on disk: memory is bounded by its cache, and the disk takes about a hundred
bytes a row. The file has no name and disappears with the process. A row is kept as a digest of what identifies it, a
digest of the rest, and the beginning of its written form, by which a row that differs is reported."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

import apsw
import msgspec

from magistrate.engine.names import PolicyName
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.new_rows import NewObject, NewWarrant
from magistrate.store.contract.stored_rows import StoredObject

MAX_WRITTEN_CHARACTERS = 500
"""Limits the characters that are kept of the written form of a row."""
DIGEST_BYTES = 16

Side = Literal[0, 1]
SOURCE: Side = 0
HERE: Side = 1

Category = Literal["missing", "extra", "other"]
"""Says how a row differs: it is missing here, exists only here, or is stored here with other contents."""

_PREPARE = """
PRAGMA temp_store = FILE;
PRAGMA cache_size = -32768;
PRAGMA journal_mode = OFF;
BEGIN;
CREATE TABLE listed (identity BLOB, side INTEGER, kind TEXT, content BLOB, written TEXT) STRICT;
"""
_INSERT = "INSERT INTO listed VALUES (?, ?, ?, ?, ?)"
# Aggregates skip NULL: a row whose content is not stated equals any.
_COMPARE = """
CREATE TABLE differing AS
SELECT kind, written, CASE WHEN min(side) < max(side) THEN 'other' WHEN min(side) = 0 THEN 'missing' ELSE 'extra' END
    AS category
FROM listed GROUP BY identity HAVING min(side) = max(side) OR min(content) <> max(content)"""
_COUNT = "SELECT category, count(*) FROM differing WHERE kind = ? GROUP BY category"
_NAME = "SELECT written FROM differing WHERE kind = ? AND category = ? ORDER BY written LIMIT ?"


class ComparedRow(NamedTuple):
    """Holds a row of one side. `identity` tells it from the other rows of its kind, `content` is what may differ, None
    if that is not stated; `written` is shown to readers."""

    identity: Sequence[str]
    content: str | None
    written: str


@dataclass(frozen=True, slots=True)
class DifferingRows:
    """Holds how many rows differ in one way, and the first of them in written form."""

    category: Category
    total: int
    written: Sequence[str]


class RowDifferences:
    """Collects the rows of both sides and compares them. Raises StoreUnavailable if the disk has no space for them."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")  # a temporary file
        self._connection.execute(_PREPARE).fetchall()  # without it, the statements behind one with a result do not run

    def add(self, side: Side, kind: str, rows: Iterable[ComparedRow]) -> None:
        listed = (
            (_digest([kind, *row.identity]), side, kind, _digest_content(row), row.written[:MAX_WRITTEN_CHARACTERS])
            for row in rows
        )
        with translate_disk_faults():
            self._connection.executemany(_INSERT, listed)

    def compare(self) -> None:
        """Compares all rows that were added; `list_differing` returns the result."""
        with translate_disk_faults():
            self._connection.execute(_COMPARE)

    def list_differing(self, kind: str, max_named: int) -> list[DifferingRows]:
        """Returns the rows of a kind that differ, at most `max_named` of each category by name, in bytewise order."""
        with translate_disk_faults():
            totals = dict(self._connection.execute(_COUNT, (kind,)))
            return [
                DifferingRows(category, totals[category], [*self._name(kind, category, max_named)])
                for category in CATEGORIES
                if category in totals
            ]

    def _name(self, kind: str, category: Category, most: int) -> Iterator[str]:
        for (written,) in self._connection.execute(_NAME, (kind, category, most)):
            yield str(written)

    def close(self) -> None:
        self._connection.close()


CATEGORIES: tuple[Category, ...] = ("missing", "extra", "other")


@contextmanager
def translate_disk_faults() -> Iterator[None]:
    """Raises StoreUnavailable where SQLite has no space for its temporary file."""
    try:
        yield
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise StoreUnavailable(
            "the rows cannot be compared: there is no space for temporary files; set TMPDIR to a folder with more space"
        ) from error


def _digest(parts: Sequence[str]) -> bytes:
    return blake2b(msgspec.json.encode(parts), digest_size=DIGEST_BYTES).digest()


def _digest_content(row: ComparedRow) -> bytes | None:
    return None if row.content is None else _digest([row.content])


def build_object_row(stored: NewObject | StoredObject) -> ComparedRow:
    # Compared as JSON rather than text: the order of members has no meaning.
    meta = "" if stored.meta is None else _sort_members(stored.meta)
    return ComparedRow((stored.type, stored.id), meta, f"{stored.type}:{stored.id}")


def build_policy_row(name: PolicyName, definition: str) -> ComparedRow:
    # Compared as JSON, like meta: the order of parameters has no meaning.
    return ComparedRow((name,), _sort_members(definition), name)


def build_warrant_row(new: NewWarrant) -> ComparedRow:
    written = new.names.render() + (f"[{new.policy}]" if new.policy else "")
    created_at = None if new.created_at is None else str(new.created_at)
    return ComparedRow((*new.names, new.policy), created_at, written)


def _sort_members(text: str) -> str:
    return msgspec.json.encode(msgspec.json.decode(text), order="sorted").decode()
