"""Defines what a mirror needs of the database of an application. There is a module for each kind of database.

A table is named `access`, its position `access_position`, and its index `access_subject`, if `access` is its name."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from magistrate.errors import InvalidSetting, TargetRefused
from magistrate.mirror.rows import COLUMNS, POSITION_COLUMNS, AccessChanges, MirroredAccess, MirrorPosition

MAX_NAME_LENGTH = 48
"""Limits the name of a table: PostgreSQL would cut the names that are made from a longer one."""
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME_LENGTH - 1}}}")
_RESERVED_PREFIXES = ("sqlite_", "pg_")

CONNECT_SECONDS = 10
LOCK_SECONDS = 10
"""Limits the wait for locks that the application holds."""
STEP_SECONDS = 60
"""Limits a transaction that applies changes, or adds rows to a load."""
REPLACE_SECONDS = 1_800
"""Limits the transaction that makes loaded rows those of the table."""

LOCKED = "another mirror keeps this table"
MOVED = "another mirror has written to this table meanwhile"


class TableNames(NamedTuple):
    """Holds the quoted identifiers of a table, of that with its position, and of its index by subject."""

    rows: str
    position: str
    subject_index: str


def name_tables(table: str) -> TableNames:
    """Returns the names for a table. Raises InvalidSetting for one that is not plain."""
    if not _NAME.fullmatch(table) or table.lower().startswith(_RESERVED_PREFIXES):
        raise InvalidSetting(
            f"{table!r} cannot be the name of the table: write letters of ASCII, digits and _, at most "
            f"{MAX_NAME_LENGTH} of them, not beginning with a digit, sqlite_ or pg_"
        )
    return TableNames(f'"{table}"', f'"{table}_position"', f'"{table}_subject"')


class MirrorTarget(Protocol):
    """Represents a table in the database of an application. One thread at a time uses it.

    All methods but `close` raise TargetUnavailable if the database cannot be used now, after which the target has to be
    opened again, and TargetRefused if nothing but a change of the database or of the command can help."""

    def open(self) -> MirrorPosition | None:
        """Connects, locks the table against other mirrors, makes what is missing, and returns the position; None if
        nothing was loaded yet. If it is open already, it is closed first."""

    def begin_load(self) -> None:
        """Begins to collect the rows of a snapshot, which nobody else sees; those of a load before are discarded."""

    def add_rows(self, rows: Sequence[MirroredAccess]) -> None:
        """Adds rows to the load. A key comes once."""

    def finish_load(self, position: MirrorPosition) -> None:
        """Makes the table have the loaded rows, and the position, in one transaction. Rows that are the same stay as
        they are."""

    def apply(self, changes: AccessChanges, before: MirrorPosition, after: MirrorPosition) -> None:
        """Makes changes and moves the position, in one transaction. Raises TargetUnavailable if the position is not
        `before`."""

    def read(self) -> AbstractContextManager[tuple[MirrorPosition | None, Iterator[MirroredAccess]]]:
        """Returns the position and all rows, of one moment, by object in the order of code points. It takes no lock and
        makes no tables, and connects if it is not open."""

    def close(self) -> None:
        """Disconnects, and releases the lock."""


def require_tables(names: TableNames, rows: Sequence[str], position: Sequence[str]) -> None:
    """Raises TargetRefused if there are such tables that have not the columns that a mirror makes."""
    for name, expected, actual in ((names.rows, COLUMNS, rows), (names.position, POSITION_COLUMNS, position)):
        if actual and sorted(expected) != sorted(actual):
            raise TargetRefused(
                f"the table {name} was not made by a mirror: it has the columns {', '.join(actual)}; choose another "
                "name with --table"
            )
