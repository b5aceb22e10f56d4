"""`magistrate serve --read-only` on a hot standby of PostgreSQL: it answers reads, and writes nothing."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from tests.api.watching import watching
from tests.databases import PostgresServer
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.standby import Standby
from tests.waiting import wait_until

PRIMARY_URL = "https://writes.example"
REFUSED = {
    "code": "read_only",
    "message": f"this service only reads; send writes to {PRIMARY_URL}",
    "primary": PRIMARY_URL,
}
TYPES = [{"type": "user", "relations": {}}, {"type": "document", "relations": {"viewer": {}}}]
CHECK = {"warrants": [warrant_body("document:plan#viewer@user:ann")]}
IDLE_SECONDS = 3.0
"""Is longer than the pauses of all that a service does every second or so."""
WRITES = [route for route in ROUTES if route.writes]


class Nodes(NamedTuple):
    """A service that writes to a primary, and one that reads from its standby."""

    url: str
    standby: Standby
    writer: Client
    reader: Client
    process: ServiceProcess

    def grant(self, warrant: str) -> str:
        """The token of the write."""
        answer = self.writer.post("/v2/warrants", json=warrant_body(warrant))
        answer.raise_for_status()
        return str(answer.headers["Warrant-Token"])


@pytest.fixture(scope="module", params=["1", "2"], ids=["one worker", "two workers"])
def nodes(
    primary: PostgresServer, standby: Standby, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Nodes]:
    url = primary.new_url()
    folder = tmp_path_factory.mktemp("reader")
    flags = ("--read-only", "--primary-url", f"{PRIMARY_URL}/", "--workers", request.param)
    with ExitStack() as stack:
        writer = stack.enter_context(Client(stack.enter_context(running_service(settings_for(url)))))
        writer.put("/v2/object-types", json=TYPES).raise_for_status()
        standby.catch_up(url)
        process = stack.enter_context(ServiceProcess(folder, *flags, database_url=standby.url(url), api_key=KEY))
        yield Nodes(url, standby, writer, stack.enter_context(process.client()), process)


def test_it_answers_reads_at_the_token_of_a_write(nodes: Nodes) -> None:
    token = nodes.grant("document:plan#viewer@user:ann")
    nodes.standby.catch_up(nodes.url)

    for method, path, body in (
        ("POST", "/v2/check", CHECK),
        ("POST", "/v2/explain", warrant_body("document:plan#viewer@user:ann")),
        ("GET", "/v2/query?q=select document where user:ann is viewer", None),
        ("GET", "/v2/warrants", None),
        ("GET", "/v2/objects/document/plan", None),
        ("GET", "/v2/resource-events", None),
        ("GET", "/v2/model", None),
    ):
        answer = nodes.reader.request(method, path, json=body, headers={"Warrant-Token": token})
        expected = nodes.writer.request(method, path, json=body, headers={"Warrant-Token": token})
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected.json()
        assert answer.headers["Warrant-Token"] == expected.headers["Warrant-Token"]


def test_a_check_sees_what_was_revoked_on_the_primary(nodes: Nodes) -> None:
    nodes.grant("document:plan#viewer@user:ann")
    nodes.standby.catch_up(nodes.url)
    wait_until(lambda: nodes.reader.post("/v2/check", json=CHECK).json()["result"] == "Authorized")

    revoked = nodes.writer.request("DELETE", "/v2/warrants", json=warrant_body("document:plan#viewer@user:ann"))
    nodes.standby.catch_up(nodes.url)

    headers = {"Warrant-Token": revoked.headers["Warrant-Token"]}
    assert nodes.reader.post("/v2/check", json=CHECK, headers=headers).json()["result"] == "Not Authorized"
    wait_until(lambda: nodes.reader.post("/v2/check", json=CHECK).json()["result"] == "Not Authorized")


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
def test_it_refuses_every_write_and_names_the_primary(nodes: Nodes, route: Route) -> None:
    path = re.sub(r"\{\w+\}", "plan", route.path)

    answer = nodes.reader.request(route.method, path, json={"anything": 1})

    assert (answer.status_code, answer.json()) == (503, REFUSED)
    assert "Retry-After" not in answer.headers


def test_it_refuses_reads_that_would_write(nodes: Nodes) -> None:
    ticket = nodes.writer.post("/v2/watch/tickets", json={}).json()["ticket"]
    nodes.standby.catch_up(nodes.url)

    made = nodes.reader.post("/v2/watch/tickets", json={})
    used = nodes.reader.get("/v2/watch", params={"ticket": ticket}, headers={"Authorization": ""})

    assert (made.status_code, made.json()) == (503, REFUSED)
    assert (used.status_code, used.json()) == (503, REFUSED)


def test_a_key_that_is_wrong_is_refused_first(nodes: Nodes) -> None:
    answer = nodes.reader.post("/v2/warrants", json={}, headers={"Authorization": "ApiKey wrong"})

    assert answer.status_code == 401


def test_it_signs_sessions_with_the_key_of_the_primary(nodes: Nodes) -> None:
    session = {"type": "sess", "userId": "ann"}
    nodes.writer.post("/v2/sessions", json=session).raise_for_status()
    written = nodes.grant("document:plan#viewer@user:ann")
    nodes.standby.catch_up(nodes.url)

    token = nodes.reader.post("/v2/sessions", json=session).json()["token"]

    headers = {"Authorization": f"Bearer {token}", "Warrant-Token": written}
    for client in (nodes.reader, nodes.writer):
        answer = client.post("/v2/check", json=CHECK, headers=headers)
        assert (answer.status_code, answer.json().get("result")) == (200, "Authorized")


def test_keys_that_the_primary_makes_are_in_force(nodes: Nodes) -> None:
    made = nodes.writer.post("/v2/keys", json={"name": "reader", "scopes": ["check"]}).json()
    nodes.standby.catch_up(nodes.url)
    headers = {"Authorization": f"ApiKey {made['key']}"}

    wait_until(lambda: nodes.reader.post("/v2/check", json=CHECK, headers=headers).status_code == 200)

    nodes.writer.delete(f"/v2/keys/{made['id']}").raise_for_status()
    wait_until(lambda: nodes.reader.post("/v2/check", json=CHECK, headers=headers).status_code == 401)


def test_a_write_that_has_not_arrived_is_said_to_be_on_its_way(nodes: Nodes) -> None:
    """A standby that lags does not know whether the write is lost, and a client that discarded its token would be shown
    the time before its own write."""
    with nodes.standby.paused(nodes.url):
        token = nodes.grant("document:late#viewer@user:ann")
        headers = {"Warrant-Token": token}
        early = nodes.reader.get("/v2/objects/document/late", headers=headers)
        unaware = nodes.reader.get("/v2/objects/document/late")
    nodes.standby.catch_up(nodes.url)
    late = nodes.reader.get("/v2/objects/document/late", headers=headers)

    assert (early.status_code, early.json()["code"]) == (503, "unavailable")
    assert "Retry-After" in early.headers
    assert unaware.status_code == 404
    assert late.status_code == 200


def test_what_the_primary_writes_can_be_watched(nodes: Nodes) -> None:
    with watching(nodes.reader, "objectType=document") as events:
        assert events.next()["event"] == "checkpoint"

        nodes.grant("document:watched#viewer@user:ann")

        assert "watched" in json.dumps(events.next_of("revision"))


def test_its_work_in_the_background_writes_nothing(nodes: Nodes, tmp_path: Path) -> None:
    """A write that was refused would be in its log."""
    url = nodes.standby.url(nodes.url)
    with ServiceProcess(tmp_path, "--read-only", database_url=url, api_key=KEY) as process:
        with process.client() as client:
            made = nodes.writer.post("/v2/keys", json={"name": "used", "scopes": ["check"]}).json()
            nodes.standby.catch_up(nodes.url)
            headers = {"Authorization": f"ApiKey {made['key']}"}
            wait_until(lambda: client.post("/v2/check", json=CHECK, headers=headers).status_code == 200)
        time.sleep(IDLE_SECONDS)
        assert process.stop() == 0
        assert process.errors() == ""


def test_it_starts_on_nothing_but_a_migrated_postgresql(primary: PostgresServer, tmp_path: Path) -> None:
    empty = ServiceProcess(tmp_path, "--read-only", database_url=primary.new_url(), api_key=KEY)
    assert "magistrate migrate" in read_failed_start(empty.errors())

    example = ServiceProcess(
        tmp_path, "--read-only", "--example", "document-sharing", database_url=primary.new_url(), api_key=KEY
    )
    assert "--read-only" in read_failed_start(example.errors())
