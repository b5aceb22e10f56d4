"""What traces cost of a check that is answered from memory: without them, with them and not sampled, and sampled."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import httptools
import uvloop

from benchmarks.cores import LOAD_CORE, SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.server import API_KEY, AUTHORIZATION
from benchmarks.table import markdown_table
from magistrate.api.calls import Answer
from magistrate.api.http.fast_path import FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest
from magistrate.api.route_table import ROUTES
from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.tracing import CURRENT, SpanQueue, Tracer
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.service import open_service
from magistrate.wiring.stores import migrate_store
from magistrate.wiring.trace_export import SPANS_AT_ONCE, SpanBuilder, describe_process, open_exporter

ROUNDS, CALLS = 40, 1_000
EXPORTS = 20
BODY = (
    b'{"warrants":[{"objectType":"role","objectId":"admin","relation":"member",'
    b'"subject":{"objectType":"user","objectId":"ann"}}]}'
)
LINES = (
    "POST /v2/check HTTP/1.1",
    "Host: 127.0.0.1:8000",
    f"Authorization: {AUTHORIZATION}",
    "Content-Type: application/json",
    "User-Agent: python-httpx/0.28.1",
    "Accept: */*",
    "Accept-Encoding: gzip, deflate",
    f"Content-Length: {len(BODY)}",
)
TRACE_LINE = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
DEFAULT_HEADERS = [(b"date", b"Thu, 26 Nov 2026 20:00:00 GMT")]
SINK = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def measure_traces() -> str:
    """A table. All figures are of one run, in which the cases alternate; processor time of the thread."""
    with ExitStack() as stack:
        url = stack.enter_context(STORES["SQLite"]())("traces")
        settings = read_settings({"database_url": url, "api_key": API_KEY}, {})
        migrate_store(settings)
        asyncio.run(prepare_store(settings))
        receiver = stack.enter_context(_receiving())
        stack.enter_context(on_core(SERVER_CORE))
        took = uvloop.run(_measure(settings, receiver))
    without = took["off"]
    rows = [
        ("a cached check without traces, beginning with its head", f"{without:.2f}", ""),
        ("looks at whether it is sampled, which are part of it", f"{took['looks']:.2f}", "≤ 0.1"),
        ("added with traces, not sampled", f"{took['unsampled'] - without:.2f}", "≤ 0.5"),
        ("added if it is sampled, until it is answered", f"{took['sampled'] - without:.1f}", ""),
        (
            "the same and the export of its span, in a thread",
            f"{took['sampled'] - without + took['export']:.1f}",
            "≤ 100",
        ),
        ("added by a `traceparent` that differs in each request", f"{took['traceparent'] - without:.2f}", ""),
        ("the same if its head were parsed each time", f"{took['parsed'] - without:.2f}", ""),
    ]
    return markdown_table("Traces", ("", "µs", "target"), rows)


@contextmanager
def _receiving() -> Iterator[str]:
    """The URL of a receiver, which is another process."""
    with on_core(LOAD_CORE):
        process = subprocess.Popen([sys.executable, "-c", SINK], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
    finally:
        process.terminate()
        process.communicate()


async def _measure(settings: Settings, receiver: str) -> Mapping[str, float]:
    queue = SpanQueue(1_000_000_000)
    async with open_service(settings) as service:

        async def open_path(tracer: Tracer | None) -> FastPath:
            """A path that knows the head, on which the check is cached."""
            path = FastPath(lambda: service, ROUTES, Ledger(tracer=tracer))
            while (begun := _parse(path, _render_head())) is not None:
                if path.answer(begun, BODY, DEFAULT_HEADERS) is not None:
                    path.remember(_render_head() + BODY, begun.head)
                    return path
                assert begun.answer is not None
                if not isinstance(begun.answer.answer, Answer):
                    await begun.answer.answer
            raise AssertionError("the fast path refuses the check")

        off, unsampled, sampled = [await open_path(tracer) for tracer in (None, Tracer(0, queue), Tracer(1, queue))]
        plain, traced = _render_head(), _render_head(TRACE_LINE)
        cases: Mapping[str, Callable[[], object]] = {
            "off": partial(_answer_known, off, plain),
            "unsampled": partial(_answer_known, unsampled, plain),
            "sampled": partial(_answer_known, sampled, plain),
            "traceparent": partial(_answer_known, off, traced),
            "parsed": partial(_answer_parsed, off, traced),
            "looks": _look,
            "nothing": _do_nothing,
        }
        took = dict.fromkeys(cases, float("inf"))
        for _ in range(ROUNDS):
            for name, case in cases.items():
                took[name] = min(took[name], _microseconds_of(case))
                queue.take(CALLS)
        took["looks"] -= took["nothing"]
        builder, exporter = SpanBuilder(describe_process(), {}), open_exporter(receiver)
        for _ in range(SPANS_AT_ONCE):
            _answer_known(sampled, plain)
        batch = queue.take(SPANS_AT_ONCE)
        took["export"] = min(_microseconds_of(lambda: exporter.export(builder.build(batch)), 1) for _ in range(EXPORTS))
        took["export"] /= len(batch)
        exporter.shutdown()  # type: ignore[no-untyped-call]  # it says nothing of its types
    return took


def _microseconds_of(case: Callable[[], object], calls: int = CALLS) -> float:
    began = time.thread_time_ns()
    for _ in range(calls):
        case()
    return (time.thread_time_ns() - began) / calls / 1_000


def _answer_known(path: FastPath, head: bytes) -> None:
    begun = path.begin_known(head, len(BODY))
    assert begun is not None
    path.answer(begun, BODY, DEFAULT_HEADERS)


def _answer_parsed(path: FastPath, head: bytes) -> None:
    begun = _parse(path, head)
    assert begun is not None
    path.answer(begun, BODY, DEFAULT_HEADERS)


class _Parsed:
    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))


def _parse(path: FastPath, head: bytes) -> BegunRequest | None:
    parsed = _Parsed()
    httptools.HttpRequestParser(parsed).feed_data(head)
    begun = path.begin_request(b"POST", parsed.url, parsed.headers)
    return begun if isinstance(begun, BegunRequest) else None


def _render_head(*more: str) -> bytes:
    return "\r\n".join((*LINES, *more, "", "")).encode()


_LEDGER = Ledger()


def _look() -> bool:
    """Looks as often as a cached check does: when it begins, is decided and is recorded, and at its end."""
    tracer, span = _LEDGER.tracer, None
    if tracer is not None or CURRENT.get() is not None or CURRENT.get() is not None:
        return False
    return span is None and not span


def _do_nothing() -> bool:
    return True
