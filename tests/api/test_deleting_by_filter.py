"""POST /v2/warrants/delete (docs/api.md#deleting-by-filter)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from magistrate.operations.writes import warrants as chunk_size
from tests.conftest import STORES
from tests.running import Client

TYPES: dict[str, Any] = {"document": {"viewer": {}, "owner": {}}, "folder": {"viewer": {}}, "team": {"member": {}}}
PATH = "/v2/warrants/delete"
WRITTEN = [
    "document:a#viewer@user:ann",
    "document:a#owner@user:ann",
    "document:*#viewer@user:bob",
    "folder:a#viewer@user:ann[x == 1]",
    "document:b#viewer@team:eng#member",
    "document:b#viewer@user:*",
]


@pytest.fixture
def filled(client: Client) -> Client:
    client.define(TYPES)
    client.grant(*WRITTEN)
    return client


@pytest.fixture(scope="module")
def shared(shared_client: Client) -> Client:
    shared_client.define(TYPES)
    shared_client.grant(*WRITTEN)
    return shared_client


def delete(client: Client, only: Any, **members: Any) -> httpx.Response:
    return client.post(PATH, json={"filter": only, **members})


def render(row: dict[str, Any]) -> str:
    group = f"#{row['subject']['relation']}" if "relation" in row["subject"] else ""
    policy = f"[{row['policy']}]" if "policy" in row else ""
    subject = f"{row['subject']['objectType']}:{row['subject']['objectId']}{group}"
    return f"{row['objectType']}:{row['objectId']}#{row['relation']}@{subject}{policy}"


def listed(client: Client) -> list[str]:
    return [render(row) for page in client.pages("/v2/warrants", limit=1000) for row in page]


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({"objectType": "document"}, [0, 1, 2, 4, 5]),
    ({"objectType": "document", "relation": "viewer"}, [0, 2, 4, 5]),
    ({"objectId": "a"}, [0, 1, 3]),
    ({"objectId": "*"}, [2]),
    ({"subjectId": "*"}, [5]),
    ({"subjectId": "ann", "relation": "viewer"}, [0, 3]),
    ({"subjectType": "team", "subjectId": "eng", "subjectRelation": "member"}, [4]),
    ({"objectType": "document", "objectId": "a", "relation": "owner", "subjectType": "user", "subjectId": "ann"}, [1]),
    ({"objectType": "ghost"}, []),
]


@pytest.mark.parametrize(("only", "expected"), FILTERS)
def test_what_matches_exactly_is_deleted_and_an_id_does_not_match_a_wildcard(
    filled: Client, only: dict[str, str], expected: list[int]
) -> None:
    deleted = delete(filled, only)

    assert (deleted.status_code, deleted.json()) == (200, {"deleted": len(expected), "more": False})
    assert listed(filled) == [text for place, text in enumerate(WRITTEN) if place not in expected]
    assert deleted.headers["service-token"] == filled.get("/v2/objects").headers["service-token"]
    assert delete(filled, only).json() == {"deleted": 0, "more": False}


@pytest.mark.parametrize(("only", "expected"), FILTERS)
def test_a_dry_run_counts_and_deletes_nothing(shared: Client, only: dict[str, str], expected: list[int]) -> None:
    counted = delete(shared, only, dryRun=True)

    assert counted.json() == {"deleted": len(expected), "more": False}
    assert listed(shared) == WRITTEN


def test_a_limit_is_kept_and_repeating_deletes_the_rest(filled: Client) -> None:
    answers = [delete(filled, {"objectType": "document"}, limit=2).json() for _ in range(4)]

    assert answers == [
        {"deleted": 2, "more": True},
        {"deleted": 2, "more": True},
        {"deleted": 1, "more": False},
        {"deleted": 0, "more": False},
    ]
    assert delete(filled, {"objectType": "folder"}, limit=1, dryRun=True).json() == {"deleted": 1, "more": False}
    assert listed(filled) == [WRITTEN[3]]


def test_objects_stay_and_checks_see_it(filled: Client) -> None:
    objects = filled.get("/v2/objects").json()
    before = filled.ask("document:a#viewer@user:ann").json()["result"]

    delete(filled, {"objectType": "document", "subjectId": "ann"}).raise_for_status()

    assert filled.get("/v2/objects").json() == objects
    assert (before, filled.ask("document:a#viewer@user:ann").json()["result"]) == ("Authorized", "Not Authorized")


def test_each_warrant_has_its_event(filled: Client) -> None:
    delete(filled, {"objectId": "a"}).raise_for_status()

    events = filled.get("/v2/access-events", params={"type": "access_revoked"}).json()["results"]
    assert sorted((one["objectType"], one["relation"]) for one in events) == [
        ("document", "owner"),
        ("document", "viewer"),
        ("folder", "viewer"),
    ]
    assert [one["meta"] for one in events if one["objectType"] == "folder"] == [{"policy": "x == 1"}]


def test_more_than_fit_into_one_write_are_deleted_in_several(filled: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_size, "FIRST_CHUNK", 2)
    monkeypatch.setattr(chunk_size, "MAX_CHUNK", 2)
    monkeypatch.setattr(chunk_size, "MIN_CHUNK", 2)
    before = {event["createdAt"] for event in filled.get("/v2/access-events").json()["results"]}

    assert delete(filled, {"objectType": "document"}).json() == {"deleted": 5, "more": False}

    events = filled.get("/v2/access-events").json()["results"]
    assert len({event["createdAt"] for event in events} - before) == 3  # one time for each write
    assert listed(filled) == [WRITTEN[3]]


@pytest.mark.parametrize("client", STORES, indirect=True)
def test_two_that_delete_the_same_delete_each_warrant_once(client: Client) -> None:
    client.define(TYPES)
    client.grant(*(f"document:{number}#viewer@user:ann" for number in range(1_500)))
    deleted: list[int] = []

    def delete_all() -> None:
        more = True
        while more:
            answer = delete(client, {"objectType": "document", "relation": "viewer"}, limit=400).json()
            deleted.append(answer["deleted"])
            more = answer["more"]

    threads = [threading.Thread(target=delete_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(deleted) == 1_500
    assert listed(client) == []


@pytest.mark.parametrize("client", STORES, indirect=True)
def test_each_of_four_at_once_deletes_warrants_of_its_own(client: Client) -> None:
    client.define(TYPES)
    client.grant(*(f"document:{number}#viewer@user:ann" for number in range(100)))

    with ThreadPoolExecutor(4) as threads:
        wanted = [threads.submit(delete, client, {"objectType": "document"}, limit=40) for _ in range(4)]
    answers = [one.result().json() for one in wanted]

    assert sum(answer["deleted"] for answer in answers) == 100
    assert not [answer for answer in answers if answer["deleted"] < 40 and answer["more"]]
    assert listed(client) == []


@pytest.mark.parametrize(
    ("body", "code", "parameter"),
    [
        ({}, "missing_required_parameter", "filter"),
        ({"filter": None}, "missing_required_parameter", "filter"),
        ({"filter": {}}, "invalid_parameter", "filter"),
        ({"filter": {"objectType": None}}, "invalid_parameter", "filter"),
        ({"filter": []}, "invalid_parameter", "filter"),
        ({"filter": "objectType=document"}, "invalid_parameter", "filter"),
        ({"filter": {"objectType": "document"}, "limit": 0}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": 10_001}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": -1}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": 10**30}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": "5"}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": 1.5}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "limit": True}, "invalid_parameter", "limit"),
        ({"filter": {"objectType": "document"}, "dryRun": "yes"}, "invalid_parameter", "dryRun"),
        ({"filter": {"objectType": "document"}, "dryRun": 1}, "invalid_parameter", "dryRun"),
        ({"filter": {"objectType": "document"}, "dryrun": True}, "invalid_parameter", "dryrun"),
        ({"filter": {"objectType": "document", "objctId": "a"}}, "invalid_parameter", "filter.objctId"),
        ({"filter": {"objectType": "document", "policy": "a"}}, "invalid_parameter", "filter.policy"),
        ({"filter": {"objectType": "document", "subject": {}}}, "invalid_parameter", "filter.subject"),
        ({"filter": {"objectType": ""}}, "missing_required_parameter", "objectType"),
        ({"filter": {"objectType": "*"}}, "invalid_parameter", "objectType"),
        ({"filter": {"objectType": "DOC"}}, "invalid_parameter", "objectType"),
        ({"filter": {"objectType": ["document"]}}, "invalid_parameter", "filter.objectType"),
        ({"filter": {"objectType": "document", "objectId": ""}}, "missing_required_parameter", "objectId"),
        ({"filter": {"objectId": "a%"}}, None, None),
        ({"filter": {"objectId": "a b"}}, "invalid_parameter", "objectId"),
        ({"filter": {"objectId": "a\0"}}, "invalid_parameter", "objectId"),
        ({"filter": {"objectId": "x" * 1_025}}, "invalid_parameter", "objectId"),
        ({"filter": {"objectId": 7}}, "invalid_parameter", "filter.objectId"),
        ({"filter": {"relation": "anyOf"}}, "invalid_parameter", "relation"),
        ({"filter": {"relation": "*"}}, "invalid_parameter", "relation"),
        ({"filter": {"relation": "x" * 65}}, "invalid_parameter", "relation"),
        ({"filter": {"subjectType": "a.b"}}, "invalid_parameter", "subjectType"),
        ({"filter": {"subjectId": "' OR 1=1"}}, "invalid_parameter", "subjectId"),
        ({"filter": {"subjectId": "("}}, None, None),
        ({"filter": {"subjectRelation": ""}}, "missing_required_parameter", "subjectRelation"),
        ({"filter": {"subjectRelation": False}}, "invalid_parameter", "filter.subjectRelation"),
        ([{"filter": {"objectType": "document"}}], "invalid_parameter", ""),
    ],
)
def test_a_filter_that_cannot_be_deletes_nothing(
    shared: Client, body: Any, code: str | None, parameter: str | None
) -> None:
    answer = shared.post(PATH, json=body)

    if code is None:
        assert answer.json() == {"deleted": 0, "more": False}
    else:
        assert (answer.status_code, answer.json()["code"], answer.json()["parameter"]) == (400, code, parameter)
    assert listed(shared) == WRITTEN


def test_a_misspelled_member_of_a_filter_is_named_with_the_right_one(shared: Client) -> None:
    refused = delete(shared, {"objectType": "document", "objectid": "a"})

    assert refused.json()["message"] == "is not a member of this request; did you mean objectId?"


@pytest.mark.parametrize(("limit", "status"), [(1, 200), (10_000, 200), (10_001, 400)])
def test_a_limit_is_1_to_10000(shared: Client, limit: int, status: int) -> None:
    assert delete(shared, {"objectType": "ghost"}, limit=limit).status_code == status


def test_null_counts_as_absent(shared: Client) -> None:
    answer = delete(shared, {"objectType": "ghost", "objectId": None}, limit=None, dryRun=None)

    assert answer.json() == {"deleted": 0, "more": False}


def test_an_idempotency_key_has_no_effect(filled: Client) -> None:
    body = {"filter": {"objectType": "document"}, "limit": 2}
    answers = [filled.post(PATH, json=body, headers={"Idempotency-Key": "k"}).json()["deleted"] for _ in range(3)]

    assert answers == [2, 2, 1]
