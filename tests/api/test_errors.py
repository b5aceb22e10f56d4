"""Errors: their bodies, their order, and what every answer carries (docs/compatibility.md#errors)."""

import re
from pathlib import Path

import pytest

from magistrate import errors
from magistrate.api.http.error_bodies import ERROR_TABLE, error_body
from magistrate.api.route_table import ROUTES
from tests.api.sockets import connect, head, read_answer
from tests.running import Client, running_service, settings_for

CREATE = "/v2/objects"


def every_error(root: type[errors.MagistrateError]) -> set[type[errors.MagistrateError]]:
    return {root}.union(*(every_error(child) for child in root.__subclasses__()))


def test_every_error_has_a_row() -> None:
    assert set(ERROR_TABLE) == every_error(errors.MagistrateError)


def test_every_error_is_drawn_in_the_tree() -> None:
    assert errors.__doc__ is not None
    assert all(error.__name__ in errors.__doc__ for error in every_error(errors.MagistrateError))


def test_a_fault_of_ours_shows_nothing_internal() -> None:
    assert error_body(errors.InvalidSetting("secret")) == {"code": "internal_error", "message": "Internal Server Error"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Request body must not be empty"),
        (b" \n", "Request body must not be empty"),
        (b"{", "Request contains malformed JSON"),
        (b'{"objectType":"d"', "Request contains malformed JSON"),
        (b'{"objectType":}', "Request contains malformed JSON (at position 15)"),
        (b'{"objectType" "d"}', "Request contains malformed JSON (at position 15)"),
        (b'{"objectType":"d",}', "Request contains malformed JSON (at position 19)"),
        (b"{'a':1}", "Request contains malformed JSON (at position 2)"),
        (b'\xef\xbb\xbf{"objectType":"d"}', "Request contains malformed JSON (at position 1)"),
        (b'{"objectType":"\xff"}', "Request contains malformed JSON (at position 16)"),
        (b'{"x":"\xff"}', "Request contains malformed JSON (at position 7)"),
        (b'{"objectType":"d"} {}', "Request must only contain one JSON object"),
        (b'{"objectType":"d"} x', "Request must only contain one JSON object"),
        (b"null", "Invalid request body"),
        (b" null ", "Invalid request body"),
    ],
)
def test_a_body_that_is_no_json_value_is_refused(shared_client: Client, body: bytes, message: str) -> None:
    refused = shared_client.post(CREATE, content=body)

    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_request", "message": message}


@pytest.mark.parametrize(
    ("path", "body", "parameter", "message"),
    [
        (CREATE, b"5", "", "must be an object or an array"),
        (CREATE, b'"x"', "", "must be an object or an array"),
        (CREATE, b'{"objectType":5}', "objectType", "must be a string"),
        (CREATE, b'{"objectId":true}', "objectId", "must be a string"),
        (CREATE, b'{"objectType":"d","meta":"x"}', "meta", "must be an object"),
        (CREATE, b'{"objectType":"d","meta":[]}', "meta", "must be an object"),
        (CREATE, b"[5]", "[0]", "must be an object"),
        (CREATE, b'[{"objectType":"d"},null]', "[1]", "must be an object"),
        (CREATE, b'[{"objectType":"d"},{"meta":5}]', "[1].meta", "must be an object"),
        (CREATE, b'{"objectType":"d","meta":{"a":1e999}}', "meta", "has a number that is out of range"),
        ("/v2/object-types", b"[]", "", "must be an object"),
        ("/v2/object-types", b'{"relations":[]}', "relations", "must be an object"),
        ("/v2/object-types", b'{"relations":{"a":5}}', "relations", "must be an object"),
        ("/v2/object-types", b'{"relations":{"a":{"inheritIf":5}}}', "relations.inheritIf", "must be a string"),
        ("/v2/object-types", b'{"relations":{"a":{"rules":5}}}', "relations.rules", "must be an array"),
        (
            "/v2/object-types",
            b'{"relations":{"a":{"rules":[{"ofType":5}]}}}',
            "relations.rules.ofType",
            "must be a string",
        ),
        ("/v2/object-types", b'{"source":{"primaryKey":[5]}}', "source.primaryKey", "must be a string"),
    ],
)
def test_a_member_of_the_wrong_type_is_named_by_its_path(
    shared_client: Client, path: str, body: bytes, parameter: str, message: str
) -> None:
    refused = shared_client.post(path, content=body)

    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "message": message, "parameter": parameter}


def test_a_path_with_a_nul_character_is_refused(shared_client: Client) -> None:
    """PostgreSQL has no text with it."""
    for route in ROUTES:
        if "{" in route.path:
            answer = shared_client.request(route.method, re.sub(r"{\w+}", "%00", route.path), content=b"{}")

            assert 400 <= answer.status_code < 500, f"{route.method} {route.path}: {answer.text}"
    copied = shared_client.post("/v2/stores", json={"name": "other", "from": "a\0"})
    assert (copied.status_code, copied.json()["parameter"]) == (400, "from")


def test_a_member_given_twice_is_refused(shared_client: Client) -> None:
    for body in (b'{"objectType":"d","objectType":"e"}', b'{"objectType":"d","meta":{"a":{"b":1,"b":2}}}'):
        refused = shared_client.post(CREATE, content=body)

        assert refused.status_code == 400
        assert refused.json()["code"] == "invalid_request"
        assert "more than once" in refused.json()["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v2/nope"),
        ("GET", "/"),
        ("GET", "/v2/objects/"),
        ("GET", "/v2/object-types/"),
        ("GET", "/v2/objects/document"),
        ("GET", "/v2/objects/a/b/c"),
        ("GET", "/V2/objects"),
        ("PATCH", "/v2/objects"),
        ("OPTIONS", "/v2/objects"),
        ("TRACE", "/v2/objects"),
        ("PUT", "/v2/objects"),
        ("DELETE", "/v2/object-types"),
        ("POST", "/healthz"),
        ("PROPFIND", "/v2/objects"),
        ("PURGE", "/v2/objects"),
        ("M-SEARCH", "/v2/objects"),
        ("PURGE", "/v2/nope"),
    ],
)
def test_an_unknown_path_or_method_is_404_before_the_key_is_looked_at(
    shared_client: Client, method: str, path: str
) -> None:
    missing = shared_client.request(method, path, headers={"Authorization": "none"}, content=b"{")

    assert missing.status_code == 404
    body = missing.json()
    assert body.pop("message").startswith(f"Endpoint {path} not found")
    assert body == {"code": "not_found", "type": "Endpoint", "key": path}


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/v2/nope", "Endpoint /v2/nope not found"),
        ("PATCH", "/v2/objects", "Endpoint /v2/objects not found for PATCH; it exists for DELETE, GET, POST"),
        ("OPTIONS", "/v2/check", "Endpoint /v2/check not found for OPTIONS; it exists for POST"),
        ("POST", "/healthz", "Endpoint /healthz not found for POST; it exists for GET"),
    ],
)
def test_a_wrong_method_is_answered_with_those_that_exist(
    shared_client: Client, method: str, path: str, message: str
) -> None:
    assert shared_client.request(method, path).json()["message"] == message


def test_a_head_request_to_nowhere_is_404_without_a_body(shared_client: Client) -> None:
    missing = shared_client.head("/v2/nothing")

    assert (missing.status_code, missing.content) == (404, b"")


@pytest.mark.parametrize(
    ("method", "path", "missing"),
    [
        ("GET", "/v2/objects/a%2Fb/c", ("a/b", "c")),
        ("GET", "/v2/objects/a/b%2fc", ("a", "b/c")),
        ("GET", "/v2/objects/a/%2F", ("a", "/")),
        ("GET", "/v2/objects/a/b%E2%88%95c%2F", ("a", "b\N{REPLACEMENT CHARACTER}c/")),
        ("GET", "/v2/objects/a%2fb", ("Endpoint", "/v2/objects/a%2Fb")),
        ("PATCH", "/v1/users/bob%2Froles%2Froot", ("Endpoint", "/v1/users/bob%2Froles%2Froot")),
        ("GET", "/v1/users/bob%2Froles", ("user", "bob/roles")),
        ("GET", "/a%2f%2fb%0d%0aX:%20y", ("Endpoint", "/a%2F%2Fb\r\nX: y")),
    ],
)
def test_an_encoded_slash_is_part_of_an_id_and_divides_no_path(
    shared_client: Client, method: str, path: str, missing: tuple[str, str]
) -> None:
    answer = shared_client.request(method, path).json()

    assert (answer["code"], answer.get("type"), answer.get("key")) == ("not_found", *missing)


def test_a_redirect_keeps_an_encoded_slash(shared_client: Client) -> None:
    answer = shared_client.get("/v2//objects/a/b%2Fc%2f%2f", follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (301, "/v2/objects/a/b%2Fc%2F%2F")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (b"/v2//objects?limit=1", "/v2/objects?limit=1"),
        (b"//v2/objects", "/v2/objects"),
        (b"//evil.example/x", "/evil.example/x"),
        (b"///v2////objects/a//b", "/v2/objects/a/b"),
        (b"/a//b%0d%0aX:%20y", "/a/b%0D%0AX:%20y"),
        (b"/v2//objects?q=a%0d%0ab", "/v2/objects?q=a%0d%0ab"),
    ],
)
def test_a_double_slash_leads_to_the_cleaned_path_of_the_same_host(
    shared_client: Client, path: bytes, location: str
) -> None:
    answer = raw_request(shared_client, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 301 ")
    assert b"\r\nwarrant-request-id: " in answer
    assert f"\r\nlocation: {location}\r\n".encode() in answer


def raw_request(client: Client, request: bytes) -> bytes:
    with connect(client) as connection:
        connection.sendall(request)
        return read_answer(connection)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /v2/objects\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v2/objects?q=\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET  / HTTP/9.9\r\n\r\n",
        b"GET /v2/objects\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v2/objects HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v2/objects HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v2/objects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    ],
)
def test_what_is_no_http_is_answered_with_400_in_the_same_shape(shared_client: Client, request_bytes: bytes) -> None:
    answer = raw_request(shared_client, request_bytes)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b'{"code":"invalid_request","message":"Request is not valid HTTP"}\n')
    assert b"\r\nwarrant-request-id: " in answer


@pytest.mark.parametrize("query", [b"q=%ff%fe", b"&&&", b"q", b"limit=1&" + b"a=1&" * 5000])
def test_any_bytes_may_stand_in_a_query_string(shared_client: Client, query: bytes) -> None:
    answer = raw_request(shared_client, head(shared_client, "GET", "/v2/objects?" + query.decode("latin-1")))

    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/objects", 200),
        ("POST", "/v2/objects", 400),
        ("GET", "/v2/objects/a/b", 404),
        ("GET", "/nope", 404),
        ("GET", "/healthz", 200),
    ],
)
def test_every_json_answer_ends_with_a_newline_and_has_a_request_id(
    shared_client: Client, method: str, path: str, status: int
) -> None:
    first, second = shared_client.request(method, path), shared_client.request(method, path)

    assert first.status_code == status
    assert first.content.endswith(b"}\n")
    assert first.headers["content-type"] == "application/json"
    assert first.headers["warrant-request-id"] != second.headers["warrant-request-id"]


def test_a_store_that_is_gone_is_503_and_says_when_to_retry(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/magistrate.db"
    with running_service(settings_for(url, store_timeout_ms=200)) as service, Client(service) as client:
        import apsw

        holder = apsw.Connection(f"{tmp_path}/magistrate.db")
        holder.execute("BEGIN IMMEDIATE")
        refused = client.post(CREATE, json={"objectType": "d", "objectId": "x"})
        holder.execute("ROLLBACK")
        again = client.post(CREATE, json={"objectType": "d", "objectId": "x"})

    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["code"] == "unavailable"
    assert again.status_code == 200
