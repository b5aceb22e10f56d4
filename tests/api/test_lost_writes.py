"""Every place of a request where a token or a cursor can stand, after the store was restored and written to again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import pytest

from magistrate.api.route import Route
from tests.api.token_places import AS_OF_BODIES, BODIES, FIRST_TOKENS, LOST, PLACES, READS, Send, request
from tests.conftest import new_database_url
from tests.databases import dump, restore
from tests.running import Client, running_service, settings_for


class Restored(NamedTuple):
    """A service whose store was restored: a token of a write that is in it, tokens of lost ones, and cursors that name
    a lost one, with what goes on from them."""

    client: Client
    kept: str
    lost: list[str]
    cursors: dict[str, tuple[str, Send]]


def find_route(method: str, path: str) -> Route:
    return next(route for route in READS if (route.method, route.path) == (method, path))


def list_pages(now: str) -> Iterator[tuple[Route, dict[str, Any], str, str]]:
    """Every list that is read at one revision, or from one on: its route, its parameters (a `page` is a member of the
    body), the place of the cursor in the answer, and the parameter that takes it."""
    for route in READS:
        names = {one.name for one in route.parameters}
        if "nextCursor" in names and "query" not in route.path:
            for name, text in {"snapshot": "true", "asOf": now}.items():
                if name in names:
                    yield route, {"limit": "1", name: text}, "nextCursor", "nextCursor"
        if route.path.endswith("-events"):
            cursor = "nextCursor" if "v2" in route.path else "lastId"
            yield route, {"after": "begin", "limit": "1000"}, cursor, cursor
    for method, path, member, parameter in (
        ("GET", "/v2/query", "nextCursor", "nextCursor"),
        ("POST", "/v2/query", "nextCursor", "nextCursor"),
        ("GET", "/v1/query", "lastId", "lastId"),
        ("GET", "/v2/difference", "nextCursor", "nextCursor"),
        ("POST", "/v2/difference", "nextCursor", "nextCursor"),
        ("POST", "/access/v1/search/subject", "page.next_token", "page.token"),
        ("POST", "/access/v1/search/resource", "page.next_token", "page.token"),
    ):
        limit: dict[str, Any] = {"page": {"limit": 1}} if "page" in member else {"limit": 1}
        yield find_route(method, path), limit, member, parameter


def send_page(client: Client, route: Route, given: dict[str, Any], cursor: str = "", parameter: str = "") -> Any:
    if parameter == "page.token":
        given = {"page": {**given["page"], "token": cursor}}
    elif parameter:
        given = {name: value for name, value in given.items() if name != "after"} | {parameter: cursor}
    return request(client, route, given) if route.method == "GET" else request(client, route, **given)


def read_cursors(client: Client) -> dict[str, tuple[str, Send]]:
    """A cursor of each of these lists, and what goes on from there."""
    found: dict[str, tuple[str, Send]] = {}
    for route, given, member, parameter in list_pages(client.get("/v2/objects").headers["Warrant-Token"]):
        first = send_page(client, route, given)
        name = f"{route.method} {route.path} {[*given]}"
        assert first.status_code == 200, (name, first.text)
        cursor = first.json()
        for key in member.split("."):
            assert key in cursor, (name, cursor)
            cursor = cursor[key]

        def go_on(client: Client, text: str, r: Route = route, g: Any = given, p: str = parameter) -> httpx.Response:
            answer: httpx.Response = send_page(client, r, g, text, p)
            return answer

        assert go_on(client, cursor).status_code == 200, name
        found[name] = (cursor, go_on)
    return found


@contextmanager
def restoring(url: str, later: int) -> Iterator[Restored]:
    """A service whose store was restored while its caches were warm, and then written to `later` times."""
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.define({"document": {"viewer": {}}, "user": {}, "folder": {"viewer": {}}})
        FIRST_TOKENS[service] = client.get("/v2/objects").headers["Warrant-Token"]
        for name in ("a", "b"):
            client.post("/v2/policies", json={"name": name, "expression": "true", "parameters": {}}).raise_for_status()
        client.grant("document:plan#viewer@user:ann", "document:plan#viewer@user:bob", "document:b#viewer@user:ann")
        kept = client.get("/v2/objects").headers["Warrant-Token"]
        backup = dump(url)
        lost = []
        for name in ("kim", "eve"):
            client.grant(f"document:plan#viewer@user:{name}")
            lost.append(client.get("/v2/objects").headers["Warrant-Token"])
        cursors = read_cursors(client)
        for send in PLACES.values():
            send(client, lost[0])  # fills the caches; nothing is written, for the token is not that of the newest write
        restore(url, backup)
        for number in range(later):
            client.grant(f"document:plan#viewer@user:later-{number}")
        yield Restored(client, kept, lost, cursors)


@pytest.fixture(
    scope="module",
    params=[
        ("sqlite", 0),
        ("postgres", 3),
        pytest.param(("sqlite", 3), marks=pytest.mark.nightly),
        pytest.param(("postgres", 0), marks=pytest.mark.nightly),
    ],
    ids=str,
)
def restored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restored]:
    kind, later = request.param
    with restoring(new_database_url(kind, tmp_path_factory.mktemp("lost"), request), later) as found:
        yield found


def test_every_route_with_a_body_has_one_here() -> None:
    assert {route.path for route in READS if route.method == "POST"} == {*BODIES}
    with_as_of = [
        route.path
        for route in READS
        if route.method == "POST" and "as_of" in getattr(route.body, "__struct_fields__", ())
    ]
    assert sorted(with_as_of) == sorted(AS_OF_BODIES)


@pytest.mark.parametrize("place", PLACES)
def test_the_token_of_a_lost_write_is_refused_in_every_place(restored: Restored, place: str) -> None:
    for token in restored.lost:
        answer = PLACES[place](restored.client, token)
        assert (answer.status_code, answer.json()) == (409, LOST)
    kept = PLACES[place](restored.client, restored.kept)
    assert kept.status_code < 500
    assert "revision_lost" not in kept.text


@pytest.mark.parametrize("path", ["/v2/stores/none", "/v2/webhooks/none", "/v2/saved-queries/none"])
def test_it_is_refused_by_the_first_request_after_a_restore(path: str, database_url: str) -> None:
    """Also if that reads no table whose rows have revisions, and finds nothing."""
    with restoring(database_url, later=0) as found:
        answer = found.client.get(path, headers={"Service-Token": found.lost[0]})

    assert (answer.status_code, answer.json()) == (409, LOST)


def test_a_cursor_that_names_a_lost_write_is_refused_in_every_list(restored: Restored) -> None:
    assert len(restored.cursors) > 15
    for name, (cursor, send) in restored.cursors.items():
        answer = send(restored.client, cursor)
        assert (answer.status_code, answer.json()) == (409, LOST), name
