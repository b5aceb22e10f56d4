"""What only SQLite can do to us: a lock that another process holds, and searches that take long."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import apsw
import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import NotFound, StoreUnavailable
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.database import Script
from magistrate.store.scripts.objects import put_objects
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.sqlite import number_placeholders
from magistrate.store.sql_store import SqlStore
from magistrate.store.sqlite.database import SqliteDatabase
from magistrate.wiring.stores import migrate_store, open_store
from tests.running import settings_for

pytestmark = pytest.mark.anyio


async def opened(folder: Path, **settings: int) -> SqlStore:
    given = settings_for(f"sqlite:///{folder}/m.db", **settings)
    migrate_store(given)
    store = await open_store(given)
    assert isinstance(store, SqlStore)
    return store


async def put(store: Store, object_id: str, meta: str | None = None) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(object_id), meta)], Stamp("ann", 1))


async def test_writers_behind_a_lock_wait_together_not_one_after_the_other(tmp_path: Path) -> None:
    store = await opened(tmp_path, store_timeout_ms=300)
    holder = apsw.Connection(f"{tmp_path}/m.db")
    holder.execute("BEGIN IMMEDIATE")
    finished: list[float] = []

    async def refused(number: int) -> None:
        with pytest.raises(StoreUnavailable):
            await put(store, f"id-{number}")
        finished.append(time.monotonic())

    await asyncio.gather(*(refused(number) for number in range(20)))
    holder.execute("ROLLBACK")

    # One after the other, the last would have been refused 19 timeouts after the first.
    assert finished[-1] - finished[0] < 19 * 0.3 / 2
    await put(store, "afterwards")
    assert (await store.get_object(object_ref("d", "afterwards"))).revision == 1
    await store.close()


async def test_each_waiting_writer_is_refused_at_its_own_time(tmp_path: Path) -> None:
    store = await opened(tmp_path, store_timeout_ms=2_000)
    holder = apsw.Connection(f"{tmp_path}/m.db")
    holder.execute("BEGIN IMMEDIATE")

    # One is at the lock, and two come into the group behind it.
    early = [asyncio.create_task(put(store, f"early-{number}")) for number in range(3)]
    await asyncio.sleep(1.5)
    late = asyncio.create_task(put(store, "late"))
    refusals = await asyncio.gather(*early, return_exceptions=True)
    holder.execute("ROLLBACK")

    assert [type(one) for one in refusals] == [StoreUnavailable] * 3
    # A group that waits for its youngest would have been refused all at once, the late one among them.
    await late
    await store.close()


async def test_a_writer_that_stops_waiting_takes_no_other_along(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    holder = apsw.Connection(f"{tmp_path}/m.db")
    holder.execute("BEGIN IMMEDIATE")
    first = asyncio.create_task(put(store, "first"))
    await asyncio.sleep(0.05)  # the writer has it, and waits for the lock
    group = [asyncio.create_task(put(store, f"id-{number}")) for number in range(6)]
    await asyncio.sleep(0)
    for task in (first, group[0], group[3]):
        task.cancel()
    await asyncio.wait([first, group[0], group[3]])
    holder.execute("ROLLBACK")

    outcomes = await asyncio.gather(*group, return_exceptions=True)

    assert [place for place, outcome in enumerate(outcomes) if outcome is None] == [1, 2, 4, 5]
    written = await store.list_objects(Slice("objectId", 10), ObjectFilter())
    assert [row.id for row in written.value.rows] == ["id-1", "id-2", "id-4", "id-5"]
    assert written.revision == 4
    await store.close()


async def test_nobody_holds_the_lock_for_writers_who_have_all_gone(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    holder = apsw.Connection(f"{tmp_path}/m.db")
    holder.execute("BEGIN IMMEDIATE")
    only = asyncio.create_task(put(store, "only"))
    await asyncio.sleep(0.05)
    only.cancel()
    await asyncio.wait([only])
    holder.execute("ROLLBACK")

    holder.set_busy_timeout(10_000)
    holder.execute("BEGIN IMMEDIATE")
    [(objects,)] = holder.execute("SELECT count(*) FROM object").fetchall()
    holder.execute("ROLLBACK")

    assert objects == 0
    await store.close()


async def write_as_one_group(
    store: SqlStore, folder: Path, *writes: Coroutine[Any, Any, object]
) -> tuple[list[object], list[str]]:
    """Returns what the writes returned or raised, and the statements of the transaction, in order."""
    assert isinstance(store.database, SqliteDatabase)
    holder = apsw.Connection(f"{folder}/m.db")
    holder.execute("BEGIN IMMEDIATE")
    first = asyncio.create_task(put(store, "first"))
    await asyncio.sleep(0.05)  # the writer has it, and waits for the lock
    group = [asyncio.create_task(write) for write in writes]
    await asyncio.sleep(0)
    run: list[str] = []

    def note(cursor: apsw.Cursor, sql: str, values: object) -> bool:
        run.append(sql)
        return True

    store.database.file._writer.connection.exec_trace = note
    holder.execute("ROLLBACK")
    await first
    outcomes = await asyncio.gather(*group, return_exceptions=True)
    first_commit = run.index("COMMIT") + 1
    return outcomes, run[first_commit:]


def put_and_fail(head: Revision) -> Script[None]:
    yield from put_objects(head, [NewObject(TypeName("d"), ObjectId("bad"), None)], Stamp("ann", 1))
    raise LookupError


async def list_ids(store: Store) -> list[str]:
    return [row.id for row in (await store.list_objects(Slice("objectId", 10), ObjectFilter())).value.rows]


async def test_writes_of_a_group_need_no_savepoints_and_store_the_newest_revision_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path)
    loop, notified = asyncio.get_running_loop(), list[object]()
    notify = loop.call_soon_threadsafe

    def count_and_notify(*given: Any, **options: Any) -> asyncio.Handle:
        notified.append(given)
        return notify(*given, **options)

    monkeypatch.setattr(loop, "call_soon_threadsafe", count_and_notify)
    missing = store.delete_objects([object_ref("d", "missing")], Stamp("ann", 1))
    outcomes, run = await write_as_one_group(store, tmp_path, put(store, "1"), missing, put(store, "2"))

    assert [type(one) for one in outcomes] == [type(None), NotFound, type(None)]
    assert await list_ids(store) == ["1", "2", "first"]
    assert not any("SAVEPOINT" in one for one in run)
    assert (run.count(number_placeholders(MOVE_HEAD)), run.count("COMMIT"), run.count("ROLLBACK")) == (1, 1, 0)
    assert len(notified) == 2  # the first write, and the group
    assert await store.check() == 3
    await store.close()


async def test_a_write_that_fails_after_it_changed_something_is_undone_alone(tmp_path: Path) -> None:
    store = await opened(tmp_path)

    outcomes, run = await write_as_one_group(
        store, tmp_path, put(store, "1"), store.database.transact(put_and_fail), put(store, "2")
    )

    assert [type(one) for one in outcomes] == [type(None), LookupError, type(None)]
    assert await list_ids(store) == ["1", "2", "first"]
    assert (run.count("SAVEPOINT one_write"), run.count("ROLLBACK TO SAVEPOINT one_write"), run.count("COMMIT")) == (
        3,
        1,
        1,
    )
    assert await store.check() == 3
    await store.close()


@pytest.mark.parametrize("breaking", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, MemoryError])
async def test_whatever_breaks_a_write_off_the_next_one_is_written(
    tmp_path: Path, breaking: type[BaseException]
) -> None:
    broken = False

    def break_once(sql: str) -> None:
        nonlocal broken
        if sql == "COMMIT" and not broken:
            broken = True
            raise breaking

    given = settings_for(f"sqlite:///{tmp_path}/m.db")
    migrate_store(given)
    store = await open_store(given, break_once)

    with pytest.raises((StoreUnavailable, MemoryError)):
        await put(store, "broken-off")
    await put(store, "next")

    assert (await store.get_object(object_ref("d", "broken-off"))).value is None
    assert (await store.get_object(object_ref("d", "next"))).revision == 1
    await store.close()


async def test_a_list_as_of_a_revision_holds_up_nobody(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    await put(store, "1")
    objects = asyncio.create_task(store.list_objects(Slice("objectId", 10), ObjectFilter(), at=Revision(1)))
    names = asyncio.create_task(store.list_names(None, None, 10, Revision(1)))
    await asyncio.sleep(0)  # both begin

    assert not objects.done()
    assert not names.done()
    assert (len((await objects).value.rows), len((await names).value)) == (1, 1)
    await store.close()


async def test_a_search_that_takes_too_long_is_stopped_and_holds_up_no_lookup(tmp_path: Path) -> None:
    store = await opened(tmp_path, store_timeout_ms=100)
    connection = apsw.Connection(f"{tmp_path}/m.db")
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) "
        "INSERT INTO object (store, object_type, object_id, meta, created_at, created_revision, deleted_revision) "
        f"SELECT 1, 'd', i, hex(zeroblob(2500)), 0, 1, {2**63 - 1} FROM n"
    )
    searching = asyncio.create_task(store.list_objects(Slice("objectId", 10), ObjectFilter(text="nowhere")))
    await asyncio.sleep(0.01)

    await store.get_object(object_ref("d", "1"))
    assert not searching.done()

    with pytest.raises(StoreUnavailable):
        await searching
    await store.close()
