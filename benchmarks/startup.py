"""How soon a service is ready on a file that has been used, and what memory it then holds."""

import asyncio
import statistics
import time
from collections.abc import Iterator

from benchmarks.databases import sqlite_databases
from benchmarks.server import serving
from benchmarks.table import markdown_table
from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.engine.names import ObjectId, TypeName
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.sqlite.database import open_sqlite
from magistrate.store.sqlite.files import migrate_sqlite

OBJECTS = 100_000
STARTS = 5
IDLE_SECONDS = 1.0
"""Left alone for so long before its memory is looked at."""

TARGET_READY_SECONDS = 1.0
TARGET_RESIDENT_MB = 100


def measure_startup(seconds: int) -> str:
    """A table. It takes as long as STARTS starts take, whatever `seconds` is."""
    with sqlite_databases() as new_database:
        url = new_database("used")
        _fill(url)
        _start(url)  # the first one compiles modules and reads the file from disk
        starts = [_start(url) for _ in range(STARTS)]
    ready, resident = ([start[column] for start in starts] for column in (0, 1))
    header = ("", "median", "largest", "target")
    rows = [
        ("seconds to /readyz", f"{statistics.median(ready):.2f}", f"{max(ready):.2f}", f"< {TARGET_READY_SECONDS:.2f}"),
        ("MB resident, idle", f"{statistics.median(resident):.1f}", f"{max(resident):.1f}", f"≤ {TARGET_RESIDENT_MB}"),
    ]
    return markdown_table(f"Start on a SQLite file of {OBJECTS:,} objects", header, rows)


def _start(url: str) -> tuple[float, float]:
    with serving(url) as server:
        time.sleep(IDLE_SECONDS)
        return server.ready_seconds, server.resident_mb()


def _fill(url: str) -> None:
    database = read_database_url(url)
    assert isinstance(database, SqliteUrl)
    migrate_sqlite(database.path, timeout_ms=10_000)
    asyncio.run(_put(database.path))


async def _put(path: str) -> None:
    store = (await open_sqlite(path, timeout_ms=10_000)).default
    try:
        for batch in _batches():
            await store.put_objects(batch, Stamp("benchmark", time.time_ns() // 1_000))
    finally:
        await store.close()


def _batches(size: int = 1_000) -> Iterator[list[NewObject]]:
    for first in range(0, OBJECTS, size):
        yield [
            NewObject(TypeName("user"), ObjectId(f"user-{n}"), f'{{"name":"Ann {n}"}}', fresh=True)
            for n in range(first, first + size)
        ]
