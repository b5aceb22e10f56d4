"""Warrants a second through `magistrate import`, against the same rows through bare `executemany`."""

import io
import statistics
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import apsw
import msgspec

from benchmarks.bare_rows import BITS, Statements, bare_writer, rows_of_store
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.datasets import DATASETS
from benchmarks.datasets.lines import lines
from benchmarks.table import markdown_table
from magistrate.cli.importing.command import CHUNK_LINES
from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.config.settings import ImportTarget, read_settings
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sql.warrants import WARRANT
from magistrate.wiring.maintenance import Reached, import_file
from magistrate.wiring.stores import migrate_store

DATASET = "drive"
SIZE = 200_000
SEED = 1
ROUNDS = 3
TARGET_OF_BARE = 0.50


class EnoughTime(Exception):
    """Ends an import behind a chunk."""


@dataclass(slots=True)
class Figures:
    """Of each round: warrants a second, and the import's share of the bare ones."""

    bare: list[float] = field(default_factory=list)
    imported: list[float] = field(default_factory=list)

    def share(self) -> float:
        return statistics.median(own / bare for own, bare in zip(self.imported, self.bare, strict=True))


def measure_imports(seconds: int) -> str:
    """A table. An import ends with the chunk in which `seconds` are over; bare inserts write the same chunks."""
    content = b"".join(lines(DATASETS[DATASET](SIZE, SEED)))
    chunks = read_written_chunks(content)
    rows = []
    for store, databases in STORES.items():
        with databases() as new_database:
            figures = _measured(new_database, content, chunks, seconds)
        bare, imported = statistics.median(figures.bare), statistics.median(figures.imported)
        rows.append((f"bare executemany, {store}", f"{bare:,.0f}", "100%", ""))
        rows.append((f"magistrate import, {store}", f"{imported:,.0f}", f"{figures.share():.0%}", _target()))
    title = f"Import of {SIZE:,} new warrants ({DATASET}), {CHUNK_LINES:,} a transaction"
    return markdown_table(title, ("", "warrants/s", "of bare inserts", "target"), rows)


def _target() -> str:
    return f"≥ {TARGET_OF_BARE:.0%}"


def _measured(new_database: NewDatabase, content: bytes, chunks: Sequence[Statements], seconds: int) -> Figures:
    """Both alternately, each time on a new database."""
    figures = Figures()
    names = (f"import_{number}" for number in count())
    _imported_chunks(new_database(next(names)), content, 1)
    for _ in range(ROUNDS):
        warrants, took = _imported_chunks(new_database(next(names)), content, seconds)
        figures.imported.append(warrants / took)
        with bare_writer(new_database(next(names))) as write, on_core(SERVER_CORE):
            started, written = time.perf_counter(), 0
            for chunk in chunks:
                if written >= warrants:
                    break
                write(chunk)
                written += len(dict(chunk)[WARRANT.insert])
            figures.bare.append(written / (time.perf_counter() - started))
    return figures


def _imported_chunks(database_url: str, content: bytes, seconds: float) -> tuple[int, float]:
    """How many warrants were imported, and how many seconds it took."""
    started = time.perf_counter()
    reached: list[tuple[int, float]] = []

    def told(so_far: Reached) -> None:
        took = time.perf_counter() - started
        reached.append((so_far.imported.warrants, took))
        if took >= seconds:
            raise EnoughTime

    settings = read_settings({"database_url": database_url}, {})
    migrate_store(settings)
    with on_core(SERVER_CORE):
        started = time.perf_counter()
        with suppress(EnoughTime):
            import_file(ImportTarget(settings, CHUNK_LINES), io.BufferedReader(io.BytesIO(content)), "benchmark", told)
    return reached[-1]


def read_written_chunks(content: bytes) -> list[Statements]:
    """What an import of the whole leaves behind in its tables, chunk by chunk."""
    with STORES["SQLite"]() as new_database:
        url = new_database("written")
        _imported_chunks(url, content, float("inf"))
        database = read_database_url(url)
        assert isinstance(database, SqliteUrl)
        with closing(apsw.Connection(database.path)) as connection:
            columns = "revision, written_at, actor, request_id"  # as in INSERT_REVISION, without the bits
            revisions = connection.execute(f"SELECT {columns} FROM revision WHERE revision > 1")
            return [_chunk(connection, row) for row in revisions.fetchall()]


def _chunk(connection: apsw.Connection, revision: tuple[Any, ...]) -> Statements:
    def found(text: str) -> list[Any]:
        return connection.execute(text, revision[:1]).fetchall()

    changes = found(
        "SELECT revision, position, action, kind, key, before, after, starts_at, expires_at FROM change "
        "WHERE revision = ? ORDER BY position"
    )
    keys = [msgspec.json.decode(str(row[4]), type=tuple[str, ...]) for row in changes if row[3] == "object"]
    warrants = found(
        "SELECT object_type, object_id, relation, subject_type, subject_id, subject_relation, policy, number, "
        "created_at, created_revision, starts_at, expires_at FROM warrant "
        "WHERE created_revision = ? ORDER BY number"
    )
    return [
        rows_of_store(MOVE_HEAD, [(revision[0], BITS, len(warrants), len(keys))]),
        rows_of_store(INSERT_REVISION, [(1, revision[0], BITS, *revision[1:])]),
        rows_of_store(INSERT_CHANGE, changes),
        rows_of_store(OBJECT.insert, [(*key, None, revision[1], revision[0]) for key in keys]),
        rows_of_store(WARRANT.insert, warrants),
    ]
