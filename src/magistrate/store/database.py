"""What a store needs of a database: single reads, and scripts of statements that succeed or fail as a whole.

A script is a generator: it yields the statements it wants run and is sent their rows, so one text of it serves a
database that is driven from a thread (SQLite) and one that is awaited (PostgreSQL)."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from magistrate.engine.terms import Revision
from magistrate.store.following import Mark, Staleness
from magistrate.store.reading import Joining
from magistrate.store.sql import Dialect, Parameter

T = TypeVar("T")

Row = tuple[Any, ...]
Rows = list[Row]


@dataclass(frozen=True, slots=True)
class Select:
    """Run once for each set of values; the script is sent one list of rows for each set, in order."""

    sql: str
    values: Sequence[tuple[Parameter, ...]]


@dataclass(frozen=True, slots=True)
class Execute:
    """Run once for each set of values, in order; the script is sent an empty list. No set: nothing is run."""

    sql: str
    values: Sequence[tuple[Parameter, ...]]


@dataclass(frozen=True, slots=True)
class Find:
    """The rows of any of these keys; the script is sent one list of them, in any order. At least one key.

    `one` is a statement for a single key; `any_of` ends in IN, to be followed by the keys. A database takes what
    suits it."""

    one: str
    any_of: str
    keys: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Compute:
    """Something that runs no statement and may take long: a database sees to it that it holds up nobody but the writes
    that have to wait anyway. The script is sent an empty list. What it raises ends the script."""

    run: Callable[[], None]


Step = Select | Find | Execute | Compute
Script = Generator[Step, list[Rows], T]

Observer = Callable[[str], None]
"""Is told the text of each statement of a write just before it runs. What it raises fails the write there."""


def observe_nothing(sql: str) -> None:
    """The observer of a store that nobody watches."""


class Database(Protocol):
    dialect: Dialect
    joining: Joining

    @property
    def statements(self) -> int:
        """So many have been run since the start, those of writes among them."""
        ...

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        """Every row of one statement, from one snapshot of what is committed. `long`: it may look at many rows, and
        must not hold up others meanwhile.

        Raises StoreUnavailable.
        """
        ...

    async def transact(self, script: Callable[[Revision], Script[T]], makes_revision: bool = True) -> T:
        """Runs a script that is given the newest revision, alone among all writers, and commits what it did.

        What the script raises undoes all it did and is raised here. Raises StoreUnavailable; the script may have been
        started more than once by then, but at most one of its runs is committed. What makes no revision makes nothing
        stale."""
        ...

    def mark(self) -> Mark:
        """See Store.mark."""
        ...

    def staleness(self, mark: Mark) -> Staleness:
        """See Store.staleness."""
        ...

    async def schema_version(self) -> int:
        """The number of the last migration applied. Raises StoreUnavailable, SchemaMismatch for an empty database."""
        ...

    async def close(self) -> None: ...
