"""What the Python client costs an application: processor time of a check above that of the same bytes on a bare socket,
checks in one request, checks of a service in the same process, and the time of its import.

The answers are constant, from another process, so that nothing of a service is measured."""

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import httpx

from benchmarks.table import markdown_table
from magistrate_client import AsyncClient, Client
from magistrate_client.testing import memory_client

CHECK = ("user:ann", "viewer", "document:plan")
RESULT = {"code": 200, "result": "Authorized", "isImplicit": False}
TOKEN = "AtskeoriBuzHAAAAAAAAAAXMRcz2gU6mfw"
REQUEST_BYTES = 420
"""As many as a check of the client has."""
ROUNDS = 5
CHECKS_IN_ROUND = 2_000
MANY = 1_000
IMPORTS = 9
MODEL = "version 1.0\n\ntype user\n\ntype document\n    relation viewer [user]\n"

_SERVER = """
import socket, sys, threading
answer = sys.stdin.buffer.readline().rstrip().decode("unicode_escape").encode("latin-1")
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
def serve(client):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = b""
    while data := client.recv(1_048_576):
        received += data
        head, end, body = received.partition(b"\\r\\n\\r\\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\\r")[0]
        if not end or len(body) >= int(length or 0):
            client.sendall(answer)
            received = b""
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""


def measure_client(seconds: int) -> str:
    """A table. It takes as long as it takes, some seconds."""
    with answering(json.dumps(RESULT)) as port:
        url = f"http://127.0.0.1:{port}"
        rows = [*measure_threads(url, port), *measure_tasks(url, port)]
    with answering(json.dumps([RESULT] * MANY)) as port:
        rows.append(measure_many(f"http://127.0.0.1:{port}"))
    rows += [measure_memory(), measure_import()]
    return markdown_table("Python client", ("", "measured", "target"), rows)


@contextmanager
def answering(body: str) -> Iterator[int]:
    """The port of a process that answers everything with this body."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nservice-token: {TOKEN}\r\n"
    answer = f"{head}content-length: {len(body)}\r\n\r\n{body}"
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(answer.encode("unicode_escape").decode() + "\n")
        process.stdin.flush()
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def measure_threads(url: str, port: int) -> Iterator[Sequence[str]]:
    with socket.create_connection(("127.0.0.1", port)) as bare, Client(url, "key") as client:
        bare.settimeout(10)
        message = build_message()

        def exchange() -> None:
            bare.sendall(message)
            bare.recv(65_536)

        floor = time_processor(exchange)
        yield (
            "a check, above a bare socket",
            render_micros(time_processor(lambda: client.check(*CHECK)) - floor),
            "120 µs",
        )
        with httpx.Client(trust_env=False) as http:
            other = Client(url, "key", http=http)
            yield "the same through httpx", render_micros(time_processor(lambda: other.check(*CHECK)) - floor), ""


def measure_tasks(url: str, port: int) -> list[Sequence[str]]:
    async def measure() -> list[Sequence[str]]:
        loop = asyncio.get_running_loop()
        transport, bare = await loop.create_connection(BareProtocol, "127.0.0.1", port)
        message = build_message()

        async def exchange() -> None:
            bare.received = loop.create_future()
            transport.write(message)
            await bare.received

        floor = await time_task(exchange)
        async with AsyncClient(url, "key") as client:
            own = await time_task(lambda: client.check(*CHECK))
        transport.close()
        return [("a check of asyncio, above a bare transport", render_micros(own - floor), "150 µs")]

    return asyncio.run(measure())


class BareProtocol(asyncio.Protocol):
    """Waits for whatever comes next."""

    received: "asyncio.Future[None]"

    def data_received(self, data: bytes) -> None:
        self.received.set_result(None)


def measure_many(url: str) -> Sequence[str]:
    with Client(url, "key") as client:
        checks = [CHECK] * MANY
        assert client.check_many(checks) == [True] * MANY
        took = time_processor(lambda: client.check_many(checks), count=20)
    return f"{MANY:,} checks in one request", f"{took * 1e3:.1f} ms", ""


def measure_memory() -> Sequence[str]:
    with memory_client(MODEL) as client:
        client.write(create=["document:plan#viewer@user:ann"])
        begun = time.perf_counter()
        for _ in range(MANY):
            assert client.check(*CHECK)
        took = time.perf_counter() - begun
    return f"{MANY:,} checks of memory_client, one after the other", f"{took:.2f} s", "1 s"


def measure_import() -> Sequence[str]:
    code = "import time; begun = time.perf_counter(); import magistrate_client; print(time.perf_counter() - begun)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(IMPORTS)
    ]
    return "import magistrate_client, the median", f"{statistics.median(times) * 1e3:.0f} ms", "60 ms"


def build_message() -> bytes:
    body = b"x" * (REQUEST_BYTES - 60)
    return b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def time_processor(work: Callable[[], object], count: int = CHECKS_IN_ROUND) -> float:
    """The processor time of one of many, in seconds: the least of the rounds, because other work only adds to it."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(count):
            work()
        times.append((time.process_time() - begun) / count)
    return min(times)


async def time_task(work: Callable[[], Awaitable[object]]) -> float:
    """The same of a coroutine."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(CHECKS_IN_ROUND):
            await work()
        times.append((time.process_time() - begun) / CHECKS_IN_ROUND)
    return min(times)


def render_micros(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"
