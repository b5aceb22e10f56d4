"""/v2/saved-queries: queries that all who use a store share."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from magistrate.api.endpoints.saved_queries import MAX_CONTEXT_BYTES, MAX_NAME_LENGTH
from magistrate.engine.lists.language import MAX_QUERY_LENGTH
from magistrate.engine.terms import MAX_DESCRIPTION_LENGTH
from magistrate.operations.lists.saved_queries import MAX_SAVED_QUERIES
from tests.issuing import issue_key
from tests.running import Client

PATH = "/v2/saved-queries"
Q = "select document where user:ann is viewer"


def save(client: Client, name: str = "mine", **members: object) -> dict[str, Any]:
    answer = client.post(PATH, json={"name": name, "q": Q, **members})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def list_names(client: Client, **parameters: str) -> list[str]:
    return [row["name"] for page in client.pages(PATH, **parameters) for row in page]


def test_a_query_is_saved_and_read_by_its_id_and_in_the_list(client: Client) -> None:
    context = {"network": "office", "n": [1, 2.5, None, {"é": "\0"}]}

    made = save(client, "Who? 'é' \U0001f600 <b>/../", description="what ann\nreads", context=context)

    assert made.keys() == {"id", "name", "q", "context", "description", "createdAt", "createdBy"}
    assert (made["q"], made["context"], made["description"]) == (Q, context, "what ann\nreads")
    assert client.get(f"{PATH}/{made['id']}").json() == made
    assert client.get(PATH).json()["results"] == [made]


def test_what_is_absent_empty_or_null_is_left_out(client: Client) -> None:
    for name, members in (("a", {}), ("b", {"context": None, "description": None}), ("c", {"context": {}})):
        assert save(client, name, **members).keys() == {"id", "name", "q", "createdAt", "createdBy"}


def test_q_and_context_of_a_saved_query_are_a_body_of_a_query(client: Client) -> None:
    client.define({"document": {"viewer": {}}, "user": {}})
    client.write(
        [
            {
                "objectType": "document",
                "objectId": "plan",
                "relation": "viewer",
                "subject": {"objectType": "user", "objectId": "ann"},
                "policy": 'network == "office"',
            }
        ]
    )
    made = save(client, context={"network": "office"})

    rows = client.post("/v2/query", json={name: made[name] for name in ("q", "context")}).json()["results"]

    assert [row["objectId"] for row in rows] == ["plan"]


def test_a_change_replaces_the_members_that_it_has_and_null_removes_one(client: Client) -> None:
    made = save(client, description="x", context={"a": 1})
    path = f"{PATH}/{made['id']}"
    other = "select viewer of type user for document:plan"

    assert client.patch(path, json={}).json() == made
    assert client.patch(path, json={"name": "other"}).json() == {**made, "name": "other"}
    assert client.patch(path, json={"q": other}).json() == {**made, "name": "other", "q": other}
    client.patch(path, json={"description": None, "context": None}).raise_for_status()

    kept = {name: made[name] for name in ("id", "createdAt", "createdBy")}
    assert client.get(path).json() == {**kept, "name": "other", "q": other}


def test_a_deleted_query_is_gone_and_its_name_is_free(client: Client) -> None:
    path = f"{PATH}/{save(client)['id']}"

    client.delete(path).raise_for_status()

    assert client.get(PATH).json()["results"] == []
    for answer in (client.get(path), client.delete(path), client.patch(path, json={"name": "other"})):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    save(client)


@pytest.fixture(scope="module")
def saved(shared_client: Client) -> dict[str, Any]:
    """The only saved query of a service on which nothing else succeeds."""
    return save(shared_client)


@pytest.mark.parametrize("query_id", ["none", "%00", "..%2F..", "a%2Fb", "%F0%9F%98%80", "x" * 5_000])
def test_an_id_that_nobody_has_is_not_found(shared_client: Client, query_id: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"name": "a"}), ("DELETE", None)):
        answer = shared_client.request(method, f"{PATH}/{query_id}", json=body)

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text


def test_the_list_is_sorted_by_name_or_time_and_paged_in_both_directions(client: Client) -> None:
    for name in ("b", "é", "a", "B", "\U0001f600"):
        save(client, name)

    assert list_names(client, limit="2") == ["B", "a", "b", "é", "\U0001f600"]
    assert list_names(client, limit="2", sortOrder="DESC") == ["\U0001f600", "é", "b", "a", "B"]
    assert list_names(client, limit="1", sortBy="createdAt") == ["b", "é", "a", "B", "\U0001f600"]
    first = client.get(PATH, params={"limit": 2}).json()
    second = client.get(PATH, params={"limit": 2, "nextCursor": first["nextCursor"]}).json()
    back = client.get(PATH, params={"limit": 2, "prevCursor": second["prevCursor"]}).json()
    assert back["results"] == first["results"]
    assert client.get(PATH, params={"sortBy": "q"}).json()["parameter"] == "sortBy"


def test_a_page_goes_on_where_the_last_one_ended_whatever_is_saved_and_deleted_meanwhile(client: Client) -> None:
    ids = {name: save(client, name)["id"] for name in "acegi"}
    first = client.get(PATH, params={"limit": 2}).json()
    client.delete(f"{PATH}/{ids['c']}").raise_for_status()
    for name in "bdj":
        save(client, name)

    assert list_names(client, nextCursor=first["nextCursor"]) == ["d", "e", "g", "i", "j"]


REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(
        ("name", {"name": name})
        for name in (
            "",
            " ",
            " a",
            "a ",
            "a\u00a0",
            "a\0b",
            "a\nb",
            "a\tb",
            "a\u007f",
            "a\u0085b",
            "a\u2028b",
            "\u202egnp.exe",
            "a\u200bb",
            "\ufeffa",
            "x" * (MAX_NAME_LENGTH + 1),
            None,
            5,
            ["a"],
            {"a": 1},
            True,
        )
    ),
    *(
        ("q", {"q": q})
        for q in (
            "",
            "select",
            "select document whre user:ann is viewer",
            "select document where user:a\0b is viewer",
            'select document where user:"a\nb" is viewer',
            f"{Q}{' ' * MAX_QUERY_LENGTH}",
            None,
            5,
            [Q],
            {"q": Q},
        )
    ),
    *(
        ("description", {"description": text})
        for text in ("a\0b", "x" * (MAX_DESCRIPTION_LENGTH + 1), 5, ["a"], {"a": 1})
    ),
    *(("context", {"context": context}) for context in ("{}", 5, [], [1], True, {"a": "x" * MAX_CONTEXT_BYTES})),
    ("surplus", {"surplus": 1}),
    ("createdBy", {"createdBy": "eve"}),
    ("id", {"id": "x"}),
]


@pytest.mark.parametrize(("parameter", "members"), REFUSED)
def test_what_cannot_be_saved_is_refused_with_the_member_and_changes_nothing(
    shared_client: Client, saved: dict[str, Any], parameter: str, members: dict[str, Any]
) -> None:
    created = shared_client.post(PATH, json={"name": "other", "q": Q, **members})
    changed = shared_client.patch(f"{PATH}/{saved['id']}", json=members)

    for answer in (created, changed):
        assert (answer.status_code, answer.json()["parameter"]) == (400, parameter), answer.text
        assert answer.json()["code"] in ("invalid_parameter", "missing_required_parameter")
    assert shared_client.get(PATH).json()["results"] == [saved]


@pytest.mark.parametrize("member", ["name", "q", "description", "context"])
def test_a_half_of_a_pair_of_surrogates_is_refused(shared_client: Client, saved: dict[str, Any], member: str) -> None:
    text = '{"a": "\\ud800"}' if member == "context" else '"a\\udc00"'
    others = "".join(f', "{name}": "{value}"' for name, value in (("name", "b"), ("q", Q)) if name != member)

    answer = shared_client.post(PATH, content=f'{{"{member}": {text}{others}}}')

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.text
    assert shared_client.get(PATH).json()["results"] == [saved]


@pytest.mark.parametrize("body", ["", "[]", "null", '"a"', "{", '{"name": "a", "name": "b", "q": "x"}'])
def test_a_body_that_is_no_object_is_refused(shared_client: Client, saved: dict[str, Any], body: str) -> None:
    assert shared_client.post(PATH, content=body).status_code == 400
    assert shared_client.get(PATH).json()["results"] == [saved]


def test_values_at_their_limits_are_saved(client: Client) -> None:
    context = {"a": "x" * (MAX_CONTEXT_BYTES - len('{"a":""}'))}
    longest: dict[str, Any] = {
        "name": "\U0001f600" * MAX_NAME_LENGTH,
        "q": Q.ljust(MAX_QUERY_LENGTH),
        "description": "é" * MAX_DESCRIPTION_LENGTH,
        "context": context,
    }

    made = save(client, **longest)

    assert {name: made[name] for name in longest} == longest
    assert client.get(f"{PATH}/{made['id']}").json() == made
    assert client.get(PATH).json()["results"] == [made]


def test_names_that_differ_in_anything_are_different_names(client: Client) -> None:
    names = ["Who", "who", "wh\u00f6", "who\u0308", "who 1", "who  1"]
    for name in names:
        save(client, name)

    assert list_names(client) == sorted(names)


def test_a_name_is_given_once(client: Client) -> None:
    first, second = save(client, "a"), save(client, "b")

    for answer in (
        client.post(PATH, json={"name": "a", "q": Q}),
        client.patch(f"{PATH}/{second['id']}", json={"name": "a", "q": "select * where user:eve is *"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert "the name a already" in answer.json()["message"]
    assert client.get(PATH).json()["results"] == [first, second]


def test_of_many_who_give_one_name_at_once_one_does(client: Client) -> None:
    def create(number: int) -> httpx.Response:
        with Client(str(client.base_url)) as other:
            return other.post(PATH, json={"name": "same", "q": Q, "description": str(number)})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, range(16)))

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
    [made] = [answer.json() for answer in answers if answer.status_code == 200]
    assert client.get(PATH).json()["results"] == [made]


def test_a_store_has_so_many_at_most(client: Client) -> None:
    for number in range(MAX_SAVED_QUERIES):
        save(client, f"n{number:03}")

    refused = client.post(PATH, json={"name": "other", "q": Q})

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert f"has {MAX_SAVED_QUERIES} saved queries" in refused.json()["message"]
    listed = client.get(PATH, params={"limit": 1_000}).json()
    assert len(listed["results"]) == MAX_SAVED_QUERIES
    assert listed.get("nextCursor") is None
    client.delete(f"{PATH}/{listed['results'][0]['id']}").raise_for_status()
    save(client, "other")


def test_reading_needs_the_scope_query_and_saving_the_scope_write(client: Client) -> None:
    made = save(client)
    path, body = f"{PATH}/{made['id']}", {"name": "other", "q": Q}
    reader, writer = issue_key(client, "reader", "query"), issue_key(client, "writer", "write")
    url = str(client.base_url)
    with Client(url, reader) as reading, Client(url, writer) as writing:
        assert reading.get(PATH).json()["results"] == [made]
        assert reading.get(path).json() == made
        for answer in (reading.post(PATH, json=body), reading.patch(path, json=body), reading.delete(path)):
            assert (answer.status_code, "scope write" in answer.json()["message"]) == (403, True)
        for answer in (writing.get(PATH), writing.get(path)):
            assert (answer.status_code, "scope query" in answer.json()["message"]) == (403, True)
        assert writing.post(PATH, json=body).json()["createdBy"] == "writer"


def test_a_key_that_is_limited_to_object_types_has_no_part_in_saved_queries(client: Client) -> None:
    made = save(client)
    key = issue_key(client, "limited", "query", "write", objectTypes=["document"])
    with Client(str(client.base_url), key) as limited:
        for method, path in (("GET", ""), ("POST", ""), ("GET", f"/{made['id']}"), ("DELETE", f"/{made['id']}")):
            body = {"name": "other", "q": Q} if method == "POST" else None
            assert limited.request(method, f"{PATH}{path}", json=body).status_code == 403


def test_saved_queries_belong_to_one_store_and_go_with_it(client: Client) -> None:
    for name in ("one", "two"):
        client.post("/v2/stores", json={"name": name}).raise_for_status()
    made = save(client)
    in_one = client.post(f"/stores/one{PATH}", json={"name": "mine", "q": Q}).raise_for_status().json()

    assert client.get(PATH).json()["results"] == [made]
    assert client.get(f"/stores/one{PATH}").json()["results"] == [in_one]
    assert client.get(f"/stores/two{PATH}").json()["results"] == []
    for method in ("GET", "DELETE"):
        assert client.request(method, f"/stores/two{PATH}/{in_one['id']}").status_code == 404
    for name in ("one", "two"):
        client.delete(f"/v2/stores/{name}").raise_for_status()


def test_a_reader_with_a_token_of_the_write_sees_it(client: Client) -> None:
    events = client.get("/v2/resource-events").json()["results"]

    answer = client.post(PATH, json={"name": "mine", "q": Q})

    token = answer.headers["Warrant-Token"]
    assert client.get(PATH, headers={"Warrant-Token": token}).json()["results"] == [answer.json()]
    assert client.get("/v2/resource-events").json()["results"] == events


def test_saved_queries_are_json_whatever_they_hold(client: Client) -> None:
    made = save(client, '"quoted" \\ </script>', context={"</script>": "\u2028"})

    assert json.loads(client.get(PATH).text)["results"] == [made]
