"""How long writes to a store wait while the rows of another one are removed that was deleted."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import apsw
import httpx
import msgspec
import psycopg

from benchmarks.databases import STORES
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table
from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.config.settings import read_settings
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.store.contract.new_rows import NewObjectType, NewWarrant, Stamp
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.wiring.stores import migrate_store, open_stores

WARRANTS = 1_000_000
WARRANTS_AT_ONCE = 1_000
USERS = 5_000
PAUSE_SECONDS = 0.003
"""Between two writes, so that the processor has time for the removal as well."""
QUIET_SECONDS = 5
SECONDS_AT_ONCE = 2
MAX_SECONDS = 1_800
TARGET_MS = 50

DELETED, OTHER = "deleted", "other"
DOCUMENT, USER, VIEWER = TypeName("document"), TypeName("user"), RelationName("viewer")
DEFINITION = '{"relations": {"viewer": {}}}'
STAMP = Stamp("benchmark", 0)
FIND_DELETED = "SELECT 1 FROM head WHERE deleted_at IS NOT NULL"


def measure_store_removal(seconds: int, warrants: int = WARRANTS) -> str:
    """A table. Takes as long as the removal does, whatever `seconds` are."""
    rows = [row for name in STORES for row in _measure(name, warrants)]
    title = f"POST of one object to a store, alone and while one with {warrants:,} warrants is removed"
    return markdown_table(title, ("", "writes", "p50 ms", "p99 ms", "longest ms", "target"), rows)


def _measure(name: str, warrants: int) -> Iterator[tuple[str, ...]]:
    with STORES[name]() as new_database:
        url = new_database("removal")
        asyncio.run(_fill(url, warrants))
        with serving(url) as server:
            alone = _write(server, "alone", QUIET_SECONDS)
            began_at = time.perf_counter()
            deleted = httpx.delete(
                f"{server.url}/v2/stores/{DELETED}", headers={"Authorization": AUTHORIZATION}, trust_env=False
            )
            deleted.raise_for_status()
            meanwhile: list[float] = []
            for number in itertools.count():
                meanwhile += _write(server, f"while-{number}", SECONDS_AT_ONCE)
                if not _is_being_removed(url):
                    break
                if time.perf_counter() - began_at > MAX_SECONDS:
                    raise RuntimeError(f"the store was not removed in {MAX_SECONDS} seconds")
            removed_seconds = time.perf_counter() - began_at
    yield _row(f"{name}, alone", alone, "")
    yield _row(f"{name}, while it is removed, in {removed_seconds:,.0f} s", meanwhile, f"<= {TARGET_MS}")


async def _fill(url: str, warrants: int) -> None:
    settings = read_settings({"database_url": url}, {})
    migrate_store(settings)
    stores = await open_stores(settings)
    types = (NewObjectType(USER, '{"relations": {}}'), NewObjectType(DOCUMENT, DEFINITION))
    await stores.create(NewStore(OTHER, "", StoreLimits(), STAMP.actor, STAMP.at, types=types))
    deleted = await stores.create(NewStore(DELETED, "", StoreLimits(), STAMP.actor, STAMP.at, types=types))
    store = stores.open_store(deleted)
    for start in range(0, warrants, WARRANTS_AT_ONCE):
        numbers = range(start, min(start + WARRANTS_AT_ONCE, warrants))
        await store.put_warrants([_new_warrant(number) for number in numbers], lambda _: None, STAMP)
    await stores.close()


def _new_warrant(number: int) -> NewWarrant:
    user = Subject(USER, ObjectId(f"user-{number % USERS}"))
    return NewWarrant(ObjectRef(DOCUMENT, ObjectId(f"document-{number}")), VIEWER, user)


def _write(server: Server, name: str, seconds: float) -> Sequence[float]:
    """Returns the seconds that each write has taken."""
    return drive(server.url, _requests(name), 1, seconds).latencies


def _requests(name: str) -> Iterator[bytes]:
    for number in itertools.count():
        time.sleep(PAUSE_SECONDS)
        body = msgspec.json.encode({"objectType": DOCUMENT, "objectId": f"{name}-{number}"})
        yield request_bytes("POST", f"/stores/{OTHER}/v2/objects", body)


def _is_being_removed(url: str) -> bool:
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path, flags=apsw.SQLITE_OPEN_READONLY)) as sqlite:
            return bool(sqlite.execute(FIND_DELETED).fetchall())
    with psycopg.connect(database.conninfo) as postgres:
        return bool(postgres.execute(FIND_DELETED).fetchall())


def _row(name: str, seconds: Sequence[float], target: str) -> tuple[str, ...]:
    *_, p99 = statistics.quantiles(seconds, n=100)
    return (
        name,
        f"{len(seconds):,}",
        f"{1_000 * statistics.median(seconds):.1f}",
        f"{1_000 * p99:.1f}",
        f"{1_000 * max(seconds):.1f}",
        target,
    )
