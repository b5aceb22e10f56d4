"""Defines what a store needs of a database: single reads, and scripts of statements that succeed or fail as a whole.

A script is a generator: it yields the statements to run and is sent their rows, so the same script serves a database
that is driven from a thread (SQLite) and one that is awaited (PostgreSQL). Steps are structs: a write makes some ten of
them."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import ReadOnly, StoreDeleted
from magistrate.store.contract.revisions import KnownRevisions, Mark, RevisionId, StoreState
from magistrate.store.schema_version import SchemaVersion
from magistrate.store.sql.dialect import Dialect, Parameter
from magistrate.store.sql.head import HEAD

T = TypeVar("T")

Row = tuple[Any, ...]
Rows = list[Row]

Changes = Mapping[str, Mapping[tuple[str, ...], Sequence[Row] | None]]
"""Holds the keys whose rows a statement changes, by the statement that finds them, each with the rows that are found
then; None if that has to be looked up."""


def is_storable(text: str) -> bool:
    """Says whether every database can hold a text: PostgreSQL cannot store the character NUL, nor look for it."""
    return "\0" not in text


class Select(msgspec.Struct, frozen=True):
    """Runs a query once for each set of values; the script is sent one list of rows for each set, in order. `store` is
    the number of the store that is read, if it is another than the one that the script writes to."""

    sql: str
    values: Sequence[tuple[Parameter, ...]]
    store: int | None = None


class Execute(msgspec.Struct, frozen=True):
    """Runs a statement once for each set of values, in order; the script is sent an empty list. Without a set,
    nothing is run.

    Writes that look up none of the keys in `changes` find the same as before. None means that it may change anything.
    `store` is as in Select."""

    sql: str
    values: Sequence[tuple[Parameter, ...]]
    changes: Changes | None = None
    store: int | None = None


class Find(msgspec.Struct, frozen=True):
    """Selects the rows of any of the keys, in any order; none without keys.

    `statement` is that for a single key, and ends in a comparison of its columns, `(type, id) = (?, ?)`, of which a
    database makes that for several. Each row begins with the columns of its key."""

    statement: str
    keys: Sequence[tuple[str, ...]]


class FindTogether(msgspec.Struct, frozen=True):
    """Finds the rows of several tables that do not depend on each other; the script is sent a list of them for each, in
    order."""

    finds: Sequence[Find]


class Compute(msgspec.Struct, frozen=True):
    """Runs a function that executes no statement and may take long; the database ensures that it delays only the
    writes that have to wait anyway. The script is sent an empty list. An exception that the function raises ends the
    script."""

    run: Callable[[], None]


Step = Select | FindTogether | Execute | Compute
Script = Generator[Step, list[Rows], T]

ScriptStart = Callable[[Revision], Script[T]]
"""Begins a script, given the newest revision."""

NOTHING: Changes = {}
"""States the changes of a statement that changes no row that a Find finds."""

Observer = Callable[[str], None]
"""Receives the text of each statement of a write just before it runs. If it raises, the write fails there."""


def observe_nothing(sql: str) -> None:
    """Does nothing; it is the observer of a store that is not observed."""


def require_head(sql: str, rows: Rows) -> Rows:
    """Returns the rows of a statement. Raises StoreDeleted if there is none although the statement selects from the
    head of a store."""
    if not rows and HEAD in sql:
        raise StoreDeleted
    return rows


ConfirmRows = Callable[[Rows], Awaitable[bool]]
"""Says whether the rows of a replica may be used."""


class Database(StoreState, Protocol):
    dialect: Dialect
    known: KnownRevisions
    """Learns of all revisions that this process writes."""
    read_only: ReadOnly | None
    """Is the error of all writes if this process makes none."""
    has_replicas: bool
    """Says whether replicas may answer some reads."""
    constraint_error: type[Exception]
    """Is raised by `transact` for a row that breaks a constraint of a table, as one with the key of another does."""

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        """Returns every row of one statement, from one snapshot of what is committed. `long` means that it may look
        at many rows and must not delay others meanwhile.

        Raises StoreUnavailable, and StoreDeleted if the statement selects from `head` and the store was deleted."""
        ...

    async def transact(self, script: ScriptStart[T], makes_revision: bool = True) -> T:
        """Runs a script, which is given the newest revision, alone among all writers, and commits what it did.

        An exception of the script undoes everything it did and is raised here. Raises StoreUnavailable; the script
        may have been started more than once by then, but at most one of its runs is committed. A script that makes no
        revision makes nothing stale. Raises StoreDeleted, and ReadOnly."""
        ...

    async def read_replica(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm_rows: ConfirmRows
    ) -> Rows | None:
        """Returns the rows of a statement that selects from `head`, from a replica that holds this revision, bits
        included; None if the primary is to be read: there is no replica, it lacks the revision, it fails, or
        `confirm_rows` does not let its rows count."""
        ...

    def find_changes(self, after: RevisionId, most: int) -> tuple[Mark, Rows] | None:
        """Returns a mark, and what LIST_WARRANT_CHANGES then returns for these values, if that takes no waiting."""
        ...

    async def schema_version(self) -> SchemaVersion:
        """Returns which schema the database has. Raises StoreUnavailable, or SchemaMismatch for an empty database."""
        ...
