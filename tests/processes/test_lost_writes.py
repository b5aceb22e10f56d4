"""Tokens of writes that a store has lost, because it was restored while a service with warm caches runs on it."""

import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import STORES, new_database_url
from tests.databases import dump, restore
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

LOST = {
    "code": "revision_lost",
    "message": "the write of this token is not in the store: it was restored, or failed over without it",
}
CLIENTS = 6
NOTICED_SECONDS = 0.2
"""Within 50 ms, other processes on PostgreSQL notice that the store was restored (docs/consistency.md)."""
KEPT, LOST_WARRANT, LATER = (f"document:plan#viewer@user:{name}" for name in ("ann", "kim", "bob"))


def grant(client: Client, text: str) -> str:
    answer = client.post("/v2/warrants", json=warrant_body(text))
    answer.raise_for_status()
    return str(answer.headers["Warrant-Token"])


def check(client: Client, text: str, token: str | None = None) -> httpx.Response:
    headers = {} if token is None else {"Warrant-Token": token}
    return client.post("/v2/check", json={"warrants": [warrant_body(text)]}, headers=headers)


def is_allowed(client: Client, text: str, token: str | None = None) -> bool:
    answer = check(client, text, token)
    answer.raise_for_status()
    return bool(answer.json()["result"] == "Authorized")


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        ("sqlite", "1"),
        ("postgres", "2"),
        pytest.param("sqlite", "2", marks=pytest.mark.nightly),
        pytest.param("postgres", "1", marks=pytest.mark.nightly),
    ],
)
def test_after_a_restore_and_other_writes_the_token_of_a_lost_write_is_refused(
    kind: str, workers: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    with ServiceProcess(tmp_path, "--workers", workers, database_url=url, api_key=KEY) as service:
        clients = [service.client() for _ in range(CLIENTS)]
        clients[0].define({"document": {"viewer": {}}})
        kept = grant(clients[0], KEPT)
        backup = dump(url)
        lost = grant(clients[0], LOST_WARRANT)
        for client in clients:
            assert is_allowed(client, LOST_WARRANT, lost)
            assert is_allowed(client, KEPT, kept)

        restore(url, backup)
        later = [grant(clients[0], f"{LATER}-{number}") for number in range(3)]
        time.sleep(NOTICED_SECONDS)

        for client in clients:
            assert (check(client, KEPT, lost).status_code, check(client, KEPT, lost).json()) == (409, LOST)
            assert is_allowed(client, KEPT, kept)
            assert not is_allowed(client, LOST_WARRANT, later[-1])
            for number, token in enumerate(later):
                assert is_allowed(client, f"{LATER}-{number}", token)
                assert client.get("/v2/warrants", headers={"Warrant-Token": token}).status_code == 200
            assert client.get("/v2/warrants", headers={"Warrant-Token": lost}).json() == LOST
            assert client.get("/v2/objects").headers["Warrant-Token"] == later[-1]
            client.close()


@pytest.mark.parametrize("kind", STORES)
def test_places_among_events_of_lost_writes_are_refused(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Whether they are in a token, a cursor or the id of an event."""
    url = new_database_url(kind, tmp_path, request)
    with ServiceProcess(tmp_path, database_url=url, api_key=KEY) as service, service.client() as client:
        client.define({"document": {"viewer": {}}})
        kept = find_places(client, grant(client, f"{KEPT}-0"), grant(client, KEPT))
        backup = dump(url)
        lost = find_places(client, grant(client, f"{LOST_WARRANT}-0"), grant(client, LOST_WARRANT))

        restore(url, backup)
        for number in range(3):
            grant(client, f"{LATER}-{number}")

        for path, parameters in lost:
            answer = client.get(path, params=parameters)
            assert (answer.status_code, answer.json()) == (409, LOST), parameters
        for path, parameters in kept:
            assert client.get(path, params=parameters).status_code == 200, parameters


def find_places(client: Client, first: str, second: str) -> list[tuple[str, dict[str, str]]]:
    """Requests that go on from the places of two writes, the newest ones."""
    v1, v2 = "/v1/access-events", "/v2/access-events"
    newest = client.get(v2, params={"limit": 1}).json()
    follower = client.get(v2, params={"after": first}).json()
    return [
        (v2, {"after": first}),
        (v2, {"after": second}),
        (v2, {"nextCursor": follower["nextCursor"]}),
        (v1, {"lastId": client.get(v1, params={"after": first}).json()["lastId"]}),
        (v2, {"nextCursor": newest["nextCursor"]}),
        (v1, {"lastId": newest["results"][0]["id"]}),
        (v1, {"lastId": client.get(v1, params={"limit": 1}).json()["lastId"]}),
    ]
