"""What the limits cost a cached check, in instructions of the interpreter: those that a connection executes for it
from the bytes that arrive to the answer, and those of them that are in the code of limits."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from uvicorn.server import ServerState

import magistrate
from benchmarks.keep_alive import request_bytes
from magistrate.api.calls import Service
from magistrate.api.http.connection import Connection
from magistrate.api.http.connection_memory import ConnectionMemory, UnsentAnswers
from magistrate.api.http.fast_path import FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.server_config import BoundedConfig
from magistrate.api.route_table import ROUTES
from magistrate.config.settings import read_settings

SOURCE = Path(magistrate.__file__).parent
LIMITS = (
    "api/http/admission.py",
    "api/http/client_transport.py",
    "api/http/connection.py",
    "api/http/connection_state.py",
    "api/http/deadlines.py",
    "api/http/incoming_bytes.py",
    "api/http/json_values.py",
    "api/http/rate_limits.py",
    "api/http/request_values.py",
    "engine/work.py",
    "operations/scheduling.py",
)
"""The files that hold limits: of bodies, of work, of connections, and of the time that the event loop is held."""
ANSWERS = (
    "Connection._answer_known",
    "Connection._is_idle",
    "Connection.receive",
    "KeepAliveTimer.start",
    "render_json",
)
"""The functions in these files that a request needs without any limit, too."""
MAX_OF_LIMITS = 0.02
"""The part of the instructions of a cached check that may be in them."""


class _Application:
    """What a connection needs of the application, as long as the fast path answers."""

    def __init__(self, service: Service) -> None:
        self.fast_path = FastPath(lambda: service, ROUTES, Ledger())
        self.received = ConnectionMemory(1_000_000)
        self.unsent = UnsentAnswers(1_000_000, 1.0)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the fast path does not answer")


class _CountingConnection(Connection):
    """Counts the instructions for what was received last, by their files and functions."""

    counts: Counter[tuple[str, str]]

    def data_received(self, data: bytes) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        _CountingConnection.counts = counts

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            counts[frame.f_code.co_filename, frame.f_code.co_qualname] += event == "opcode"
            return trace

        sys.settrace(trace)
        try:
            super().data_received(data)
        finally:
            sys.settrace(None)


async def count_limit_steps(service: Service, body: bytes, secret: str) -> tuple[int, int]:
    """How many instructions a connection executes for a check that is cached and has been made before, and how many of
    them in the code of limits."""
    settings = read_settings({}, {})
    config = BoundedConfig(
        _Application(service),
        max_head_bytes=settings.max_head_bytes,
        head_timeout_ms=settings.head_timeout_ms,
        body_timeout_ms=settings.body_timeout_ms,
        keep_alive_timeout_ms=settings.keep_alive_timeout_ms,
        max_connections=10,
        protocol=_CountingConnection,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        log_config=None,
    )
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: _CountingConnection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for _ in range(3):
            writer.write(request_bytes("POST", "/v2/check", body, f"ApiKey {secret}"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
        writer.close()
    counts = _CountingConnection.counts
    files = {str(SOURCE / name) for name in LIMITS}
    of_limits = (count for (file, name), count in counts.items() if file in files and name not in ANSWERS)
    return sum(counts.values()), sum(of_limits)
