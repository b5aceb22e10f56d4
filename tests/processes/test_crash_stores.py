"""kill -9 while stores are created and deleted: each exists wholly or not at all, and a deletion that was accepted goes
on."""

import asyncio
import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from magistrate.engine.model.object_types import PREDEFINED_TYPES
from magistrate.wiring.stores import open_stores
from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.forked_service import ForkedService
from tests.running import KEY, settings_for
from tests.waiting import wait_until

ROUNDS, NIGHTLY_ROUNDS = 4, 50
MODEL = {object_type.name for object_type in PREDEFINED_TYPES}


class Changes:
    """What was requested, and what of it was acknowledged."""

    def __init__(self) -> None:
        self.created: set[str] = set()
        self.requested: set[str] = set()
        """Has the names of the stores whose deletion was requested."""
        self.deleted: set[str] = set()

    def make_until_killed(self, service: ForkedService, name: str) -> None:
        with service.client() as client:
            for number in range(1_000):
                store = f"{name}-{number}"
                try:
                    answer = client.post("/v2/stores", json={"name": store, "from": "default"})
                    assert answer.status_code == 200, answer.text
                    self.created.add(store)
                    if number % 2:
                        self.requested.add(store)
                        answer = client.delete(f"/v2/stores/{store}")
                        assert answer.is_success, answer.text
                        self.deleted.add(store)
                except httpx.TransportError:
                    return


async def verify_stores(url: str, changes: Changes) -> None:
    stores = await open_stores(settings_for(url))
    _, moved = await stores.list_moved(0)
    made = [store.stored for store in moved if store.stored.name and store.stored.name != "default"]
    alive = {stored.name: stored for stored in made if stored.deleted_at is None}
    for stored in alive.values():
        model = await stores.open_store(stored).read_model()
        assert (model.revision, {*model.value.definitions}) == (1, MODEL)
        assert (await stores.open_store(stored).find_revision_at(stored.created_at)).match is not None
    await stores.close()
    assert changes.created - changes.requested <= alive.keys()
    assert not changes.deleted & alive.keys()
    tables = dump(url)
    assert len(tables["head"]) == len([row for row in tables["store"] if row[2] is not None]) == len(made) + 1


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(NIGHTLY_ROUNDS, marks=pytest.mark.nightly)])
def test_killed_at_any_time_stores_are_whole_and_deletions_go_on(
    rounds: int, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, chance, changes = new_database_url(kind, tmp_path, request), random.Random(20_261_126), Changes()
    for round_number in range(rounds):
        with ForkedService(tmp_path, database_url=url, api_key=KEY) as service:
            names = [f"s{round_number}-{writer}" for writer in range(3)]
            threads = [threading.Thread(target=changes.make_until_killed, args=(service, name)) for name in names]
            for thread in threads:
                thread.start()
            enough = len(changes.created) + chance.randrange(2, 20)
            wait_until(lambda enough=enough: len(changes.created) >= enough)  # type: ignore[misc]  # for each round
            time.sleep(chance.uniform(0, 0.02))
            service.kill()
            for thread in threads:
                thread.join()
        asyncio.run(verify_stores(url, changes))

    with ForkedService(tmp_path, database_url=url, api_key=KEY) as service, service.client() as client:
        wait_until(
            lambda: client.post("/v2/stores", json={"name": max(changes.deleted), "from": "default"}).status_code == 200
        )
        wait_until(
            lambda: not [row for row in dump(url)["store"] if row[2] in changes.deleted - {max(changes.deleted)}]
        )
    asyncio.run(verify_stores(url, Changes()))
    assert len(changes.deleted) > rounds
