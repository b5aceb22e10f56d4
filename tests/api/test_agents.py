"""Agents (docs/agents.md): what the example says of a request, and who is in the logs."""

import asyncio
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from magistrate.operations.checks import decision_log
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

USER = "document:plan#viewer@user:ann"
CHAIN = "task:{}#acts-for@user:ann"
APPROVAL = "task:{}#may-read@document:plan"


@pytest.fixture
def audit_file(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def agents(database_url: str, audit_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
    settings = settings_for(database_url, decision_log=10_000, audit_log=str(audit_file))
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("agents")))
    with running_service(settings) as url, Client(url) as client:
        yield client


def may_read(client: Client, task: str) -> bool:
    checks = [warrant_body(text.format(task)) for text in (USER, CHAIN, APPROVAL)]
    answer = client.post("/v2/check", json={"op": "allOf", "warrants": checks})
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["code"] == 200)


def revoke(client: Client, written: str) -> None:
    client.request("DELETE", "/v2/warrants", json=[warrant_body(written)]).raise_for_status()


def test_an_agent_may_do_what_its_user_and_its_task_may(agents: Client) -> None:
    assert may_read(agents, "trip")
    assert may_read(agents, "flights")
    assert not may_read(agents, "prices")  # by an agent that is stopped

    revoke(agents, "document:plan#owner@user:ann")
    assert not may_read(agents, "trip")  # the approval alone is not enough


def test_an_approval_ends_with_the_task(agents: Client) -> None:
    revoke(agents, "task:trip#approved-read@document:plan")
    assert not may_read(agents, "trip")
    assert not may_read(agents, "flights")  # what was passed on is at most what there is

    ends_at = time.time() + 3
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ends_at)) + f".{int(ends_at % 1 * 1_000_000):06}Z"
    agents.write([{**warrant_body("task:trip#approved-read@document:plan"), "expiresAt": moment}])
    assert may_read(agents, "flights")

    while time.time() < ends_at:
        time.sleep(0.1)
    assert not may_read(agents, "trip")
    assert not may_read(agents, "flights")


def test_one_warrant_stops_an_agent_and_those_below_it(agents: Client) -> None:
    agents.grant("agent:planner#stopped@user:*")

    assert not may_read(agents, "trip")
    assert not may_read(agents, "flights")


def test_a_chain_has_any_depth_and_each_link_counts(agents: Client) -> None:
    tasks = ["trip", *(f"step{number}" for number in range(30))]
    for above, task in pairwise(tasks):
        agents.grant(
            f"task:{task}#agent@agent:searcher",
            f"task:{task}#delegated-by@task:{above}",
            f"task:{task}#approved-read@document:plan",
        )
    assert may_read(agents, tasks[-1])

    revoke(agents, "task:step7#approved-read@document:plan")

    assert may_read(agents, "step6")
    assert not may_read(agents, "step7")
    assert not may_read(agents, tasks[-1])


def test_user_task_and_key_are_in_the_logs(agents: Client, audit_file: Path) -> None:
    key = issue_key(agents, "searcher", "check")
    with Client(str(agents.base_url), key) as searcher:
        assert may_read(searcher, "flights")
        refused = searcher.post("/v2/warrants", json=[warrant_body("task:flights#approved-read@document:plan")])

    assert refused.status_code == 403
    deadline = time.monotonic() + 20
    events: list[Any] = []
    while len(events) < 3:
        listed = agents.get("/v2/access-events", params={"limit": 1000}).json()["results"]
        events = [event for event in listed if event["actor"] == "searcher"]
        assert time.monotonic() < deadline, listed
        time.sleep(0.05)

    recorded = json.dumps(events)
    assert '"ann"' in recorded
    assert '"flights"' in recorded
    while ("refused", "/v2/warrants") not in list_requests(audit_file, "searcher"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def list_requests(audit_file: Path, actor: str) -> list[tuple[str, str]]:
    """What the audit log has of this actor so far. The first record that is written creates the file."""
    lines = map(json.loads, audit_file.read_text().splitlines()) if audit_file.exists() else ()
    return [(line["kind"], line["path"]) for line in lines if line.get("actor") == actor]
