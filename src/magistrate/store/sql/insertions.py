"""Inserts rows several at a time, on every database."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from magistrate.store.sql.dialect import Parameter

ROWS_AT_ONCE = 32
"""Sets how many rows a statement inserts, if there are as many. On SQLite, more are not faster, and one at a time would
also push all other prepared statements out of the cache of a connection, which drops one for each statement that is
run."""

_ROW_TO_INSERT = re.compile(r"\bVALUES (\([^()]*\))(?= ON CONFLICT|$)")


class Repeated(NamedTuple):
    """Represents a statement that is run once for each set of values."""

    sql: str
    values: Sequence[tuple[Parameter, ...]]


def join_insertions(statement: str, rows: Sequence[tuple[Parameter, ...]]) -> Iterator[Repeated]:
    """Yields what does the same as this statement run for each of these rows, in order. If it inserts many rows, each
    statement inserts some of them."""
    several = insert_rows(statement, ROWS_AT_ONCE) if len(rows) >= ROWS_AT_ONCE else None
    if several is None:
        yield Repeated(statement, rows)
        return
    joined = len(rows) - len(rows) % ROWS_AT_ONCE
    starts = range(0, joined, ROWS_AT_ONCE)
    yield Repeated(several, [tuple(chain.from_iterable(rows[start : start + ROWS_AT_ONCE])) for start in starts])
    if joined < len(rows):
        yield Repeated(statement, rows[joined:])


@lru_cache(maxsize=64)
def insert_rows(statement: str, rows: int) -> str | None:
    """Returns a statement that inserts several rows, given the one for a single row; None if it inserts none. On
    PostgreSQL, ten rows take little longer than one, because most of the time goes into each statement and its
    result."""
    matched = _ROW_TO_INSERT.search(statement)
    if not statement.lstrip().startswith("INSERT INTO") or matched is None:
        return None
    return statement[: matched.start(1)] + ", ".join([matched[1]] * rows) + statement[matched.end(1) :]
