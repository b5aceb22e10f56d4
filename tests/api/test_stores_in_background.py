"""The background work of a service is done for every store."""

from datetime import UTC, datetime, timedelta

from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

MEMBER = "role:admin#member@user:ann"
WITHIN_SECONDS = 20


def test_decisions_are_recorded_and_warrants_expire_in_every_store(database_url: str) -> None:
    with running_service(settings_for(database_url, decision_log=100)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "first", "from": "default"}).raise_for_status()
        expires_at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
        body = warrant_body(MEMBER)
        client.post("/stores/first/v2/warrants", json=body | {"expiresAt": expires_at}).raise_for_status()
        client.post("/stores/first/v2/check", json={"warrants": [body]}).raise_for_status()

        def list_events(kind: str, prefix: str = "/stores/first") -> object:
            return client.get(f"{prefix}/v2/access-events", params={"type": kind}).json()["results"]

        wait_until(lambda: list_events("access_allowed"))
        wait_until(lambda: list_events("access_revoked"))
        assert list_events("access_allowed", prefix="") == list_events("access_revoked", prefix="") == []
