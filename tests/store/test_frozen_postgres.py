"""A PostgreSQL that is there and answers nothing, as when its machine is overloaded or its disk hangs.

Nothing here measures time: what must not wait for the server is done before PATIENCE_SECONDS are over, and what waits
for it is not, because psycopg waits so long for a server to cancel a statement."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import OutcomeUnknown, StoreUnavailable
from magistrate.store.contract.new_rows import NewObject, Once, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.postgres import connections
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer
from tests.processes.relay import Relay, relaying
from tests.running import settings_for

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 4.0
STORE_TIMEOUT_MS = 300


async def put(store: Store, object_id: str, once: Once | None = None) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(object_id), None)], Stamp("ann", 1, once))


async def get(store: Store) -> None:
    await store.get_object(object_ref("d", "x"))


async def patiently(awaited: Awaitable[object]) -> object:
    """What it raised or answered. Fails if that takes as long as a server that is waited for."""
    task = asyncio.ensure_future(awaited)
    done, _ = await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
    assert done, "it waits for the server"
    return task.exception() or task.result()


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    return url


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    store = await open_store(settings_for(url, store_timeout_ms=STORE_TIMEOUT_MS, postgres_connections=3))
    await put(store, "before")
    yield store
    await store.close()


@pytest.mark.parametrize("ask", [get, lambda store: store.check(), lambda store: put(store, "x")])
async def test_the_store_timeout_holds_and_what_was_not_committed_is_not_written(
    postgres: PostgresServer, store: Store, ask: Callable[[Store], Awaitable[object]]
) -> None:
    with postgres.frozen():
        outcomes = await asyncio.gather(*(patiently(ask(store)) for _ in range(8)))

    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    assert await head(store) == 1
    await put(store, "afterwards")


async def head(store: Store) -> int:
    """As soon as the server has come to itself."""
    for _ in range(50):
        try:
            return await store.check()
        except StoreUnavailable:
            await asyncio.sleep(0.1)
    return await store.check()


async def test_whoever_stops_waiting_is_let_go_at_once(postgres: PostgresServer, url: str) -> None:
    store = await open_store(settings_for(url, store_timeout_ms=60_000))
    await get(store)
    with postgres.frozen():
        tasks = [asyncio.create_task(work) for work in (get(store), put(store, "x"))]
        await asyncio.sleep(0.1)  # they are at the server
        for task in tasks:
            task.cancel()
        done, _ = await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)

    assert [task.cancelled() for task in done] == [True, True]
    assert await head(store) == 0
    await store.close()


async def test_of_a_write_that_was_being_committed_the_outcome_is_said_to_be_unknown(
    postgres: PostgresServer, url: str
) -> None:
    with ExitStack() as frozen:
        begun: list[str] = []

        def freeze_at_commit(sql: str) -> None:
            if sql == "COMMIT" and not begun:
                begun.append(sql)
                postgres.freeze(frozen)

        store = await open_store(settings_for(url, store_timeout_ms=STORE_TIMEOUT_MS), freeze_at_commit)
        once = Once("key", "fingerprint")
        outcome = await patiently(put(store, "x", once))
        frozen.close()

        assert isinstance(outcome, OutcomeUnknown)
        assert "whether it was made is not known" in outcome.message
        await head(store)
        await put(store, "x", once)  # makes it if it was not made
        assert (await store.get_object(object_ref("d", "x"))).value is not None
        assert await head(store) == 1
        await store.close()


async def test_one_that_stops_waiting_takes_no_other_write_along(postgres: PostgresServer, url: str) -> None:
    store = await open_store(settings_for(url, store_timeout_ms=20_000))
    await get(store)
    with postgres.frozen():
        tasks = [asyncio.create_task(put(store, f"id-{number}")) for number in range(6)]
        await asyncio.sleep(0.1)
        tasks[0].cancel()
        tasks[3].cancel()
        await asyncio.wait([tasks[0], tasks[3]], timeout=PATIENCE_SECONDS)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [place for place, outcome in enumerate(outcomes) if outcome is None] == [1, 2, 4, 5]
    for number in (1, 2, 4, 5):
        assert (await store.get_object(object_ref("d", f"id-{number}"))).value is not None
    await store.close()


async def test_a_dead_connection_is_not_lent_once_the_database_answers_on_others(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover to another machine with the same address. The one statement that was sent is waited for, and
    so is each that is sent on a connection of before: for longer than this test."""
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2.0)  # psycopg takes no less
    with relaying(tmp_path, postgres.new_migrated_url()) as relay:
        migrate_store(settings_for(relay.url))
        store = await open_store(settings_for(relay.url, store_timeout_ms=120_000, postgres_connections=2))
        while store.count_connections().idle < 2:
            await asyncio.gather(*(get(store) for _ in range(20)))

        relay.fall_silent()
        unanswered = asyncio.create_task(get(store))
        await wait_for_attempts(relay, 1)
        waiting = asyncio.create_task(get(store))
        # A connection is tried to be made twice: the third shows that somebody who waits is enough to begin anew.
        await wait_for_attempts(relay, 3)
        relay.answer_again()

        await asyncio.wait_for(waiting, 60)
        await asyncio.wait_for(get(store), 60)
        assert not unanswered.done()
        unanswered.cancel()
        await store.close()


async def test_a_process_whose_machine_has_gone_within_a_write_does_not_stop_others_from_writing(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server never learns that it has gone, and keeps its lock on the store."""
    monkeypatch.setattr(connections, "IDLE_TRANSACTION_MS", 1_000)
    url = postgres.new_migrated_url()
    with relaying(tmp_path, url) as relay:
        migrate_store(settings_for(url))

        def go_at_commit(sql: str) -> None:
            if sql == "COMMIT":
                relay.fall_silent()

        gone = await open_store(settings_for(relay.url, store_timeout_ms=STORE_TIMEOUT_MS), go_at_commit)
        other = await open_store(settings_for(url, store_timeout_ms=60_000))
        assert isinstance(await patiently(put(gone, "lost")), OutcomeUnknown)

        await asyncio.wait_for(put(other, "x"), 60)
        assert await other.check() == 1
        for store in (gone, other):
            await store.close()


async def wait_for_attempts(relay: Relay, number: int) -> None:
    deadline = asyncio.get_running_loop().time() + 60
    while relay.unanswered < number:
        assert asyncio.get_running_loop().time() < deadline, f"there were {relay.unanswered} attempts to connect"
        await asyncio.sleep(0.02)
