"""Applies numbered SQL files, once each and only forwards, and makes the store `default` when the tables are
created.

A file is named NNNN_what_it_brings.sql and lives in store/migrations/. It is written for SQLite; other databases
translate it (`translate_schema` in store/sql/postgres.py). Its first line says which versions of Magistrate can use the
store afterwards: `-- breaks_before: 3` those that know migration 3. See docs/extending.md#migrations."""

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from magistrate.errors import SchemaMismatch
from magistrate.store.contract.stores import DEFAULT_NAME, DEFAULT_STORE, StoredStore, StoreLimits, generate_ulid
from magistrate.store.schema_version import SchemaVersion
from magistrate.store.scripts.stores import CURSOR_KEY_BYTES

_FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
_BREAKS_BEFORE = re.compile(r"-- breaks_before: (\d+)\n")

Applied = Sequence[tuple[int, str, int]]
"""Holds the rows of the table of migrations, in order: number, name and breaks_before. In one from before the first
release, rows are shorter."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Represents a step from one schema to the next, which has its number. `breaks_before` is the smallest schema that
    a version has to know so that it can use the store afterwards."""

    number: int
    name: str
    sql: str
    breaks_before: int

    @property
    def row(self) -> tuple[int, str, int]:
        """Returns the row of the table of migrations."""
        return self.number, self.name, self.breaks_before


@cache
def migrations() -> tuple[Migration, ...]:
    """Returns all migrations by their numbers, which count from 1 without a gap."""
    listed = []
    for path in files("magistrate.store").joinpath("migrations").iterdir():
        if matched := _FILE_NAME.fullmatch(path.name):
            listed.append(read_migration(int(matched[1]), matched[2], path.read_text(encoding="utf-8")))
    return tuple(sorted(listed, key=lambda migration: migration.number))


def read_migration(number: int, name: str, text: str) -> Migration:
    """Returns the migration that a file has. Raises ValueError if its first line does not say what it breaks."""
    breaks = _BREAKS_BEFORE.match(text)
    if breaks is None or not 1 <= int(breaks[1]) <= number:
        raise ValueError(f"migration {number} has to begin with `-- breaks_before: N`, N from 1 to {number}")
    return Migration(number, name, text, int(breaks[1]))


def report_nothing(migration: Migration) -> None:
    """Does nothing; it is the callback of migrations that nobody reports."""


@dataclass(frozen=True, slots=True)
class MigrationRun:
    """Says what to apply: all known migrations, or those up to the schema `to`. `report` is called before each
    that changes a store which exists, and again if the run has to begin again; a new store is made without a word."""

    known: Sequence[Migration] = field(default_factory=migrations)
    to: int | None = None
    report: Callable[[Migration], None] = report_nothing

    def list_pending(self, applied: Applied) -> Sequence[Migration]:
        """Returns the migrations that are to be applied. Raises SchemaMismatch if this version cannot use the store,
        or `to` is a schema that it does not know or that is older than that of the store."""
        if applied and tuple(applied[0]) != self.known[0].row:
            raise SchemaMismatch(
                "the store was made before the first release; import from a service of the version that made it, "
                "as docs/operating.md describes under Upgrading"
            )
        version, newest = find_version(applied), len(self.known)
        version.require_known(newest)
        if self.to is not None and self.to > newest:
            raise SchemaMismatch(f"this version knows the schemas up to {newest}, not {self.to}")
        if self.to is not None and self.to < version.number:
            raise SchemaMismatch(f"the store has schema {version.number} already: there is no way back to {self.to}")
        return self.known[len(applied) : self.to]

    def begin(self, migration: Migration, applied: Applied) -> None:
        """Reports a migration of a store to which others were applied before."""
        if applied:
            self.report(migration)

    @property
    def reaches_newest(self) -> bool:
        """Returns whether the store has every table of this version afterwards."""
        return self.to in (None, len(self.known))


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Holds what is known of a store. `version` is the number of its last migration, 0 if there is nothing in it yet;
    `known` that of this version of Magistrate, and `pending` has those that would be applied. `mismatch` says why this
    version can neither use nor migrate the store. `default_id` is the id of the store `default`, by which replicas are
    recognized; it is read only of databases on servers that are usable.

    Times are in microseconds since 1970 UTC: `written_at` is that of the newest write, if there is one, and `now` that
    of the machine of the database, None if it is this one."""

    version: int
    known: int
    pending: Sequence[Migration] = ()
    mismatch: str | None = None
    written_at: int | None = None
    now: int | None = None
    default_id: str | None = None

    @property
    def is_usable(self) -> bool:
        """Returns whether this version can use the store as it is."""
        return self.mismatch is None and not self.pending


def describe_store(
    run: MigrationRun, applied: Applied, written_at: int | None = None, now: int | None = None
) -> StoreReport:
    """Returns what is known of a store, given its migrations, and what a run would apply."""
    pending, mismatch = run.known[:0], None
    try:
        pending = run.list_pending(applied)
    except SchemaMismatch as error:
        mismatch = error.message
    return StoreReport(find_version(applied).number, len(run.known), pending, mismatch, written_at, now)


def find_version(applied: Applied) -> SchemaVersion:
    """Returns which schema a store has, given its migrations, of which those from before the first release count as
    breaking nothing."""
    breaks_before = max((row[2] for row in applied if len(row) > 2), default=0)
    return SchemaVersion(applied[-1][0] if applied else 0, breaks_before)


def require_migrated(report: StoreReport) -> None:
    """Raises SchemaMismatch if this version cannot use the store as it is."""
    if report.mismatch is not None:
        raise SchemaMismatch(report.mismatch)
    if report.pending:
        raise SchemaMismatch(
            f"the store has schema {report.version}, and this version of Magistrate needs {report.known}; run "
            "`magistrate migrate`, or start without --migrate never"
        )


def make_default_store() -> StoredStore:
    """Returns the store `default` of a new database."""
    now = time.time_ns() // 1_000
    return StoredStore(
        DEFAULT_STORE, generate_ulid(now), DEFAULT_NAME, "", StoreLimits(), secrets.token_hex(CURSOR_KEY_BYTES), now
    )
