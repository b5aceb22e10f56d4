"""Allowed types over HTTP (docs/api.md#allowed-types): every door refuses warrants that they forbid."""

from typing import Any

import pytest

from tests.running import Client
from tests.scenario_files import warrant_body

TYPES: list[dict[str, Any]] = [
    {"type": "user", "relations": {}},
    {"type": "team", "relations": {"member": {}, "admin": {}}},
    {
        "type": "document",
        "relations": {"viewer": {}, "owner": {}, "can-read": {"inheritIf": "viewer"}},
        "allowedTypes": {"viewer": ["user", "team#member"], "can-read": []},
    },
]
ALLOWED = "document:plan#viewer@user:ann"
FORBIDDEN = "document:plan#viewer@team:eng#admin"
COMPUTED = "document:plan#can-read@user:ann"
MESSAGE = "document#viewer cannot be given to team#admin: it allows user, team#member"


@pytest.fixture
def limited(client: Client) -> Client:
    client.put("/v2/object-types", json=TYPES).raise_for_status()
    return client


def types_with(forms: list[str] | None) -> dict[str, Any]:
    return {"type": "document", "relations": {"viewer": {}}} | (
        {} if forms is None else {"allowedTypes": {"viewer": forms}}
    )


def refusal(parameter: str) -> dict[str, Any]:
    return {
        "code": "not_allowed",
        "message": MESSAGE,
        "parameter": parameter,
        "allowed": ["user", "team#member"],
    }


def test_they_are_shown_as_they_were_written(limited: Client) -> None:
    found = limited.get("/v2/object-types/document").json()

    assert found["allowedTypes"] == {"viewer": ["user", "team#member"], "can-read": []}
    assert [*found] == ["type", "relations", "allowedTypes", "createdAt"]
    assert "allowedTypes" not in limited.get("/v2/object-types/team").json()


def test_a_warrant_that_is_allowed_is_written(limited: Client) -> None:
    limited.grant(ALLOWED, "document:plan#viewer@team:eng#member", "document:plan#owner@team:eng#admin")

    assert limited.ask(ALLOWED).json()["result"] == "Authorized"


@pytest.mark.parametrize("path", ["/v2/warrants", "/v1/warrants"])
def test_a_warrant_that_is_not_allowed_is_refused(limited: Client, path: str) -> None:
    refused = limited.post(path, json=warrant_body(FORBIDDEN))

    assert (refused.status_code, refused.json()) == (400, refusal("subject"))
    assert limited.get("/v2/warrants").json()["results"] == []


def test_a_relation_without_allowed_types_is_given_by_its_rule_alone(limited: Client) -> None:
    refused = limited.post("/v2/warrants", json=warrant_body(COMPUTED)).json()

    assert refused["message"] == "document#can-read cannot be given by a warrant: it is given by its rule alone"
    assert refused["allowed"] == []


def test_a_wildcard_is_allowed_by_its_own_form_only(limited: Client) -> None:
    refused = limited.post("/v2/warrants", json=warrant_body("document:plan#viewer@user:*"))
    limited.put("/v2/object-types/document", json=types_with(["user:*"])).raise_for_status()
    written = limited.post("/v2/warrants", json=warrant_body("document:plan#viewer@user:*"))
    single = limited.post("/v2/warrants", json=warrant_body(ALLOWED))

    assert refused.json()["code"] == "not_allowed"
    assert written.status_code == 200
    assert single.json()["code"] == "not_allowed"


def test_arrays_writes_and_contextual_warrants_name_the_element(limited: Client) -> None:
    array = limited.post("/v2/warrants", json=[warrant_body(ALLOWED), warrant_body(FORBIDDEN)])
    atomic = limited.post("/v2/writes", json={"create": {"warrants": [warrant_body(ALLOWED), warrant_body(FORBIDDEN)]}})
    contextual = {"contextualWarrants": [warrant_body(FORBIDDEN)]}
    check = limited.ask(ALLOWED, **contextual)
    query = limited.post("/v2/query", json={"q": "select document where user:ann is viewer", **contextual})
    explain = limited.post("/v2/explain", json=warrant_body(ALLOWED) | contextual)

    assert array.json() == refusal("[1].subject")
    assert atomic.json() == refusal("create.warrants[1].subject")
    for answer in (check, query, explain):
        assert (answer.status_code, answer.json()) == (400, refusal("contextualWarrants[0].subject"))
    assert limited.get("/v2/warrants").json()["results"] == []


def test_types_that_forbid_stored_warrants_are_refused_with_some_of_them(client: Client) -> None:
    client.define({"user": {}, "document": {"viewer": {}}})
    client.grant(*(f"document:d{number:02}#viewer@user:*" for number in range(12)), ALLOWED)

    single = client.put("/v2/object-types/document", json=types_with(["user"]))
    array = client.put("/v2/object-types", json=[types_with(["user"])])
    created = client.post("/v2/object-types", json=types_with([]))

    assert (single.status_code, single.json()["code"], single.json()["parameter"]) == (
        400,
        "stranded_warrants",
        "allowedTypes",
    )
    assert len(single.json()["warrants"]) == 10
    assert all(text.endswith("#viewer@user:*") for text in single.json()["warrants"])
    assert "and others" in single.json()["message"]
    assert (array.status_code, created.status_code) == (400, 400)
    assert "allowedTypes" not in client.get("/v2/object-types/document").json()


def test_warrants_that_are_kept_have_no_effect_until_they_are_allowed_again(client: Client) -> None:
    client.define({"user": {}, "team": {"member": {}}, "document": {"viewer": {}}})
    client.grant("document:plan#viewer@team:eng#member", "team:eng#member@user:ann", "document:memo#viewer@user:ann")
    before = client.ask(ALLOWED)

    kept = client.put("/v2/object-types/document?keepExisting=true", json=types_with(["user"]))
    denied = client.ask(ALLOWED)
    stranded = client.get("/v2/warrants", params={"stranded": "true"}).json()["results"]
    rows = client.get("/v2/query", params={"q": "select document where user:ann is viewer"}).json()["results"]
    changed = client.put("/v2/object-types/document", json=types_with(["user"]) | {"source": None})
    past = client.ask(ALLOWED, asOf=before.headers["Service-Token"])
    allowed = client.put("/v2/object-types/document", json=types_with(["user", "team#member"]))
    again = client.ask(ALLOWED)
    left = client.get("/v2/warrants", params={"stranded": "true"}).json()["results"]

    assert kept.status_code == changed.status_code == allowed.status_code == 200
    assert [one.json()["result"] for one in (before, denied, past, again)] == [
        "Authorized",
        "Not Authorized",
        "Authorized",
        "Authorized",
    ]
    assert [one["subject"] for one in stranded] == [{"objectType": "team", "objectId": "eng", "relation": "member"}]
    assert [row["objectId"] for row in rows] == ["memo"]
    assert left == []


def test_a_stranded_warrant_is_renewed_once_it_is_allowed_again(client: Client) -> None:
    client.post("/v2/object-types", json=types_with(None)).raise_for_status()
    body = warrant_body(ALLOWED) | {"expiresAt": "2999-01-01T00:00:00Z"}
    longer = body | {"expiresAt": "2999-06-01T00:00:00Z"}
    client.write([body])
    client.put("/v2/object-types/document?keepExisting=true", json=types_with(["team"])).raise_for_status()

    def list_stranded() -> list[str]:
        return [one["expiresAt"] for one in client.get("/v2/warrants?stranded=true").json()["results"]]

    refused = client.post("/v2/warrants", json=longer)
    left = list_stranded()
    client.put("/v2/object-types/document", json=types_with(["user"])).raise_for_status()
    renewed = client.post("/v2/warrants", json=longer)
    client.put("/v2/object-types/document?keepExisting=true", json=types_with(["team"])).raise_for_status()

    assert (refused.status_code, refused.json()["code"]) == (400, "not_allowed")
    assert left == ["2999-01-01T00:00:00Z"]
    assert (renewed.status_code, renewed.headers["Warrant-Outcome"]) == (200, "updated")
    assert list_stranded() == ["2999-06-01T00:00:00Z"]
    assert client.ask(ALLOWED).json()["result"] == "Not Authorized"


def test_stranded_warrants_are_listed_in_pages_and_by_filters(client: Client) -> None:
    client.define({"user": {}, "document": {"viewer": {}}})
    client.grant(*(f"document:d{number}#viewer@user:*" for number in range(5)), ALLOWED)
    client.put("/v2/object-types/document?keepExisting=true", json=types_with(["user"])).raise_for_status()

    found: list[str] = []
    cursor: str | None = None
    while True:
        parameters = {"stranded": "true", "limit": "2"} | ({"nextCursor": cursor} if cursor else {})
        page = client.get("/v2/warrants", params=parameters).json()
        found += [row["objectId"] for row in page["results"]]
        if (cursor := page.get("nextCursor")) is None:
            break
    one = client.get("/v2/warrants", params={"stranded": "true", "objectId": "d3"}).json()["results"]
    other = client.get("/v2/warrants", params={"stranded": "true", "objectType": "team"}).json()["results"]
    both = client.get("/v2/warrants", params={"stranded": "true", "expired": "true"})

    assert found == ["d0", "d1", "d2", "d3", "d4"]
    assert [row["objectId"] for row in one] == ["d3"]
    assert other == []
    assert both.json()["parameter"] == "stranded"


@pytest.mark.parametrize(
    ("allowed", "reason"),
    [
        ({"editor": ["user"]}, "'editor' is not a relation of the object type"),
        ({"viewer": ["User"]}, "'User' is not of the form user, user:*, team#member or team:*#member"),
        ({"viewer": ["user:ann"]}, "'user:ann' is not of the form user, user:*, team#member or team:*#member"),
        ({"viewer": ["team#"]}, "'team#' is not of the form user, user:*, team#member or team:*#member"),
        ({"viewer": [""]}, "'' is not of the form user, user:*, team#member or team:*#member"),
        ({"viewer": ["user", "team", "user"]}, "'user' is there twice for viewer"),
    ],
)
def test_allowed_types_that_cannot_be_are_refused(client: Client, allowed: dict[str, Any], reason: str) -> None:
    body = {"type": "document", "relations": {"viewer": {}}, "allowedTypes": allowed}
    refused = client.post("/v2/object-types", json=body)

    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "parameter": "allowedTypes", "message": reason}


def test_names_in_allowed_types_that_are_not_defined_are_warned_of(client: Client) -> None:
    written = client.post("/v2/object-types", json=types_with(["usr", "team#membr"]))

    assert written.status_code == 200
    assert "document#viewer: object type usr is not defined" in written.headers["Warning"]
