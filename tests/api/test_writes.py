"""POST /v2/writes (docs/api.md#writes): one atomic change of warrants and objects, with preconditions."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.conftest import STORES
from tests.running import Client
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {"document": {"viewer": {}, "owner": {}}, "team": {"member": {}}}
PATH = "/v2/writes"
WARRANT = warrant_body("document:plan#viewer@user:ann")
PLAN = {"objectType": "document", "objectId": "plan"}
OTHER_STORE = "AQAAAAAAAAAAAAAAAAAAAAE5Tgpo"
"""Has the form of a token, and its checksum."""


@pytest.fixture
def defined(client: Client) -> Client:
    client.define(TYPES)
    return client


@pytest.fixture(scope="module")
def shared(shared_client: Client) -> Client:
    shared_client.define(TYPES)
    shared_client.grant("document:plan#viewer@user:ann")
    return shared_client


def write(client: Client, body: Any, **headers: str) -> httpx.Response:
    return client.post(PATH, json=body, headers=headers)


def create(*written: str) -> dict[str, Any]:
    return {"create": {"warrants": [warrant_body(text) for text in written]}}


def content(client: Client) -> tuple[list[str], list[str]]:
    """Every warrant and every object, in short."""
    warrants = [row for page in client.pages("/v2/warrants", limit=1000) for row in page]
    objects = [row for page in client.pages("/v2/objects", limit=1000) for row in page]
    return (
        [f"{row['objectId']} {row['relation']} {row['subject']['objectId']}" for row in warrants],
        [f"{row['objectType']}:{row['objectId']}" for row in objects],
    )


def token(client: Client) -> str:
    return client.get("/v2/objects").headers["service-token"]


def test_everything_is_written_together_and_counted(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann", "document:old#viewer@user:ann", "document:old#owner@user:bob")

    written = write(
        defined,
        {
            "preconditions": [
                {"exists": warrant_body("document:old#owner@user:bob")},
                {"absent": warrant_body("document:plan#owner@user:ann")},
                {"exists": PLAN},
                {"absent": {"objectType": "team", "objectId": "eng"}},
                {"revision": token(defined)},
            ],
            "delete": {"warrants": [WARRANT], "objects": [{"objectType": "document", "objectId": "old"}]},
            "create": {
                "objects": [{"objectType": "team", "objectId": "eng", "meta": {"name": "Engineering"}}, PLAN],
                "warrants": [
                    warrant_body("document:plan#viewer@team:eng#member"),
                    warrant_body("team:eng#member@user:ann"),
                ],
            },
        },
    )

    assert (written.status_code, written.json()) == (200, {"created": 3, "deleted": 2, "unchanged": 1})
    assert list(written.json()) == ["created", "deleted", "unchanged"]
    assert written.headers["service-token"] == written.headers["warrant-token"] == token(defined)
    assert content(defined) == (
        ["plan viewer eng", "eng member ann"],
        ["user:ann", "user:bob", "team:eng", "document:plan"],
    )
    assert defined.get("/v2/objects/team/eng").json()["meta"] == {"name": "Engineering"}
    assert defined.ask("document:plan#viewer@user:ann").json()["result"] == "Authorized"
    assert defined.ask("document:plan#owner@user:ann").json()["result"] == "Not Authorized"


def test_deletions_come_first(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann")
    first = defined.get("/v2/warrants").json()["results"]

    written = write(defined, {"create": {"warrants": [WARRANT]}, "delete": {"warrants": [WARRANT], "objects": [PLAN]}})

    assert written.json() == {"created": 1, "deleted": 2, "unchanged": 0}
    [row] = defined.get("/v2/warrants").json()["results"]
    assert row["createdAt"] > first[0]["createdAt"]


@pytest.mark.parametrize(
    ("precondition", "reason"),
    [
        ({"absent": WARRANT}, "the warrant document:plan#viewer@user:ann exists"),
        ({"absent": PLAN}, "the object document:plan exists"),
        (
            {"exists": warrant_body("document:plan#viewer@user:bob")},
            "the warrant document:plan#viewer@user:bob does not exist",
        ),
        ({"exists": {**PLAN, "objectId": "other"}}, "the object document:other does not exist"),
    ],
)
def test_a_failed_precondition_is_409_with_its_index_and_writes_nothing(
    shared: Client, precondition: Any, reason: str
) -> None:
    before = content(shared), token(shared)

    refused = write(
        shared,
        {
            "preconditions": [{"exists": WARRANT}, precondition, {"absent": WARRANT}],
            **create("document:n#owner@user:x"),
        },
    )

    assert refused.status_code == 409
    assert refused.json() == {
        "code": "precondition_failed",
        "message": f"preconditions[1] does not hold: {reason}; nothing was written",
        "index": 1,
    }
    assert (content(shared), token(shared)) == before


def test_a_warrant_exists_only_with_its_policy(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann[amount < 10]")
    body = create("document:new#viewer@user:ann")

    refused = write(defined, {"preconditions": [{"exists": WARRANT}], **body})
    written = write(defined, {"preconditions": [{"exists": {**WARRANT, "policy": "amount < 10"}}], **body})

    assert (refused.status_code, written.status_code) == (409, 200)


def test_a_revision_holds_until_anything_is_written(defined: Client) -> None:
    body = create("document:plan#viewer@user:ann")
    first = write(defined, {"preconditions": [{"revision": token(defined)}], **body})
    expected = {"preconditions": [{"revision": first.headers["service-token"]}]}
    unchanged = write(defined, body)

    refused = write(defined, {**expected, **body})

    assert unchanged.json() == {"created": 0, "deleted": 0, "unchanged": 1}
    assert (refused.status_code, refused.json()["index"]) == (409, 0)
    assert "the store is at another revision" in refused.json()["message"]
    now = {"preconditions": [{"revision": token(defined)}]}
    assert write(defined, {**now, **body}).status_code == 200


def test_a_missing_warrant_or_object_is_404_and_writes_nothing(shared: Client) -> None:
    before = content(shared), token(shared)
    missing = warrant_body("document:plan#viewer@user:nobody")

    warrant = write(shared, {"delete": {"warrants": [WARRANT, missing]}, **create("document:n#owner@user:x")})
    twice = write(shared, {"delete": {"warrants": [WARRANT, WARRANT]}})
    thing = write(shared, {"delete": {"objects": [PLAN, {**PLAN, "objectId": "none"}], "warrants": [WARRANT]}})

    assert {answer.status_code for answer in (warrant, twice, thing)} == {404}
    assert warrant.json()["key"] == "document:plan#viewer@user:nobody"
    assert twice.json()["key"] == "document:plan#viewer@user:ann"
    assert thing.json() == {
        "code": "not_found",
        "message": "document none not found",
        "type": "document",
        "key": "none",
    }
    assert (content(shared), token(shared)) == before


def element(index: int, *texts: str) -> list[Any]:
    """So many good elements, and then these."""
    return [warrant_body(f"document:{number}#viewer@user:ann") for number in range(index)] + [*map(warrant_body, texts)]


@pytest.mark.parametrize(
    ("body", "code", "parameter"),
    [
        ({}, "invalid_request", None),
        ({"create": {}, "delete": {}, "preconditions": []}, "invalid_request", None),
        ({"create": None, "delete": None, "preconditions": None}, "invalid_request", None),
        ({"create": {"warrants": None, "objects": []}}, "invalid_request", None),
        ({"preconditions": [{"exists": PLAN}]}, "invalid_request", None),
        ([], "invalid_parameter", ""),
        ([{"create": {}}], "invalid_parameter", ""),
        ("x", "invalid_parameter", ""),
        (None, "invalid_request", None),
        ({"create": []}, "invalid_parameter", "create"),
        ({"delete": "x"}, "invalid_parameter", "delete"),
        ({"preconditions": {}}, "invalid_parameter", "preconditions"),
        ({"create": {"warrants": {}}}, "invalid_parameter", "create.warrants"),
        ({"create": {"warrants": [None]}}, "invalid_parameter", "create.warrants"),
        ({"create": {"warrants": ["document:a#viewer@user:ann"]}}, "invalid_parameter", "create.warrants"),
        ({"create": {"objects": [[]]}}, "invalid_parameter", "create.objects"),
        ({"delete": {"warrants": [1]}}, "invalid_parameter", "delete.warrants"),
        ({"delete": {"objects": [True]}}, "invalid_parameter", "delete.objects"),
        ({"create": {"warrants": [{**WARRANT, "objectId": 7}]}}, "invalid_parameter", "create.warrants.objectId"),
        ({"creat": {"warrants": [WARRANT]}}, "invalid_parameter", "creat"),
        ({"create": {"warrant": [WARRANT]}}, "invalid_parameter", "create.warrant"),
        ({"delete": {"objectTypes": []}}, "invalid_parameter", "delete.objectTypes"),
        ({"preconditions": [{"exist": PLAN}]}, "invalid_parameter", "preconditions.exist"),
        ({"a`b": 1}, "invalid_parameter", "a`b"),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{}]},
            "invalid_parameter",
            "preconditions[0].exists",
        ),
        (
            create("document:a#viewer@user:ann")
            | {"preconditions": [{"exists": PLAN}, {"exists": PLAN, "absent": PLAN}]},
            "invalid_parameter",
            "preconditions[1].exists",
        ),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"exists": {}}]},
            "missing_required_parameter",
            "preconditions[0].objectType",
        ),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"absent": {"objectType": "document"}}]},
            "missing_required_parameter",
            "preconditions[0].objectId",
        ),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"absent": {**PLAN, "objectId": "*"}}]},
            "invalid_parameter",
            "preconditions[0].objectId",
        ),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"absent": {**PLAN, "relation": "viewer"}}]},
            "missing_required_parameter",
            "preconditions[0].subject",
        ),
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"exists": {**PLAN, "policy": "x"}}]},
            "missing_required_parameter",
            "preconditions[0].relation",
        ),
        *[
            (
                create("document:a#viewer@user:ann") | {"preconditions": [{"revision": text}]},
                "invalid_parameter",
                "preconditions[0].revision",
            )
            for text in ("", "latest", "7", "x" * 28, "ü", OTHER_STORE)
        ],
        (
            create("document:a#viewer@user:ann") | {"preconditions": [{"revision": 7}]},
            "invalid_parameter",
            "preconditions.revision",
        ),
        (
            {"create": {"warrants": element(3, "UP:a#viewer@user:ann")}},
            "invalid_parameter",
            "create.warrants[3].objectType",
        ),
        (
            {"create": {"warrants": element(300, "ghost:a#viewer@user:ann")}},
            "invalid_parameter",
            "create.warrants[300].objectType",
        ),
        (
            {"create": {"warrants": element(2, "document:a#no@user:ann")}},
            "invalid_parameter",
            "create.warrants[2].relation",
        ),
        (
            {"create": {"warrants": element(260, "document:a#viewer@user:a b")}},
            "invalid_parameter",
            "create.warrants[260].objectId",
        ),
        (
            {"create": {"warrants": element(1, "document:a#viewer@user:a[(]")}},
            "invalid_parameter",
            "create.warrants[1].policy",
        ),
        ({"create": {"warrants": [{**WARRANT, "policy": "a", "context": {"a": "b"}}]}}, "invalid_request", None),
        (
            {"create": {"objects": [{"objectType": "document"}]}},
            "missing_required_parameter",
            "create.objects[0].objectId",
        ),
        (
            {"create": {"objects": [PLAN, {**PLAN, "objectId": "*"}]}},
            "invalid_parameter",
            "create.objects[1].objectId",
        ),
        (
            {"create": {"objects": [{**PLAN, "meta": {"a": "x" * 100_000}}]}},
            "invalid_parameter",
            "create.objects[0].meta",
        ),
        ({"create": {"objects": [{**PLAN, "meta": []}]}}, "invalid_parameter", "create.objects.meta"),
        (
            {"delete": {"objects": [PLAN, {**PLAN, "objectId": "a\0"}]}},
            "invalid_parameter",
            "delete.objects[1].objectId",
        ),
        (
            {"delete": {"warrants": [{**WARRANT, "subject": None}]}},
            "missing_required_parameter",
            "delete.warrants[0].subject",
        ),
        (
            {"delete": {"warrants": [{**WARRANT, "subject": "user:ann"}]}},
            "invalid_parameter",
            "delete.warrants.subject",
        ),
    ],
)
def test_a_write_that_cannot_be_is_refused_and_nothing_is_written(
    shared: Client, body: Any, code: str, parameter: str | None
) -> None:
    before = token(shared)

    refused = write(shared, body)

    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text
    assert refused.json().get("parameter") == parameter
    assert token(shared) == before


def test_a_misspelled_member_is_named_with_the_right_one(shared: Client) -> None:
    refused = write(shared, {"precondition": [{"exists": PLAN}], **create("document:new#viewer@user:ann")})

    assert refused.json() == {
        "code": "invalid_parameter",
        "message": "is not a member of this request; did you mean preconditions?",
        "parameter": "precondition",
    }


def test_a_member_that_occurs_twice_is_refused(shared: Client) -> None:
    refused = shared.post(PATH, content=b'{"create": {"objects": []}, "create": {"objects": []}}')

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


def test_warrants_as_they_are_listed_can_be_sent_back(defined: Client) -> None:
    defined.grant("document:plan#viewer@user:ann", "document:plan#viewer@team:eng#member[a == 1]")
    rows = defined.get("/v2/warrants").json()["results"]
    objects = defined.get("/v2/objects").json()["results"]

    assert write(defined, {"create": {"warrants": rows, "objects": objects}}).json()["unchanged"] == 5
    assert write(defined, {"delete": {"warrants": rows, "objects": objects}}).json()["deleted"] == 5
    assert content(defined) == ([], [])


@pytest.mark.parametrize(("number", "status"), [(1, 200), (1_000, 200), (1_001, 400)])
def test_a_write_has_1_to_1000_elements_in_all(defined: Client, number: int, status: int) -> None:
    objects = [{"objectType": "user", "objectId": str(one)} for one in range(number)]
    defined.post("/v2/objects", json=objects[-1])
    body = {"delete": {"objects": objects[-1:]}, "create": {"objects": objects[:-1]}}

    answer = write(defined, body)

    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json() == {"created": number - 1, "deleted": 1, "unchanged": 0}
    else:
        assert answer.json()["message"] == "a write must delete and create 1 to 1000 elements in all, not 1001"


@pytest.mark.parametrize(("number", "status"), [(1_000, 200), (1_001, 400)])
def test_a_write_has_up_to_1000_preconditions(shared: Client, number: int, status: int) -> None:
    preconditions = [{"absent": {"objectType": "user", "objectId": f"none-{one}"}} for one in range(number)]

    answer = write(shared, {"preconditions": preconditions, **create("document:plan#viewer@user:ann")})

    assert answer.status_code == status
    assert status == 200 or answer.json()["message"] == "a write can have at most 1000 preconditions, not 1001"


def test_a_request_sent_again_with_its_key_has_one_effect_whatever_its_preconditions(defined: Client) -> None:
    body = {
        "preconditions": [{"revision": token(defined)}, {"absent": PLAN}],
        **create("document:plan#viewer@user:ann"),
    }
    headers = {"Idempotency-Key": "once"}

    first = write(defined, body, **headers)
    defined.delete_json("/v2/warrants", WARRANT)
    again = write(defined, body, **headers)
    other = write(defined, create("document:plan#viewer@user:bob"), **headers)

    assert first.status_code == again.status_code == 200
    assert again.json() == first.json()
    assert again.headers["service-token"] == first.headers["service-token"]
    assert (other.status_code, other.json()["parameter"]) == (422, "Idempotency-Key")
    assert content(defined)[0] == []


def test_a_write_whose_precondition_failed_can_be_sent_again_with_its_key(defined: Client) -> None:
    body = {"preconditions": [{"exists": PLAN}], **create("document:plan#viewer@user:ann")}

    refused = write(defined, body, **{"Idempotency-Key": "once"})
    defined.post("/v2/objects", json=PLAN)

    assert refused.status_code == 409
    assert write(defined, body, **{"Idempotency-Key": "once"}).status_code == 200


def test_a_write_makes_events(defined: Client) -> None:
    defined.grant("document:a#viewer@user:ann", "document:b#viewer@user:ann")
    body = {
        "delete": {
            "warrants": [warrant_body("document:a#viewer@user:ann")],
            "objects": [{"objectType": "document", "objectId": "b"}],
        },
        **create("document:c#viewer@user:ann"),
    }
    before = defined.get("/v2/access-events").json()["results"]

    write(defined, body).raise_for_status()

    access = defined.get("/v2/access-events", params={"sortOrder": "ASC"}).json()["results"][len(before) :]
    resources = defined.get("/v2/resource-events", params={"sortOrder": "ASC"}).json()["results"][-2:]
    assert [(one["type"], one["objectId"]) for one in access] == [("access_revoked", "a"), ("access_granted", "c")]
    assert [(one["type"], one["resourceId"]) for one in resources] == [("deleted", "b"), ("created", "c")]


@pytest.mark.parametrize("path", ["/v1/writes", "/v1/warrants/delete"])
def test_v1_has_no_such_path(shared: Client, path: str) -> None:
    assert shared.post(path, json={"filter": {"objectType": "document"}}).status_code == 404


def test_it_needs_a_key(shared: Client) -> None:
    assert httpx.post(f"{shared.base_url}{PATH}", json={}, trust_env=False).status_code == 401


CLIENTS = 16
ROUNDS = 10


@pytest.mark.parametrize("client", STORES, indirect=True)
def test_of_16_clients_that_expect_one_revision_exactly_one_wins_each_round(client: Client) -> None:
    client.define(TYPES)
    with ThreadPoolExecutor(CLIENTS) as threads:
        for round_number in range(ROUNDS):
            expected = {"preconditions": [{"revision": token(client)}]}
            bodies = [expected | create(f"document:{round_number}#owner@user:{number}") for number in range(CLIENTS)]
            statuses = list(threads.map(lambda body: write(client, body).status_code, bodies))
            assert sorted(statuses) == [200] + [409] * (CLIENTS - 1)

    assert [name.split()[0] for name in content(client)[0]] == [str(number) for number in range(ROUNDS)]


@pytest.mark.parametrize("client", STORES, indirect=True)
def test_of_16_clients_that_replace_one_warrant_exactly_one_does_each_round(client: Client) -> None:
    """Each replaces the owner that it knows, and there is never more than one."""
    client.define(TYPES)
    client.grant("document:plan#owner@user:0")
    with ThreadPoolExecutor(CLIENTS) as threads:
        for owner in range(ROUNDS):
            old = warrant_body(f"document:plan#owner@user:{owner}")
            body = {"delete": {"warrants": [old]}, **create(f"document:plan#owner@user:{owner + 1}")}
            body["preconditions"] = [{"exists": old}]
            statuses = list(threads.map(lambda body: write(client, body).status_code, [body] * CLIENTS))
            assert sorted(statuses) == [200] + [409] * (CLIENTS - 1)

    assert content(client)[0] == [f"plan owner {ROUNDS}"]
