"""HEAD answers what GET would without a body, on every route; and paths with too many slashes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.endpoints.public import PAGES
from magistrate.api.http.pages import list_console_pages
from magistrate.api.route_table import ROUTES
from tests.api.sockets import connect, head, read_answer, read_to_the_end
from tests.running import Client, running_service, settings_for

VALUES = {
    **{"type": "page", "objectType": "page", "resource_type": "page", "objectId": "a", "id": "a", "name": "weekdays"},
    "base": "tenant",
}
QUERIES = {
    "/v2/query": "?q=select+page+where+user:ann+is+viewer",
    "/v1/query": "?select=warrants&for=subject=user:ann&where=object=page:a",
    "/v2/difference": "?from=begin",
}
PATHS_WITH_GET = sorted(
    {route.path for route in ROUTES if route.method == "GET"} | {page.path for page in (*PAGES, *list_console_pages())}
)
PATHS_WITHOUT_GET = sorted({route.path for route in ROUTES} - {*PATHS_WITH_GET})
UNLIKE = (b"date", b"warrant-request-id")
"""Headers that differ from answer to answer."""


def concrete(path: str) -> str:
    """The path of a request to a route."""
    segments = path.replace(":path}", "}").split("/")
    named = "/".join(VALUES.get(part.strip("{}"), "a") if part.startswith("{") else part for part in segments)
    return named + QUERIES.get(path, "")


@pytest.fixture(scope="module")
def defined(shared_client: Client) -> Client:
    shared_client.define({"user": {}, "page": {"viewer": {}}})
    shared_client.grant("page:a#viewer@user:ann")
    return shared_client


def ask(client: Client, method: str, path: str, *headers: str) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """The status line, the headers by their names, and the body, as they come over a connection that then ends. Of a
    watch, whose answer does not end, the beginning."""
    with connect(client) as connection:
        connection.sendall(head(client, method, path, "Connection: close", *headers))
        answer = read_answer(connection) if path.startswith("/v2/watch") else read_to_the_end(connection)
    lines, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = lines.split(b"\r\n")
    values = dict(field.lower().split(b": ", 1) for field in fields)
    return status, {name: value for name, value in values.items() if name not in UNLIKE}, body


@pytest.mark.parametrize("path", PATHS_WITH_GET)
def test_head_answers_what_get_would(defined: Client, path: str) -> None:
    of_get, of_head = ask(defined, "GET", concrete(path)), ask(defined, "HEAD", concrete(path))

    assert of_head[0] == of_get[0]
    assert b" 405 " not in of_get[0]
    if of_get[1].pop(b"transfer-encoding", b""):
        assert of_head[1] == of_get[1]  # a stream has no length
    elif path != "/metrics":  # each answer counts the ones before it
        assert of_head[1] == of_get[1]
        assert int(of_get[1][b"content-length"]) == len(of_get[2])
    assert of_head[2] == b""


@pytest.mark.parametrize("path", ["/v2/objects", "/v2/warrants", "/v2/query?q=select+page+where+user:ann+is+viewer"])
def test_head_is_answered_as_get_is_on_one_connection(defined: Client, path: str) -> None:
    """An answer of the fast path, one of the framework, and one of the fast path again."""
    requests = [head(defined, method, path) for method in ("GET", "GET", "HEAD", "GET")]
    requests.append(head(defined, "HEAD", path, "Connection: close"))
    lengths, bodies = [], 0
    with connect(defined) as connection:
        connection.sendall(b"".join(requests))
        answers = read_to_the_end(connection)

    for _ in requests:
        lines, _, answers = answers.partition(b"\r\n\r\n")
        assert lines.startswith(b"HTTP/1.1 200 ")
        lengths.append(int(lines.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
        if answers and not answers.startswith(b"HTTP/1.1 "):
            bodies, answers = bodies + 1, answers[lengths[-1] :]
    assert len(set(lengths)) == 1
    assert (bodies, answers) == (3, b"")


@pytest.mark.parametrize("path", PATHS_WITHOUT_GET)
def test_head_where_there_is_no_get_is_a_wrong_method(defined: Client, path: str) -> None:
    of_head, of_get = ask(defined, "HEAD", concrete(path)), ask(defined, "GET", concrete(path))

    assert of_head[0] == of_get[0] == b"HTTP/1.1 404 Not Found"
    assert of_head[2] == b""
    assert of_head[1][b"allow"] == of_get[1][b"allow"]
    assert b"head" not in of_head[1][b"allow"]


def test_a_wrong_method_names_those_that_there_are(defined: Client) -> None:
    status, headers, body = ask(defined, "PATCH", "/v2/objects")

    assert status == b"HTTP/1.1 404 Not Found"
    assert headers[b"allow"] == b"delete, get, head, post"
    assert json.loads(body)["message"].endswith("it exists for DELETE, GET, POST")


@pytest.mark.parametrize(("headers", "status"), [((), 404), (("Accept: text/html",), 302)])
def test_the_root_has_head(defined: Client, headers: tuple[str, ...], status: int) -> None:
    of_head, of_get = ask(defined, "HEAD", "/", *headers), ask(defined, "GET", "/", *headers)

    assert of_head[0] == of_get[0]
    assert f" {status} ".encode() in of_head[0]
    assert (of_head[1], of_head[2]) == (of_get[1], b"")


def test_an_error_of_head_has_no_body(defined: Client) -> None:
    for path in ("/v2/objects?limit=0", "/v2/objects/page/nothing", "/nope", "/v2/objects/page/%ff"):
        of_head, of_get = ask(defined, "HEAD", path), ask(defined, "GET", path)

        assert of_head[0] == of_get[0]
        assert (of_head[1], of_head[2]) == (of_get[1], b"")
    assert defined.head("/v2/objects", headers={"Authorization": "ApiKey wrong"}).status_code == 401


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_may_have_a_slash_at_its_end(defined: Client, method: str, path: str) -> None:
    assert ask(defined, method, f"{path}/") == ask(defined, method, path)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/console", "/docs"])
def test_a_page_with_a_slash_at_its_end_leads_to_the_page(defined: Client, method: str, path: str) -> None:
    status, headers, body = ask(defined, method, f"{path}/")

    assert status.startswith(b"HTTP/1.1 301 ")
    assert headers[b"location"] == f"..{path}".encode()
    assert body == b""
    found = defined.request(method, f"{path}/", follow_redirects=True)
    assert (found.status_code, found.url.path) == (200, path)


@pytest.mark.parametrize(
    "path",
    ["/healthz//", "/v2/objects/", "/v2/check/", "/metrics/", "/openapi.json/", "/docs/reference.js/", "/nope/"],
)
def test_other_paths_do_not_have_one(defined: Client, path: str) -> None:
    for method in ("GET", "HEAD", "POST"):
        status, _, _ = ask(defined, method, path)
        assert status.split(b" ")[1] == (b"301" if "//" in path and method != "POST" else b"404")


def test_only_get_and_head_may_have_one(defined: Client) -> None:
    for path in ("/healthz/", "/readyz/", "/console/", "/docs/"):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            assert ask(defined, method, path)[0] == b"HTTP/1.1 404 Not Found"


def doubled(path: str) -> list[str]:
    return [f"/{path}", path.replace("/", "//"), f"{path}//"]


@pytest.mark.parametrize("route", [route for route in ROUTES if route.method != "GET"], ids=lambda one: one.path)
def test_no_request_with_a_body_is_redirected(defined: Client, route: Any) -> None:
    for path in doubled(concrete(route.path).partition("?")[0]):
        answer = defined.build_request(route.method, "/x", json={})
        answer.url = answer.url.copy_with(raw_path=path.encode())
        refused = defined.send(answer, follow_redirects=False)

        assert refused.status_code == 404
        assert refused.json() == {
            "code": "not_found",
            "message": f"Endpoint {path} not found; the path has an empty segment",
            "type": "Endpoint",
            "key": path,
        }


@pytest.fixture
def without_console(tmp_path: Path) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db", console="off")) as url, Client(url) as client:
        yield client


def test_without_the_console_there_is_nothing_to_lead_to(without_console: Client) -> None:
    for path in ("/console/", "/console", "/"):
        assert ask(without_console, "HEAD", path)[0] == b"HTTP/1.1 404 Not Found"
    assert ask(without_console, "GET", "/docs/")[0].startswith(b"HTTP/1.1 301 ")
