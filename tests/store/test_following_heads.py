"""How stores in use on PostgreSQL learn together whether they have moved: exactly, and with one statement for all."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.engine.names import ObjectId, TypeName
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Stamp
from magistrate.store.contract.revisions import STALE_MS, Mark, Staleness
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.postgres import heads
from magistrate.store.postgres.heads import IN_USE_SECONDS, MAX_GAP_SECONDS
from magistrate.wiring.stores import migrate_store, open_stores
from tests.conftest import new_database_url
from tests.databases import Dump, dump, restore, run_sql
from tests.running import settings_for
from tests.store.followed_stores import AGED, Process

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 5)
NAMES = ("first", "second", "third")
CURRENT_TRANSACTION = "pg_current_xact_id()::text::bigint"


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    return new_database_url("postgres", tmp_path, request)  # type: ignore[arg-type]


@pytest.fixture
async def processes(url: str) -> AsyncIterator[tuple[Process, Process]]:
    migrate_store(settings_for(url))
    async with AsyncExitStack() as stack:
        both = []
        for number in range(2):
            stores = await open_stores(settings_for(url))
            stack.push_async_callback(stores.close)
            for name in NAMES if not number else ():
                types = [NewObjectType(TypeName("document"), "{}")]
                await stores.create(NewStore(name, "", StoreLimits(), "ann", 5, types=types))
            stored = [await stores.find_store(name) for name in NAMES]
            both.append(Process(stores, tuple(stores.open_store(each) for each in stored if each is not None)))
        yield both[0], both[1]


async def put(store: Store, name: str) -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None)], STAMP)


async def count_confirming(store: Store, mark: Mark) -> tuple[bool, int]:
    """Whether the store has not moved since the mark, and how many statements that took."""
    before = store.statements
    confirmed = await store.confirm_mark(mark)
    return confirmed, store.statements - before


async def test_one_statement_keeps_all_stores_fresh(processes: tuple[Process, Process]) -> None:
    process, _ = processes
    first, _, third = process.opened
    await process.begin()
    marks = [store.mark() for store in process.opened]
    await asyncio.sleep(2 * STALE_MS / 1_000)
    assert [store.staleness(mark) for store, mark in zip(process.opened, marks, strict=True)] == [Staleness.STALE] * 3

    assert await count_confirming(first, marks[0]) == (True, 1)

    fresh = [store.staleness(mark) for store, mark in zip(process.opened, marks, strict=True)]
    assert Staleness.STALE not in fresh
    assert third.measure_lag(marks[2]) < STALE_MS / 1_000
    together = await asyncio.gather(*(store.confirm_mark(store.mark()) for store in process.opened * 9))
    assert all(together)


async def test_a_store_that_another_process_has_written_to_is_not_confirmed(processes: tuple[Process, Process]) -> None:
    process, other = processes
    await process.begin()
    marks = [store.mark() for store in process.opened]
    await put(other.opened[1], "plan")
    await asyncio.sleep(STALE_MS / 1_000)

    confirmed = [await store.confirm_mark(mark) for store, mark in zip(process.opened, marks, strict=True)]
    again = [await store.confirm_mark(mark) for store, mark in zip(process.opened, marks, strict=True)]

    assert confirmed == again == [True, False, True]
    assert process.opened[1].staleness(marks[1]) == Staleness.STALE
    later = process.opened[1].mark()
    await asyncio.sleep(AGED)
    assert await process.opened[1].confirm_mark(later)


async def test_transactions_that_commit_out_of_order_are_never_missed(
    processes: tuple[Process, Process], url: str
) -> None:
    """Two transactions write to two stores. The one that began first commits last, and both after the heads were read
    in between; a third, which writes to nothing of ours, is open all the time."""
    process, _ = processes
    await process.begin()
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    move = f"UPDATE head SET revision = revision + 1, moved = {CURRENT_TRANSACTION} WHERE store = %s"
    numbers = [stored.number for name in NAMES if (stored := await process.stores.find_store(name)) is not None]
    with (
        psycopg.connect(database.conninfo) as idle,
        psycopg.connect(database.conninfo) as early,
        psycopg.connect(database.conninfo) as late,
    ):
        for connection in (idle, early, late):
            connection.execute("SELECT pg_current_xact_id()")
        early.execute(move, (numbers[0],))
        late.execute(move, (numbers[1],))
        seen = []
        for commit in (None, late, None, early, None):
            marks = [store.mark() for store in process.opened]
            if commit is not None:
                commit.commit()
            await asyncio.sleep(AGED)
            seen.append([await store.confirm_mark(mark) for store, mark in zip(process.opened, marks, strict=True)])

    assert seen == [[True] * 3, [True, False, True], [True] * 3, [False, True, True], [True] * 3]


async def test_what_this_process_has_written_itself_is_confirmed(processes: tuple[Process, Process]) -> None:
    """Its own changes are known without a statement, with a mark of before their commit."""
    process, other = processes
    await process.begin()
    first = process.opened[0]
    for name in ("plan", "draft"):
        before = await first.identify(await first.check())
        await put(first, name)
        changes = first.find_warrant_changes(before, 100)
        assert changes is not None
        mark, _ = changes
        await asyncio.sleep(STALE_MS / 1_000)
        assert await count_confirming(first, mark) == (True, 1)

    await put(other.opened[0], "other")
    await asyncio.sleep(AGED)
    assert not await first.confirm_mark(mark)


async def test_a_store_in_use_alone_takes_no_statement_of_all(processes: tuple[Process, Process]) -> None:
    process, _ = processes
    first, *_ = process.opened
    assert [await count_confirming(first, first.mark()) for _ in range(3)] == [(False, 0)] * 3

    await process.begin()
    await asyncio.sleep(IN_USE_SECONDS)

    assert await count_confirming(first, first.mark()) == (False, 0)
    assert await count_confirming(first, first.mark()) == (False, 0)


async def test_nobody_waits_for_a_statement_that_has_none_to_continue(processes: tuple[Process, Process]) -> None:
    process, _ = processes
    first, second, _ = process.opened
    await process.begin()
    mark = first.mark()
    await asyncio.sleep(MAX_GAP_SECONDS)

    assert not await second.confirm_mark(second.mark())
    assert not await first.confirm_mark(mark)
    await asyncio.sleep(AGED)
    assert not await first.confirm_mark(mark)


async def test_more_stores_that_moved_than_are_listed_all_count_as_moved(
    processes: tuple[Process, Process], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = processes
    monkeypatch.setattr(heads, "MAX_MOVED", 1)
    await process.begin()
    mark = process.opened[0].mark()
    for names, is_confirmed in ((("second",), True), (("second", "third"), False)):
        stored = [await process.stores.find_store(name) for name in names]
        numbers = ", ".join(str(each.number) for each in stored if each is not None)
        run_sql(url, f"UPDATE head SET moved = {CURRENT_TRANSACTION} WHERE store IN ({numbers})")
        await asyncio.sleep(AGED)
        assert await process.opened[0].confirm_mark(mark) == is_confirmed


async def test_a_deleted_store_is_not_confirmed(processes: tuple[Process, Process]) -> None:
    process, other = processes
    await process.begin()
    first = process.opened[0]
    await put(first, "plan")
    mark = first.mark()
    stored = await other.stores.find_store("first")
    assert stored is not None
    await other.stores.delete(stored.number, 50)
    await asyncio.sleep(AGED)

    assert not await first.confirm_mark(mark)


async def test_a_database_that_was_restored_confirms_nothing_from_before(
    processes: tuple[Process, Process], url: str
) -> None:
    """A store was found to have another history; others may have one, too, although their heads have not moved."""
    process, _ = processes
    await process.begin()
    default = process.stores.default
    await put_type(default)
    run_sql(url, "UPDATE revision SET bits = (bits + 1) % 1000 WHERE store = 1")
    run_sql(url, f"UPDATE head SET bits = (bits + 1) % 1000, moved = {CURRENT_TRANSACTION} WHERE store = 1")
    mark = process.opened[0].mark()
    await asyncio.sleep(AGED)
    assert await process.opened[0].confirm_mark(mark)
    history = default.known.history

    await process.stores.list_moved(0)

    assert default.known.history > history
    assert not await process.opened[0].confirm_mark(mark)


async def test_a_restore_that_took_back_another_store_confirms_nothing_from_before(
    processes: tuple[Process, Process], url: str
) -> None:
    """`Stores.list_moved` finds it by the last change that it has listed, which is not one of `default`."""
    process, _ = processes
    await process.begin()
    await put(process.opened[1], "plan")
    since, _ = await process.stores.list_moved(0)
    mark = process.opened[0].mark()
    await asyncio.sleep(AGED)
    assert await process.opened[0].confirm_mark(mark)
    stored = await process.stores.find_store("second")
    assert stored is not None
    for table in ("revision", "head"):
        run_sql(url, f"UPDATE {table} SET bits = (bits + 1) % 1000 WHERE store = {stored.number}")

    await process.stores.list_moved(since)

    assert not await process.opened[0].confirm_mark(mark)


def replace_rows(url: str, backup: Dump) -> None:
    """As `pg_restore --data-only` does after the tables were emptied."""
    run_sql(url, "TRUNCATE head")
    restore(url, backup)


@pytest.mark.parametrize("restoring", [restore, replace_rows])
async def test_rows_that_were_restored_in_place_are_noticed(
    processes: tuple[Process, Process], url: str, restoring: Callable[[str, Dump], None]
) -> None:
    """The transactions that the rows name are those from before."""
    process, other = processes
    backup = dump(url)
    await put(other.opened[0], "lost")
    await process.begin()
    marks = [store.mark() for store in process.opened]

    restoring(url, backup)
    await asyncio.sleep(AGED)

    confirmed = [await store.confirm_mark(mark) for store, mark in zip(process.opened, marks, strict=True)]
    later = [store.mark() for store in process.opened]
    await asyncio.sleep(AGED)
    assert confirmed == [False] * 3
    assert await process.opened[0].confirm_mark(later[0])


async def test_a_head_that_was_brought_back_to_an_own_write_has_moved(
    processes: tuple[Process, Process], url: str
) -> None:
    process, other = processes
    first = process.opened[0]
    await process.begin()
    await put(first, "kept")
    kept = await first.identify(await first.check())
    await put(other.opened[0], "lost")
    await asyncio.sleep(AGED)
    await process.begin()
    await first.list_warrant_changes(kept, 100)
    mark = first.mark()
    await asyncio.sleep(AGED)
    assert await first.confirm_mark(mark)
    stored = await other.stores.find_store("first")
    assert stored is not None
    moved = f"revision = {kept.revision}, bits = {kept.bits}, moved = {CURRENT_TRANSACTION}"
    run_sql(url, f"DELETE FROM revision WHERE store = {stored.number} AND revision > {kept.revision}")
    run_sql(url, f"UPDATE head SET {moved} WHERE store = {stored.number}")
    await asyncio.sleep(AGED)

    assert not await first.confirm_mark(mark)


async def put_type(store: Store) -> None:
    await store.put_object_types([NewObjectType(TypeName("document"), "{}")], lambda types: None, STAMP)


async def test_after_a_lost_connection_nothing_from_before_is_confirmed(
    processes: tuple[Process, Process], request: pytest.FixtureRequest, url: str
) -> None:
    """Another server may have taken over, which lacks some transactions and gives their numbers again."""
    process, _ = processes
    await process.begin()
    mark = process.opened[0].mark()
    await asyncio.sleep(AGED)
    assert await process.opened[0].confirm_mark(mark)

    request.getfixturevalue("postgres").terminate_connections(url)
    await asyncio.sleep(AGED)

    assert not await process.opened[0].confirm_mark(mark)
    later = process.opened[0].mark()
    await asyncio.sleep(AGED)
    assert await process.opened[0].confirm_mark(later)
