"""An HTTP server for tests of clients: it sends the answers that a test sets, and keeps the requests."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from tests.http_server import SilentHandler, serving


class Sent(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Answered(NamedTuple):
    """An answer that is not simply 200."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


@dataclass(slots=True)
class StubServer:
    """`sent`: requests in the order they came, bodies decoded from JSON."""

    url: str = ""
    sent: list[Sent] = field(default_factory=list)


@contextmanager
def stub_server(
    answer: Callable[[Sent], bytes | Answered], headers: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[StubServer]:
    """Answers every request with what `answer` makes of it, with 200 unless that says otherwise, and these headers
    besides."""
    stub = StubServer()

    class Handler(SilentHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent = Sent(self.command, self.path, dict(self.headers), msgspec.json.decode(given) if given else None)
            stub.sent.append(sent)
            made = answer(sent)
            status, body, own = made if isinstance(made, Answered) else Answered(200, made)
            self.send_response(status)
            for name, value in {**(headers or {}), **own, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = handle_any

    with serving(Handler, port=port) as stub.url:
        yield stub
