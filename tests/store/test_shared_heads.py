"""What the workers of a service on PostgreSQL share of the heads that one of them follows: it saves statements, and
never says that a store has not moved when it has."""

import asyncio
import fcntl
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Stamp
from magistrate.store.contract.revisions import STALE_MS, Mark
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.leadership import ALONE, Leadership
from magistrate.store.postgres.shared_heads import SLOTS, ClockMeasurement, MovedHead, SharedHeads
from magistrate.wiring.stores import migrate_store, open_stores
from tests.conftest import new_database_url
from tests.running import settings_for
from tests.store.followed_stores import Process

pytestmark = pytest.mark.anyio

NAMES = ("first", "second", "third")
STALE_SECONDS = 1.5 * STALE_MS / 1_000


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database_url("postgres", tmp_path, request)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the workers of a service share."""
    shared = tmp_path / "shared"
    shared.mkdir()
    return shared


async def open_process(url: str, leadership: Leadership, stack: AsyncExitStack) -> Process:
    stores = await open_stores(settings_for(url), leadership=leadership)
    stack.push_async_callback(stores.close)
    stored = [await stores.find_store(name) for name in NAMES]
    return Process(stores, tuple(stores.open_store(each) for each in stored if each is not None))


@pytest.fixture
async def processes(url: str, folder: Path) -> AsyncIterator[tuple[Process, Process, Process]]:
    """A process that leads, one that shares what it follows, and one on another machine."""
    migrate_store(settings_for(url))
    async with AsyncExitStack() as stack:
        stores = await open_stores(settings_for(url))
        types = [NewObjectType(TypeName("document"), "{}")]
        for name in NAMES:
            await stores.create(NewStore(name, "", StoreLimits(), "ann", 5, types=types))
        await stores.close()
        leader = await open_process(url, Leadership(folder), stack)
        await asyncio.sleep(0)  # it takes the lead
        follower = await open_process(url, Leadership(folder), stack)
        other = await open_process(url, ALONE, stack)
        await be_fed(follower)
        yield leader, follower, other


async def be_fed(process: Process) -> None:
    """Needs what is followed, as a process does that answers checks, until another one has followed all that was
    written before."""
    async with asyncio.timeout(60):
        since = inf
        while process.stores.find_unmoved(since) is None:
            since = time.monotonic()
            for store in process.opened:
                await store.confirm_mark(store.mark())
            await asyncio.sleep(0.03)


async def expect_confirmed(process: Process, marks: Sequence[Mark]) -> None:
    """The stores are confirmed by what another process has followed, as soon as that one has time for it."""
    async with asyncio.timeout(60):
        for store, mark in zip(process.opened, marks, strict=True):
            while not await confirm_without_statement(store, mark):
                await asyncio.sleep(0.01)


async def put(store: Store, name: str) -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None)], Stamp("ann", 5))


async def confirm_without_statement(store: Store, mark: Mark) -> bool:
    """Whether the store is confirmed, although no statement of this process has shown that."""
    before = store.statements
    return await store.confirm_mark(mark) and store.statements == before


async def test_the_statements_of_one_process_keep_another_fresh(processes: tuple[Process, Process, Process]) -> None:
    leader, follower, _ = processes
    marks = [store.mark() for store in follower.opened]
    statements = leader.stores.default.statements

    for _ in range(10):
        await asyncio.sleep(STALE_SECONDS / 2)
        await expect_confirmed(follower, marks)

    assert leader.stores.default.statements > statements
    assert all([store.measure_lag(mark) < 1 for store, mark in zip(follower.opened, marks, strict=True)])


async def test_a_store_is_confirmed_by_what_is_shared_exactly_if_nobody_else_has_written_to_it(
    processes: tuple[Process, Process, Process],
) -> None:
    leader, follower, other = processes
    random_, confirmed = random.Random(1), 0
    for number in range(12):
        marks = [store.mark() for store in follower.opened]
        writer = random_.choice((leader, other))
        written = random_.randrange(len(NAMES))
        await put(writer.opened[written], f"d{number}")
        await asyncio.sleep(STALE_SECONDS)

        for attempt in range(20):
            assert not await follower.opened[written].confirm_mark(marks[written])
            unmoved = [each for each in range(len(NAMES)) if each != written]
            stores = [(follower.opened[each], marks[each]) for each in unmoved]
            if all([await confirm_without_statement(*each) for each in stores]):
                confirmed += 1
                break
            await asyncio.sleep(0.01 * attempt)
        await be_fed(follower)

    assert confirmed  # not always: after a second without a statement, nothing from before it is confirmed


async def test_what_a_process_has_written_itself_is_confirmed_by_what_another_has_followed(
    processes: tuple[Process, Process, Process],
) -> None:
    _, follower, other = processes
    first = follower.opened[0]
    before = await first.identify(await first.check())
    await put(first, "own")
    changes = first.find_warrant_changes(before, 100)
    assert changes is not None
    mark, _ = changes
    await be_fed(follower)
    others = [store.mark() for store in follower.opened[1:]]
    for _ in range(3):
        await asyncio.sleep(STALE_SECONDS)
        await expect_confirmed(follower, [mark, *others])

    await put(other.opened[0], "others")
    await asyncio.sleep(STALE_SECONDS)
    assert not await first.confirm_mark(mark)


async def test_without_one_that_leads_each_process_runs_statements_of_its_own(
    processes: tuple[Process, Process, Process], url: str, folder: Path
) -> None:
    leader, follower, other = processes
    marks = [store.mark() for store in follower.opened]
    await leader.stores.close()
    await put(other.opened[1], "unseen")
    await asyncio.sleep(STALE_SECONDS)

    assert not await confirm_without_statement(follower.opened[0], marks[0])
    assert not await follower.opened[1].confirm_mark(marks[1])


async def test_another_process_leads_when_the_one_that_led_has_gone(
    url: str, folder: Path, processes: tuple[Process, Process, Process]
) -> None:
    leader, follower, _ = processes
    async with AsyncExitStack() as stack:
        third = await open_process(url, Leadership(folder), stack)
        await be_fed(third)
        leading, *others = (find_leadership(process) for process in (leader, follower, third))
        assert (leading.is_taken, *(each.is_taken for each in others)) == (True, False, False)

        await leader.stores.close()
        leading.close()
        async with asyncio.timeout(60):
            while not any(each.is_taken for each in others):
                await asyncio.sleep(0.03)

        await be_fed(follower if others[1].is_taken else third)


def find_leadership(process: Process) -> Leadership:
    leadership: Leadership = process.stores.default.database.server.leadership  # type: ignore[attr-defined]  # PostgreSQL
    return leadership


async def test_the_list_of_stores_is_known_to_be_the_same_until_any_store_moves(
    processes: tuple[Process, Process, Process],
) -> None:
    leader, follower, other = processes
    since = time.monotonic()
    while (unmoved_to := follower.stores.find_unmoved(since)) is None:
        await asyncio.sleep(0.01)
    assert unmoved_to >= since
    assert leader.stores.find_unmoved(since) is None

    await put(other.opened[2], "news")
    since = unmoved_to
    async with asyncio.timeout(60):
        while follower.stores.find_unmoved(since) is not None:
            await asyncio.sleep(0.01)


def test_what_is_shared_is_read_as_it_was_written(tmp_path: Path) -> None:
    writer, reader = SharedHeads(tmp_path), SharedHeads(tmp_path)
    assert (reader.read_times(), reader.read_head(1), reader.read_clock()) == (None, None, None)

    head = MovedHead(3.5, 2**40, 2**32 - 1)
    assert writer.write(2.5, 4.5, [(7, head)])
    writer.write_clock(ClockMeasurement(1, 2, 3))

    times = (2.5, 3.5, 4.5)
    assert reader.read_times() == times
    assert reader.read_head(7) == reader.read_head(7 + SLOTS) == (times, head)
    assert reader.read_head(8) == (times, (0.0, 0, 0))
    assert reader.read_clock() == (1, 2, 3)
    assert writer.write(2.5, 6.5, [])
    assert reader.read_times() == (2.5, 3.5, 6.5)


def test_what_another_process_has_locked_is_neither_read_nor_written(tmp_path: Path) -> None:
    """One that was stopped in the middle of it must not stop the others."""
    writer, reader = SharedHeads(tmp_path), SharedHeads(tmp_path)
    assert writer.write(1.0, 2.0, [])
    with writer._lock(fcntl.LOCK_EX):
        assert (reader.read_times(), reader.read_head(1), reader.read_clock()) == (None, None, None)
    with reader._lock(fcntl.LOCK_SH):
        assert not writer.write(1.0, 3.0, [(1, MovedHead(2.5, 1, 1))])
    assert reader.read_times() == (1.0, 1.0, 2.0)


def test_a_process_knows_that_another_wants_fresh_times(tmp_path: Path) -> None:
    one, other = SharedHeads(tmp_path), SharedHeads(tmp_path)
    assert not other.is_wanted
    one.want()
    assert other.is_wanted


def test_one_process_leads_until_it_ends(tmp_path: Path) -> None:
    one, other = Leadership(tmp_path), Leadership(tmp_path)

    assert (one.take(), other.take(), one.take()) == (True, False, True)
    one.close()
    assert other.take()
    assert Leadership(None).take()
