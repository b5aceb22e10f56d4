"""Stores that are created and deleted while others are used, in two processes' worth of services on one database."""

import random
import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from magistrate.operations.stores import removal
from magistrate.wiring import service as service_wiring
from tests.running import Client, running_service, settings_for

CLIENTS = 8
STORM_SECONDS = 6.0
NAMES = ("first", "second", "third")


class Storm:
    """What each request was answered that should not have been."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.wrong: list[tuple[str, int, str]] = []
        self.made = 0
        self.until = time.monotonic() + STORM_SECONDS

    def change_stores(self, seed: int) -> None:
        chance = random.Random(seed)
        with ExitStack() as stack:
            clients = [stack.enter_context(Client(url)) for url in self.urls]
            while time.monotonic() < self.until:
                name, client = chance.choice(NAMES), chance.choice(clients)
                made = client.post("/v2/stores", json={"name": name})
                self.made += made.status_code == 200
                self.expect(made, 200, 409)
                objects = f"/stores/{name}/v2/objects"
                self.expect(client.post(objects, json={"objectType": "user", "objectId": "a"}), 200, 404)
                self.expect(client.get(objects), 200, 404)
                if chance.random() < 0.7:
                    self.expect(chance.choice(clients).delete(f"/v2/stores/{name}"), 200, 202, 404)

    def use_default(self, seed: int) -> None:
        with Client(self.urls[seed % len(self.urls)]) as client:
            number = 0
            while time.monotonic() < self.until:
                number += 1
                self.expect(
                    client.post("/v2/objects", json={"objectType": "user", "objectId": f"{seed}-{number}"}), 200
                )
                self.expect(client.ask("user:a#member@user:b"), 200)

    def expect(self, answer: httpx.Response, *statuses: int) -> None:
        if answer.status_code not in statuses:
            request = answer.request
            self.wrong.append((f"{request.method} {request.url.path}", answer.status_code, answer.text))


@pytest.mark.nightly
def test_storms_of_stores_fail_no_request_and_lose_no_name(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "REMOVE_AFTER_SECONDS", 0.6)
    monkeypatch.setattr(service_wiring, "REMOVE_EVERY_SECONDS", 0.1)
    settings = settings_for(database_url)
    with running_service(settings) as first, running_service(settings) as second:
        storm = Storm([first, second])
        threads = [threading.Thread(target=storm.change_stores, args=(seed,)) for seed in range(CLIENTS)]
        threads += [threading.Thread(target=storm.use_default, args=(seed,)) for seed in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert storm.wrong[:5] == []
        assert storm.made > len(NAMES)
        with Client(first) as client:
            for name in NAMES:
                client.delete(f"/v2/stores/{name}")
            deadline = time.monotonic() + 30
            for name in NAMES:
                while (made := client.post("/v2/stores", json={"name": name})).status_code == 409:
                    assert time.monotonic() < deadline, made.text
                    time.sleep(0.1)
                assert made.status_code == 200
            listed = client.get("/v2/stores").json()["results"]
            assert [row["name"] for row in listed] == ["default", *NAMES]
