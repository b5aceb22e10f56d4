"""/fga/v1/check (docs/fga-v1.md#checks)."""

from typing import Any

import pytest

from tests.fga.requests import check, fga_warrant, write
from tests.issuing import issue_key
from tests.running import Client

READ = "document:c-plan#can_read@user:ann"


@pytest.fixture(scope="module", autouse=True)
def warrants(fga: Client) -> None:
    write(
        fga,
        "document:c-plan#parent@folder:c-root",
        "folder:c-root#viewer@team:c-eng#member",
        "team:c-eng#member@user:ann",
        "team:c-eng#member@user:bob",
        "document:c-plan#blocked@user:bob",
        "document:c-plan#owner@user:cleo[hour < 17]",
    )


def test_a_check_is_decided_as_by_v2(fga: Client) -> None:
    allowed = fga.post("/fga/v1/check", json={"checks": [fga_warrant(READ)]})
    direct = check(fga, "team:c-eng#member@user:ann")

    token = allowed.headers["warrant-token"]
    assert allowed.json() == {"result": "authorized", "is_implicit": True, "warrant_token": token}
    assert direct["is_implicit"] is False
    assert check(fga, "document:c-plan#can_read@user:bob")["result"] == "not_authorized"


def test_several_checks_have_an_operator(fga: Client) -> None:
    bob = "document:c-plan#can_read@user:bob"

    assert check(fga, bob, READ, op="any_of")["result"] == "authorized"
    assert check(fga, READ, bob, op="all_of")["result"] == "not_authorized"
    assert [one["result"] for one in check(fga, READ, bob, op="batch")] == ["authorized", "not_authorized"]


def test_policies_read_the_context_of_their_check(fga: Client) -> None:
    for context, result in (({"hour": 9}, "authorized"), ({"hour": 20}, "not_authorized")):
        assert check(fga, "document:c-plan#viewer@user:cleo", context=context)["result"] == result
    for network, result in (("office", "authorized"), ("home", "not_authorized")):
        printed = check(fga, "document:c-plan#can_print@user:ann", context={"network": network})
        assert printed["result"] == result


def test_a_check_is_at_least_as_fresh_as_its_token(fga: Client) -> None:
    token = write(fga, "document:c-new#owner@user:ann")

    for sent in (token, "latest"):
        body = {"checks": [fga_warrant("document:c-new#viewer@user:ann")]}
        answer = fga.post("/fga/v1/check", json=body, headers={"Warrant-Token": sent})
        assert (answer.json()["result"], answer.json()["warrant_token"]) == ("authorized", token)


def _decisions(node: dict[str, Any]) -> list[tuple[str, str]]:
    checked = node["check"]
    names = f"{checked['resource_type']}:{checked['resource_id']}#{checked['relation']}"
    return [(names, node["decision"]), *(one for child in node["children"] for one in _decisions(child))]


def test_debug_shows_the_tree_of_the_decision(fga: Client) -> None:
    answer = check(fga, READ, debug=True, context={"hour": 9})

    tree = answer["debug_info"]["decision_tree"]
    assert (tree["check"], tree["decision"]) == (fga_warrant(READ) | {"context": {"hour": 9}}, "matched")
    assert ("team:c-eng#member", "matched") in _decisions(tree)
    assert answer["debug_info"]["processing_time"] == tree["processing_time"] >= 0
    assert "warnings" not in answer


def test_debug_warns_only_of_variables_whose_absence_matters(fga: Client) -> None:
    def warn(context: dict[str, Any]) -> list[Any]:
        answer = check(fga, "document:c-rules#viewer@user:dot", debug=True, context=context)
        assert answer["result"] == "not_authorized"
        return [one["keys"] for one in answer.get("warnings", [])]

    write(fga, 'document:c-rules#viewer@user:dot[region == "eu" && level > 3]')

    assert warn({}) == []
    assert warn({"level": 5}) == []
    assert warn({"region": "us"}) == []
    assert warn({"region": "eu"}) == [["level"]]


def test_debug_shows_the_tree_of_the_check_that_decides(fga: Client) -> None:
    bob = "document:c-plan#can_read@user:bob"

    some, every = (check(fga, READ, bob, op=op, debug=True) for op in ("any_of", "all_of"))
    each = check(fga, READ, bob, op="batch", debug=True)

    assert some["debug_info"]["decision_tree"]["decision"] == "matched"
    assert every["debug_info"]["decision_tree"]["decision"] == "not_matched"
    assert ("document:c-plan#blocked", "matched") in _decisions(every["debug_info"]["decision_tree"])
    assert [one["debug_info"]["decision_tree"]["decision"] for one in each] == ["matched", "not_matched"]


def test_debug_warns_of_variables_that_policies_lack(fga: Client) -> None:
    answer = check(fga, "document:c-plan#viewer@user:cleo", debug=True)
    [warning] = answer["warnings"]

    assert answer["result"] == "not_authorized"
    assert (warning["code"], warning["keys"]) == ("missing_context_keys", ["hour"])
    assert "hour < 17" in str(answer["debug_info"]["decision_tree"])


def test_a_key_that_may_only_check_sees_no_tree(fga: Client) -> None:
    secret = issue_key(fga, "fga-only-check", "check")

    with Client(str(fga.base_url), secret) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        assert check(client, READ, debug=True).keys() == {"result", "is_implicit", "warrant_token"}


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "checks"),
        ({"checks": [], "debug": True}, "checks"),
        ({"checks": [fga_warrant(READ)] * 2}, "checks"),
        ({"checks": [fga_warrant(READ)] * 11, "op": "batch", "debug": True}, "checks"),
        ({"checks": [fga_warrant(READ)], "op": "anyOf"}, "op"),
        ({"checks": [{**fga_warrant(READ), "resource_id": "a b"}]}, "resource_id"),
        ({"checks": [{**fga_warrant(READ), "resource_type": "Upper"}]}, "resource_type"),
        ({"checks": [{**fga_warrant(READ), "subject": {"resource_type": "user"}}]}, "resource_id"),
        ({"checks": [{**fga_warrant(READ), "subject": None}]}, "subject"),
        ({"checks": [{**fga_warrant(READ), "context": 1}]}, "checks.context"),
    ],
)
def test_a_mistake_is_reported_by_the_name_that_it_has_here(fga: Client, body: Any, parameter: str) -> None:
    answer = fga.post("/fga/v1/check", json=body)

    assert (answer.status_code, answer.json()["parameter"]) == (400, parameter), answer.text
    assert "object" not in answer.json()["message"].lower().replace("an object", "")
