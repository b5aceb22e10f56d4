"""/fga/v1/warrants and /fga/v1/query (docs/fga-v1.md#warrants and docs/fga-v1.md#queries)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fga.requests import check, fga_warrant, write
from tests.running import Client

OWNER = fga_warrant("document:w#owner@user:ann")


def pages(client: Client, path: str, **parameters: Any) -> Iterator[dict[str, Any]]:
    """Every page, from the first to the last."""
    after: dict[str, str] = {}
    while True:
        page = client.get(path, params={**parameters, **after})
        assert page.status_code == 200, page.text
        yield page.json()
        if page.json()["list_metadata"]["after"] is None:
            return
        after = {"after": page.json()["list_metadata"]["after"]}


def test_a_warrant_is_created_and_deleted(fga: Client) -> None:
    body = fga_warrant('document:w-one#owner@team:eng#member[region == "eu"]')

    created = fga.post("/fga/v1/warrants", json=body)
    [listed] = fga.get("/fga/v1/warrants", params={"resource_type": "document", "resource_id": "w-one"}).json()["data"]
    deleted = fga.post("/fga/v1/warrants", json=body | {"op": "delete"})

    assert created.json() == {"warrant_token": created.headers["warrant-token"]}
    assert {name: listed[name] for name in body} == body
    assert deleted.json() == {"warrant_token": deleted.headers["warrant-token"]}
    assert fga.get("/fga/v1/warrants", params={"resource_id": "w-one"}).json()["data"] == []
    assert fga.post("/fga/v1/warrants", json=body | {"op": "delete"}).status_code == 404


def test_a_batch_creates_and_deletes_or_does_nothing(fga: Client) -> None:
    write(fga, "document:w-b#owner@user:ann")
    bob, ann = fga_warrant("document:w-b#owner@user:bob"), fga_warrant("document:w-b#owner@user:ann")

    refused = fga.post("/fga/v1/warrants", json=[bob, ann | {"op": "delete"}, ann | {"relation": "unheard-of"}])
    before = check(fga, "document:w-b#owner@user:ann", "document:w-b#owner@user:bob", op="batch")
    fga.post("/fga/v1/warrants", json=[bob, ann | {"op": "delete"}]).raise_for_status()
    after = check(fga, "document:w-b#owner@user:ann", "document:w-b#owner@user:bob", op="batch")

    assert (refused.status_code, refused.json()["parameter"]) == (400, "[2].relation")
    assert [one["result"] for one in before] == ["authorized", "not_authorized"]
    assert [one["result"] for one in after] == ["not_authorized", "authorized"]


def test_warrants_are_listed_newest_first_in_pages(fga: Client) -> None:
    for user in "abcde":
        write(fga, f"document:w-list#owner@user:{user}")
    parameters: dict[str, Any] = {"resource_type": "document", "resource_id": "w-list", "limit": 2}

    listed = [*pages(fga, "/fga/v1/warrants", **parameters)]
    subjects = [[row["subject"]["resource_id"] for row in page["data"]] for page in listed]
    back = fga.get("/fga/v1/warrants", params={**parameters, "before": listed[2]["list_metadata"]["before"]}).json()
    ascending = fga.get("/fga/v1/warrants", params={**parameters, "order": "asc"}).json()

    assert subjects == [["e", "d"], ["c", "b"], ["a"]]
    assert listed[0]["object"] == "list"
    assert listed[0]["list_metadata"]["before"] is None
    assert back["data"] == listed[1]["data"]
    assert [row["subject"]["resource_id"] for row in ascending["data"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ([OWNER] * 101, None),
        ([], None),
        ({}, "resource_type"),
        (OWNER | {"op": "upsert"}, "op"),
        ([OWNER, OWNER | {"op": "delete"}], "[1].op"),
        (fga_warrant("document:w#owner@user:ann[a =]"), "policy"),
        (fga_warrant("document:w#can_read@user:ann"), "subject"),
        (fga_warrant("planet:w#owner@user:ann"), "resource_type"),
        (OWNER | {"subject": {}}, "resource_type"),
    ],
)  # fmt: skip
def test_a_mistake_writes_nothing(fga: Client, body: Any, parameter: str | None) -> None:
    answer = fga.post("/fga/v1/warrants", json=body)

    assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text
    assert fga.get("/fga/v1/warrants", params={"resource_id": "w"}).json()["data"] == []


@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"limit": "0"}, "limit"),
        ({"order": "ASC"}, "order"),
        ({"after": "nonsense"}, "after"),
        ({"before": "nonsense"}, "before"),
    ],
)
@pytest.mark.parametrize(
    "path", ["warrants", "resources", "resource-types", "policies", "query?q=select * where user:a is *"]
)
def test_a_page_that_does_not_exist_is_refused(
    fga: Client, path: str, parameters: dict[str, str], parameter: str
) -> None:
    query = "&".join(f"{name}={text}" for name, text in parameters.items())
    answer = fga.get(f"/fga/v1/{path}{'&' if '?' in path else '?'}{query}")

    assert (answer.status_code, answer.json()["parameter"]) == (400, parameter)


def test_queries_find_resources_and_subjects(fga: Client) -> None:
    write(fga, "folder:q-root#viewer@user:q-ann", "document:q-a#parent@folder:q-root", "document:q-b#owner@user:q-ann")
    fga.put("/fga/v1/resources/document/q-b", json={"meta": {"title": "B"}}).raise_for_status()

    asked = {"q": "select document where user:q-ann is viewer", "limit": "1"}
    rows = [row for page in pages(fga, "/fga/v1/query", **asked) for row in page["data"]]
    [subject] = fga.get("/fga/v1/query", params={"q": "select owner of type user for document:q-b"}).json()["data"]

    assert sorted((row["resource_id"], row["is_implicit"], row.get("meta")) for row in rows) == [
        ("q-a", True, None),
        ("q-b", True, {"title": "B"}),
    ]
    assert (subject["resource_type"], subject["resource_id"], subject["relation"]) == ("user", "q-ann", "owner")
    assert fga_warrant("document:q-b#owner@user:q-ann").items() <= subject["warrant"].items()


def test_a_query_reads_its_context(fga: Client) -> None:
    write(fga, "document:q-late#owner@user:q-bob[hour < 17]")

    for context, count in (('{"hour": 9}', 1), ('{"hour": 20}', 0)):
        asked = {"q": "select document where user:q-bob is owner", "context": context}
        assert len(fga.get("/fga/v1/query", params=asked).json()["data"]) == count


def test_a_row_without_a_warrant_shows_the_one_that_would_say_the_same(fga: Client) -> None:
    guest = {"inherit_if": "none_of", "rules": [{"inherit_if": "banned"}]}
    room = {"type": "room", "relations": {"banned": {}, "guest": guest}}
    fga.post("/fga/v1/resource-types", json=room).raise_for_status()
    for kind, object_id in (("room", "q-hall"), ("user", "q-dora")):
        fga.post("/fga/v1/resources", json={"resource_type": kind, "resource_id": object_id}).raise_for_status()

    asked = ("select room where user:q-dora is guest", "select guest of type user for room:q-hall")
    for q in asked:
        rows = fga.get("/fga/v1/query", params={"q": q, "limit": "1000"}).json()["data"]
        assert fga_warrant("room:q-hall#guest@user:q-dora") in [row["warrant"] for row in rows]
