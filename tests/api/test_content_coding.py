"""Compressed requests and answers: what is decoded, what is refused, and who gets a compressed answer."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.http.content_coding import MIN_COMPRESSED_BYTES, GzipBody, accepts_gzip, has_gzip_body
from magistrate.api.route_table import ROUTES
from magistrate.errors import BodyTooLarge, InvalidRequest, UnsupportedCoding
from tests.api.sockets import connect, head, read_to_the_end
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

LIMIT = 65_536
CHECK = json.dumps({"warrants": [warrant_body("page:a#viewer@user:ann")]}).encode()
GZIP = {"Content-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
DAMAGED = "Request body is not valid gzip"
TRUNCATED = "Request body is truncated gzip"
UNSUPPORTED = "Content-Encoding must be gzip or identity, and one of them only"
WITH_BODY = [route for route in ROUTES if route.body is not None or route.takes_text]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    url = f"sqlite:///{tmp_path_factory.mktemp('coding')}/m.db"
    with running_service(settings_for(url, max_body_bytes=LIMIT)) as service, Client(service) as client:
        client.define({"user": {}, "page": {"viewer": {}}})
        client.grant("page:a#viewer@user:ann")
        for start in range(0, 300, 100):
            objects = [{"objectType": "page", "objectId": f"page-{number}"} for number in range(start, start + 100)]
            client.post("/v2/objects", json=objects).raise_for_status()
        yield client


def post(client: Client, content: bytes, path: str = "/v2/check", **headers: str) -> tuple[int, Any]:
    answer = client.post(path, content=content, headers=GZIP | headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("level", [0, 1, 9])
def test_a_body_may_be_compressed(served: Client, level: int) -> None:
    for _ in range(3):
        status, answer = post(served, gzip.compress(CHECK, level))
        assert (status, answer["result"]) == (200, "Authorized")
    members = gzip.compress(CHECK[:10]) + gzip.compress(b"") + gzip.compress(CHECK[10:])
    assert post(served, members)[0] == 200


@pytest.mark.parametrize("coding", ["gzip", "GZIP", " x-gzip ", "gzip,"])
def test_the_names_of_gzip(served: Client, coding: str) -> None:
    answer = served.post("/v2/check", content=gzip.compress(CHECK), headers={"Content-Encoding": coding})

    assert answer.status_code == 200


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
def test_a_body_without_a_coding_may_say_so(served: Client, coding: str) -> None:
    answer = served.post("/v2/check", content=CHECK, headers={"Content-Encoding": coding})

    assert (answer.status_code, answer.json()["result"]) == (200, "Authorized")


@pytest.mark.parametrize("route", WITH_BODY, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip", "identity, gzip", "x"])
def test_every_other_coding_is_refused_at_every_route(served: Client, route: Any, coding: str) -> None:
    path = route.path.replace("{type}", "page")
    answer = served.request(route.method, path, content=b"{}", headers=JSON | {"Content-Encoding": coding})

    assert answer.status_code == 415
    assert answer.json() == {"code": "invalid_request", "message": UNSUPPORTED}
    assert answer.headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("route", WITH_BODY, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_decodes_its_body(served: Client, route: Any) -> None:
    path = route.path.replace("{type}", "page")
    plain = served.request(route.method, path, content=b"[}", headers=JSON)
    coded = served.request(route.method, path, content=gzip.compress(b"[}"), headers=JSON | GZIP)
    damaged = served.request(route.method, path, content=b"[}", headers=JSON | GZIP)

    assert (coded.status_code, coded.json()) == (plain.status_code, plain.json())
    assert (damaged.status_code, damaged.json()["message"]) == (400, DAMAGED)


def test_two_headers_are_two_codings(served: Client) -> None:
    lines = ("Content-Encoding: gzip", "Content-Encoding: gzip", "Content-Length: 0", "Connection: close")
    with connect(served) as connection:
        connection.sendall(head(served, "POST", "/v2/check", *lines))
        assert read_to_the_end(connection).startswith(b"HTTP/1.1 415 ")


WHOLE = gzip.compress(CHECK)


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_a_body_that_ends_early_is_refused(served: Client, end: int) -> None:
    assert post(served, WHOLE[:end]) == (400, {"code": "invalid_request", "message": TRUNCATED})


@pytest.mark.parametrize(
    "body",
    [CHECK, b"\x1f\x8b", WHOLE + b"x", WHOLE + b"\0", zlib.compress(CHECK), WHOLE[:-8] + bytes(8), b"\0" * 20],
)
def test_a_damaged_body_is_refused(served: Client, body: bytes) -> None:
    status, error = post(served, body)

    assert (status, error["code"]) == (400, "invalid_request")
    assert error["message"] in (DAMAGED, TRUNCATED)


def padded(size: int) -> bytes:
    return CHECK + b" " * (size - len(CHECK))


@pytest.mark.parametrize("level", [0, 9])
def test_the_limit_is_that_of_the_decoded_body(served: Client, level: int) -> None:
    assert post(served, gzip.compress(padded(LIMIT), level))[0] == 200
    assert post(served, gzip.compress(padded(LIMIT + 1), level))[0] == 413
    assert post(served, gzip.compress(b"", 9) * 10_000)[0] == 413  # 200 KB of nothing


def test_a_bomb_is_not_inflated_beyond_the_limit(served: Client) -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)) + bytes(100_000_000), 9)

    assert post(served, bomb) == (
        413,
        {"code": "invalid_request", "message": f"Request body must not be larger than {LIMIT} bytes"},
    )


def decode(limit: int, *pieces: bytes) -> bytes:
    async def run() -> bytes:
        body = GzipBody(limit)
        for piece in pieces:
            await body.add(piece)
        assert len(body.decoded) <= limit
        return body.finish()

    return asyncio.run(run())


@pytest.mark.parametrize("size", [1, 7, 65_536, 1_000_000])
def test_a_body_is_decoded_in_pieces_of_any_size(size: int) -> None:
    text = b"".join(b"%d " % number for number in range(100_000)) + b"a" * 1_000_000
    coded = gzip.compress(text[:300_000]) + gzip.compress(text[300_000:], 0)
    if size < 100:
        text, coded = text[:1_000], gzip.compress(text[:1_000])

    assert decode(len(text), *(coded[start : start + size] for start in range(0, len(coded), size))) == text
    with pytest.raises(BodyTooLarge):
        decode(len(text) - 1, coded)
    with pytest.raises(InvalidRequest):
        decode(len(text), coded[:-1])


def test_the_same_request_compressed_and_not_is_one(served: Client) -> None:
    body = json.dumps({"objectType": "page"}).encode()
    key = {"Idempotency-Key": "of-a-compressed-body"}

    first = served.post("/v2/objects", content=body, headers=key).json()
    second = served.post("/v2/objects", content=gzip.compress(body), headers=key | GZIP).json()

    assert first["objectId"] == second["objectId"]


LARGE = "/v2/objects?limit=1000&sortBy=createdAt"


def raw_answer(client: Client, method: str, path: str, *headers: str) -> tuple[dict[str, str], bytes]:
    with connect(client) as connection:
        connection.sendall(head(client, method, path, "Connection: close", *headers))
        lines, _, body = read_to_the_end(connection).partition(b"\r\n\r\n")
    fields = [line.split(": ", 1) for line in lines.decode().lower().split("\r\n")[1:]]
    return {name: value for name, value in fields}, body


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZip", True),
        ("x-gzip", True),
        ("*", True),
        ("br, deflate", False),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*;q=0", False),
        ("*, gzip;q=0", False),
        ("identity;q=0.5, gzip;q=1", True),
        ("identity, gzip;q=0.5", False),
        ("gzip;q=x", False),
        ("identity;q=0, gzip", True),
    ],
)
def test_an_answer_is_compressed_for_who_accepts_it(served: Client, accepted: str | None, is_compressed: bool) -> None:
    headers = [] if accepted is None else [f"Accept-Encoding: {accepted}"]
    plain = served.get(LARGE, headers={"Accept-Encoding": "identity"}).content

    fields, body = raw_answer(served, "GET", LARGE, *headers)
    of_head, nothing = raw_answer(served, "HEAD", LARGE, *headers)

    assert len(plain) > MIN_COMPRESSED_BYTES
    assert fields["vary"] == "accept-encoding"
    assert fields.get("content-encoding") == ("gzip" if is_compressed else None)
    assert int(fields["content-length"]) == len(body) < (MIN_COMPRESSED_BYTES if is_compressed else 10**9)
    assert (gzip.decompress(body) if is_compressed else body) == plain
    assert (of_head["content-length"], nothing) == (fields["content-length"], b"")


def test_short_answers_are_not_compressed(served: Client) -> None:
    fields, body = raw_answer(served, "GET", "/v2/objects?limit=3", "Accept-Encoding: gzip")

    assert "content-encoding" not in fields
    assert "vary" not in fields
    assert len(json.loads(body)["results"]) == 3


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/console/console.js", "/docs/reference.js", "/metrics"])
def test_pages_are_compressed(served: Client, path: str) -> None:
    plain, text = raw_answer(served, "GET", path, "Accept-Encoding: identity")
    for _ in range(2):
        coded, body = raw_answer(served, "GET", path, "Accept-Encoding: gzip")

        assert coded["content-encoding"] == "gzip"
        assert plain["vary"] == coded["vary"] == "accept-encoding"
        assert int(coded["content-length"]) == len(body)
        assert path == "/metrics" or gzip.decompress(body) == text
    if "etag" in plain:
        assert coded["etag"] == plain["etag"]
        for tag in (plain["etag"].replace("w/", "W/"), plain["etag"].removeprefix("w/")):
            answer = served.get(path, headers={"If-None-Match": tag, "Accept-Encoding": "gzip"})
            assert (answer.status_code, answer.content) == (304, b"")


def test_an_answer_of_the_fast_path_is_not_compressed(served: Client) -> None:
    warrants = [warrant_body("page:a#viewer@user:ann")] * 500
    body = json.dumps({"op": "batch", "warrants": warrants})
    for _ in range(3):
        answer = served.post("/v2/check", content=body, headers={"Accept-Encoding": "gzip"})

    assert len(answer.content) > MIN_COMPRESSED_BYTES
    assert "content-encoding" not in answer.headers


def test_the_headers_of_cors_stay(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", cors_origin="https://a.example", cors_all_routes="true")
    with running_service(settings) as url, Client(url) as client:
        answer = client.get("/openapi.json", headers={"Origin": "https://a.example", "Accept-Encoding": "gzip"})

    assert answer.headers["content-encoding"] == "gzip"
    assert {*answer.headers["vary"].split(", ")} == {"Origin", "Accept-Encoding"}


@pytest.mark.parametrize("value", [b"gzip", b"gzip;q=0.1", b"deflate, gzip"])
def test_what_accepts_gzip(value: bytes) -> None:
    assert accepts_gzip([(b"accept-encoding", value)])
    assert not accepts_gzip([(b"accept", value)])
    assert accepts_gzip([(b"accept-encoding", b"br"), (b"accept-encoding", value)])


def test_what_a_body_is_coded_with() -> None:
    assert has_gzip_body([(b"content-encoding", b"gzip")])
    assert not has_gzip_body([(b"content-type", b"gzip")])
    with pytest.raises(UnsupportedCoding):
        has_gzip_body([(b"content-encoding", b"gzip"), (b"content-encoding", b"br")])
