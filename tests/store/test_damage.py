"""A SQLite file that was damaged under a running service makes it unready."""

import os
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.new_rows import NewObject, NewWarrant, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.sqlite.database import probe_file
from magistrate.store.sqlite.files import DAMAGED
from magistrate.wiring.stores import migrate_store, open_store
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio

PAGE_BYTES = 4_096
DAMAGE = "the database file is damaged"


async def opened(path: str, objects: int = 0) -> Store:
    """Everything it holds is in the file itself, nothing in the write-ahead log."""
    given = settings_for(f"sqlite:///{path}")
    migrate_store(given)
    filling = await open_store(given)
    for first in range(0, objects, 100):
        new = [NewObject(TypeName("d"), ObjectId(f"{number:06}"), None) for number in range(first, first + 100)]
        await filling.put_objects(new, Stamp("ann", 1))
        warrants = [
            NewWarrant(object_ref("d", one.id), RelationName("r"), Subject(TypeName("user"), one.id)) for one in new
        ]
        await filling.put_warrants(warrants, lambda definitions: None, Stamp("ann", 1))
    await filling.close()
    return await open_store(given)


def overwrite(path: str, first_page: int, pages: int) -> None:
    """With what cannot be pages of a database."""
    with open(path, "r+b") as file:
        file.seek((first_page - 1) * PAGE_BYTES)
        file.write(random.Random(7).randbytes(pages * PAGE_BYTES))


def pages_of(path: str) -> int:
    return os.path.getsize(path) // PAGE_BYTES


def root_pages(path: str) -> dict[str, int]:
    """Of each table and index, by name."""
    with closing(apsw.Connection(path)) as connection:
        found = connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0").fetchall()
        return {str(name): int(str(page)) for name, page in found}


WAYS: dict[str, Callable[[str], None]] = {
    "all but the first page": lambda path: overwrite(path, 2, pages_of(path) - 1),
    "the first page": lambda path: overwrite(path, 1, 1),
    "everything": lambda path: overwrite(path, 1, pages_of(path)),
    "cut off": lambda path: os.truncate(path, 2 * PAGE_BYTES),
    "empty": lambda path: os.truncate(path, 0),
}


@pytest.mark.parametrize("damage", [pytest.param(way, id=name) for name, way in WAYS.items()])
async def test_a_file_that_was_damaged_is_not_ready(tmp_path: Path, damage: Callable[[str], None]) -> None:
    path = f"{tmp_path}/m.db"
    store = await opened(path)
    await store.check()

    damage(path)

    with pytest.raises(StoreUnavailable):
        await store.check()
    await store.close()


async def test_damage_to_the_root_of_any_table_or_index_is_found(tmp_path: Path) -> None:
    path = f"{tmp_path}/m.db"
    await (await opened(path, objects=100)).close()
    whole = Path(path).read_bytes()
    roots = root_pages(path)
    missed = []
    for name, page in roots.items():
        overwrite(path, page, 1)
        try:
            probe_file(path)
            missed.append(name)
        except DAMAGED:
            Path(path).write_bytes(whole)
    probe_file(path)

    assert {"warrant", "object", "object_by_id", "warrant_by_subject", "warrant_by_type"} <= roots.keys()
    assert missed == []


@pytest.mark.parametrize("tree", ["warrant", "warrant_by_object", "warrant_by_subject"])
async def test_much_damage_to_warrants_is_found_by_and_by(tmp_path: Path, tree: str) -> None:
    path = f"{tmp_path}/m.db"
    store = await opened(path, objects=2_000)
    await store.check()
    leaves = leaves_of(path, tree)
    for page in leaves[len(leaves) // 2 :]:
        overwrite(path, page, 1)

    async def check_often() -> None:
        for _ in range(100):  # each has about an even chance
            await store.check()

    with pytest.raises(StoreUnavailable, match=DAMAGE):
        await check_often()
    await store.close()


def leaves_of(path: str, tree: str) -> list[int]:
    """The pages of a table or index that hold its rows, in their order."""
    with closing(apsw.Connection(path)) as connection:
        statement = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
        found = [int(str(page)) for (page,) in connection.execute(statement, (tree,)).fetchall()]
    assert len(found) > 4
    return found


async def test_damage_that_any_statement_meets_with_is_remembered(tmp_path: Path) -> None:
    path = f"{tmp_path}/m.db"
    store = await opened(path, objects=2_000)
    overwrite(path, leaves_of(path, "object_by_creation")[-1], 1)
    await store.check()  # no probe reads that page: all of them would be too many

    with pytest.raises(StoreUnavailable, match=DAMAGE):
        await store.list_objects(Slice("createdAt", 10, descending=True), ObjectFilter())

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=DAMAGE):
            await store.check()
    await store.close()


def test_readiness_of_a_service_reports_damage(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.post("/v2/objects", json={"objectType": "d"})
        with closing(apsw.Connection(f"{tmp_path}/m.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert client.get("/readyz").status_code == 200

        overwrite(f"{tmp_path}/m.db", 2, pages_of(f"{tmp_path}/m.db") - 1)
        unready = client.get("/readyz")

        assert unready.status_code == 503
        assert unready.json()["code"] == "unavailable"
        assert DAMAGE in unready.json()["message"]
        assert client.get("/healthz").status_code == 200
