"""What only PostgreSQL can do to us: encodings, isolation levels, and connections that others hold."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import InvalidSetting, OutcomeUnknown, StoreUnavailable
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.postgres import connections, read_pool
from magistrate.store.postgres.connections import translate_error
from magistrate.store.sql.postgres import CHECK_CLIENT
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer, run_sql, set_default
from tests.processes.relay import relaying
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1)


async def put(store: Store, object_id: str) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(object_id), None)], STAMP)


def test_a_database_that_is_not_utf8_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_url("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")

    with pytest.raises(InvalidSetting, match="LATIN1"):
        migrate_store(settings_for(url))


async def test_a_stricter_default_isolation_does_not_make_writers_fail(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    set_default(url, "default_transaction_isolation", "serializable")
    migrate_store(settings_for(url))
    stores = [await open_store(settings_for(url)) for _ in range(3)]

    await asyncio.gather(*(put(stores[n % 3], f"id-{n}") for n in range(60)))

    assert await stores[0].check() == 60
    for store in stores:
        await store.close()


async def test_writers_that_wait_leave_connections_to_readers(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    settings = settings_for(url, postgres_connections=3, store_timeout_ms=3_000)
    migrate_store(settings)
    store = await open_store(settings)
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)

    with psycopg.connect(database.conninfo) as holder:
        holder.execute("SELECT * FROM head FOR UPDATE")
        writes = [asyncio.create_task(put(store, f"id-{n}")) for n in range(12)]
        await asyncio.sleep(0.2)
        found = await store.get_object(object_ref("d", "x"))
        assert not any(write.done() for write in writes)
        outcomes = await asyncio.gather(*writes, return_exceptions=True)

    assert found.revision == 0
    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    assert await store.check() == 0
    await put(store, "afterwards")
    await store.close()


@pytest.mark.parametrize(
    "form", ["postgresql://postgres@/{db}?host={dir}", "postgresql:///{db}?host={dir}&user=postgres"]
)
async def test_urls_in_the_forms_of_libpq(postgres: PostgresServer, form: str) -> None:
    database = psycopg.conninfo.conninfo_to_dict(postgres.new_url())["dbname"]
    quoted = str(postgres.socket_folder).replace("/", "%2F")
    url = form.format(db=database, dir=quoted)

    migrate_store(settings_for(url))
    migrate_store(settings_for(f"postgres://postgres@{quoted}/{database}"))


def test_a_write_that_is_cancelled_while_it_commits_has_an_unknown_outcome() -> None:
    assert isinstance(translate_error(asyncio.CancelledError(), is_unknown=True), OutcomeUnknown)
    assert not isinstance(translate_error(asyncio.CancelledError()), OutcomeUnknown)


async def open_with_one_connection(url: str) -> SqlStore:
    store = await open_store(settings_for(url, postgres_connections=1))
    assert isinstance(store, SqlStore)
    return store


async def read_pid(store: SqlStore) -> int:
    [(pid,)] = await store.database.read("SELECT pg_backend_pid()", ())
    return int(pid)


async def test_connections_to_a_server_that_was_read_only_are_replaced(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    store = await open_with_one_connection(url)
    set_default(url, "default_transaction_read_only", "on")
    postgres.terminate_connections(url)
    with pytest.raises(StoreUnavailable, match="read-only"):
        await put(store, "during")
    set_default(url, "default_transaction_read_only", "off")

    deadline = time.monotonic() + 10
    while await store.check() == 0:
        assert time.monotonic() < deadline, "it keeps the connection that is read-only"
        with suppress(StoreUnavailable):
            await put(store, "afterwards")
        await asyncio.sleep(0.1)

    await store.close()


async def test_a_server_that_stays_read_only_is_not_connected_to_for_each_write(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    set_default(url, "default_transaction_read_only", "on")
    store = await open_with_one_connection(url)

    pids = set()
    for number in range(10):
        with pytest.raises(StoreUnavailable, match="read-only"):
            await put(store, f"id-{number}")
        pids.add(await read_pid(store))

    assert len(pids) < 5
    await store.close()


async def test_a_statement_that_takes_longer_than_the_server_allows_is_run_once(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    run_sql(url, "CREATE SEQUENCE run")
    set_default(url, "statement_timeout", "100")
    store = await open_with_one_connection(url)
    pid = await read_pid(store)

    with pytest.raises(StoreUnavailable):
        await store.database.read("SELECT nextval('run'), pg_sleep(10)", ())

    assert await store.database.read("SELECT last_value FROM run", ()) == [(1,)]
    assert await read_pid(store) == pid
    await store.close()


COUNT_SLEEPERS = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_sleep%' AND state = 'active'"""


async def wait_for_sleepers(url: str, count: int) -> None:
    """Returns when the server runs so many statements that sleep."""
    deadline = time.monotonic() + 20
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(COUNT_SLEEPERS).fetchone() != (count,):
            assert time.monotonic() < deadline, "it does not come to so many"
            await asyncio.sleep(0.05)


async def test_reads_that_are_broken_off_do_not_run_on_at_the_server(postgres: PostgresServer) -> None:
    url = postgres.new_migrated_url()
    settings = settings_for(url, store_timeout_ms=200, postgres_connections=3)
    migrate_store(settings)
    store = await open_store(settings)
    assert isinstance(store, SqlStore)

    for _ in range(5):
        reads = [store.database.read("SELECT pg_sleep(60)", ()) for _ in range(3)]
        outcomes = await asyncio.gather(*reads, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}

    await wait_for_sleepers(url, 0)
    await store.close()


async def leave_during_a_read(store: SqlStore, url: str, seconds: float) -> None:
    """Returns when a read is cancelled that the server runs."""
    sleeping = asyncio.create_task(store.database.read(f"SELECT pg_sleep({seconds})", ()))
    await wait_for_sleepers(url, 1)
    sleeping.cancel()
    with suppress(asyncio.CancelledError):
        await sleeping


async def test_only_a_read_that_takes_long_costs_a_connection_when_its_caller_leaves(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    store = await open_with_one_connection(url)
    pid = await read_pid(store)

    await leave_during_a_read(store, url, 60)
    after_long_read = await read_pid(store)
    await wait_for_sleepers(url, 0)
    monkeypatch.setattr(read_pool, "ABANDONED_SECONDS", 20.0)  # however slow the machine is
    await leave_during_a_read(store, url, 1)

    assert after_long_read != pid
    assert await read_pid(store) == after_long_read
    await store.close()


async def read_parameter(url: str, name: str, **settings: int) -> str:
    store = await open_store(settings_for(url, **settings))
    assert isinstance(store, SqlStore)
    [(value,)] = await store.database.read(f"SELECT current_setting('{name}')", ())
    await store.close()
    return str(value)


async def read_check_interval(url: str, **settings: int) -> str:
    return await read_parameter(url, "client_connection_check_interval", **settings)


async def test_the_server_looks_for_the_client_once_a_second_unless_it_is_told_how_often(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    assert await read_check_interval(url) == "1s"
    assert await read_check_interval(url, store_timeout_ms=300) == "300ms"
    set_default(url, "client_connection_check_interval", "5000")
    assert await read_check_interval(url) == "5s"


async def test_the_server_ends_a_transaction_that_is_sent_nothing_unless_it_is_told_when(
    postgres: PostgresServer,
) -> None:
    url, name = postgres.new_migrated_url(), "idle_in_transaction_session_timeout"
    migrate_store(settings_for(url))

    assert await read_parameter(url, name) == "10s"
    assert await read_parameter(url, name, store_timeout_ms=300) == "10s"
    assert await read_parameter(url, name, store_timeout_ms=20_000) == "20s"
    set_default(url, name, "5000")
    assert await read_parameter(url, name) == "5s"


@pytest.mark.parametrize("other", ["no_such_parameter", "server_version_num"])
async def test_a_server_that_cannot_look_for_its_client_is_used_without(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """One does not know the parameter, the other refuses to have it set."""
    url = postgres.new_url()
    migrate_store(settings_for(url))
    statement = CHECK_CLIENT.replace("client_connection_check_interval", other)
    monkeypatch.setattr(connections, "CHECK_CLIENT", statement.replace("= '0'", "<> '0'"))

    assert await read_check_interval(url) == "0"


async def test_a_server_that_accepts_connections_and_answers_nothing_is_connected_to_again() -> None:
    # AuthenticationOk, BackendKeyData and ReadyForQuery.
    greeting = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\1\0\0\0\1Z\0\0\0\5I"
    connected, ended = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_024)
        writer.write(greeting)
        connected.release()
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.release()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"postgresql://ann@127.0.0.1:{port}/d?sslmode=disable&gssencmode=disable"
    pool = connections.ConnectionPool(url, connections.Pooling(1, timeout_ms=200))
    await pool.open()

    try:
        for _ in range(3):
            await asyncio.wait_for(connected.acquire(), 20)
            await asyncio.wait_for(ended.acquire(), 20)
    finally:
        await pool.close()
        server.close()


async def test_a_server_that_is_away_for_long_is_connected_to_again_and_again(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody requests a connection meanwhile. The pauses alone, were they doubled each time, would take minutes."""
    monkeypatch.setattr(connections, "RECONNECT_SECONDS", 0.1)
    with relaying(tmp_path, postgres.new_migrated_url()) as relay:
        migrate_store(settings_for(relay.url))
        store = await open_with_one_connection(relay.url)
        relay.refuse()
        with pytest.raises(StoreUnavailable):
            await read_pid(store)

        deadline = time.monotonic() + 20
        while relay.refused < 10:
            assert time.monotonic() < deadline, f"it has tried {relay.refused} times"
            await asyncio.sleep(0.01)
        relay.mend()
        await read_pid(store)
        await store.close()
