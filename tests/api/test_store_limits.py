"""Limits of stores through HTTP, on every database: what a store holds, and how many requests it gets."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from magistrate.api.http.rate_limits import SECOND_NS, StoreRates, open_slots
from magistrate.cli.commands import main
from tests.api.raw_requests import ALLOWED, DRIVEN
from tests.cli.runner import CommandRunner
from tests.fga.requests import fga_warrant
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body

MAX_TRIES = 300
WITHIN_SECONDS = 1.0

FIRST, SECOND, OF_NEW = "document:a#viewer@user:ann", "document:a#viewer@user:bo", "document:b#viewer@user:ann"
REFUSED = {"code": "too_many_requests", "message": "Too many requests to this store."}


@pytest.fixture
def client(database_url: str) -> Iterator[Client]:
    """A client whose service has a store acme, in which there is a warrant."""
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
        client.post("/stores/acme/v2/object-types", json={"type": "document", "relations": {"viewer": {}}})
        client.post("/stores/acme/v2/warrants", json=warrant_body(FIRST)).raise_for_status()
        yield client


def limit(client: Client, name: str = "acme", **limits: int | None) -> None:
    client.patch(f"/v2/stores/{name}", json={"limits": limits}).raise_for_status()


def read_all(client: Client) -> list[Any]:
    paths = ("/v2/warrants", "/v2/objects", "/v2/events")
    return [client.get(f"/stores/acme{path}", params={"limit": 1000}).json() for path in paths]


WRITES: dict[str, tuple[str, Any]] = {
    "warrant": ("/v2/warrants", warrant_body(SECOND)),
    "array of warrants": ("/v2/warrants", [warrant_body(FIRST), warrant_body(SECOND)]),
    "write": ("/v2/writes", {"create": {"warrants": [warrant_body(SECOND)]}}),
    "warrant of v1": ("/v1/warrants", warrant_body(SECOND)),
    "warrants of fga": ("/fga/v1/warrants", [fga_warrant(SECOND) | {"op": "create"}]),
    "object": ("/v2/objects", {"objectType": "document", "objectId": "b"}),
    "array of objects": ("/v2/objects", [{"objectType": "document", "objectId": name} for name in "abc"]),
    "write of objects": ("/v2/writes", {"create": {"objects": [{"objectType": "document", "objectId": "b"}]}}),
    "user of v1": ("/v1/users", {"userId": "bo"}),
    "resource of fga": ("/fga/v1/resources", {"resource_type": "document", "resource_id": "b"}),
    "object of a warrant": ("/v2/warrants", warrant_body(OF_NEW)),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_beyond_a_limit_is_409_and_not_made(client: Client, kind: str) -> None:
    path, body = WRITES[kind]
    is_about_objects = "object" in kind or "user" in kind or "resource" in kind
    limit(client, objects=2 if is_about_objects else None, warrants=None if is_about_objects else 1)
    before = read_all(client)

    answer = client.post(f"/stores/acme{path}", json=body)

    assert (answer.status_code, answer.json()["code"]) == (409, "limit_reached")
    assert answer.json()["limit"] == ("objects" if is_about_objects else "warrants")
    assert read_all(client) == before
    limit(client)
    assert client.post(f"/stores/acme{path}", json=body).status_code == 200


def test_a_message_says_what_to_do(client: Client) -> None:
    limit(client, warrants=1)

    answer = client.post("/stores/acme/v2/warrants", json=warrant_body(SECOND))

    assert answer.json()["message"] == (
        "the store may hold 1 warrants and this write would exceed that, so nothing was written; delete warrants that "
        "are not needed, or have the operator raise the limit"
    )


def test_a_deleted_or_expired_warrant_frees_its_place(client: Client) -> None:
    limit(client, "default", warrants=1)
    client.define({"document": {"viewer": {}}})

    expires_at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    client.post("/v2/warrants", json=warrant_body(FIRST) | {"expiresAt": expires_at}).raise_for_status()
    assert client.post("/v2/warrants", json=warrant_body(SECOND)).status_code == 409
    deadline = time.monotonic() + 10
    while client.post("/v2/warrants", json=warrant_body(SECOND)).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.post("/v2/warrants", json=warrant_body(FIRST)).status_code == 409
    client.delete_json("/v2/warrants", warrant_body(SECOND)).raise_for_status()

    assert client.post("/v2/warrants", json=warrant_body(FIRST)).status_code == 200


def test_an_import_beyond_a_limit_stops_at_its_chunk(client: Client, database_url: str, tmp_path: Path) -> None:
    client.define({"document": {"viewer": {}}})
    limit(client, "default", warrants=25)
    file = tmp_path / "all.jsonl"
    lines = [json.dumps(warrant_body(f"document:a#viewer@user:u{number}")) + "\n" for number in range(40)]
    file.write_text("".join(lines))
    command = ["import", str(file), "--database-url", database_url, "--chunk", "10"]

    refused = CommandRunner().invoke(main, command, env={}, prog_name="magistrate")
    stored = client.get("/v2/warrants", params={"limit": 100}).json()["results"]
    limit(client, "default", warrants=40)
    resumed = CommandRunner().invoke(main, command, env={}, prog_name="magistrate")

    assert (refused.exit_code, len(stored)) == (2, 20), refused.output
    assert "the store may hold 25 warrants" in refused.output
    assert resumed.exit_code == 0, resumed.output
    assert len(client.get("/v2/warrants", params={"limit": 100}).json()["results"]) == 40


@pytest.fixture(params=[1, 0], ids=["fast path", "no fast path"])
def driven(request: pytest.FixtureRequest, database_url: str) -> Iterator[Client]:
    """A client whose service has two stores, each with a check that is allowed and cached."""
    with running_service(settings_for(database_url, fast_path=request.param)) as url, Client(url) as client:
        client.define(DRIVEN)
        for name in ("acme", "globex"):
            client.post("/v2/stores", json={"name": name, "from": "default"}).raise_for_status()
            granted = warrant_body("folder:a#viewer@user:ann")
            client.post(f"/stores/{name}/v2/warrants", json=granted).raise_for_status()
            for _ in range(3):
                check(client, name)
        yield client


def check(client: Client, store: str | None = None) -> httpx.Response:
    return client.post(f"{'' if store is None else f'/stores/{store}'}/v2/check", content=ALLOWED)


def exhaust(client: Client, store: str | None = None) -> httpx.Response:
    """Sends checks until one is refused."""
    for _ in range(MAX_TRIES):
        answer = check(client, store)
        if answer.status_code != 200:
            return answer
    raise AssertionError("no request was refused")


def make_key(client: Client, store: str) -> Client:
    made = client.post(f"/stores/{store}/v2/keys", json={"name": "of-acme", "scopes": ["admin"]})
    return Client(str(client.base_url), made.raise_for_status().json()["key"])


def test_a_store_gets_as_many_requests_as_its_limit_says_from_all_callers(driven: Client) -> None:
    with make_key(driven, "acme") as holder:
        limit(driven, requestsPerSecond=1)

        refused = exhaust(driven, "acme")

        assert (refused.status_code, refused.json()) == (429, REFUSED)
        assert refused.headers["Retry-After"] == "1"
        assert exhaust(holder).status_code == 429
        while (statuses := {exhaust(driven, "acme").status_code, holder.get("/v2/objects").status_code}) != {429}:
            assert statuses == {200, 429}
        assert {check(driven, "globex").status_code for _ in range(20)} == {200}
        time.sleep(1)
        assert check(holder).status_code == 200


def test_a_limit_of_requests_is_in_force_within_a_second_and_until_it_is_removed(driven: Client) -> None:
    limit(driven, requestsPerSecond=1)
    assert exhaust(driven, "acme").status_code == 429

    limit(driven, requestsPerSecond=1_000_000)

    assert {check(driven, "acme").status_code for _ in range(20)} == {200}
    limit(driven, requestsPerSecond=1)
    exhaust(driven, "acme")
    limit(driven)
    assert {check(driven, "acme").status_code for _ in range(20)} == {200}


def test_other_nodes_take_over_a_limit_within_a_second(driven: Client, database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as other:
        assert {check(other, "acme").status_code for _ in range(20)} == {200}
        limit(driven, warrants=1, requestsPerSecond=1)
        refused = driven.post("/stores/acme/v2/warrants", json=warrant_body("folder:a#viewer@user:bo"))
        time.sleep(WITHIN_SECONDS)

        assert exhaust(other, "acme").status_code == 429
        time.sleep(1)
        assert other.post("/stores/acme/v2/warrants", json=warrant_body("folder:a#viewer@user:bo")).status_code == 409
    assert refused.status_code == 409


def test_operators_can_raise_the_limit_of_the_store_default(driven: Client) -> None:
    driven.post("/v2/warrants", json=warrant_body("folder:a#viewer@user:ann"))
    limit(driven, "default", requestsPerSecond=1)
    exhaust(driven)

    assert {driven.get("/v2/stores").status_code for _ in range(20)} == {200}
    assert driven.get("/metrics").status_code == 200
    limit(driven, "default")
    assert {check(driven).status_code for _ in range(20)} == {200}


def test_a_request_counts_once_whether_it_leaves_the_fast_path(driven: Client) -> None:
    limit(driven, requestsPerSecond=2)
    time.sleep(1)

    changed = driven.post("/stores/acme/v2/warrants", json=warrant_body("folder:b#viewer@user:ann"))

    assert [changed.status_code, check(driven, "acme").status_code] == [200, 200]


@pytest.mark.nightly
def test_workers_count_the_requests_to_a_store_together(tmp_path: Path) -> None:
    rate, workers, requests = 5, 3, 60
    with ServiceProcess(tmp_path, workers=str(workers), api_key=KEY) as service:
        clients = [service.client() for _ in range(2 * workers)]
        clients[0].patch("/v2/stores/default", json={"limits": {"requestsPerSecond": rate}}).raise_for_status()
        time.sleep(WITHIN_SECONDS)
        started = time.monotonic()
        statuses = [clients[number % len(clients)].get("/v2/objects").status_code for number in range(requests)]
        seconds = time.monotonic() - started
        for client in clients:
            client.close()

    assert {*statuses} <= {200, 429}
    assert rate <= statuses.count(200) <= rate + rate * seconds + workers


def test_stores_do_not_share_a_bucket_and_asking_counts_nothing() -> None:
    rates = StoreRates(open_slots(None, 64), lambda: 5 * SECOND_NS)

    assert [rates.is_exhausted(1, 2) for _ in range(5)] == [False] * 5
    assert [rates.admit_store(store, 2) for store in (1, 1, 2, 1, 2, 2)] == [True, True, True, False, True, False]
    assert (rates.is_exhausted(1, 2), rates.is_exhausted(2, 2), rates.is_exhausted(3, 2)) == (True, True, False)


def test_a_store_says_what_it_holds_now(client: Client) -> None:
    client.post("/v2/stores", json={"name": "globex"}).raise_for_status()
    client.post("/stores/acme/v2/warrants", json=warrant_body(SECOND)).raise_for_status()

    by_name = {row["name"]: row["usage"] for page in client.pages("/v2/stores", limit=2) for row in page}
    assert by_name == {
        "acme": {"warrants": 2, "objects": 3},
        "default": {"warrants": 0, "objects": 0},
        "globex": {"warrants": 0, "objects": 0},
    }

    client.delete_json("/stores/acme/v2/warrants", warrant_body(SECOND)).raise_for_status()
    assert client.get("/v2/stores/acme").json()["usage"] == {"warrants": 1, "objects": 3}
    assert client.patch("/v2/stores/acme", json={"name": "bcme"}).json()["usage"] == {"warrants": 1, "objects": 3}
