"""What only SQLite can do to us: a lock that another process holds, and searches that take long."""

import asyncio
import time
from pathlib import Path

import apsw
import pytest

from magistrate import wiring
from magistrate.engine.terms import ObjectId, TypeName, object_ref
from magistrate.errors import StoreUnavailable
from magistrate.store.contract import NewObject, ObjectFilter, Slice, Stamp, Store
from tests.running import settings_for

pytestmark = pytest.mark.anyio


async def opened(folder: Path, **settings: int) -> Store:
    given = settings_for(f"sqlite:///{folder}/m.db", **settings)
    wiring.migrate_store(given)
    return await wiring.open_store(given)


async def put(store: Store, id: str, meta: str | None = None) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(id), meta)], Stamp("ann", 1))


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


async def test_a_search_that_takes_too_long_is_stopped_and_holds_up_no_lookup(tmp_path: Path) -> None:
    store = await opened(tmp_path, store_timeout_ms=100)
    connection = apsw.Connection(f"{tmp_path}/m.db")
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) "
        f"INSERT INTO object SELECT 'd', i, hex(zeroblob(2500)), 0, 1, {2**63 - 1} FROM n"
    )
    searching = asyncio.create_task(store.list_objects(Slice("objectId", 10), ObjectFilter(text="nowhere")))
    await asyncio.sleep(0.01)

    await store.get_object(object_ref("d", "1"))
    assert not searching.done()

    with pytest.raises(StoreUnavailable):
        await searching
    await store.close()
