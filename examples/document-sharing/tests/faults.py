"""Something between the application and Magistrate that loses requests or answers, as networks do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, NamedTuple

import httpx

Fault = Literal["lose request", "lose answer", "lose one answer", "hang", "gateway error", "wrong key"]
HANGS_SECONDS = 2.0
TOKENS = ("Service-Token", "Warrant-Token")
PASSED_ON = ("Authorization", "Content-Type", "Idempotency-Key", *TOKENS)


class Passed(NamedTuple):
    """A request that reached Magistrate, and the tokens of it and its answer."""

    method: str
    path: str
    token_sent: str
    token_got: str


class FaultyNetwork(ThreadingHTTPServer):
    """Passes on to Magistrate whatever no fault hits; `passed` is what Magistrate answered."""

    daemon_threads = True

    def __init__(self, magistrate: str) -> None:
        super().__init__(("127.0.0.1", 0), PassingOn)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.magistrate = httpx.Client(base_url=magistrate, trust_env=False)
        self.passed: list[Passed] = []
        self.faults: list[tuple[str, Fault]] = []
        self.over = threading.Event()

    @contextmanager
    def fault(self, on: str, fault: Fault) -> Iterator[None]:
        """Hits requests that begin like this, such as `DELETE /v2/warrants`, until the context ends."""
        self.faults.append((on, fault))
        self.over.clear()
        try:
            yield
        finally:
            self.faults.clear()
            self.over.set()

    def fault_of(self, request: str) -> Fault | None:
        hit = next((each for each in self.faults if request.startswith(each[0])), None)
        if hit and hit[1] == "lose one answer":
            self.faults.remove(hit)
        return hit[1] if hit else None


class PassingOn(BaseHTTPRequestHandler):
    server: FaultyNetwork
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault_of(f"{self.command} {self.path}")
        if fault == "hang":
            self.server.over.wait(HANGS_SECONDS)
        if fault == "gateway error":
            return self.answer(503, b"no server left", {})
        if fault not in {"lose request", "hang"}:
            answer = self.passed_on(body, {"Authorization": "ApiKey wrong"} if fault == "wrong key" else {})
        if fault in {None, "wrong key"}:
            return self.answer(answer.status_code, answer.content, dict(answer.headers))
        self.close_connection = True
        return None

    do_GET = do_POST = do_DELETE = pass_on

    def passed_on(self, body: bytes, replaced: dict[str, str]) -> httpx.Response:
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        headers |= replaced
        answer = self.server.magistrate.request(self.command, self.path, content=body, headers=headers)
        sent, got = (next((each[name] for name in TOKENS if name in each), "") for each in (headers, answer.headers))
        self.server.passed.append(Passed(self.command, self.path, sent, got))
        return answer

    def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name in {"content-type", *map(str.lower, TOKENS)} & headers.keys():
            self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, template: str, *args: object) -> None:
        """Not wanted."""


@contextmanager
def faulty_network(magistrate: str) -> Iterator[FaultyNetwork]:
    with FaultyNetwork(magistrate) as network:
        thread = threading.Thread(target=network.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield network
        network.over.set()
        network.shutdown()
        thread.join()
        network.magistrate.close()
