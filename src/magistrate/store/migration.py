"""Applies numbered SQL files, once each and only forwards, and makes the store `default` when the tables are
created.

A file is named NNNN_what_it_brings.sql and lives in store/migrations/. It is written for SQLite; other databases
translate it (`translate_schema` in store/sql/postgres.py)."""

import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from magistrate.errors import SchemaMismatch
from magistrate.store.contract.stores import DEFAULT_NAME, DEFAULT_STORE, StoredStore, StoreLimits, generate_ulid
from magistrate.store.scripts.stores import CURSOR_KEY_BYTES

_FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


Applied = Sequence[tuple[int, str]]
"""Holds the numbers and names of the migrations that a store has, in order."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Holds what is known of a store. `version` is the number of its last migration, 0 if there is nothing in it yet;
    `known` that of this version of Magistrate. `mismatch` says why this version cannot use the store.

    Times are in microseconds since 1970 UTC: `written_at` is that of the newest write, if there is one, and `now` that
    of the machine of the database, None if it is this one."""

    version: int
    known: int
    mismatch: str | None = None
    written_at: int | None = None
    now: int | None = None


@cache
def migrations() -> tuple[Migration, ...]:
    """Returns all migrations by their numbers, which count from 1 without a gap."""
    listed = []
    for path in files("magistrate.store").joinpath("migrations").iterdir():
        matched = _FILE_NAME.fullmatch(path.name)
        if matched:
            listed.append(Migration(int(matched[1]), matched[2], path.read_text(encoding="utf-8")))
    return tuple(sorted(listed, key=lambda migration: migration.number))


def describe_store(applied: Applied, written_at: int | None = None, now: int | None = None) -> StoreReport:
    """Returns what is known of a store, given its migrations."""
    available = migrations()
    return StoreReport(_newest_of(applied), len(available), find_mismatch(available, applied), written_at, now)


def list_pending(available: Sequence[Migration], applied: Applied) -> Sequence[Migration]:
    """Returns the known migrations that a store lacks. Raises SchemaMismatch if this version cannot use the store."""
    mismatch = find_mismatch(available, applied)
    if mismatch is not None:
        raise SchemaMismatch(mismatch)
    return available[len(applied) :]


def _newest_of(applied: Applied) -> int:
    """Returns the number of the last migration that was applied, 0 if none was."""
    return applied[-1][0] if applied else 0


def find_mismatch(available: Sequence[Migration], applied: Applied) -> str | None:
    """Returns why a store with the applied migrations cannot be used, or None if it can."""
    if applied and applied[0][1] != available[0].name:
        return (
            "the store was made before the first release; import from a service of the version that made it, "
            "as docs/operating.md describes under Upgrading"
        )
    if len(applied) > len(available):
        return (
            f"the store has schema {_newest_of(applied)}, "
            f"made by a newer Magistrate; this version knows {len(available)}"
        )
    return None


def make_default_store() -> StoredStore:
    """Returns the store `default` of a new database."""
    now = time.time_ns() // 1_000
    return StoredStore(
        DEFAULT_STORE, generate_ulid(now), DEFAULT_NAME, "", StoreLimits(), secrets.token_hex(CURSOR_KEY_BYTES), now
    )
