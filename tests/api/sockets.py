"""Clients that misbehave need sockets of their own."""

import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.running import Client

ESTABLISHED = "01"
"""As /proc/net/tcp has it."""


def connect(client: Client, timeout: float = 20.0, receive_buffer: int | None = None) -> socket.socket:
    """A new connection to the service that the client talks to; `receive_buffer` in bytes."""
    url = urlsplit(str(client.base_url))
    connection = socket.socket()
    connection.settimeout(timeout)
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        connection.connect((url.hostname, url.port))
    except OSError:
        connection.close()
        raise
    return connection


def head(client: Client, method: str, path: str, *headers: str) -> bytes:
    """A request line and headers, the key among them, with the blank line that ends them."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: {client.headers['authorization']}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def read_answer(connection: socket.socket) -> bytes:
    """What comes back until the head and the body it announces are there, or the server hangs up."""
    answer = b""
    while chunk := connection.recv(65_536):
        answer += chunk
        lines, end, body = answer.partition(b"\r\n\r\n")
        length = lines.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        if end and len(body) >= int(length or 0):
            break
    return answer


def read_to_the_end(connection: socket.socket) -> bytes:
    """What comes back until the server hangs up."""
    answers = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(65_536):
            answers += chunk
    return answers


def is_hung_up(connection: socket.socket) -> bool:
    """Whether the server ends the connection, within the timeout of the socket."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def is_established(connection: socket.socket) -> bool:
    """Whether the other side of a connection, on this machine as well, has not begun to close it."""
    ours, theirs = (f":{address[1]:04X}" for address in (connection.getsockname(), connection.getpeername()))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return any(row[1].endswith(theirs) and row[2].endswith(ours) and row[3] == ESTABLISHED for row in rows)
