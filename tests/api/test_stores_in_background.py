"""The background work of a service is done for every store."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

MEMBER = "role:admin#member@user:ann"
WITHIN_SECONDS = 20


def wait_for(claim: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_decisions_are_recorded_and_warrants_expire_in_every_store(database_url: str) -> None:
    with running_service(settings_for(database_url, decision_log=100)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "first"}).raise_for_status()
        expires_at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
        body = warrant_body(MEMBER)
        client.post("/stores/first/v2/warrants", json=body | {"expiresAt": expires_at}).raise_for_status()
        client.post("/stores/first/v2/check", json={"warrants": [body]}).raise_for_status()

        def list_events(kind: str, prefix: str = "/stores/first") -> object:
            return client.get(f"{prefix}/v2/access-events", params={"type": kind}).json()["results"]

        wait_for(lambda: list_events("access_allowed"))
        wait_for(lambda: list_events("access_revoked"))
        assert list_events("access_allowed", prefix="") == list_events("access_revoked", prefix="") == []
