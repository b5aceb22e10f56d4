"""/v2/query over HTTP (docs/compatibility.md#query), and snapshots of the other lists."""

import json
from typing import Any

import pytest

from tests.running import Client, running_service, settings_for

TYPES: dict[str, Any] = {
    "user": {},
    "team": {"member": {}},
    "document": {"owner": {}, "viewer": {"inheritIf": "owner"}, "drafter": {}},
}
SEES = "select document where user:ann is viewer"


@pytest.fixture
def filled(client: Client) -> Client:
    client.define(TYPES)
    client.grant("document:a#viewer@user:ann", "document:b#owner@team:eng#member", "team:eng#member@user:ann")
    client.put("/v2/objects/document/a", json={"meta": {"title": "A"}}).raise_for_status()
    return client


def query(client: Client, q: str | None, **parameters: Any) -> Any:
    return client.get("/v2/query", params=parameters if q is None else {"q": q, **parameters}).json()


def warrant(client: Client, written: str) -> dict[str, Any]:
    """As it is listed, given its object and relation."""
    of_type, _, rest = written.partition(":")
    object_id, _, relation = rest.partition("#")
    found = client.get(
        "/v2/warrants", params={"objectType": of_type, "objectId": object_id, "relation": relation}
    ).json()
    row: dict[str, Any] = found["results"][0]
    return row


def test_rows_say_what_was_found_and_by_which_warrant(filled: Client) -> None:
    answer = filled.get("/v2/query", params={"q": SEES})

    assert answer.status_code == 200
    assert answer.json() == {
        "results": [
            {
                "objectType": "document",
                "objectId": "a",
                "relation": "viewer",
                "warrant": warrant(filled, "document:a#viewer"),
                "isImplicit": False,
                "meta": {"title": "A"},
            },
            {
                "objectType": "document",
                "objectId": "b",
                "relation": "viewer",
                "warrant": warrant(filled, "document:b#owner"),
                "isImplicit": True,
            },
        ]
    }
    assert answer.headers["service-token"] == filled.get("/v2/warrants").headers["service-token"]


@pytest.mark.parametrize("sort", ["id", "createdAt"])
def test_the_rows_of_all_pages_are_counted_if_asked_for(filled: Client, sort: str) -> None:
    first = query(filled, SEES, limit=1, sortBy=sort, total="true")
    filled.grant("document:c#viewer@user:ann")
    second = query(filled, SEES, limit=1, sortBy=sort, total="true", nextCursor=first["nextCursor"])

    assert first["total"] == second["total"] == 2  # both pages are of one snapshot
    assert query(filled, SEES, total="true")["total"] == 3
    assert "total" not in query(filled, SEES) | query(filled, SEES, total="false")
    assert "total" not in filled.get("/v1/query", params={"q": SEES, "total": "true"}).json()


@pytest.mark.parametrize("total", ["1", "yes", "TRUE", "tru\u00e9"])
def test_total_is_true_or_false(filled: Client, total: str) -> None:
    refused = filled.get("/v2/query", params={"q": SEES, "total": total})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "total")


def test_policies_are_given_the_context_of_the_query(filled: Client) -> None:
    filled.grant("document:c#viewer@user:ann[amount < limits.most]")

    def found(**parameters: str) -> list[str]:
        return [row["objectId"] for row in query(filled, SEES, **parameters)["results"]]

    assert found() == found(context="") == found(context="{}") == ["a", "b"]
    assert found(context=json.dumps({"amount": 5, "limits": {"most": 10}})) == ["a", "b", "c"]
    assert found(context=json.dumps({"amount": 50, "limits": {"most": 10}})) == ["a", "b"]


@pytest.mark.parametrize(
    "context", ["[]", "1", "null", "{", '{"a":1,"a":2}', "[" * 2_000, '{"a":' * 2_000 + "1" + "}" * 2_000, "\ud800"]
)
def test_a_context_that_is_no_json_object_is_refused(filled: Client, context: str) -> None:
    text = context.encode(errors="surrogatepass").decode("latin-1") if "\ud800" in context else context
    expected = {"code": "invalid_parameter", "message": "invalid", "parameter": "context"}

    assert query(filled, SEES, context=text) == expected


def test_a_context_that_is_too_large_is_refused(database_url: str) -> None:
    with running_service(settings_for(database_url, max_context_bytes=1_024)) as url, Client(url) as client:
        client.define(TYPES)
        fits, too_large = ({"a": "x" * length} for length in (1_024 - len('{"a":""}'), 1_024))

        assert query(client, SEES, context=json.dumps(fits)) == {"results": []}
        expected = {
            "code": "invalid_parameter",
            "message": "must be at most 1024 bytes of JSON",
            "parameter": "context",
        }
        assert query(client, SEES, context=json.dumps(too_large)) == expected


@pytest.mark.parametrize(
    ("q", "told"),
    [
        (None, "1:1"),
        ("", "1:1"),
        ("select", "incomplete 'select' clause"),
        ("select document where user:ann is", "1:"),
        ("select document", "must contain a 'where' clause"),
        ("select viewer of type user", "must contain a 'for' clause"),
        ("select document where user:* is viewer", "*"),
    ],
)
def test_a_query_that_is_none_is_refused_with_its_place(shared_client: Client, q: str | None, told: str) -> None:
    answer = query(shared_client, q)

    assert (answer["code"], answer["parameter"]) == ("invalid_parameter", "q")
    assert told in answer["message"]


@pytest.mark.parametrize(
    ("q", "missing"),
    [
        ("select ghost where user:ann is viewer", "ghost"),
        ("select document, ghost where user:ann is viewer", "ghost"),
        ("select viewer of type ghost for document:a", "ghost"),
        ("select viewer of type user for ghost:a", "ghost"),
    ],
)
def test_a_type_that_is_not_defined_is_404(filled: Client, q: str, missing: str) -> None:
    answer = filled.get("/v2/query", params={"q": q})

    expected = {"code": "not_found", "message": f"ObjectType {missing} not found", "type": "ObjectType", "key": missing}
    assert (answer.status_code, answer.json()) == (404, expected)


@pytest.mark.parametrize(
    "q",
    [
        "select document where ghost:g is viewer",
        "select document where user:ann is nothing",
        "select nothing of type user for document:a",
        "select viewer of type user for document:nowhere",
    ],
)
def test_what_nobody_has_is_an_empty_list(filled: Client, q: str) -> None:
    assert query(filled, q) == {"results": []}


def test_faults_are_reported_in_the_order_of_the_parameters(filled: Client) -> None:
    wrong = {"q": "select", "limit": "0", "sortBy": "name", "nextCursor": "x", "context": "["}
    told = []
    while wrong:
        told.append(query(filled, **{"q": SEES, **wrong})["parameter"])
        del wrong[told[-1]]

    assert told == ["q", "limit", "sortBy", "nextCursor", "context"]


def test_cursors_go_forwards_and_back_and_are_the_same_in_both_directions(filled: Client) -> None:
    filled.grant(*[f"document:{object_id}#viewer@user:ann" for object_id in "cdef"])
    first = query(filled, SEES, limit=2)
    second = query(filled, SEES, limit=2, nextCursor=first["nextCursor"])
    back = query(filled, SEES, limit=2, prevCursor=second["prevCursor"])

    assert [row["objectId"] for row in second["results"]] == ["c", "d"]
    assert back == first
    assert query(filled, SEES, limit=2) == first
    assert len(query(filled, SEES, limit=8, nextCursor=first["nextCursor"])["results"]) == 4
    assert "prevCursor" not in first
    refused = query(filled, SEES, sortBy="createdAt", nextCursor=first["nextCursor"])
    assert (refused["parameter"], refused["message"][:14]) == ("nextCursor", "invalid cursor")
    assert query(filled, SEES, nextCursor="a", prevCursor="b")["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/v2/objects", {"objectType": "document"}),
        ("/v2/warrants", {"objectType": "document"}),
        ("/v2/object-types", {}),
    ],
)
def test_every_list_stays_at_one_revision_with_a_snapshot(
    filled: Client, path: str, parameters: dict[str, str]
) -> None:
    filled.grant(*[f"document:{object_id}#viewer@user:ann" for object_id in "cdef"])
    whole = filled.get(path, params=parameters).json()["results"]

    def walk(**more: str) -> list[Any]:
        """Page by page, with a write after the first."""
        page = filled.get(path, params={**parameters, **more, "limit": "2"}).json()
        rows = page["results"]
        filled.delete_json("/v2/warrants", warrant(filled, "document:d#viewer")).raise_for_status()
        filled.delete("/v2/objects/document/c").raise_for_status()
        filled.delete("/v2/object-types/user").raise_for_status()
        while "nextCursor" in page:
            page = filled.get(path, params={**parameters, "limit": "2", "nextCursor": page["nextCursor"]}).json()
            rows += page["results"]
        return list(rows)

    assert walk(snapshot="true") == whole
    plain = filled.get(path, params=parameters | {"snapshot": "false"}).json()["results"]
    assert len(plain) < len(whole)


def test_a_cursor_without_a_snapshot_is_the_same_whatever_was_written_in_between(filled: Client) -> None:
    before = filled.get("/v2/objects", params={"limit": "2"}).json()["nextCursor"]
    pinned = filled.get("/v2/objects", params={"limit": "2", "snapshot": "true"}).json()["nextCursor"]
    filled.grant("document:z#viewer@user:ann")

    assert filled.get("/v2/objects", params={"limit": "2"}).json()["nextCursor"] == before
    assert filled.get("/v2/objects", params={"limit": "2", "snapshot": "true"}).json()["nextCursor"] != pinned
    refused = filled.get("/v2/objects", params={"snapshot": "yes"}).json()
    assert refused == {"code": "invalid_parameter", "message": "must be true or false", "parameter": "snapshot"}
