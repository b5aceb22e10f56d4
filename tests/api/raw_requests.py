"""Requests over a connection of their own, byte by byte, and their answers."""

import re
import socket
import time

import msgspec

from tests.api.sockets import connect, read_answer
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

DRIVEN = {
    "folder": {
        "parent": {},
        "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
    },
    "group": {"member": {}},
}

ALLOWED, DENIED, EXPLICIT, BATCH = (
    msgspec.json.encode({"op": op, "warrants": [warrant_body(text) for text in asked]})
    for op, *asked in (
        ("", "folder:a#viewer@user:ann"),
        ("", "folder:a#viewer@user:bob"),
        ("", "folder:b#viewer@user:ann"),
        ("batch", "folder:a#viewer@user:ann", "folder:a#viewer@user:bob"),
    )
)


def head(body: bytes, *headers: str, version: str = "1.1", key: str = KEY, path: str = "/v2/check") -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    lines += [f"Authorization: ApiKey {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode()


def request(body: bytes, *headers: str, version: str = "1.1", key: str = KEY, path: str = "/v2/check") -> list[bytes]:
    """In one segment."""
    return [head(body, *headers, version=version, key=key, path=path) + body]


def answers_another(connection: socket.socket) -> bool:
    """Whether the server still answers on this connection. Unlike a silence of some length, it depends on no clock."""
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return read_answer(connection) != b""
    except ConnectionError:
        return False


def answers(client: Client, segments: list[bytes]) -> tuple[list[bytes], bool]:
    """All that comes back, with what differs between any two answers taken out; and whether the server hangs up then
    by itself."""
    found: list[bytes] = []
    wanted = b"".join(segments).count(b" HTTP/1.")
    with connect(client) as connection:
        for segment in segments:
            connection.sendall(segment)
            time.sleep(0.02)
        received = b""
        while len(found) < wanted:
            chunk = connection.recv(65_536)
            received += chunk
            while answer := _ANSWER.match(received):
                length = int(answer["length"])
                if len(received) < answer.end() + length:
                    break
                found.append(received[: answer.end() + length])
                received = received[answer.end() + length :]
            if not chunk:
                break
        hung_up = not answers_another(connection)
    differing = rb"(?i)(date|warrant-request-id): [^\r]*"
    return [re.sub(differing, rb"\1", one) for one in found], hung_up


_ANSWER = re.compile(
    rb"(HTTP/1.1 100 Continue\r\n\r\n)?HTTP/1.1 ([^\r]+\r\n)*?content-length: (?P<length>\d+)\r\n([^\r]+\r\n)*\r\n"
)
