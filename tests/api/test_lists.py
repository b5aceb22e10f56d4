"""Lists: parameters, pages and cursors (docs/compatibility.md#lists-and-cursors)."""

import re
from typing import Any

import pytest

from tests.running import Client

LIMIT_MESSAGE = "must be an integer greater than 0 and less than or equal to 1000"
LISTS = ["/v2/objects", "/v2/object-types"]


def fill(client: Client, *names: str) -> None:
    """Objects written as type/id, in this order of creation."""
    for name in names:
        of_type, _, object_id = name.partition("/")
        assert client.post("/v2/objects", json={"objectType": of_type, "objectId": object_id}).status_code == 200


def page(client: Client, path: str = "/v2/objects", **parameters: Any) -> tuple[list[str], str | None, str | None]:
    """The names on a page, written as in `fill`, and its cursors."""
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    names = [
        f"{row['objectType']}/{row['objectId']}" if "objectId" in row else row["type"]
        for row in answer.json()["results"]
    ]
    return names, answer.json().get("prevCursor"), answer.json().get("nextCursor")


def refusal(client: Client, path: str, **parameters: Any) -> dict[str, str]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 400, answer.text
    body: dict[str, str] = answer.json()
    return body


def test_an_empty_list_has_results_and_no_cursor(client: Client) -> None:
    assert client.get("/v2/objects").json() == {"results": []}


def test_pages_hold_25_unless_said_otherwise(client: Client) -> None:
    client.post("/v2/objects", json=[{"objectType": "d", "objectId": f"{n:03}"} for n in range(60)])

    assert [len(rows) for rows in client.pages("/v2/objects")] == [25, 25, 10]
    assert [len(rows) for rows in client.pages("/v2/objects", limit="")] == [25, 25, 10]
    assert [len(rows) for rows in client.pages("/v2/objects", limit="+59")] == [59, 1]
    assert [len(rows) for rows in client.pages("/v2/objects", limit=1000)] == [60]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1e2", "ten", " 5", "5.0", "٣", "9" * 30, "undefined"])
def test_a_limit_that_is_no_integer_from_1_to_1000_is_refused(shared_client: Client, path: str, limit: str) -> None:
    expected = {"code": "invalid_parameter", "message": LIMIT_MESSAGE, "parameter": "limit"}
    assert refusal(shared_client, path, limit=limit) == expected


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("parameters", "parameter", "message"),
    [
        ({"sortBy": "created"}, "sortBy", "unsupported sortBy"),
        ({"sortBy": "CREATEDAT"}, "sortBy", "unsupported sortBy"),
        ({"sortOrder": "asc"}, "sortOrder", "must be ASC or DESC"),
        ({"page": "0"}, "page", "must be an integer greater than 0"),
        ({"page": "x"}, "page", "must be an integer greater than 0"),
        ({"nextCursor": ""}, "nextCursor", "invalid cursor"),
        ({"prevCursor": ""}, "prevCursor", "invalid cursor"),
        ({"q": "x" * 1_025}, "q", "must be at most 1024 characters long"),
        ({"q": "a\0b"}, "q", "must not contain the character NUL"),
        (
            {"sortBy": "x", "sortOrder": "y", "limit": "z", "page": "v", "q": "\0"},
            "q",
            "must not contain the character NUL",
        ),
        ({"sortBy": "x", "sortOrder": "y", "limit": "z", "page": "v"}, "page", "must be an integer greater than 0"),
        ({"sortBy": "x", "sortOrder": "y", "limit": "z"}, "limit", LIMIT_MESSAGE),
        ({"sortBy": "x", "sortOrder": "y", "nextCursor": "z"}, "sortOrder", "must be ASC or DESC"),
        ({"sortBy": "x", "nextCursor": "z"}, "sortBy", "unsupported sortBy"),
    ],
)
def test_the_first_bad_parameter_is_named(
    shared_client: Client, path: str, parameters: dict[str, str], parameter: str, message: str
) -> None:
    expected = {"code": "invalid_parameter", "message": message, "parameter": parameter}
    assert refusal(shared_client, path, **parameters) == expected


@pytest.mark.parametrize("path", LISTS)
def test_both_cursors_together_are_refused(shared_client: Client, path: str) -> None:
    body = refusal(shared_client, path, nextCursor="a", prevCursor="b")

    message = "cannot pass both nextCursor and prevCursor together"
    assert body == {"code": "invalid_request", "message": message}


def test_of_a_repeated_parameter_the_first_counts_and_unknown_ones_are_ignored(client: Client) -> None:
    fill(client, "d/a", "d/b")

    assert len(client.get("/v2/objects?limit=1&limit=2&foo=bar&page=7").json()["results"]) == 1


def test_both_names_of_the_first_sort_of_object_types_are_the_same_sort(client: Client) -> None:
    by_type = client.get("/v2/object-types", params={"sortBy": "type", "limit": 2}).json()
    by_type_id = client.get("/v2/object-types", params={"sortBy": "typeId", "limit": 2}).json()

    assert by_type == by_type_id == client.get("/v2/object-types", params={"limit": 2}).json()


def test_cursors_go_forward_and_back(client: Client) -> None:
    fill(client, "d/a", "d/b", "d/c", "d/d", "d/e")

    first, none, to_second = page(client, limit=2)
    second, to_first, to_third = page(client, limit=2, nextCursor=to_second)
    third, back_to_second, end = page(client, limit=2, nextCursor=to_third)
    again, back_to_first, to_third_again = page(client, limit=2, prevCursor=back_to_second)
    start, before_start, to_second_again = page(client, limit=2, prevCursor=back_to_first)

    assert (first, none) == (["d/a", "d/b"], None)
    assert second == again == ["d/c", "d/d"]
    assert (third, end) == (["d/e"], None)
    assert (start, before_start) == (["d/a", "d/b"], None)
    assert to_second == to_second_again
    assert to_third == to_third_again
    assert to_first == back_to_first


@pytest.mark.parametrize("sort", ["objectId", "createdAt", "objectType"])
@pytest.mark.parametrize("order", ["ASC", "DESC"])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7])
def test_pages_of_any_size_add_up_to_the_whole_in_both_directions(
    shared_client: Client, sort: str, order: str, limit: int
) -> None:
    fill(shared_client, "b/x", "a/x", "a/y", "b/x2", "a/X", "c/1", "a/0")
    parameters = {"sortBy": sort, "sortOrder": order}
    whole, _, _ = page(shared_client, **parameters, limit=1000)

    forward: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        names, previous, following = page(shared_client, **parameters, limit=limit, **cursor)
        forward.append(names)
        if following is None:
            break
        cursor = {"nextCursor": following}
    backward = [forward[-1]]
    while previous is not None:
        names, previous, _ = page(shared_client, **parameters, limit=limit, prevCursor=previous)
        backward.insert(0, names)

    assert len(set(whole)) == 7
    assert [name for names in forward for name in names] == whole
    assert [name for names in backward for name in names] == whole
    assert all(len(names) == limit for names in forward[:-1])


def test_a_cursor_is_used_with_another_limit_order_and_filter(client: Client) -> None:
    fill(client, "d/a", "d/b", "e/c", "d/d", "d/e")
    _, _, at_b = page(client, limit=2)

    assert page(client, limit=1, nextCursor=at_b)[0] == ["e/c"]
    assert page(client, limit=8, nextCursor=at_b)[0] == ["e/c", "d/d", "d/e"]
    assert page(client, limit=8, nextCursor=at_b, objectType="d")[0] == ["d/d", "d/e"]
    assert page(client, limit=8, nextCursor=at_b, sortOrder="DESC")[0] == ["d/a"]


def test_a_deleted_boundary_row_neither_skips_nor_repeats(client: Client) -> None:
    fill(client, "d/a", "d/b", "d/c", "d/d")
    _, _, at_b = page(client, limit=2)
    client.delete("/v2/objects/d/b")

    names, previous, following = page(client, limit=1, nextCursor=at_b)
    assert (names, previous is not None, following is not None) == (["d/c"], True, True)
    assert page(client, limit=5, prevCursor=at_b)[0] == ["d/a"]


def test_cursors_are_absent_when_what_was_beyond_them_is_gone(client: Client) -> None:
    fill(client, "d/a", "d/b", "d/c", "d/d")
    _, _, at_b = page(client, limit=2)
    client.delete_json("/v2/objects", [{"objectType": "d", "objectId": object_id} for object_id in "ab"])

    assert page(client, limit=2, nextCursor=at_b) == (["d/c", "d/d"], None, None)
    assert page(client, limit=2, prevCursor=at_b) == ([], None, None)


def test_rows_written_meanwhile_appear_in_their_place_and_none_twice(client: Client) -> None:
    fill(client, "d/b", "d/d", "d/f")
    _, _, at_d = page(client, limit=2)
    fill(client, "d/a", "d/c", "d/e", "d/g")

    names, _, _ = page(client, limit=10, nextCursor=at_d)

    assert names == ["d/e", "d/f", "d/g"]


def test_cursors_are_url_safe(client: Client) -> None:
    fill(client, "d/A-b_c.d@e|f:g", "d/z")

    for sort in ("objectId", "createdAt", "objectType"):
        _, _, cursor = page(client, limit=1, sortBy=sort)
        assert cursor is not None
        assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)


def test_a_cursor_of_another_sort_or_list_is_refused(client: Client) -> None:
    fill(client, "d/a", "d/b")
    _, _, by_id = page(client, limit=1)
    _, _, of_types = page(client, "/v2/object-types", limit=1)

    for parameters in ({"sortBy": "createdAt", "nextCursor": by_id}, {"nextCursor": of_types}):
        body = refusal(client, "/v2/objects", **parameters)
        assert (body["code"], body["parameter"]) == ("invalid_parameter", "nextCursor")
        assert body["message"].startswith("invalid cursor")


def test_a_cursor_with_any_character_changed_or_cut_is_refused(client: Client) -> None:
    fill(client, "d/a", "d/b")
    _, _, cursor = page(client, limit=1)
    assert cursor is not None
    damaged = [cursor[:n] + ("A" if cursor[n] != "A" else "B") + cursor[n + 1 :] for n in range(len(cursor))]

    for text in [*damaged, *(cursor[:n] for n in range(len(cursor))), cursor + "A", cursor + "=", "*" * 40]:
        body = refusal(client, "/v2/objects", prevCursor=text)
        assert body["parameter"] == "prevCursor"
        assert body["message"].startswith("invalid cursor")


def test_filters_and_search(client: Client) -> None:
    client.post("/v2/objects", json=[
        {"objectType": "user", "objectId": "first-object", "meta": {"name": "Feature C"}},
        {"objectType": "user", "objectId": "u2", "meta": {"myKey": "100%", "é": "ü"}},
        {"objectType": "role", "objectId": "first-role"},
    ])  # fmt: skip

    def found(**parameters: str) -> list[str]:
        return page(client, **parameters)[0]

    assert found(objectType="user") == ["user/first-object", "user/u2"]
    assert found(objectType="") == ["user/first-object", "role/first-role", "user/u2"]
    assert found(objectType="unknown") == found(objectType="UPPER") == found(objectType="\0") == []
    assert found(q="FIRST") == ["user/first-object", "role/first-role"]
    assert found(q="first", objectType="role") == ["role/first-role"]
    assert found(q="feature c") == ["user/first-object"]
    assert found(q="mykey") == found(q="0%") == found(q="é") == found(q='"é":"ü"') == ["user/u2"]
    assert found(q="É") == []
    assert found(q="_") == []


def test_object_types_are_searched_by_name(shared_client: Client) -> None:
    assert page(shared_client, "/v2/object-types", q="IER")[0] == ["pricing-tier"]
    assert page(shared_client, "/v2/object-types", q="e", limit=2)[0] == ["feature", "permission"]
