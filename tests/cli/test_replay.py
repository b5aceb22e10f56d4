"""`magistrate replay`: what was recorded, what is decided again, and why."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from magistrate.operations.checks import decision_log
from tests.cli.cases import Magistrate
from tests.conftest import STORES, new_database_url
from tests.databases import run_sql
from tests.running import running_service, settings_for

TYPES: dict[str, dict[str, object]] = {"user": {}, "page": {"reader": {}, "editor": {}}}


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database_url(request.param, tmp_path, request)


@pytest.fixture
def logging(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Magistrate]:
    """The command line, and a service that logs decisions and writes them at once."""
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
    with running_service(settings_for(url, decision_log=100)) as service:
        magistrate = Magistrate(service)
        magistrate.done("types", "apply", "-", typed=json.dumps(TYPES))
        magistrate.done("warrants", "create", "page:home#reader@user:ann[x == 1]")
        yield magistrate


def decided(magistrate: Magistrate, *check: str) -> str:
    """The id of the decision of a check, from the table of events."""
    magistrate("check", *check)
    deadline = time.monotonic() + 20
    while True:
        table = magistrate("events", "access", "--limit", "1").stdout.splitlines()
        if table[0].split() == ["TIME", "EVENT", "WARRANT", "BY", "DECISION"]:
            return table[1].split()[-1]
        assert time.monotonic() < deadline, table
        time.sleep(0.02)


def test_a_decision_is_replayed_with_its_explanation(logging: Magistrate) -> None:
    decision_id = decided(logging, "page:home#reader@user:ann", "--context", "x:=1")
    logging.done("warrants", "delete", "page:home#reader@user:ann[x == 1]")

    recorded, replayed, *explanation = logging.done("replay", decision_id).splitlines()

    assert recorded.startswith("recorded  allowed  20")
    assert replayed == "replayed  allowed  the same"
    assert explanation == [
        "allowed",
        "  yes  page:home#reader@user:ann",
        "    yes  page:home#reader@user:ann  by page:home#reader@user:ann  if x == 1",
    ]


def test_a_denial_is_replayed_with_what_would_have_allowed_it(logging: Magistrate) -> None:
    decision_id = decided(logging, "page:home#reader@user:ann", "--context", "x:=2")

    replayed = logging("replay", decision_id)

    assert replayed.exit_code == 0  # the same decision
    assert "    send    x:=1" in replayed.stdout.splitlines()


def test_a_replay_that_does_not_agree_says_so_and_exits_with_1(logging: Magistrate, url: str) -> None:
    decision_id = decided(logging, "page:home#reader@user:bob")
    run_sql(url, "UPDATE decision SET action = 'allowed'")

    replayed = logging("replay", decision_id)

    assert replayed.exit_code == 1
    assert [line.split()[1] for line in replayed.stdout.splitlines()[:2]] == ["allowed", "denied"]
    assert replayed.stdout.splitlines()[1].endswith("NOT the same")


def test_the_answer_is_printed_as_json(logging: Magistrate) -> None:
    decision_id = decided(logging, "page:home#reader@user:bob")

    answer = json.loads(logging.done("replay", decision_id, "--json"))

    assert (answer["recorded"]["id"], answer["agrees"]) == (decision_id, True)
    assert answer["explanation"]["decision"] == answer["recorded"]["decision"] == "denied"


def test_an_id_that_is_no_decision_is_an_error(logging: Magistrate) -> None:
    assert "Decision nothing not found" in logging.failed("replay", "nothing")


def test_an_empty_id_is_an_error_of_its_own(magistrate: Magistrate) -> None:
    assert magistrate.failed("replay", "") == "the ID is empty; `magistrate events access` shows those of decisions"
