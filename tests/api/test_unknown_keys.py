"""Keys that a worker does not know: they are looked up in the store, in rounds, before they are refused
(docs/security.md#keys)."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from magistrate.wiring import api_keys
from magistrate.wiring import api_keys as unknown_keys
from magistrate.wiring.api_keys import UnknownKeys
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def never_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the services of these tests learn nothing by themselves."""
    monkeypatch.setattr(api_keys, "FOLLOW_EVERY_SECONDS", 3_600)


@pytest.fixture
def services(database_url: str) -> Iterator[tuple[Client, Client]]:
    """Two services on one database."""
    settings = settings_for(database_url)
    with (
        running_service(settings) as one,
        running_service(settings) as other,
        Client(one) as first,
        Client(other) as second,
    ):
        yield first, second


def status_of(service: Client, key: str, scheme: str = "ApiKey") -> int:
    with Client(str(service.base_url), key) as client:
        return client.get("/v2/objects", headers={"Authorization": f"{scheme} {key}"}).status_code


@pytest.mark.parametrize("scheme", ["ApiKey", "Bearer"])
def test_a_new_key_is_in_force_at_once_in_every_process(services: tuple[Client, Client], scheme: str) -> None:
    made = [issue_key(maker, f"k{number}-{of}", "read") for number in range(3) for of, maker in enumerate(services)]

    assert [status_of(service, key, scheme) for key in made for service in services] == [200] * 12


def test_a_rotated_key_is_in_force_at_once_in_every_process_and_the_old_one_is_not_where_it_was_made(
    services: tuple[Client, Client],
) -> None:
    first, _ = services
    created = first.post("/v2/keys", json={"name": "k", "scopes": ["read"]}).json()
    rotated = first.post(f"/v2/keys/{created['id']}/rotate").json()

    assert [status_of(service, rotated["key"]) for service in services] == [200, 200]
    assert status_of(first, created["key"]) == 401
    first.delete(f"/v2/keys/{created['id']}").raise_for_status()
    assert status_of(first, rotated["key"]) == 401


def test_a_new_key_is_in_force_at_once_while_unknown_ones_come_in_masses(services: tuple[Client, Client]) -> None:
    first, second = services

    with ThreadPoolExecutor(8) as threads:
        refused = [threads.submit(status_of, second, f"unknown-{number:016}") for number in range(200)]
        keys = [issue_key(first, f"k{number}", "read") for number in range(5)]
        accepted = [threads.submit(status_of, second, key) for key in keys]

    assert {one.result() for one in refused} == {401}
    assert [one.result() for one in accepted] == [200] * 5


class Store:
    """A store of keys that counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def take_over(self) -> None:
        self.reads += 1
        await self.may_end.wait()


async def test_however_many_are_unknown_the_store_is_read_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_keys, "PAUSE_SECONDS", 0.0)
    store = Store()
    keys = UnknownKeys(store.take_over)
    store.may_end.clear()

    first = asyncio.create_task(keys.look_up())
    while not store.reads:
        await asyncio.sleep(0)
    later = [asyncio.create_task(keys.look_up()) for _ in range(500)]
    await asyncio.sleep(0.01)
    reads_before, is_done = store.reads, any(one.done() for one in [first, *later])
    store.may_end.set()
    await asyncio.gather(first, *later)

    assert (reads_before, is_done, store.reads) == (1, False, 2)


async def test_rounds_are_a_pause_apart() -> None:
    store = Store()
    keys = UnknownKeys(store.take_over, now=lambda: 0.0)
    await keys.look_up()

    started = asyncio.get_running_loop().time()
    await keys.look_up()

    assert asyncio.get_running_loop().time() - started >= unknown_keys.PAUSE_SECONDS * 0.9
    assert store.reads == 2


async def test_more_than_can_wait_are_refused_at_once_and_one_that_gives_up_ends_no_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unknown_keys, "MAX_WAITING", 2)
    store = Store()
    keys = UnknownKeys(store.take_over)
    store.may_end.clear()
    one, other = (asyncio.create_task(keys.look_up()) for _ in range(2))
    while not store.reads:
        await asyncio.sleep(0)

    await keys.look_up()
    one.cancel()
    await asyncio.sleep(0)
    store.may_end.set()
    await other

    assert store.reads == 1
    assert one.cancelled()
