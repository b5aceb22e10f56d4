"""What only PostgreSQL can do to us: encodings, isolation levels, and connections that others hold."""

import asyncio

import psycopg
import pytest

from magistrate import wiring
from magistrate.config import PostgresUrl, read_database_url
from magistrate.engine.terms import ObjectId, TypeName, object_ref
from magistrate.errors import InvalidSetting, OutcomeUnknown, StoreUnavailable
from magistrate.store.contract import NewObject, Stamp, Store
from magistrate.store.postgres_connections import translate_error
from tests.databases import PostgresServer, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1)


async def put(store: Store, id: str) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(id), None)], STAMP)


def test_a_database_that_is_not_utf8_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_url("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")

    with pytest.raises(InvalidSetting, match="LATIN1"):
        wiring.migrate_store(settings_for(url))


async def test_a_stricter_default_isolation_does_not_make_writers_fail(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    database = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    run_sql(url, f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'")
    wiring.migrate_store(settings_for(url))
    stores = [await wiring.open_store(settings_for(url)) for _ in range(3)]

    await asyncio.gather(*(put(stores[n % 3], f"id-{n}") for n in range(60)))

    assert await stores[0].check() == 60
    for store in stores:
        await store.close()


async def test_writers_that_wait_leave_connections_to_readers(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    settings = settings_for(url, postgres_connections=3, store_timeout_ms=3_000)
    wiring.migrate_store(settings)
    store = await wiring.open_store(settings)
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

    wiring.migrate_store(settings_for(url))
    wiring.migrate_store(settings_for(f"postgres://postgres@{quoted}/{database}"))


def test_a_write_that_is_cancelled_while_it_commits_has_an_unknown_outcome() -> None:
    assert isinstance(translate_error(asyncio.CancelledError(), is_unknown=True), OutcomeUnknown)
    assert not isinstance(translate_error(asyncio.CancelledError()), OutcomeUnknown)
