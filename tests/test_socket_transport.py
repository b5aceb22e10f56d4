"""The transport that tests send requests by is one of HTTP/1.1, and notices what is not."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from tests.plain_requests import render_plain
from tests.running import Client

HEAD = b"HTTP/1.1 200 OK\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\nok"


class Script:
    """A server that answers with these bytes, a list for each connection, and keeps what it was sent."""

    def __init__(self, *connections: list[bytes], closes: bool = True) -> None:
        self.seen: list[list[bytes]] = []
        self._connections = connections
        self._closes = closes
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(30)
        self._kept: list[socket.socket] = []
        self.has_closed_one = threading.Event()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def run(self) -> None:
        for answers in self._connections:
            connection, _ = self._listening.accept()
            self._kept.append(connection)
            requests: list[bytes] = []
            self.seen.append(requests)
            for answer in answers:
                requests.append(read_request(connection))
                connection.sendall(answer)
            if self._closes:
                connection.shutdown(socket.SHUT_RDWR)
                connection.close()
                self.has_closed_one.set()

    def close(self) -> None:
        self._listening.close()
        for connection in self._kept:
            connection.close()


def read_request(connection: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read or (b"chunked" in read and not read.endswith(b"0\r\n\r\n")):
        received = connection.recv(65_536)
        assert received, "the client has closed the connection"
        read += received
    return read


@contextmanager
def served(script: Script) -> Iterator[Client]:
    thread = threading.Thread(target=script.run)
    thread.start()
    with Client(script.url) as client:
        yield client
    thread.join()
    script.close()


def test_a_connection_is_used_again() -> None:
    script = Script([WHOLE, WHOLE])

    with served(script) as client:
        assert [client.get("/a?b=c").text, client.post("/d", content=b"{}").text] == ["ok", "ok"]

    [[first, second]] = script.seen
    assert first.startswith(b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: ApiKey " in first
    assert second.endswith(b"\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize("last", [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", WHOLE])
def test_a_connection_that_the_service_closes_is_not_used_again(last: bytes) -> None:
    script = Script([last], [WHOLE])

    with served(script) as client:
        assert client.get("/").text == "ok"
        assert script.has_closed_one.wait(30)
        assert client.get("/").text == "ok"

    assert [len(requests) for requests in script.seen] == [1, 1]


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nay.\r\n0\r\n\r\n", "okay."),
        (HEAD + b"\r\nuntil the end", "until the end"),
        (HEAD + b"Content-Length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
    ],
)
def test_a_body_ends_where_the_response_says(answer: bytes, body: str) -> None:
    with served(Script([answer])) as client:
        assert client.get("/").text == body


def test_headers_are_those_that_were_sent() -> None:
    with served(
        Script([HEAD + b"X-One: a\r\nX-Two: b\r\nX-Two: c\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
    ) as client:
        headers = client.get("/").headers

    assert headers.raw == [(b"X-One", b"a"), (b"X-Two", b"b"), (b"X-Two", b"c"), (b"Transfer-Encoding", b"chunked")]


def test_a_response_to_head_has_no_body() -> None:
    with served(Script([HEAD + b"Content-Length: 5\r\n\r\n"])) as client:
        assert client.head("/").headers["content-length"] == "5"


def test_a_body_whose_length_is_not_known_is_sent_in_chunks() -> None:
    script = Script([WHOLE])

    with served(script) as client:
        client.post("/", content=iter([b"ab", b"", b"cde"]))

    assert script.seen[0][0].endswith(b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200",
        HEAD + b"Content-Length: 5\r\n\r\nok",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        HEAD + b"Content-Length: 1\r\n\r\nok",
        WHOLE + WHOLE,
        HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        HEAD + b"a header: without a name\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_what_is_no_response_is_an_error(answer: bytes) -> None:
    with served(Script([answer])) as client, pytest.raises(httpx.RemoteProtocolError):
        client.get("/")


def test_an_answer_that_does_not_come_is_a_timeout() -> None:
    with served(Script([b""], closes=False)) as client, pytest.raises(httpx.ReadTimeout):
        client.get("/", timeout=0.05)


def test_a_service_that_is_not_there_is_an_error() -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        with Client(f"http://127.0.0.1:{bound.getsockname()[1]}") as client, pytest.raises(httpx.ConnectError):
            client.get("/")


PLAIN: list[tuple[str, str, dict[str, Any]]] = [
    ("get", "/v2/check", {}),
    (
        "GET",
        "/v2/objects/document/o'brien@x.example/",
        {"params": {"q": "a b&c=é+/?%20~*", "n": 5, "yes": True, "no": None}},
    ),
    ("GET", "/v2/objects", {"params": [("a", "1"), ("a", "2")], "headers": {"Warrant-Token": "latest"}}),
    ("GET", "/v2/objects", {"params": {}, "headers": {"authorization": "Bearer x", "X-Own": "1"}, "timeout": None}),
    ("POST", "/v2/warrants", {"json": [{"id": "é", "n": 1.5, "none": None}]}),
    ("POST", "/v2/warrants", {}),
    ("DELETE", "/v2/warrants", {"json": {}}),
    ("PUT", "/v2/model", {"content": "text é"}),
    ("PUT", "/v2/model", {"content": b"{}", "headers": [("X-A", "1"), ("X-A", "2")]}),
    ("HEAD", "/v2/objects", {"content": b""}),
]


@pytest.mark.parametrize(("method", "path", "options"), PLAIN)
@pytest.mark.parametrize("prefix", ["", "/stores/default/"])
def test_plain_requests_are_those_of_httpx(method: str, path: str, options: dict[str, Any], prefix: str) -> None:
    with Client(f"http://127.0.0.1:1{prefix}") as client:
        rendered = render_plain(client, method, path, options)
        request = client.build_request(method, path, **options)

    assert rendered is not None
    assert (rendered.method, rendered.target) == (request.method, request.url.raw_path)
    assert (rendered.headers, b"".join(rendered.body)) == (request.headers.raw, request.content)


@pytest.mark.parametrize(("path", "options"), [
    ("/a?b=c", {}),
    ("/a%20b", {}),
    ("/a/../b", {}),
    ("//a", {}),
    ("/é", {}),
    ("http://127.0.0.1:2/a", {}),
    ("/a", {"content": iter([b"x"])}),
    ("/a", {"timeout": 1}),
    ("/a", {"follow_redirects": True}),
    ("/a", {"headers": {"Content-Type": "text/plain"}}),
    ("/a", {"params": {"x": "x" * 60_000}}),
])  # fmt: skip
def test_others_are_left_to_httpx(path: str, options: dict[str, Any]) -> None:
    with Client("http://127.0.0.1:1") as client:
        assert render_plain(client, "POST", path, options) is None


def test_a_response_knows_its_request() -> None:
    refused = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    with served(Script([WHOLE, refused])) as client:
        assert client.get("/a", params={"b": "c"}).raise_for_status().request.url.raw_path == b"/a?b=c"
        with pytest.raises(httpx.HTTPStatusError, match="/missing"):
            client.get("/missing").raise_for_status()
