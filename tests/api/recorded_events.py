"""Events and recorded decisions as the API lists them."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from magistrate.config.settings_table import Settings
from magistrate.operations.checks import decision_log
from magistrate.wiring.stores import open_store
from tests.api.conftest import SERVICES
from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for

Event = dict[str, Any]


@pytest.fixture(scope="module", params=SERVICES)
def logging_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that logs decisions, and writes them at once."""
    store, _, without = request.param.partition("-")
    url = new_database_url(store, tmp_path_factory.mktemp("events"), request)
    settings = settings_for(url, fast_path=0 if without else 1, decision_log=10_000)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
        with running_service(settings) as service, Client(service) as client:
            client.define({"document": {"viewer": {}, "editor": {}}})
            yield client


def listed(client: Client, path: str, **parameters: Any) -> list[Event]:
    """Every event, over all pages."""
    if path.startswith("/v2"):
        return [row for page in client.pages(path, **parameters) for row in page]
    found: list[Event] = []
    while True:
        answer = client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        found += answer.json()["events"]
        if "lastId" not in answer.json():
            return found
        assert answer.json()["lastId"] == found[-1]["id"]
        parameters["lastId"] = answer.json()["lastId"]


def decisions(client: Client, count: int, **parameters: str) -> list[Event]:
    """So many, the newest first, as soon as they are written."""
    deadline = time.monotonic() + 20
    while True:
        found = [
            row for row in listed(client, "/v2/access-events", **parameters) if row["type"][7:] in ("allowed", "denied")
        ]
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def delete_all_events(settings: Settings) -> None:
    """As the service does when they have been kept for long enough."""

    async def delete() -> None:
        store = await open_store(settings)
        while await store.delete_events(store.now(), 1_000):
            pass
        await store.close()

    asyncio.run(delete())
