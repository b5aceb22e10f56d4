"""A warrant that expires, with several workers on one store: all of them agree, and one of them records it."""

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import STORES, new_database_url
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

CLAIM = "document:plan#viewer@user:ann"
CLIENTS = 6
LIFETIME_SECONDS = 3.0
LEEWAY_SECONDS = 1.0
"""Covers half a round trip to the database, within which its clock is known, on a busy machine."""
RECORDED_WITHIN_SECONDS = 30


def is_allowed(client: Client) -> bool:
    return bool(client.ask(CLAIM).json()["result"] == "Authorized")


@pytest.mark.parametrize("kind", STORES)
def test_every_worker_denies_from_the_moment_of_expiry_on_and_one_records_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    with ServiceProcess(tmp_path, "--workers", "2", database_url=url, api_key=KEY) as service, ExitStack() as stack:
        clients = [stack.enter_context(service.client()) for _ in range(CLIENTS)]
        clients[0].define({"document": {"viewer": {}}})
        expires_at = datetime.now(UTC) + timedelta(seconds=LIFETIME_SECONDS)
        limits = {"expiresAt": expires_at.isoformat().replace("+00:00", "Z")}
        created = clients[0].post("/v2/warrants", json=warrant_body(CLAIM) | limits)
        created.raise_for_status()
        token = {"Warrant-Token": created.headers["Warrant-Token"]}

        for client in clients:  # fills the caches of both workers
            client.post("/v2/check", json={"warrants": [warrant_body(CLAIM)]}, headers=token).raise_for_status()
        wrong = []
        while (left := (expires_at - datetime.now(UTC)).total_seconds()) > -2 * LEEWAY_SECONDS:
            for client in clients:
                asked = datetime.now(UTC)
                allowed = is_allowed(client)
                answered = datetime.now(UTC)
                if allowed and (asked - expires_at).total_seconds() > LEEWAY_SECONDS:
                    wrong.append(f"allowed {asked - expires_at} after the expiry")
                if not allowed and (expires_at - answered).total_seconds() > LEEWAY_SECONDS:
                    wrong.append(f"denied {expires_at - answered} before the expiry")
            assert left < LIFETIME_SECONDS
        assert wrong == []

        deadline = time.monotonic() + RECORDED_WITHIN_SECONDS
        revoked = {"type": "access_revoked", "objectType": "document"}
        while not (events := clients[0].get("/v2/access-events", params=revoked).json()["results"]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1.5)  # the other worker looks as well
        events = clients[0].get("/v2/access-events", params=revoked).json()["results"]
        assert len(events) == 1
