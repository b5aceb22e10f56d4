"""Runs a whole service in a thread of a program, without a socket: for tests of what calls it. Its data is in memory,
or in a private temporary folder where the system has no files in memory, and ends with it."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from magistrate.api.http.application import Application
from magistrate.api.http.request_scope import TRANSPORT
from magistrate.api.http.streams import StreamTransport
from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.operations.keys.caller_keys import generate_key
from magistrate.temporary_files import MEMORY, is_writable, make_temporary_folder
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.service import open_service
from magistrate.wiring.stores import migrate_store

STARTED_WITHIN_SECONDS = 60.0
STOPPED_WITHIN_SECONDS = 30.0
UNREAD_PIECES = 64
"""Limits the pieces of a stream that are made before its reader has taken them."""

Headers = Sequence[tuple[str, str]]


class MemoryAnswer(NamedTuple):
    """Holds a complete answer; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class MemoryStream:
    """Is an answer that is made while it is read. Its methods are for the event loop of the service."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(UNREAD_PIECES)
        self._is_broken = False
        self._unread_bytes = 0
        self.task: asyncio.Task[None] | None = None

    async def begin(self) -> "MemoryStream":
        """Waits for the head of the answer."""
        await self._begun.wait()
        return self

    async def read(self) -> bytes:
        """Returns the next piece, which is empty at the end. Raises ConnectionError if the service broke it off."""
        piece = await self._pieces.get()
        self._unread_bytes -= len(piece)
        if not piece and self._is_broken:
            raise ConnectionError("the answer was broken off")
        return piece

    async def close(self) -> None:
        """Ends the answer, as a client that goes away."""
        self._ended.set()
        if self.task is not None:
            self.task.cancel()

    def is_closing(self) -> bool:
        """Returns whether nobody reads the answer any more: what sends streams takes this for their connection."""
        return self._ended.is_set() or self._is_broken

    def expect_reading_within(self, seconds: float | None) -> None:
        """Waits for as long as the program does: what it has not read is bounded by UNREAD_PIECES."""

    def get_write_buffer_size(self) -> int:
        """Returns how many bytes are not read yet."""
        return self._unread_bytes

    def break_off(self) -> None:
        """Ends the answer before it is complete."""
        self._is_broken = True
        with suppress(asyncio.QueueFull):  # whoever reads comes to the end of what there is
            self._pieces.put_nowait(b"")

    def abort(self) -> None:
        """Ends the answer because the service stops."""
        self.break_off()

    async def receive_disconnect(self) -> None:
        await self._ended.wait()

    async def send(self, event: dict[str, Any]) -> None:
        """Takes what the application sends."""
        if event["type"] == "http.response.start":
            self.status, self.headers = event["status"], _read_headers(event["headers"])
            self._begun.set()
            return
        if event.get("body"):
            self._unread_bytes += len(event["body"])
            await self._pieces.put(bytes(event["body"]))
        if not event.get("more_body"):
            await self._pieces.put(b"")


class MemoryService:
    """Answers requests in this process. `key` is that of an operator; `loop` is its event loop, in a thread of its own.

    Raises InvalidSetting or StoreUnavailable if there is no place for its data."""

    def __init__(self) -> None:
        self.key = generate_key()
        self.loop = asyncio.new_event_loop()
        self._resources = ExitStack()
        parent = MEMORY if is_writable(MEMORY) else ""
        folder = self._resources.enter_context(make_temporary_folder("memory", "a service in memory needs", parent))
        url = f"sqlite:///{quote(str(folder / 'memory.db'))}"
        self._settings: Settings = read_settings({"database_url": url, "api_key": self.key}, {})
        self._started: Future[None] = Future()
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="magistrate-memory", daemon=True)
        self._thread.start()
        self._started.result(STARTED_WITHIN_SECONDS)

    def submit(self, method: str, target: str, headers: Headers, body: bytes) -> Future[MemoryAnswer]:
        """Returns the future answer to a request."""
        return asyncio.run_coroutine_threadsafe(self._answer(method, target, headers, body), self.loop)

    def submit_stream(self, method: str, target: str, headers: Headers) -> Future[MemoryStream]:
        """Returns the future head of an answer that is made while it is read."""
        return asyncio.run_coroutine_threadsafe(self._open_stream(method, target, headers), self.loop)

    def close(self) -> None:
        """Stops the service and removes its data."""
        if self._stopping is not None and self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(STOPPED_WITHIN_SECONDS)
        self._resources.close()

    def _run(self) -> None:
        try:
            migrate_store(self._settings)
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(prepare_store(self._settings))
                runner.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        """Serves between the start and the end of the application's lifespan."""
        self._stopping = asyncio.Event()
        self._application = Application(partial(open_service, self._settings), has_console=False)
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        lifespan = asyncio.create_task(
            self._application({"type": "lifespan", "asgi": {"version": "3.0"}}, events.get, answers.put)
        )
        await events.put({"type": "lifespan.startup"})
        await answers.get()
        self._started.set_result(None)
        await self._stopping.wait()
        self._application.stop_streams()
        await events.put({"type": "lifespan.shutdown"})
        await lifespan

    async def _answer(self, method: str, target: str, headers: Headers, body: bytes) -> MemoryAnswer:
        events: list[dict[str, Any]] = []
        received = iter([{"type": "http.request", "body": body, "more_body": False}])
        never = asyncio.Event()

        async def receive() -> dict[str, Any]:
            for event in received:
                return event
            await never.wait()
            return {"type": "http.disconnect"}

        async def send(event: dict[str, Any]) -> None:
            events.append(event)

        await self._application(_build_scope(method, target, headers, body), receive, send)
        head, *pieces = events
        return MemoryAnswer(
            head["status"], _read_headers(head["headers"]), b"".join(piece.get("body", b"") for piece in pieces)
        )

    async def _open_stream(self, method: str, target: str, headers: Headers) -> MemoryStream:
        stream = MemoryStream()
        received = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> dict[str, Any]:
            for event in received:
                return event
            await stream.receive_disconnect()
            return {"type": "http.disconnect"}

        transport: StreamTransport = stream
        scope = {**_build_scope(method, target, headers, b""), TRANSPORT: transport}
        stream.task = asyncio.create_task(self._application(scope, receive, stream.send))
        return await stream.begin()


def _build_scope(method: str, target: str, headers: Headers, body: bytes) -> dict[str, Any]:
    path, _, query = target.partition("?")
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [*raw, (b"host", b"memory"), (b"content-length", str(len(body)).encode())],
        "client": ("127.0.0.1", 1),
        "server": ("memory", None),
    }


def _read_headers(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}
