"""Replicas of a PostgreSQL database: what they answer is what the primary would have said at that revision, and what
they cannot answer is read from the primary."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Stamp
from magistrate.store.contract.read_origins import OLDEST_READ
from magistrate.store.contract.revisions import NOTHING_WRITTEN, STALE_MS, RevisionId
from magistrate.store.contract.store import Store
from magistrate.store.postgres import replicas
from magistrate.wiring.stores import migrate_store, open_stores
from tests.captured_log import captured_log
from tests.databases import PostgresServer
from tests.running import settings_for
from tests.standby import Standby, standby_of

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 5)
SEEN_SECONDS = (STALE_MS + 10) / 1_000
"""Is the age from which every read sees the writes of other processes."""
LONG_SECONDS = 2.5
"""Is longer than from one probe of a replica until the next has failed."""
FROZEN_READ_SECONDS = 5.0
"""Is far above the time after which a replica is given up, and below that after which the store is."""


@pytest.fixture
def url(primary: PostgresServer, standby: Standby) -> str:
    url = primary.new_url()
    migrate_store(settings_for(url))
    standby.catch_up(url)
    return url


@asynccontextmanager
async def opened(url: str, replica_url: str) -> AsyncIterator[Store]:
    """The store `default` with a replica, which it has found to answer."""
    stores = await open_stores(settings_for(url, read_database_url=replica_url))
    try:
        types = [NewObjectType(TypeName("document"), "{}")]
        await stores.default.put_object_types(types, lambda _: None, STAMP)
        yield stores.default
    finally:
        await stores.close()


@pytest.fixture
async def store(url: str, standby: Standby) -> AsyncIterator[Store]:
    async with opened(url, standby.url(url)) as store:
        await until_served(store, standby, url)
        yield store


async def put(store: Store, name: str) -> Revision:
    return (await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None)], STAMP)).revision


async def has(store: Store, name: str, at: Revision | None = None) -> tuple[bool, Revision]:
    found = await store.get_object(ObjectRef(TypeName("document"), ObjectId(name)), at)
    return found.value is not None, found.revision


async def until_served(store: Store, standby: Standby, url: str) -> None:
    """Reads at the newest revision until the replica answers."""
    standby.catch_up(url)
    newest = await store.check()
    served = store.count_replica_reads().served
    async with asyncio.timeout(30):
        while store.count_replica_reads().served == served:
            await has(store, "any", newest)
            await asyncio.sleep(0.02)


@contextmanager
def demanding(oldest: RevisionId) -> Iterator[None]:
    """Reads as in a request that demands no older revision."""
    token = OLDEST_READ.set(oldest)
    try:
        yield
    finally:
        OLDEST_READ.reset(token)


async def test_a_replica_answers_at_a_revision_that_it_holds(store: Store, standby: Standby, url: str) -> None:
    revision = await put(store, "plan")
    standby.catch_up(url)
    await until_served(store, standby, url)
    before, statements = store.count_replica_reads().served, store.statements

    assert await has(store, "plan", revision) == (True, revision)
    assert await has(store, "plan", Revision(revision - 1)) == (False, revision - 1)

    assert store.count_replica_reads().served == before + 2
    assert store.statements == statements


async def test_what_a_replica_lacks_is_read_from_the_primary(store: Store, standby: Standby, url: str) -> None:
    with standby.paused(url):
        revision = await put(store, "plan")
        before = store.count_replica_reads()

        assert await has(store, "plan", revision) == (True, revision)

        assert store.count_replica_reads() == before._replace(behind=before.behind + 1)
    await until_served(store, standby, url)


async def test_a_read_of_the_newest_revision_is_of_no_older_one_than_is_demanded(
    store: Store, standby: Standby, url: str
) -> None:
    with standby.paused(url):
        revision = await put(store, "plan")
        with demanding(await store.identify(revision)):
            assert await has(store, "plan") == (True, revision)
        assert await has(store, "plan") == (True, revision)


async def test_a_read_without_a_demand_sees_all_writes_of_its_process_at_once(
    store: Store, standby: Standby, url: str
) -> None:
    with standby.paused(url), demanding(NOTHING_WRITTEN):
        for number in range(10):
            revision = await put(store, f"plan-{number}")
            assert await has(store, f"plan-{number}") == (True, revision)


async def test_a_read_without_a_demand_sees_the_writes_of_other_processes_soon(
    store: Store, standby: Standby, url: str
) -> None:
    """It learns of them by these reads alone."""
    other = await open_stores(settings_for(url))
    try:
        with standby.paused(url), demanding(NOTHING_WRITTEN):
            for number in range(10):
                revision = await put(other.default, f"plan-{number}")
                await asyncio.sleep(SEEN_SECONDS)
                assert await has(store, f"plan-{number}") == (True, revision)
    finally:
        await other.close()


async def test_reads_that_come_together_find_out_together_what_is_the_newest_revision(
    store: Store, standby: Standby, url: str
) -> None:
    await until_served(store, standby, url)
    await asyncio.sleep(SEEN_SECONDS)
    statements, served = store.statements, store.count_replica_reads().served
    with demanding(NOTHING_WRITTEN):
        await asyncio.gather(*(has(store, f"plan-{number}") for number in range(20)))

    assert store.count_replica_reads().served == served + 20
    assert store.statements - statements <= 2


async def test_a_replica_that_is_ahead_shows_no_write_that_the_primary_lacks(url: str, primary: PostgresServer) -> None:
    """As when a primary fails over to a server that lacks its last writes, and one of its replicas has them."""
    async with opened(url, url) as store:
        await put(store, "plan")
    copied_from = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    replica_url = primary.new_url(f"TEMPLATE {copied_from} STRATEGY FILE_COPY")
    async with opened(replica_url, url) as ahead:
        for number in range(10):
            await put(ahead, f"lost-{number}")
    stores = await open_stores(settings_for(url, read_database_url=replica_url))
    try:
        newest = await stores.default.check()
        await asyncio.sleep(1.5)  # until it was looked at
        with demanding(NOTHING_WRITTEN):
            for number in range(10):
                assert await has(stores.default, f"lost-{number}") == (False, newest)
                await asyncio.sleep(SEEN_SECONDS)
    finally:
        await stores.close()


async def test_reads_outside_of_requests_are_of_the_newest_revision(store: Store, standby: Standby, url: str) -> None:
    with standby.paused(url):
        for number in range(10):
            revision = await put(store, f"plan-{number}")
            assert await has(store, f"plan-{number}") == (True, revision)


async def test_a_replica_that_is_away_is_done_without_until_it_is_back(
    store: Store, standby: Standby, url: str
) -> None:
    revision = await put(store, "plan")
    standby.catch_up(url)
    await until_served(store, standby, url)
    standby.stop()
    try:
        for _ in range(20):
            assert await has(store, "plan", revision) == (True, revision)
        assert store.count_replica_reads().failed <= 1
    finally:
        standby.start()

    await until_served(store, standby, url)


async def test_a_replica_that_does_not_answer_is_given_up_soon(store: Store, standby: Standby, url: str) -> None:
    revision = await put(store, "plan")
    standby.catch_up(url)
    await until_served(store, standby, url)
    with standby.frozen():
        async with asyncio.timeout(FROZEN_READ_SECONDS):
            found = await asyncio.gather(*(has(store, "plan", revision) for _ in range(5)))
        assert found == [(True, revision)] * 5
        served = store.count_replica_reads().served
        assert await has(store, "plan", revision) == (True, revision)
        assert store.count_replica_reads().served == served

    await until_served(store, standby, url)


async def test_another_database_is_never_believed(url: str, primary: PostgresServer) -> None:
    """It has as many revisions, and other writes."""
    other_url = primary.new_url()
    migrate_store(settings_for(other_url))
    async with opened(url, other_url) as store, opened(other_url, url) as other:
        for number in range(5):
            await put(other, f"other-{number}")
            await put(store, f"plan-{number}")
        newest = await store.check()
        await asyncio.sleep(1.5)  # until it was looked at

        for at in (None, newest, Revision(newest - 1)):
            with demanding(NOTHING_WRITTEN):
                assert (await has(store, "plan-0", at))[0]
                assert not (await has(store, "other-0", at))[0]
        assert store.count_replica_reads().served == 0


async def test_a_standby_that_was_promoted_and_written_to_is_never_believed(url: str, primary: PostgresServer) -> None:
    with standby_of(primary) as standby:
        replica_url = standby.url(url)
        async with opened(url, replica_url) as store:
            await until_served(store, standby, url)
            standby.promote()
            async with opened(replica_url, url) as other:
                lost = await put(other, "lost")
                for number in range(lost - await store.check() - 1):
                    await put(store, f"plan-{number}")
                kept = await put(store, "kept")
                assert kept == lost
                for at in (None, kept):
                    with demanding(NOTHING_WRITTEN):
                        await asyncio.sleep(SEEN_SECONDS)
                        assert await has(store, "lost", at) == (False, kept)
                        assert await has(store, "kept", at) == (True, kept)


@pytest.mark.parametrize("kind", ["empty", "foreign", "diverged"])
async def test_a_database_that_is_no_replica_is_not_used_and_said_so(
    url: str, primary: PostgresServer, kind: str
) -> None:
    async with opened(url, url) as store:
        await put(store, "plan")
    other_url = primary.new_url()
    if kind == "diverged":
        copied_from = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        other_url = primary.new_url(f"TEMPLATE {copied_from} STRATEGY FILE_COPY")
    elif kind == "foreign":
        migrate_store(settings_for(other_url))
    if kind != "empty":
        async with opened(other_url, url) as other:
            await put(other, "other")
    with captured_log(replicas) as logged:
        async with opened(url, other_url) as store:
            for number in range(5):
                await put(store, f"plan-{number}")
            async with asyncio.timeout(30):
                while not any(line["event"] == "a replica is not used" for line in logged):
                    await asyncio.sleep(0.02)
            before = store.count_replica_reads()
            for number in range(5):
                assert await has(store, f"plan-{number}", await store.check()) == (True, await store.check())
            assert store.count_replica_reads() == before
    reason = "it has other writes than the primary" if kind == "diverged" else "it is another database"
    assert [line["reason"] for line in logged if line["event"] == "a replica is not used"] == [reason]


async def test_long_reads_do_not_make_a_replica_pass_for_one_that_is_away(url: str, primary: PostgresServer) -> None:
    """They take all connections for longer than the time between two probes."""
    async with opened(url, url) as store:
        await put(store, "plan")
    copied_from = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    replica_url = primary.new_url(f"TEMPLATE {copied_from} STRATEGY FILE_COPY")
    stores = await open_stores(settings_for(url, read_database_url=replica_url, postgres_connections=2))
    store = stores.default
    try:
        newest = await store.check()
        async with asyncio.timeout(30):
            while not store.count_replica_reads().served:
                await has(store, "any", newest)
                await asyncio.sleep(0.02)
        before = store.count_replica_reads()
        with psycopg.connect(replica_url) as connection:
            connection.execute("LOCK TABLE object IN ACCESS EXCLUSIVE MODE")
            reads = [asyncio.create_task(has(store, "plan", newest)) for _ in range(2)]
            await asyncio.sleep(LONG_SECONDS)
            connection.rollback()
        assert await asyncio.gather(*reads) == [(True, newest)] * 2
        assert store.count_replica_reads() == before._replace(served=before.served + 2)
    finally:
        await stores.close()


async def test_no_replica_is_needed_at_the_start(url: str, tmp_path: Path) -> None:
    nowhere = f"postgresql://postgres@/postgres?host={tmp_path}"
    async with opened(url, nowhere) as store:
        revision = await put(store, "plan")
        assert await has(store, "plan", revision) == (True, revision)
