"""Conditions under other versions of the model, in trees and assertions, in backups, and below /fga/v1
(docs/openfga.md#conditions)."""

from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.openfga.conditions import BELOW, condition, conditional, of_type, put
from tests.openfga.conversation import OpenFga, define, model, this
from tests.openfga.requests import key
from tests.running import Client, running_service, settings_for
from tests.waiting import wait_until

ABOVE = condition("above", "level > limit", level=of_type("INT"), limit=of_type("INT"))
PLAIN = key("file:a viewer user:ann")
CONDITIONAL = conditional("file:a viewer user:ann", "below", limit=5)
LEVEL = {"level": 3}


def with_forms(*forms: str, conditions: Any = BELOW) -> dict[str, Any]:
    return {**model(define("user"), define("file", viewer=(this(), [*forms]))), "conditions": conditions}


def answer_all(openfga: OpenFga, model_id: str) -> set[bool]:
    """Whether ann is a viewer by this model, by each kind of request."""
    common = {"authorization_model_id": model_id, "context": LEVEL}
    objects = {"type": "file", "relation": "viewer", "user": "user:ann"}
    users = {"object": {"type": "file", "id": "a"}, "relation": "viewer", "user_filters": [{"type": "user"}]}
    expand = {"tuple_key": {"object": "file:a", "relation": "viewer"}, "authorization_model_id": model_id}
    batch = {
        "checks": [{"tuple_key": PLAIN, "correlation_id": "a", "context": LEVEL}],
        "authorization_model_id": model_id,
    }
    root = openfga.post("expand", expand).json()["tree"]["root"]
    return {
        openfga.post("check", {"tuple_key": PLAIN, **common}).json()["allowed"],
        openfga.post("batch-check", batch).json()["result"]["a"]["allowed"],
        openfga.post("list-objects", {**objects, **common}).json()["objects"] == ["file:a"],
        openfga.post("list-users", {**users, **common}).json()["users"] == [{"object": {"type": "user", "id": "ann"}}],
        root["leaf"]["users"]["users"] == ["user:ann"],
    }


def test_a_plain_tuple_counts_for_nothing_by_an_older_model_that_demands_a_condition(openfga: OpenFga) -> None:
    demanding = openfga.write_model(with_forms("user with below"))
    both = openfga.write_model(with_forms("user", "user with below"))
    newest = openfga.write_model(with_forms("user", conditions={}))
    assert put(openfga, PLAIN).status_code == 200

    assert answer_all(openfga, demanding) == {False}
    assert answer_all(openfga, both) == {True}
    assert answer_all(openfga, newest) == {True}


def test_a_tuple_counts_by_an_older_model_with_a_condition_that_it_lists(openfga: OpenFga) -> None:
    either = {**BELOW, **ABOVE}
    with_above = openfga.write_model(with_forms("user with above", conditions=either) | {"schema_version": "1.2"})
    plain = openfga.write_model(with_forms("user"))
    with_below = openfga.write_model(with_forms("user with above", "user with below", conditions=either))
    openfga.write_model(with_forms("user with below"))
    assert put(openfga, CONDITIONAL).status_code == 200

    assert answer_all(openfga, with_above) == {False}
    assert answer_all(openfga, plain) == {False}
    assert answer_all(openfga, with_below) == {True}


def test_a_tree_shows_users_with_conditions_whatever_these_are(openfga: OpenFga) -> None:
    openfga.write_model(with_forms("user", "user with below", "user:* with below"))
    stored = [CONDITIONAL, conditional("file:a viewer user:*", "below", limit=0), key("file:a viewer user:bob")]
    assert put(openfga, *stored).status_code == 200
    contextual = conditional("file:a viewer user:cleo", "below", limit=1)

    body = {"tuple_key": {"object": "file:a", "relation": "viewer"}, "contextual_tuples": {"tuple_keys": [contextual]}}
    root = openfga.post("expand", body).json()["tree"]["root"]

    assert root["leaf"]["users"]["users"] == ["user:*", "user:ann", "user:bob", "user:cleo"]


def test_an_assertion_has_conditions_and_a_context(openfga: OpenFga) -> None:
    model_id = openfga.write_model(with_forms("user with below"))
    written = {
        "tuple_key": PLAIN,
        "expectation": True,
        "contextual_tuples": [CONDITIONAL],
        "context": {"level": 3, "x": [1]},
    }
    wrong = {**written, "contextual_tuples": [PLAIN]}

    assert openfga.put(f"assertions/{model_id}", {"assertions": [written]}).status_code == 204
    refused = openfga.put(f"assertions/{model_id}", {"assertions": [wrong]})

    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")
    assert openfga.get(f"assertions/{model_id}").json()["assertions"] == [written]


def test_a_backup_has_tuples_with_their_conditions(database_url: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> None:
        options = [*arguments, "--database-url", database_url]
        ran = CommandRunner().invoke(main, options, env={}, prog_name="magistrate")
        assert ran.exit_code == 0, ran.output

    with running_service(settings_for(database_url)) as url, Client(url) as client:
        openfga = OpenFga.create(client)
        openfga.write_model(with_forms("user with below"))
        assert put(openfga, CONDITIONAL).status_code == 200

        run("backup", str(tmp_path / "backup"), "--store", openfga.store_id)
        run("restore", str(tmp_path / "backup"), "--into", "restored")

        restored = OpenFga(client, client.get("/v2/stores/restored").json()["id"])
        wait_until(lambda: restored.get("authorization-models").status_code == 200)  # another process made it
        answers = [each.post("read", {}) for each in (openfga, restored)]
        assert [answer.status_code for answer in answers] == [200, 200], [answer.text for answer in answers]
        rows = [answer.json()["tuples"] for answer in answers]
        assert rows[0] == rows[1]
        assert rows[1][0]["key"] == CONDITIONAL
        assert answer_all(restored, openfga.model_id) == {True}


def test_the_view_of_fga_v1_has_the_condition_as_a_policy(openfga: OpenFga) -> None:
    openfga.write_model(with_forms("user with below"))
    assert put(openfga, CONDITIONAL).status_code == 200
    prefix = f"/stores/{openfga.store_id}/fga/v1"
    check = {
        "resource_type": "file",
        "resource_id": "a",
        "relation": "viewer",
        "subject": {"resource_type": "user", "resource_id": "ann"},
    }

    [listed] = openfga.client.get(f"{prefix}/warrants").json()["data"]

    assert (listed["relation"], listed["policy"]) == ("direct_viewer", 'policy("below", {"limit":5})')
    for level, result in ((3, "authorized"), (7, "not_authorized")):
        answer = openfga.client.post(f"{prefix}/check", json={"checks": [{**check, "context": {"level": level}}]})
        assert answer.json()["result"] == result


@pytest.mark.parametrize("consistency", ["HIGHER_CONSISTENCY", 200, "MINIMIZE_LATENCY", 0, "SOON", None])
def test_a_read_may_name_its_consistency(openfga: OpenFga, consistency: object) -> None:
    openfga.write_model(with_forms("user with below"))
    assert put(openfga, CONDITIONAL).status_code == 200

    assert len(openfga.post("read", {"consistency": consistency}).json()["tuples"]) == 1


@pytest.mark.parametrize("consistency", [7, True, []])
def test_a_read_with_another_consistency_is_refused(openfga: OpenFga, consistency: object) -> None:
    refused = openfga.post("read", {"consistency": consistency})

    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")
