"""While the database does not answer, nobody waits for longer than one wait takes, however many there are. On SQLite
nothing makes a reader wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.errors import StoreUnavailable
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.wiring.contexts import open_context
from magistrate.wiring.stores import migrate_store
from tests.databases import PostgresServer
from tests.operations.stored_warrants import DRIVE, define, grant, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio

ASKED = question("folder:0#viewer@user:ann")


@asynccontextmanager
async def locked(url: str, *tables: str) -> AsyncIterator[None]:
    """Nobody else can read the tables."""
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    async with await psycopg.AsyncConnection.connect(database.conninfo) as connection:
        await connection.execute(f"LOCK TABLE {', '.join(tables)}")
        yield


async def check_asked(ctx: Context) -> object:
    return await check_all(ctx, [ASKED], NO_DEMAND)


async def find_key(ctx: Context) -> object:
    return await ctx.caches.session_keys.find("0" * 16)


@pytest.mark.parametrize("ask", [check_asked, find_key])
async def test_all_who_wait_for_one_read_get_its_error(
    postgres: PostgresServer, ask: Callable[[Context], Awaitable[object]]
) -> None:
    url = postgres.new_url()
    settings = settings_for(url, store_timeout_ms=300)
    migrate_store(settings)
    async with open_context(settings) as context:
        await define(context, DRIVE)
        await grant(context, "folder:0#viewer@user:ann")
        before = context.store.statements

        async with locked(url, "head", "session_key"):
            told = await asyncio.gather(*(ask(context) for _ in range(20)), return_exceptions=True)
        tried = context.store.statements - before

        assert [type(one) for one in told] == [StoreUnavailable] * 20
        assert tried == 1
        assert not isinstance(await ask(context), Exception)
