"""Applies numbered SQL files, once each and only forwards, and generates the one row of `head` when a store is
created.

A file is named NNNN_what_it_brings.sql and lives in store/migrations/<store>/. Both stores have the same numbers."""

import re
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from magistrate.errors import SchemaMismatch

_FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Holds what is known of a store. `version` is the number of its last migration, 0 if there is nothing in it yet;
    `known` that of this version of Magistrate. Times are in microseconds since 1970 UTC: `written_at` is that of the
    newest write, if there is one, and `now` that of the machine of the database, None if it is this one."""

    version: int
    known: int
    written_at: int | None = None
    now: int | None = None


@cache
def migrations(store: str) -> tuple[Migration, ...]:
    """Returns all migrations for `sqlite` or `postgres` by their numbers, which count from 1 without a gap."""
    found = []
    for path in files("magistrate.store").joinpath("migrations", store).iterdir():
        matched = _FILE_NAME.fullmatch(path.name)
        if matched:
            found.append(Migration(int(matched[1]), matched[2], path.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def pending(store: str, applied: int) -> tuple[Migration, ...]:
    """Returns the migrations that a store at migration number `applied` lacks. Raises SchemaMismatch if the store is
    ahead of this version."""
    known = migrations(store)
    if applied > len(known):
        raise SchemaMismatch(
            f"the store has schema {applied}, made by a newer Magistrate; this version knows {len(known)}"
        )
    return known[applied:]


def new_identity() -> tuple[str, str]:
    """Returns a new store id and cursor key, as store/contract/store.py describes them."""
    return secrets.token_hex(8), secrets.token_hex(16)
