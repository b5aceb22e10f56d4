"""/v2/warrants (docs/compatibility.md#warrants and docs/compatibility.md#batches)."""

import hashlib
import random
from string import ascii_letters, ascii_lowercase, digits
from typing import Any

import pytest

from tests.ids import id_message
from tests.running import Client
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {"document": {"viewer": {}, "editor": {}}, "team": {"member": {}}}
NAME_MESSAGE = "can only contain lower-case alphanumeric characters and/or '-' and '_'"
ANN = {"objectType": "user", "objectId": "ann"}
VIEWER: dict[str, Any] = {"objectType": "document", "objectId": "plan", "relation": "viewer", "subject": ANN}


@pytest.fixture
def defined(client: Client) -> Client:
    client.define(TYPES)
    return client


@pytest.fixture(scope="module")
def shared_defined(shared_client: Client) -> Client:
    shared_client.define(TYPES)
    return shared_client


def written(client: Client, **parameters: Any) -> list[str]:
    """Every warrant of a list in short: `plan viewer ann`."""
    rows = [row for page in client.pages("/v2/warrants", **parameters) for row in page]
    return [f"{row['objectId']} {row['relation']} {row['subject']['objectId']}" for row in rows]


def test_a_created_warrant_is_answered_and_listed_as_stored(defined: Client) -> None:
    body = VIEWER | {"subject": {**ANN, "objectType": "team", "relation": "member"}, "policy": "amount < 10"}

    created = defined.post("/v2/warrants", json=body)

    assert created.status_code == 200
    assert created.json() == body | {"createdAt": created.json()["createdAt"]}
    assert list(created.json()) == ["objectType", "objectId", "relation", "subject", "policy", "createdAt"]
    assert created.headers["service-token"] == created.headers["warrant-token"]
    assert defined.get("/v2/warrants").json() == {"results": [created.json()]}


def test_absent_parts_are_left_out_of_the_answer(defined: Client) -> None:
    created = defined.post("/v2/warrants", json=VIEWER | {"subject": {**ANN, "relation": ""}, "policy": None})

    assert list(created.json()) == ["objectType", "objectId", "relation", "subject", "createdAt"]
    assert created.json()["subject"] == ANN


def test_creating_a_warrant_creates_its_objects_but_no_wildcards(defined: Client) -> None:
    defined.post("/v2/objects", json={"objectType": "user", "objectId": "ann", "meta": {"x": 1}})

    defined.grant("document:plan#viewer@user:ann", "document:*#viewer@user:*")

    rows = defined.get("/v2/objects").json()["results"]
    assert [(row["objectId"], row.get("meta")) for row in rows] == [("ann", {"x": 1}), ("plan", None)]


def test_creating_a_warrant_again_answers_the_first(defined: Client) -> None:
    first = defined.post("/v2/warrants", json=VIEWER).json()

    assert defined.post("/v2/warrants", json=VIEWER).json() == first
    assert written(defined) == ["plan viewer ann"]


def test_warrants_that_differ_in_their_policy_are_two(defined: Client) -> None:
    for policy in ('tenant == "a"', 'tenant == "b"', 'tenant == "a"'):
        defined.post("/v2/warrants", json=VIEWER | {"policy": policy})

    assert [row["policy"] for row in defined.get("/v2/warrants").json()["results"]] == [
        'tenant == "a"',
        'tenant == "b"',
    ]


def test_a_context_becomes_a_policy_with_its_keys_sorted(defined: Client) -> None:
    created = defined.post("/v2/warrants", json=VIEWER | {"context": {"b": "2", "a": "1"}}).json()
    again = defined.post("/v2/warrants", json=VIEWER | {"policy": 'a == "1" && b == "2"'}).json()
    deleted = defined.delete_json("/v2/warrants", VIEWER | {"context": {"a": "1", "b": "2"}})

    assert "context" not in created
    assert created["policy"] == 'a == "1" && b == "2"'
    assert again == created
    assert deleted.status_code == 200


def test_an_empty_context_is_no_policy(defined: Client) -> None:
    assert "policy" not in defined.post("/v2/warrants", json=VIEWER | {"context": {}}).json()


@pytest.mark.parametrize(
    ("change", "code", "parameter", "message"),
    [
        ({"objectType": None}, "missing_required_parameter", "objectType", "Missing required parameter objectType"),
        ({"objectType": "Document"}, "invalid_parameter", "objectType", NAME_MESSAGE),
        ({"objectType": "ghost"}, "invalid_parameter", "objectType", "the object type does not exist."),
        ({"objectId": ""}, "missing_required_parameter", "objectId", "Missing required parameter objectId"),
        ({"objectId": "a b"}, "invalid_parameter", "objectId", id_message(" ", 2)),
        ({"objectId": "**"}, "invalid_parameter", "objectId", id_message("*", 1)),
        ({"relation": None}, "missing_required_parameter", "relation", "Missing required parameter relation"),
        ({"relation": "a b"}, "invalid_parameter", "relation", NAME_MESSAGE),
        (
            {"relation": "owner"},
            "invalid_parameter",
            "relation",
            "the relation does not exist on the specified object type.",
        ),
        ({"subject": None}, "missing_required_parameter", "subject", "Missing required parameter subject"),
        ({"subject": {}}, "missing_required_parameter", "objectType", "Missing required parameter objectType"),
        ({"subject": ANN | {"objectId": "ä€"}}, "invalid_parameter", "objectId", id_message("€", 2)),
        ({"subject": ANN | {"relation": "a b"}}, "invalid_parameter", "relation", NAME_MESSAGE),
        ({"policy": "x == 1", "context": {"a": "b"}}, "invalid_request", None, "Invalid request body"),
        (
            {"policy": 'element = "115"'},
            "invalid_parameter",
            "policy",
            'error validating policy \'element = "115"\': unexpected token Operator("=") (1:9)\n'
            ' | element = "115"\n'
            " | ........^",
        ),
        (
            {"policy": "limit ?? 10 > 5"},
            "invalid_parameter",
            "policy",
            "error validating policy 'limit ?? 10 > 5': put brackets around the \"??\" before this operator (1:13)\n"
            " | limit ?? 10 > 5\n | ............^",
        ),
        (
            {"policy": "1 + 2"},
            "invalid_parameter",
            "policy",
            "error validating policy '1 + 2': expected bool, but got int",
        ),
        (
            {"policy": "a == 'b\0c'"},
            "invalid_parameter",
            "policy",
            "error validating policy 'a == 'b\0c'': unrecognized character U+0000 (1:8)\n | a == 'b\0c'\n | .......^",
        ),
        (
            {"context": {"warrant": "x"}},
            "invalid_parameter",
            "context",
            "'warrant' cannot be the name of a variable in a policy",
        ),
        ({"policy": 5}, "invalid_parameter", "policy", "must be a string"),
        ({"context": {"a": 5}}, "invalid_parameter", "context", "must be a string"),
    ],
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_a_warrant_that_cannot_stand_is_refused_and_nothing_is_written(
    shared_defined: Client, change: dict[str, Any], code: str, parameter: str | None, message: str, is_batch: bool
) -> None:
    body = VIEWER | change
    before = shared_defined.get("/v2/objects").headers["service-token"]

    refused = shared_defined.post("/v2/warrants", json=[VIEWER, body] if is_batch else body)

    prefix = "[1]." if is_batch else ""
    expected = {"code": code} | ({} if parameter is None else {"parameter": prefix + parameter})
    assert refused.status_code == 400
    assert {key: value for key, value in refused.json().items() if key != "message"} == expected
    assert refused.json()["message"] == message
    assert shared_defined.get("/v2/objects").headers["service-token"] == before


def test_the_members_are_looked_at_before_the_type(defined: Client) -> None:
    refused = defined.post("/v2/warrants", json=VIEWER | {"objectType": "ghost", "policy": "("})

    assert refused.json()["parameter"] == "policy"


def test_an_array_is_created_in_order_or_not_at_all(defined: Client) -> None:
    bodies = [warrant_body(f"document:{number}#viewer@user:ann") for number in range(100)]

    created = defined.post("/v2/warrants", json=bodies)
    refused = defined.post(
        "/v2/warrants", json=[warrant_body("document:new#viewer@user:ann"), VIEWER | {"relation": "x"}]
    )

    assert [row["objectId"] for row in created.json()] == [str(number) for number in range(100)]
    assert refused.status_code == 400
    assert len(written(defined, limit=1000)) == 100
    assert defined.get("/v2/objects/document/new").status_code == 404


@pytest.mark.parametrize("number", [0, 101])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_an_array_has_1_to_100_elements(defined: Client, number: int, method: str) -> None:
    refused = defined.request(method, "/v2/warrants", json=[VIEWER] * number)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


def test_a_deleted_warrant_is_gone_and_its_objects_stay(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann", "document:plan#editor@user:ann")

    deleted = defined.delete_json("/v2/warrants", VIEWER)

    assert (deleted.status_code, deleted.content) == (200, b"")
    assert deleted.headers["content-type"] == "application/json"
    assert deleted.headers["warrant-token"]
    assert written(defined) == ["plan editor ann"]
    assert len(defined.get("/v2/objects").json()["results"]) == 2


def test_deleting_a_warrant_that_is_not_there_names_it_with_the_digest_of_its_policy(defined: Client) -> None:
    missing = defined.delete_json("/v2/warrants", VIEWER | {"policy": "amount < 10"})

    key = f"document:plan#viewer@user:ann[{hashlib.sha256(b'amount < 10').hexdigest()}]"
    assert missing.status_code == 404
    assert missing.json() == {
        "code": "not_found",
        "message": f"Warrant {key} not found",
        "type": "Warrant",
        "key": key,
    }


def test_warrants_can_be_deleted_after_their_type(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann")
    defined.delete("/v2/object-types/document")

    assert defined.delete_json("/v2/warrants", VIEWER).status_code == 200


def test_an_array_is_deleted_whole_or_not_at_all(defined: Client) -> None:
    defined.grant("document:1#viewer@user:ann", "document:2#viewer@user:ann")
    both = [warrant_body(f"document:{number}#viewer@user:ann") for number in (1, 2)]

    assert defined.delete_json("/v2/warrants", [*both, VIEWER]).status_code == 404
    assert len(written(defined)) == 2
    assert defined.delete_json("/v2/warrants", both).status_code == 200
    assert written(defined) == []


def test_deleting_an_object_deletes_its_warrants_and_leaves_wildcards(defined: Client) -> None:
    defined.grant(
        "document:plan#viewer@team:eng#member",
        "team:eng#member@user:ann",
        "document:*#viewer@user:ann",
        "document:plan#viewer@user:*",
    )

    defined.delete("/v2/objects/team/eng")
    defined.delete("/v2/objects/document/plan")

    assert written(defined) == ["* viewer ann"]


FILTERED = [
    "document:a#viewer@user:ann",
    "document:a#editor@user:bob",
    "document:*#viewer@user:bob",
    "team:a#member@user:ann",
    "document:b#viewer@team:eng#member",
    "document:b#viewer@user:*",
]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"objectType": "document", "relation": ""}, [0, 1, 2, 4, 5]),
        ({"objectId": "a"}, [0, 1, 2, 3]),
        ({"objectId": "*"}, [0, 1, 2, 3, 4, 5]),
        ({"objectType": "document", "objectId": "b", "relation": "viewer"}, [2, 4, 5]),
        ({"subjectId": "ann"}, [0, 3, 5]),
        ({"subjectId": "*"}, [5]),
        ({"subjectType": "user", "subjectId": "bob"}, [1, 2, 5]),
        ({"subjectType": "team", "subjectRelation": "member"}, [4]),
        ({"objectType": "GHOST"}, []),
        ({"objectType": "a\0b"}, []),
        ({"subjectRelation": "anyOf"}, []),
        ({"unknown": "x", "q": "ignored"}, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_list_is_filtered(defined: Client, parameters: dict[str, str], expected: list[int]) -> None:
    defined.grant(*FILTERED)

    rows = [row for page in defined.pages("/v2/warrants", limit=2, **parameters) for row in page]

    assert [{key: value for key, value in row.items() if key != "createdAt"} for row in rows] == [
        warrant_body(FILTERED[place]) for place in expected
    ]


def test_a_list_is_paged_in_order_of_creation_forwards_and_back(defined: Client) -> None:
    defined.grant(*[f"document:{number}#viewer@user:ann" for number in (5, 3, 9, 1, 7)])

    first = defined.get("/v2/warrants", params={"limit": 2}).json()
    second = defined.get("/v2/warrants", params={"limit": 2, "nextCursor": first["nextCursor"]}).json()
    back = defined.get("/v2/warrants", params={"limit": 2, "prevCursor": second["prevCursor"]}).json()

    assert "prevCursor" not in first
    assert back == first
    assert written(defined, limit=2) == [f"{number} viewer ann" for number in (5, 3, 9, 1, 7)]
    assert written(defined, limit=2, sortOrder="DESC") == [f"{number} viewer ann" for number in (7, 1, 9, 3, 5)]
    assert written(defined, sortBy="createdAt") == written(defined)


def test_warrants_are_sorted_by_creation_only(defined: Client) -> None:
    refused = defined.get("/v2/warrants", params={"sortBy": "objectId"})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "sortBy")


def test_a_cursor_of_another_list_is_refused(defined: Client) -> None:
    defined.grant("document:a#viewer@user:ann")
    cursor = defined.get("/v2/objects", params={"limit": 1}).json()["nextCursor"]

    refused = defined.get("/v2/warrants", params={"nextCursor": cursor})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "nextCursor")


def test_a_request_sent_again_with_its_key_has_one_effect(defined: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    first = defined.post("/v2/warrants", json=VIEWER, headers=headers)
    defined.delete_json("/v2/warrants", VIEWER)

    again = defined.post("/v2/warrants", json=VIEWER, headers=headers)

    assert again.json() == first.json()
    assert again.headers["service-token"] == first.headers["service-token"]
    assert written(defined) == []


def test_a_header_says_which_warrants_were_created(defined: Client) -> None:
    first = defined.post("/v2/warrants", json=VIEWER)
    again = defined.post("/v2/warrants", json=VIEWER)
    both = defined.post("/v2/warrants", json=[VIEWER, VIEWER | {"objectId": "new"}])

    assert [answer.headers["warrant-outcome"] for answer in (first, again, both)] == [
        "created",
        "unchanged",
        "unchanged, created",
    ]
    assert again.json() == first.json()


def test_the_longest_names_and_ids_fit_into_every_index(client: Client) -> None:
    """An index entry of PostgreSQL has 2,704 bytes. These ids cannot be compressed."""
    chance = random.Random(1)
    object_id, subject_id = ("".join(chance.choices(ascii_letters + digits, k=1_024)) for _ in range(2))
    thing, group, relation, member = ("".join(chance.choices(ascii_lowercase, k=64)) for _ in range(4))
    client.define({thing: {relation: {}}, group: {member: {}}})
    subject = {"objectType": group, "objectId": subject_id, "relation": member}
    warrant = {"objectType": thing, "objectId": object_id, "relation": relation, "subject": subject, "policy": "x == 1"}

    assert client.post("/v2/warrants", json=warrant).status_code == 200
    first, second = client.pages("/v2/objects", limit=1)
    assert {first[0]["objectId"], second[0]["objectId"]} == {object_id, subject_id}
    assert client.delete_json("/v2/warrants", warrant).status_code == 200
