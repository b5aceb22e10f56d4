"""A hot standby: what is read there is exact, and nothing that the primary has committed is missed."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack

import psycopg
import pytest

from magistrate.engine.names import TypeName
from magistrate.store.contract.new_rows import NewObjectType
from magistrate.store.contract.revisions import Mark
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import PostgresServer, run_sql
from tests.running import settings_for
from tests.standby import Standby, standby_of
from tests.store.followed_stores import AGED, Process

pytestmark = pytest.mark.anyio

NAMES = ("first", "second", "third")
MOVE = "UPDATE head SET revision = revision + 1, moved = pg_current_xact_id()::text::bigint WHERE store = %s"


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[Standby]:
    """One for each test, which may promote it."""
    with standby_of(primary) as standby:
        yield standby


@pytest.fixture
async def url(primary: PostgresServer) -> str:
    """A database of the primary, with stores."""
    url = primary.new_url()
    migrate_store(settings_for(url))
    stores = await open_stores(settings_for(url))
    for name in NAMES:
        types = [NewObjectType(TypeName("document"), "{}")]
        await stores.create(NewStore(name, "", StoreLimits(), "ann", 5, types=types))
    await stores.close()
    return url


@pytest.fixture
async def process(standby: Standby, url: str) -> AsyncIterator[Process]:
    """A process that has these stores open on the standby, and follows them."""
    standby.catch_up(url)
    async with AsyncExitStack() as stack:
        stores = await open_stores(settings_for(standby.url(url)))
        stack.push_async_callback(stores.close)
        stored = [await stores.find_store(name) for name in NAMES]
        process = Process(stores, tuple(stores.open_store(each) for each in stored if each is not None))
        await process.begin()
        yield process


async def list_confirmed(process: Process, marks: Sequence[Mark]) -> list[bool]:
    """Which of the stores have not moved since their marks."""
    await asyncio.sleep(AGED)
    return [await store.confirm_mark(mark) for store, mark in zip(process.opened, marks, strict=True)]


async def list_numbers(process: Process) -> list[int]:
    return [stored.number for name in NAMES if (stored := await process.stores.find_store(name)) is not None]


async def test_transactions_that_commit_out_of_order_are_never_missed(
    process: Process, standby: Standby, url: str
) -> None:
    """A snapshot of a standby does not name the transactions that were running on the primary."""
    numbers = await list_numbers(process)
    with psycopg.connect(url) as early, psycopg.connect(url) as late:
        for connection, number in ((early, numbers[0]), (late, numbers[1])):
            connection.execute(MOVE, (number,))
        run_sql(url, MOVE % numbers[2])
        seen = []
        for commit in (None, late, early):
            standby.catch_up(url)
            marks = [store.mark() for store in process.opened]
            await list_confirmed(process, marks)
            if commit is not None:
                commit.commit()
                standby.catch_up(url)
            seen.append(await list_confirmed(process, marks))

    assert [confirmed[0] for confirmed in seen] == [True, True, False]
    assert [confirmed[1] for confirmed in seen][:2] == [True, False]


async def test_a_standby_that_is_promoted_confirms_nothing_from_before(
    process: Process, standby: Standby, url: str
) -> None:
    """What was running on the primary at the last look, and was committed until the promotion, was not seen to run."""
    [number, *_] = await list_numbers(process)
    with psycopg.connect(url) as open_transaction:
        open_transaction.execute(MOVE, (number,))
        run_sql(url, "SELECT pg_current_xact_id()")
        standby.catch_up(url)
        marks = [store.mark() for store in process.opened]
        await list_confirmed(process, marks)
        open_transaction.commit()
        standby.catch_up(url)
        standby.promote()

        assert (await list_confirmed(process, marks))[0] is False
