"""The AuthZEN API (docs/authzen.md), with the records of its interoperability tests."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import msgspec
import pytest

from magistrate.api.authzen.routes import ENDPOINTS
from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from magistrate.wiring.examples import read_example
from tests.issuing import issue_key
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

Body = dict[str, Any]

ACCESS: Mapping[str, Route] = {one.path: one for one in ROUTES if one.path.startswith("/access/")}
EXAMPLE = read_example("authzen")
ALICE, BOB = {"type": "user", "id": "alice"}, {"type": "user", "id": "bob"}
RECORD_1, RECORD_2 = {"type": "record", "id": "record-1"}, {"type": "record", "id": "record-2"}
READ, WRITE, DELETE = {"name": "read"}, {"name": "write"}, {"name": "delete"}
VALID: Body = {"subject": ALICE, "action": READ, "resource": RECORD_1}


@pytest.fixture(scope="module")
def records(shared_client: Client) -> Iterator[Client]:
    for one_type in EXAMPLE.types:
        shared_client.define({one_type.name: {relation: {} for relation in one_type.relations}})
    for one in EXAMPLE.objects:
        body = {"objectType": one.type, "objectId": one.id, "meta": one.meta}
        shared_client.post("/v2/objects", json=body).raise_for_status()
    shared_client.grant(*(warrant.render() for warrant in EXAMPLE.warrants))
    with Client(str(shared_client.base_url)) as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        yield client


def evaluate(client: Client, subject: Body, action: Body, resource: Body, **members: Any) -> Body:
    body = {"subject": subject, "action": action, "resource": resource, **members}
    answer = client.post("/access/v1/evaluation", json=body)
    assert answer.status_code == 200, answer.text
    found: Body = answer.json()
    return found


def search(client: Client, what: str, **members: Any) -> Body:
    answer = client.post(f"/access/v1/search/{what}", json=members)
    assert answer.status_code == 200, answer.text
    found: Body = answer.json()
    return found


def found_ids(answer: Body) -> list[str]:
    assert answer["page"]["count"] == len(answer["results"])
    return [one["id"] for one in answer["results"]]


@pytest.mark.parametrize(
    ("subject", "action", "resource", "decision"),
    [
        (ALICE, READ, RECORD_1, True),
        (ALICE, WRITE, RECORD_1, True),
        (BOB, READ, RECORD_1, True),
        (BOB, WRITE, RECORD_1, False),
        (ALICE, WRITE, RECORD_2, False),
        (BOB, WRITE, RECORD_2, True),
        (ALICE | {"properties": {"role": "admin"}}, WRITE, RECORD_2, True),
        (BOB | {"properties": {"role": "guest"}}, WRITE, RECORD_2, False),
        (ALICE, WRITE, RECORD_2 | {"properties": {"status": "active"}}, True),
        (ALICE, WRITE, RECORD_2 | {"properties": {"owner": "x"}}, False),
        (ALICE, DELETE | {"properties": {"soft": True}}, RECORD_1, True),
        (ALICE, DELETE | {"properties": {"soft": False}}, RECORD_1, False),
        (ALICE, DELETE, RECORD_1, False),
        (ALICE | {"id": "nobody"}, READ, RECORD_1, False),
        (ALICE, READ, RECORD_1 | {"id": "no-record"}, False),
    ],
)
def test_an_evaluation_is_a_check_with_properties_that_fall_back_to_meta(
    records: Client, subject: Body, action: Body, resource: Body, decision: bool
) -> None:
    answers = [evaluate(records, subject, action, resource) for _ in range(3)]

    assert answers == [{"decision": decision}] * 3


def test_members_of_the_context_are_variables_and_those_of_entities_are_not_taken_from_it(records: Client) -> None:
    records.grant('record:record-3#read@user:alice[hour < 12 && subject.role == "admin"]')
    record = {"type": "record", "id": "record-3"}
    admin = ALICE | {"properties": {"role": "admin"}}

    assert evaluate(records, admin, READ, record, context={"hour": 9}) == {"decision": True}
    assert evaluate(records, admin, READ, record, context={"hour": 13}) == {"decision": False}
    assert evaluate(records, admin, READ, record) == {"decision": False}
    given = {"hour": 9, "subject": {"role": "admin"}}
    assert evaluate(records, ALICE, READ, record, context=given) == {"decision": False}


def test_changed_meta_counts_from_the_write_on(records: Client) -> None:
    records.grant('record:record-4#write@user:alice[resource.status == "active"]')
    record, path = {"type": "record", "id": "record-4"}, "/v2/objects/record/record-4"

    decisions = [evaluate(records, ALICE, WRITE, record)["decision"]]
    for status in ("active", "archived", "active"):
        token = records.put(path, json={"meta": {"status": status}}).headers["Service-Token"]
        body = {"subject": ALICE, "action": WRITE, "resource": record}
        answer = records.post("/access/v1/evaluation", json=body, headers={"Service-Token": token})
        decisions.append(answer.json()["decision"])

    assert decisions == [False, True, False, True]


@pytest.mark.parametrize(
    ("subject", "action", "resource", "reason"),
    [
        (ALICE, {"name": "reed"}, RECORD_1, "relation reed is not defined on record (did you mean read?)"),
        (ALICE, READ, {"type": "recrod", "id": "1"}, "object type recrod is not defined (did you mean record?)"),
        (ALICE, {"name": "GET /"}, RECORD_1, None),
        (ALICE, READ, {"type": "Not A Type", "id": "1"}, None),
        ({"type": "user", "id": "two words"}, READ, RECORD_1, None),
    ],
)
def test_what_does_not_exist_is_denied_and_the_reason_says_so(
    records: Client, subject: Body, action: Body, resource: Body, reason: str | None
) -> None:
    for _ in range(2):
        answer = evaluate(records, subject, action, resource)

        assert answer["decision"] is False
        assert answer["context"].keys() == {"reason"}
        assert answer["context"]["reason"]
        if reason is not None:
            assert reason.partition(" (")[0] in answer["context"]["reason"]


def test_reasons_and_paths_are_given_when_asked_for(records: Client) -> None:
    explained = evaluate(records, ALICE, READ, RECORD_1, context={"explain": True})
    denied = evaluate(records, BOB, WRITE, RECORD_1, context={"explain": True})

    assert explained["decision"] is True
    assert explained["context"]["reason"] == "a warrant gives user:alice the relation read on record:record-1"
    [warrant] = explained["context"]["path"]
    assert (warrant["objectId"], warrant["subject"]["objectId"]) == ("record-1", "alice")
    assert denied == {
        "decision": False,
        "context": {"reason": "no warrant and no rule gives user:bob the relation write on record:record-1"},
    }
    for value in (False, "true", 1, None):
        assert evaluate(records, ALICE, READ, RECORD_1, context={"explain": value}) == {"decision": True}


def test_an_explained_decision_with_meta_is_the_same(records: Client) -> None:
    explained = evaluate(records, BOB, WRITE, RECORD_2, context={"explain": True})

    assert explained["decision"] is True
    assert [one["objectId"] for one in explained["context"]["path"]] == ["record-2"]


def without(member: str) -> Body:
    name, _, inner = member.partition(".")
    if not inner:
        return {key: value for key, value in VALID.items() if key != name}
    return VALID | {name: {key: value for key, value in VALID[name].items() if key != inner}}


FAULTS: list[tuple[str, bytes | Body]] = [
    ("no body", b""),
    ("malformed", b'{"subject":'),
    ("an array", b"[]"),
    ("a text", b'"x"'),
    *[
        (f"without {one}", without(one))
        for one in (
            "subject", "subject.type", "subject.id", "action", "action.name", "resource", "resource.type", "resource.id"
        )
    ],
    ("subject is a text", VALID | {"subject": "alice"}),
    ("type is a number", VALID | {"resource": {"type": 1, "id": "x"}}),
    ("id is a number", VALID | {"subject": {"type": "user", "id": 1}}),
    ("id is empty", VALID | {"subject": {"type": "user", "id": ""}}),
    ("any subject", VALID | {"subject": {"type": "user", "id": "*"}}),
    ("any resource", VALID | {"resource": {"type": "record", "id": "*"}}),
    ("properties are an array", VALID | {"resource": RECORD_1 | {"properties": []}}),
    ("context is a text", VALID | {"context": "x"}),
    ("context is too large", VALID | {"context": {"x": "x" * 65_536}}),
]  # fmt: skip


@pytest.mark.parametrize("path", ["/access/v1/evaluation", "/access/v1/evaluations"])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in FAULTS])
def test_a_fault_of_the_payload_is_400(records: Client, path: str, body: bytes | Body) -> None:
    given: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}

    answer = records.post(path, headers={"Content-Type": "application/json"}, **given)

    assert answer.status_code == 400, answer.text


def test_other_members_are_ignored(records: Client) -> None:
    body = VALID | {"more": 1, "subject": ALICE | {"name": "Alice"}, "options": {"evaluations_semantic": "x"}}

    assert records.post("/access/v1/evaluation", json=body).json() == {"decision": True}


# Headers


@pytest.mark.parametrize("path", ACCESS)
@pytest.mark.parametrize(
    ("content_type", "is_taken"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("Application/JSON", True),
        ("text/plain", False),
        ("application/jsonx", False),
        (None, False),
    ],
)
def test_the_body_must_be_declared_as_json(
    records: Client, path: str, content_type: str | None, is_taken: bool
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    body = msgspec.json.encode(VALID)

    statuses = {records.post(path, content=body, headers=headers).status_code for _ in range(2)}

    assert statuses == ({200} if is_taken else {400})


@pytest.mark.parametrize("path", ACCESS)
def test_the_id_of_a_request_comes_back_unchanged(records: Client, path: str) -> None:
    for body in (VALID, VALID, {}):
        answer = records.post(path, json=body, headers={b"X-Request-ID": "a b;c=é".encode("latin-1")})

        assert [value for name, value in answer.headers.raw if name.lower() == b"x-request-id"] == [
            "a b;c=é".encode("latin-1")
        ]
    assert "x-request-id" not in records.post(path, json=VALID).headers


@pytest.mark.parametrize("path", ACCESS)
@pytest.mark.parametrize("credential", [None, "Bearer wrong", "Bearer a.b.c", "ApiKey wrong", "Basic eDp5"])
def test_a_wrong_key_is_401_with_a_challenge(records: Client, path: str, credential: str | None) -> None:
    headers = {} if credential is None else {"Authorization": credential}

    answer = httpx.post(f"{records.base_url}{path}", json=VALID, headers={**headers, "X-Request-ID": "r"})

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.headers["X-Request-ID"] == "r"


@pytest.mark.parametrize("path", ACCESS)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_another_method_does_not_exist(records: Client, path: str, method: str) -> None:
    assert records.request(method, path).status_code == 404


def test_answers_have_the_token_of_their_revision_and_a_token_of_the_future_is_refused(records: Client) -> None:
    answer = records.post("/access/v1/evaluation", json=VALID)

    assert answer.headers["Service-Token"] == records.post("/v2/check", json=_as_check(VALID)).headers["Service-Token"]
    latest = records.post("/access/v1/evaluation", json=VALID, headers={"Service-Token": "latest"})
    assert latest.json() == {"decision": True}


def _as_check(body: Body) -> Body:
    subject, resource = body["subject"], body["resource"]
    return {
        "warrants": [
            {
                "objectType": resource["type"],
                "objectId": resource["id"],
                "relation": body["action"]["name"],
                "subject": {"objectType": subject["type"], "objectId": subject["id"]},
            }
        ]
    }


def test_a_key_that_is_limited_to_types_gets_no_path(records: Client) -> None:
    secret = issue_key(records, "records-only", "check", objectTypes=["record"])
    with Client(str(records.base_url), secret) as limited:
        explained = evaluate(limited, ALICE, READ, RECORD_1, context={"explain": True})
        refused = limited.post(
            "/access/v1/evaluations", json=VALID | {"evaluations": [{}, {"resource": {"type": "user", "id": "x"}}]}
        )

    assert explained["decision"] is True
    assert explained["context"].keys() == {"reason"}
    assert refused.status_code == 403


# Evaluations


def evaluate_all(client: Client, evaluations: list[Any], semantic: str | None = None, **members: Any) -> list[Body]:
    options = {} if semantic is None else {"options": {"evaluations_semantic": semantic}}
    answer = client.post("/access/v1/evaluations", json={"evaluations": evaluations, **options, **members})
    assert answer.status_code == 200, answer.text
    found: list[Body] = answer.json()["evaluations"]
    return found


def decisions(answers: list[Body]) -> list[bool]:
    return [one["decision"] for one in answers]


def test_evaluations_are_answered_in_order_and_their_members_replace_defaults_as_a_whole(records: Client) -> None:
    asked = [
        {},
        {"action": WRITE},
        {"subject": BOB},
        {"subject": BOB, "action": WRITE},
        {"resource": RECORD_2, "action": WRITE},
        {"subject": ALICE | {"properties": {"role": "admin"}}, "resource": RECORD_2, "action": WRITE},
    ]

    for _ in range(3):
        assert decisions(evaluate_all(records, asked, **VALID)) == [True, True, True, False, False, True]
    admin = VALID | {"subject": ALICE | {"properties": {"role": "admin"}}, "resource": RECORD_2, "action": WRITE}
    assert decisions(evaluate_all(records, [{}, {"subject": ALICE}], **admin)) == [True, False]


@pytest.mark.parametrize("evaluations", [{}, {"evaluations": []}])
def test_without_evaluations_it_is_a_single_one(records: Client, evaluations: Body) -> None:
    answer = records.post("/access/v1/evaluations", json=VALID | evaluations)

    assert answer.json() == {"decision": True}


YES, NO = VALID, VALID | {"subject": BOB, "action": WRITE}


@pytest.mark.parametrize(
    ("semantic", "asked", "expected"),
    [
        (None, [YES, NO, YES], [True, False, True]),
        ("execute_all", [NO, YES, NO], [False, True, False]),
        ("deny_on_first_deny", [YES, YES, NO, YES], [True, True, False]),
        ("deny_on_first_deny", [YES, YES], [True, True]),
        ("deny_on_first_deny", [YES, {}, YES], [True, False]),
        ("deny_on_first_deny", [NO, {}, YES], [False]),
        ("deny_on_first_deny", [{}, YES], [False]),
        ("permit_on_first_permit", [NO, YES, NO], [False, True]),
        ("permit_on_first_permit", [{}, NO, YES, {}, NO], [False, False, True]),
        ("permit_on_first_permit", [NO, NO], [False, False]),
    ],
)
def test_the_answers_end_right_behind_the_one_that_decides(
    records: Client, semantic: str | None, asked: list[Body], expected: list[bool]
) -> None:
    for _ in range(2):
        assert decisions(evaluate_all(records, asked, semantic)) == expected


@pytest.mark.parametrize("options", [{"evaluations_semantic": "any"}, {"evaluations_semantic": 1}, []])
def test_another_semantic_is_400(records: Client, options: Any) -> None:
    body = VALID | {"evaluations": [{}], "options": options}

    assert records.post("/access/v1/evaluations", json=body).status_code == 400


@pytest.mark.parametrize(
    "item",
    [{"subject": {"type": "user"}}, {"action": {}}, {"resource": 1}, {"subject": {"type": "user", "id": "*"}}, 1, None],
)
def test_a_fault_of_one_evaluation_is_its_own(records: Client, item: Any) -> None:
    answers = evaluate_all(records, [{}, item, {}], **VALID)

    assert decisions(answers) == [True, False, True]
    error = answers[1]["context"]["error"]
    assert error["status"] == 400
    assert error["message"]


def test_a_missing_entity_is_a_fault_of_the_evaluation(records: Client) -> None:
    answers = evaluate_all(records, [{"subject": ALICE}, {"resource": RECORD_1, "subject": ALICE}], action=READ)

    assert [one["decision"] for one in answers] == [False, True]
    assert answers[0]["context"]["error"] == {"status": 400, "message": "Missing required parameter resource"}


def test_unknown_types_deny_one_evaluation_alone(records: Client) -> None:
    answers = evaluate_all(
        records, [{}, {"resource": {"type": "nothing", "id": "x"}}, {"action": {"name": "no"}}], **VALID
    )

    assert decisions(answers) == [True, False, False]
    assert ["context" in one for one in answers] == [False, True, True]


def test_each_evaluation_is_explained_if_it_asks(records: Client) -> None:
    answers = evaluate_all(records, [{"context": {"explain": True}}, {}], **VALID)

    assert ["context" in one for one in answers] == [True, False]
    assert len(answers[0]["context"]["path"]) == 1


def test_at_most_1000_evaluations_are_made_at_once(records: Client) -> None:
    statuses = [
        records.post("/access/v1/evaluations", json=VALID | {"evaluations": [{}] * number}).status_code
        for number in (1_000, 1_001)
    ]

    assert statuses == [200, 400]


# Searches


def test_searches_find_what_evaluates_to_true(records: Client) -> None:
    assert found_ids(search(records, "subject", subject={"type": "user"}, action=READ, resource=RECORD_1)) == [
        "alice",
        "bob",
    ]
    assert found_ids(search(records, "resource", subject=BOB, action=READ, resource={"type": "record"})) == [
        "record-1",
        "record-2",
    ]
    actions = search(records, "action", subject=ALICE, resource=RECORD_1)
    assert [one["name"] for one in actions["results"]] == ["read", "write"]
    assert [*actions] == ["page", "results"]
    assert actions["page"] == {"next_token": "", "count": 2}


def test_what_is_searched_for_has_its_own_meta(records: Client) -> None:
    for _ in range(2):
        writable = search(records, "resource", subject=ALICE, action=WRITE, resource={"type": "record"})
        writers = search(records, "subject", subject={"type": "user"}, action=WRITE, resource=RECORD_2)

        assert "record-1" in found_ids(writable)
        assert "record-2" not in found_ids(writable)
        assert found_ids(writers) == ["bob"]
    names = [one["name"] for one in search(records, "action", subject=BOB, resource=RECORD_2)["results"]]
    assert names == ["read", "write"]


def test_a_query_and_a_search_that_sees_meta_share_no_listing(records: Client) -> None:
    records.grant('record:record-5#write@user:eve[resource.status == "active"]')
    records.put("/v2/objects/record/record-5", json={"meta": {"status": "active"}}).raise_for_status()
    eve = {"type": "user", "id": "eve"}

    queried = records.post("/v2/query", json={"q": "select record where user:eve is write", "limit": 1_000})

    assert queried.json()["results"] == []
    assert found_ids(search(records, "resource", subject=eve, action=WRITE, resource={"type": "record"})) == [
        "record-5"
    ]


def test_properties_of_a_search_count_for_all_that_is_found(records: Client) -> None:
    admins = {"type": "user", "properties": {"role": "admin"}}
    found = search(records, "subject", subject=admins, action=WRITE, resource=RECORD_2)
    soft = {"name": "delete", "properties": {"soft": True}}

    assert found_ids(found) == ["alice", "bob"]
    assert found_ids(search(records, "resource", subject=ALICE, action=soft, resource={"type": "record"})) == [
        "record-1"
    ]


def test_an_id_or_action_that_is_searched_for_is_ignored(records: Client) -> None:
    asked = {"subject": BOB | {"id": "nobody"}, "action": READ, "resource": RECORD_1}

    assert found_ids(search(records, "subject", **asked)) == ["alice", "bob"]
    actions = search(
        records, "action", subject=ALICE, resource=RECORD_1, action={"name": "no", "properties": {"soft": True}}
    )
    assert [one["name"] for one in actions["results"]] == ["read", "write"]


@pytest.mark.parametrize(
    ("what", "members"),
    [
        ("subject", {"subject": {"type": "nothing"}, "action": READ, "resource": RECORD_1}),
        ("subject", {"subject": {"type": "user"}, "action": {"name": "no"}, "resource": RECORD_1}),
        ("subject", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "nothing", "id": "x"}}),
        ("subject", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record", "id": "x y"}}),
        ("resource", {"subject": ALICE | {"id": "nobody"}, "action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": {"type": "No", "id": "x"}, "action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": ALICE, "action": READ, "resource": {"type": "nothing"}}),
        ("action", {"subject": ALICE | {"id": "nobody"}, "resource": RECORD_1}),
        ("action", {"subject": ALICE, "resource": {"type": "nothing", "id": "x"}}),
        ("action", {"subject": ALICE, "resource": {"type": "record", "id": "x y"}}),
    ],
)
def test_nothing_is_found_for_what_does_not_exist(records: Client, what: str, members: Body) -> None:
    assert search(records, what, **members) == {"page": {"next_token": "", "count": 0}, "results": []}


@pytest.mark.parametrize(
    ("what", "members"),
    [
        ("subject", {"action": READ, "resource": RECORD_1}),
        ("subject", {"subject": {"id": "x"}, "action": READ, "resource": RECORD_1}),
        ("subject", {"subject": {"type": "user"}, "resource": RECORD_1}),
        ("subject", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": {"type": "user", "id": "*"}, "action": READ, "resource": {"type": "record"}}),
        ("action", {"subject": {"type": "user"}, "resource": RECORD_1}),
        ("action", {"subject": ALICE}),
        ("resource", VALID | {"page": {"limit": 0}}),
        ("resource", VALID | {"page": {"limit": "1"}}),
        ("resource", VALID | {"page": {"token": "x"}}),
        ("action", VALID | {"page": {"token": "x"}}),
        ("subject", VALID | {"page": []}),
    ],
)
def test_a_fault_of_a_search_is_400(records: Client, what: str, members: Body) -> None:
    assert records.post(f"/access/v1/search/{what}", json=members).status_code == 400


def pages(client: Client, what: str, limit: int, **members: Any) -> Iterator[list[str]]:
    token = ""
    while True:
        answer = search(client, what, **members, page={"limit": limit, "token": token})
        assert answer["page"]["count"] == len(answer["results"]) <= limit
        yield [one.get("id", one.get("name")) for one in answer["results"]]
        token = answer["page"]["next_token"]
        if not token:
            return


PAGED: list[tuple[str, Body, str]] = [
    ("resource", {"subject": {"type": "user", "id": "dan"}, "action": READ, "resource": {"type": "record"}}, "plain"),
    (
        "resource",
        {"subject": {"type": "user", "id": "dan"}, "action": WRITE, "resource": {"type": "record"}},
        "by meta",
    ),
]


@pytest.mark.parametrize(("what", "members"), [pytest.param(what, body, id=name) for what, body, name in PAGED])
def test_pages_are_those_of_a_snapshot(records: Client, what: str, members: Body) -> None:
    relation = members["action"]["name"]
    ids = [f"paged-{relation}-{number}" for number in range(7)]
    policy = "" if relation == "read" else '[resource.status != "archived"]'
    records.grant(*[f"record:{object_id}#{relation}@user:dan{policy}" for object_id in ids])
    found: list[list[str]] = []

    for number, page in enumerate(pages(records, what, 3, **members)):
        found.append(page)
        if number == 0:
            records.delete_json("/v2/objects", [{"objectType": "record", "objectId": ids[-1]}]).raise_for_status()
            records.grant(f"record:paged-{relation}-0-new#{relation}@user:dan")

    assert found == [ids[:3], ids[3:6], ids[6:]]


def test_actions_are_paged_and_tokens_belong_to_their_search(records: Client) -> None:
    asked = {"subject": ALICE, "resource": RECORD_1}
    first = search(records, "action", **asked, page={"limit": 1})
    token = first["page"]["next_token"]

    assert [one["name"] for one in first["results"]] == ["read"]
    assert [*pages(records, "action", 1, **asked)] == [["read"], ["write"]]
    other = asked | {"subject": BOB, "page": {"token": token}}
    assert records.post("/access/v1/search/action", json=other).status_code == 400


def test_later_pages_of_actions_are_of_the_revision_of_the_first(records: Client) -> None:
    records.grant("record:record-6#read@user:fay", 'record:record-6#write@user:fay[resource.status == "active"]')
    path, record = "/v2/objects/record/record-6", {"type": "record", "id": "record-6"}
    records.put(path, json={"meta": {"status": "active"}}).raise_for_status()
    found: list[list[str]] = []

    for page in pages(records, "action", 1, subject={"type": "user", "id": "fay"}, resource=record):
        found.append(page)
        records.put(path, json={"meta": {"status": "archived"}}).raise_for_status()
        records.delete_json("/v2/warrants", warrant_body("record:record-6#read@user:fay"))

    assert found == [["read"], ["write"]]


def test_the_meta_of_one_request_is_limited(records: Client) -> None:
    """That of an object counts in each context."""
    records.grant("record:record-7#read@user:gil[subject.level == 1]")
    body = {"objectType": "user", "objectId": "gil", "meta": {"level": 1, "x": "x" * 50_000}}
    records.post("/v2/objects", json=body).raise_for_status()
    asked: Body = {
        "subject": {"type": "user", "id": "gil"},
        "action": READ,
        "resource": {"type": "record", "id": "record-7"},
    }

    others = [{"resource": {"type": "record", "id": f"other-{number}"}} for number in range(200)]

    assert decisions(evaluate_all(records, [{}] * 1_000, **asked)) == [True] * 1_000
    assert decisions(evaluate_all(records, [{}, *others[:150]], **asked)) == [True, *[False] * 150]
    answer = records.post("/access/v1/evaluations", json=asked | {"evaluations": [{}, *others]})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "evaluations")


def test_a_token_of_another_search_is_400(records: Client) -> None:
    asked: Body = {"subject": ALICE, "action": READ, "resource": {"type": "record"}}
    token = search(records, "resource", **asked, page={"limit": 1})["page"]["next_token"]

    assert token
    for changed in ({"subject": BOB}, {"action": WRITE}, {"context": {"x": 1}}):
        body = asked | changed | {"page": {"token": token}}
        assert records.post("/access/v1/search/resource", json=body).status_code == 400


def test_the_error_of_a_token_names_it(records: Client) -> None:
    answer = records.post("/access/v1/search/resource", json=VALID | {"page": {"token": "x"}})

    assert answer.json()["parameter"] == "page.token"


def test_a_subject_that_stands_for_all_is_no_result(records: Client) -> None:
    records.grant("record:public#read@user:*")
    found = found_ids(
        search(records, "subject", subject={"type": "user"}, action=READ, resource={"type": "record", "id": "public"})
    )

    assert {"alice", "bob"} <= {*found}
    assert "*" not in found


def test_every_endpoint_of_the_metadata_is_a_route() -> None:
    assert {*ENDPOINTS.values()} == {*ACCESS}
