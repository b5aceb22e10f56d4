"""/v2/check and its other name (docs/compatibility.md#check): the request, the answer, operators, debug."""

from typing import Any

import pytest

from tests.api.check_answers import ALLOWED, DENIED
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {
    "report": {"owner": {}, "editor": {"inheritIf": "owner"}, "viewer": {"inheritIf": "editor"}},
    "role": {"member": {}},
}


@pytest.fixture
def granted(client: Client) -> Client:
    client.define(TYPES)
    client.grant(
        "report:a#editor@user:ann",
        "report:a#editor@role:admin#member",
        'role:admin#member@user:bob[tenant == "b"]',
        "report:b#viewer@user:ann",
    )
    return client


def claims(*written: str) -> list[dict[str, Any]]:
    return [warrant_body(text) for text in written]


@pytest.mark.parametrize("path", ["/v2/check", "/v2/authorize"])
def test_a_check_answers_200_whether_it_is_allowed_or_not(granted: Client, path: str) -> None:
    allowed = granted.post(path, json={"warrants": claims("report:a#editor@user:ann")})
    denied = granted.post(path, json={"warrants": claims("report:a#owner@user:ann")})

    assert (allowed.status_code, allowed.json()) == (200, ALLOWED)
    assert (denied.status_code, denied.json()) == (200, DENIED)
    assert allowed.headers["service-token"] == allowed.headers["warrant-token"]


def test_what_is_inherited_is_implicit(granted: Client) -> None:
    assert granted.ask("report:a#viewer@user:ann").json() == ALLOWED | {"isImplicit": True}


def test_a_check_writes_nothing_and_unknown_names_are_not_authorized(granted: Client) -> None:
    before = granted.get("/v2/objects").headers["service-token"]

    assert granted.ask("report:nowhere#editor@user:nobody").json() == DENIED
    assert granted.ask("report:a#never-defined@user:ann").json() == DENIED
    assert granted.get("/v2/objects").headers["service-token"] == before


def test_an_object_type_that_is_not_defined_is_not_found(granted: Client) -> None:
    missing = granted.ask("ghost:a#viewer@user:ann")

    assert missing.status_code == 404
    assert missing.json() == {
        "code": "not_found",
        "message": "ObjectType ghost not found",
        "type": "ObjectType",
        "key": "ghost",
    }


@pytest.mark.parametrize(
    ("body", "parameter", "message"),
    [
        ({}, "warrants", "must be greater than or equal to 1"),
        ({"warrants": []}, "warrants", "must be greater than or equal to 1"),
        ({"warrants": None, "op": "anyOf"}, "warrants", "must be greater than or equal to 1"),
        (
            {"warrants": claims("report:a#editor@user:ann", "report:b#editor@user:ann")},
            "warrants",
            "must include operator when including multiple warrants",
        ),
        ({"op": "noneOf", "warrants": claims("report:a#editor@user:ann")}, "op", "must be either anyOf or allOf"),
        ({"warrants": claims("report:a#editor@user:ann") * 1001, "op": "batch"}, "warrants", "must be less than 1001"),
        ({"warrants": [{}]}, "objectType", "Missing required parameter objectType"),
        ({"warrants": [{"objectType": "report", "objectId": "a", "relation": "x"}]}, "subject", "Missing"),
        ({"warrants": [warrant_body("report:a#editor@user:ann") | {"subject": {}}]}, "objectType", "Missing"),
        ({"warrants": [warrant_body("report:a#editor@user:ann") | {"context": 5}]}, "warrants.context", "must be an"),
        ({"warrants": 5}, "warrants", "must be an array"),
        (
            {"warrants": claims("report:a#editor@user:ann"), "context": {"x": "y" * 65_530}},
            "context",
            "must be at most",
        ),
        ({"debug": "yes", "warrants": claims("report:a#editor@user:ann")}, "debug", "must be true or false"),
    ],
)
def test_a_check_that_cannot_be_read_is_refused(
    granted: Client, body: dict[str, Any], parameter: str, message: str
) -> None:
    refused = granted.post("/v2/check", json=body)

    assert refused.status_code == 400
    assert refused.json()["parameter"] == parameter
    assert refused.json()["message"].startswith(message)


def test_an_empty_operator_and_an_empty_subject_relation_are_absent(granted: Client) -> None:
    claim = warrant_body("report:a#editor@user:ann")
    claim["subject"]["relation"] = ""

    assert granted.post("/v2/check", json={"op": "", "warrants": [claim]}).json() == ALLOWED


HAS, HAS_NOT, BREAKS = "report:a#editor@user:ann", "report:a#owner@user:ann", "ghost:a#owner@user:ann"
INHERITS = "report:a#viewer@user:ann"


@pytest.mark.parametrize(
    ("op", "asked", "expected"),
    [
        ("anyOf", [HAS_NOT, HAS], ALLOWED),
        ("anyOf", [HAS_NOT, HAS_NOT], DENIED),
        ("anyOf", [INHERITS, HAS], ALLOWED | {"isImplicit": True}),
        ("anyOf", [HAS, BREAKS], ALLOWED),
        ("anyOf", [HAS_NOT, BREAKS], None),
        ("anyOf", [BREAKS, HAS], None),
        ("allOf", [HAS, HAS], ALLOWED),
        ("allOf", [HAS, INHERITS], ALLOWED | {"isImplicit": True}),
        ("allOf", [HAS, HAS_NOT], DENIED),
        ("allOf", [HAS_NOT, BREAKS], DENIED),
        ("allOf", [HAS, BREAKS], None),
        ("allOf", [BREAKS, HAS_NOT], None),
        ("batch", [HAS, HAS_NOT, INHERITS], [ALLOWED, DENIED, ALLOWED | {"isImplicit": True}]),
        ("batch", [HAS], [ALLOWED]),
        ("batch", [HAS, BREAKS], None),
    ],
)
def test_several_checks_are_answered_in_order_up_to_the_one_that_settles_it(
    granted: Client, op: str, asked: list[str], expected: Any
) -> None:
    answer = granted.post("/v2/check", json={"op": op, "warrants": claims(*asked)})

    if expected is None:
        assert (answer.status_code, answer.json()["key"]) == (404, "ghost")
    else:
        assert (answer.status_code, answer.json()) == (200, expected)


def test_the_context_of_a_warrant_is_laid_over_that_of_the_check(granted: Client) -> None:
    asked = "report:a#editor@user:bob"

    assert granted.ask(asked).json() == DENIED
    assert granted.ask(asked, context={"tenant": "b"}).json()["code"] == 200
    both = {
        "op": "batch",
        "context": {"tenant": "b"},
        "warrants": [warrant_body(asked), warrant_body(asked) | {"context": {"tenant": "a"}}],
    }
    assert [answer["code"] for answer in granted.post("/v2/check", json=both).json()] == [200, 403]


def test_debug_shows_the_warrants_from_the_subject_to_the_object(granted: Client) -> None:
    answer = granted.ask("report:a#viewer@user:bob", context={"tenant": "b", "amount": 5}, debug=True).json()

    by_claim = answer["decisionPath"]
    stored = {row["subject"]["objectId"]: row for row in granted.get("/v2/warrants").json()["results"]}
    assert list(by_claim) == ["report:a#viewer@user:bob[amount=5 tenant=b]"]
    assert by_claim["report:a#viewer@user:bob[amount=5 tenant=b]"] == [stored["bob"], stored["admin"]]
    assert answer["isImplicit"] is True
    assert isinstance(answer.get("processingTime", 0), int)


def test_debug_shows_nothing_for_what_is_denied(granted: Client) -> None:
    assert "decisionPath" not in granted.ask("report:a#owner@user:ann", debug=True).json()
    assert "decisionPath" not in granted.ask("report:a#editor@user:ann").json()


def test_a_denied_allof_shows_what_matched_before(granted: Client) -> None:
    asked = {"op": "allOf", "debug": True, "warrants": claims(HAS, HAS_NOT, INHERITS)}

    answer = granted.post("/v2/check", json=asked).json()

    assert answer["code"] == 403
    assert list(answer["decisionPath"]) == [HAS]


def test_a_batch_shows_the_path_of_each(granted: Client) -> None:
    asked = {"op": "batch", "debug": True, "warrants": claims(HAS, HAS_NOT, INHERITS)}

    paths = [list(answer.get("decisionPath", {})) for answer in granted.post("/v2/check", json=asked).json()]

    assert paths == [[HAS], [], [INHERITS]]


def test_a_check_sees_the_write_whose_token_it_carries(granted: Client) -> None:
    for number in range(20):
        body = warrant_body(f"report:{number}#editor@user:ann")
        created = granted.post("/v2/warrants", json=body)
        headers = {"Warrant-Token": created.headers["warrant-token"]}
        assert granted.post("/v2/check", json={"warrants": [body]}, headers=headers).json() == ALLOWED

        deleted = granted.delete_json("/v2/warrants", body)
        headers = {"Service-Token": deleted.headers["service-token"]}
        assert granted.post("/v2/check", json={"warrants": [body]}, headers=headers).json() == DENIED


def test_a_check_sees_a_changed_object_type_at_once(granted: Client) -> None:
    assert granted.ask("report:b#editor@user:ann").json() == DENIED

    granted.define({"report": {"viewer": {}, "editor": {"inheritIf": "viewer"}}})

    assert granted.ask("report:b#editor@user:ann").json() == ALLOWED | {"isImplicit": True}


def test_a_check_that_needs_too_much_work_is_503_and_says_so(database_url: str) -> None:
    with running_service(settings_for(database_url, max_check_work=1_000)) as url, Client(url) as client:
        client.define({"team": {"member": {}}})
        client.grant("team:other#member@user:bob")  # or no team could have a user, which takes no work
        client.grant(*[f"team:all#member@team:{number}#member" for number in range(1_000)])

        spent = client.ask("team:all#member@user:ann")
        enough = client.ask("team:7#member@user:ann")

        assert spent.status_code == 503
        assert spent.json()["code"] == "budget_spent"
        assert "1000" in spent.json()["message"]
        assert "retry-after" not in spent.headers
        assert enough.json() == DENIED


def test_a_thousand_subjects_and_contexts_can_be_checked_at_once(granted: Client) -> None:
    granted.grant("report:b#viewer@user:*")
    asked = [warrant_body(f"report:{'ab'[n % 2]}#viewer@user:{n}") | {"context": {"n": n}} for n in range(1_000)]

    answers = granted.post("/v2/check", json={"op": "batch", "warrants": asked}).json()

    assert [answer["code"] for answer in answers] == [403, 200] * 500


def test_contexts_are_bounded_together_as_each_is_a_copy_of_the_common_one(granted: Client) -> None:
    common = {"tenant": "b", "x": "y" * (65_536 - len('{"tenant":"b","x":"","own":1}'))}
    own = warrant_body("report:a#editor@user:bob") | {"context": {"own": 1}}

    def ask(*warrants: dict[str, Any]) -> Any:
        return granted.post("/v2/check", json={"op": "batch", "warrants": warrants, "context": common})

    most = ask(*[own] * 128, *[{**own, "context": {}}] * 200)
    more = ask(*[own] * 129)

    assert (most.status_code, len(most.json())) == (200, 328)
    message = "must be at most 8388608 bytes of JSON for all warrants together"
    assert (more.status_code, more.json()) == (
        400,
        {"code": "invalid_parameter", "message": message, "parameter": "context"},
    )


def test_a_context_as_large_as_the_limit_is_taken(granted: Client) -> None:
    context = {"tenant": "b", "x": "y" * (65_536 - len('{"tenant":"b","x":""}'))}

    assert granted.ask("report:a#editor@user:bob", context=context).json()["code"] == 200
