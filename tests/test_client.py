"""The client: what it sends and answers, and which error says what went wrong."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice, repeat

import pytest

from magistrate.client import Client, RefJson, SubjectJson, WarrantJson
from magistrate.errors import InvalidRequest, InvalidSetting, RequestRefused, ServiceUnreachable
from tests.running import KEY
from tests.running import Client as HttpClient

NOBODY = "http://127.0.0.1:1"
"""Nothing listens on port 1."""


@pytest.fixture
def service(shared_client: HttpClient) -> Iterator[Client]:
    with Client(str(shared_client.base_url), KEY) as client:
        yield client


def page_warrant(object_id: str, user: str) -> WarrantJson:
    subject: SubjectJson = {"objectType": "user", "objectId": user}
    return {"objectType": "page", "objectId": object_id, "relation": "reader", "subject": subject}


def test_object_types_are_created_changed_read_listed_and_deleted(service: Client) -> None:
    created = service.create_object_type({"type": "book", "relations": {"owner": {}}})
    [changed] = service.apply_object_types([{"type": "book", "relations": {"reader": {}}}])

    assert created["relations"] == {"owner": {}}
    assert changed == service.get_object_type("book") == {**created, "relations": {"reader": {}}}
    assert changed in list(service.object_types(page_size=2))
    service.delete_object_type("book")
    assert "book" not in [found["type"] for found in service.object_types()]


@pytest.mark.parametrize("written_id", ["...", "a.b", "x@y|z:1", "a-_b", "a/b", "//", "%2F", "a+b&c=d;e"])
def test_an_object_of_any_id_is_created_read_changed_and_deleted(service: Client, written_id: str) -> None:
    ref: RefJson = {"objectType": "thing", "objectId": written_id}

    created = service.create_object("thing", written_id, {"size": 1})

    assert created["meta"] == {"size": 1}
    assert service.get_object(ref) == created
    assert service.update_object(ref, {}) == {**ref, "createdAt": created["createdAt"]}
    service.delete_objects([ref])
    with pytest.raises(RequestRefused, match=f"^thing {re.escape(written_id)} not found$"):
        service.get_object(ref)


def test_the_service_makes_an_id_where_none_is_given(service: Client) -> None:
    assert len(service.create_object("thing", None, None)["objectId"]) == 36


@pytest.mark.parametrize("written_id", ["?q", "#x", "ü", "a b", ".", ".."])
def test_what_cannot_be_an_id_is_not_found_and_reaches_no_other_path(service: Client, written_id: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        service.get_object({"objectType": "thing", "objectId": written_id})

    assert (caught.value.status, caught.value.code) == (404, "not_found")


def test_warrants_are_created_checked_listed_over_pages_and_deleted(service: Client) -> None:
    service.create_object_type({"type": "page", "relations": {"reader": {}}})
    warrants = [page_warrant("home", f"user-{number}") for number in range(5)]

    created, outcomes = service.create_warrants(warrants)

    assert outcomes == ["created"] * 5
    assert [one["subject"]["objectId"] for one in created] == [one["subject"]["objectId"] for one in warrants]
    assert list(service.warrants({"objectType": "page"}, page_size=2)) == created
    assert list(service.warrants({"objectType": "page", "subjectId": "user-3"})) == [created[3]]
    assert service.check(warrants[:1], None, {}, debug=False)["result"] == "Authorized"
    service.delete_warrants(warrants[:1])
    answers = service.check(warrants[:2], "batch", {}, debug=True)
    assert [answer["code"] for answer in answers] == [403, 200]
    assert list(answers[1]["decisionPath"]) == ["page:home#reader@user:user-1"]


def test_a_write_is_counted_and_warrants_are_deleted_by_filter(service: Client) -> None:
    service.create_object_type({"type": "leaf", "relations": {"reader": {}}})
    warrants = [{**page_warrant(f"leaf-{number}", "ann"), "objectType": "leaf"} for number in range(3)]

    counts = service.write({"create": {"warrants": warrants}})
    counted = service.delete_matching_warrants({"objectType": "leaf"}, 2, dry_run=True)
    deleted = [service.delete_matching_warrants({"objectType": "leaf"}, 2) for _ in range(2)]

    assert counts == {"created": 3, "deleted": 0, "unchanged": 0}
    assert [counted, *deleted] == [
        {"deleted": 2, "more": True},
        {"deleted": 2, "more": True},
        {"deleted": 1, "more": False},
    ]
    with pytest.raises(RequestRefused) as caught:
        service.write({"preconditions": [{"exists": warrants[0]}], "create": {"warrants": warrants}})
    assert (caught.value.status, caught.value.code) == (409, "precondition_failed")


def test_a_query_is_answered_in_pages_of_the_wanted_sizes(service: Client) -> None:
    service.create_object_type({"type": "shelf", "relations": {"owner": {}}})
    subject: SubjectJson = {"objectType": "user", "objectId": "ann"}
    for written_id in "abcde":
        service.create_warrants(
            [{"objectType": "shelf", "objectId": written_id, "relation": "owner", "subject": subject}]
        )
    asked = {"q": "select shelf where user:ann is owner", "sortOrder": "DESC", "context": "{}"}

    two = list(service.query(asked, [1, 3]))
    everything = list(service.query(asked, repeat(2)))

    assert [[row["objectId"] for row in page["results"]] for page in two] == [["e"], ["d", "c", "b"]]
    assert [page.keys() for page in two] == [{"results", "nextCursor"}, {"results", "prevCursor", "nextCursor"}]
    assert [[row["objectId"] for row in page["results"]] for page in everything] == [["e", "d"], ["c", "b"], ["a"]]
    assert list(service.query(asked, [])) == []


def test_what_is_too_long_for_a_url_is_not_sent(service: Client) -> None:
    with pytest.raises(InvalidRequest, match="too long to be sent"):
        list(service.query({"q": "x" * 70_000}, [1]))


def test_a_list_requests_no_page_before_it_is_needed(service: Client) -> None:
    for number in range(3):
        service.create_object("page", f"lazy-{number}", None)
    found = service.objects({"objectType": "page", "q": "lazy-"}, page_size=1)

    first = [one["objectId"] for one in islice(found, 2)]
    service.delete_objects([{"objectType": "page", "objectId": "lazy-2"}])

    assert first == ["lazy-0", "lazy-1"]
    assert list(found) == []


def test_a_refusal_carries_what_the_service_said(service: Client) -> None:
    with pytest.raises(RequestRefused) as caught:
        service.create_warrants([{**page_warrant("x", "y"), "objectType": "no-such"}])

    refused = caught.value
    assert (refused.status, refused.code, refused.parameter) == (400, "invalid_parameter", "[0].objectType")
    assert refused.message == "the object type does not exist."
    assert refused.request_id is not None
    assert len(refused.request_id) == 36


@pytest.mark.parametrize("key", [None, "another-key"])
def test_without_a_good_key_it_is_401(shared_client: HttpClient, key: str | None) -> None:
    with Client(str(shared_client.base_url) + "/", key) as stranger, pytest.raises(RequestRefused) as caught:
        stranger.get_object_type("user")

    assert (caught.value.status, caught.value.parameter) == (401, None)


def test_nobody_there_is_unreachable() -> None:
    with Client(NOBODY, KEY) as client, pytest.raises(ServiceUnreachable, match="refused") as caught:
        client.get_object_type("user")

    assert caught.value.url == NOBODY


def test_who_does_not_answer_in_time_is_unreachable() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Client(f"http://127.0.0.1:{silent.getsockname()[1]}", KEY, timeout_ms=50) as client,
        pytest.raises(ServiceUnreachable, match="no answer within 50 ms"),
    ):
        client.get_object_type("user")


@contextmanager
def stranger(status: int, body: bytes) -> Iterator[str]:
    """The URL of an HTTP server that always answers the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, template: str, *values: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        thread.join()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>Welcome</html>"),
        (200, b"\xff\xfe"),
        (404, b"<html>Not here</html>"),
        (502, b""),
        (404, b'"no"'),
        (500, b'{"error": "other"}'),
        (301, b""),
    ],
)
def test_who_answers_otherwise_is_no_service_of_ours(status: int, body: bytes) -> None:
    with (
        stranger(status, body) as url,
        Client(url) as client,
        pytest.raises(ServiceUnreachable, match=f"with status {status}, is no Magistrate"),
    ):
        client.get_object_type("user")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "127.0.0.1",
        "ftp://x",
        "http://",
        "http://[::1",
        "http://h:x",
        "http://h:0",
        "http://h:65536",
        "http://h?",
        "http://h#f",
        "http://u:p@h",
    ],
)
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidSetting, match="is not the URL of a service"):
        Client(url)


def test_https_is_checked_against_what_the_system_trusts() -> None:
    with Client("https://127.0.0.1:1") as client, pytest.raises(ServiceUnreachable, match="refused"):
        client.get_object_type("user")
