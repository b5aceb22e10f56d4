"""Sends answers whose bodies are made while they are sent, in chunks, however long that takes.

A piece is made when the one before it has been written, so a slow reader holds two pieces in memory and delays nobody.
A reader that takes nothing for --body-timeout-ms is cut off by its connection; one of a stream that lasts, such as a
watch, is ended by that much sooner. An answer that fails has begun, so it cannot become an error: its connection is
closed without the last chunk, which every client notices."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import Context
from typing import Any, NamedTuple, Protocol, cast

import falcon.asgi
import structlog

from magistrate.api.auth.callers import KeyRing
from magistrate.api.http.connection_memory import AnswerAccount
from magistrate.api.http.deadlines import Deadlines, RequestDeadline
from magistrate.api.http.error_bodies import Send
from magistrate.api.http.request_scope import (
    ACCOUNT,
    CALLER,
    RECEIVE,
    REQUEST_ID,
    ROUTE,
    STREAM,
    TRANSPORT,
    render_path,
)
from magistrate.errors import InvalidRequest, MagistrateError, Overloaded
from magistrate.operations.keys.callers import Caller
from magistrate.operations.watch.watch_reader import TOO_SLOW

LOOK_EVERY_SECONDS = 0.5
"""Sets how often it is looked at who reads, and whether their keys are valid."""
LOOKS_AT_ONCE = 500
"""Limits the streams that are looked at before others may run, which takes a millisecond."""
MAX_UNREAD_SECONDS = 5.0
"""Sets after which time without reading anything a reader of a stream that watches is ended."""
KEPT_SECONDS = 10.0
"""Sets how long the end of its stream is kept for such a reader, before the connection is cut."""

log = structlog.get_logger()


class StreamKind(NamedTuple):
    """Says which media types the streams of a route have, and how many of them a worker sends at the same time; None is
    --max-streams."""

    media_types: tuple[str, ...]
    max_open: int | None = None


class Reading(Protocol):
    """Describes the one who makes the pieces of a stream that watches, and ends it if its client does not read."""

    @property
    def ends_whole(self) -> bool:
        """Returns whether it would end with something whole now."""
        ...

    def count_from_now(self) -> None:
        """Begins to count what there is to be sent, because nothing is read."""
        ...

    async def has_too_much_unread(self) -> bool:
        """Returns whether more has come since then than may wait."""
        ...

    def end(self, reason: str) -> None:
        """Makes the stream end soon, by itself, with the reason."""
        ...


class Stream(NamedTuple):
    """Represents the body of an answer that is sent while it is made. `pieces` yields its bytes; an empty piece says
    that the work goes on. No piece may take longer than `piece_timeout_ms`. When the service stops, it calls `stop`,
    after which the stream should end by itself; one that has not ended after --stop-timeout-ms is broken off. `close`
    frees what the stream holds, whether a piece was taken or not. `refuse`, if there is one, is called when the caller
    may not read it any more, after which it should end by itself. `reading`, if there is one, ends it if its client
    does not read. `is_whole` says at its end whether the last thing that was sent is complete; otherwise the answer is
    broken off."""

    pieces: AsyncGenerator[bytes, None]
    media_type: str
    piece_timeout_ms: int
    stop: Callable[[], None] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    refuse: Callable[[], None] | None = None
    reading: Reading | None = None
    is_whole: Callable[[], bool] = lambda: True

    async def free(self) -> None:
        await self.pieces.aclose()
        if self.close is not None:
            await self.close()


class OpenStreams:
    """Holds the streams that a worker is sending."""

    def __init__(self, deadlines: Deadlines, max_streams: int) -> None:
        self.deadlines = deadlines
        self._max_streams = max_streams
        self._open: dict[SentStream, StreamKind] = {}
        self._counts: Counter[StreamKind] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self.refused = 0
        """Counts the streams that were refused because too many were open."""

    def __len__(self) -> int:
        return len(self._open)

    def require_place(self, kind: StreamKind) -> None:
        """Raises Overloaded if as many streams of a kind are open as may be."""
        if self._counts[kind] >= (self._max_streams if kind.max_open is None else kind.max_open):
            self.refused += 1
            raise Overloaded

    def add(self, stream: "SentStream", kind: StreamKind) -> None:
        self._open[stream] = kind
        self._counts[kind] += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), context=Context())

    async def _look(self) -> None:
        """Refuses the streams whose callers have no valid key any more, and ends those that nobody reads."""
        try:
            while self._open:
                await asyncio.sleep(LOOK_EVERY_SECONDS)
                in_force: dict[Caller, bool] = {}
                for number, stream in enumerate([*self._open], 1):
                    if stream.caller not in in_force:
                        in_force[stream.caller] = stream.keys.is_in_force(stream.caller)
                    if not in_force[stream.caller]:
                        stream.end_refused()
                    await stream.end_unread()
                    if not number % LOOKS_AT_ONCE:
                        await asyncio.sleep(0)
        finally:
            self._looking = None

    def remove(self, stream: "SentStream") -> None:
        kind = self._open.pop(stream, None)
        if kind is not None:
            self._counts[kind] -= 1

    def end_all(self) -> None:
        """Lets all streams end by themselves, because the service stops."""
        for stream in [*self._open]:
            stream.end()


class ClientGone(Exception):
    """Ends the work for a stream that nobody reads any more."""


async def begin_stream(
    streams: OpenStreams, keys: KeyRing, stream: Stream, req: falcon.asgi.Request, resp: falcon.asgi.Response
) -> None:
    """Makes a stream the body of an answer. Raises InvalidRequest for HTTP/1.0, which has no chunks, and Overloaded."""
    kind: StreamKind = req.scope[ROUTE].stream
    sent = SentStream(streams, stream, req, keys)
    try:
        if req.scope["http_version"] == "1.0":
            raise InvalidRequest("This answer comes in chunks, which need HTTP/1.1")
        if req.method != "HEAD":
            streams.require_place(kind)
    except MagistrateError:
        await stream.free()
        raise
    resp.content_type = stream.media_type
    resp.stream = sent
    if req.method == "HEAD":  # the framework iterates over nothing
        await stream.free()
        return
    if stream.reading is not None:
        sent.expect_reading()
    streams.add(sent, kind)
    req.scope[STREAM] = sent


class StreamTransport(Protocol):
    """Defines what a stream needs of the connection to its client (`ClientTransport`, or a program in this process)."""

    def is_closing(self) -> bool: ...

    def expect_reading_within(self, seconds: float | None) -> None: ...

    def break_off(self) -> None: ...

    def abort(self) -> None: ...

    @property
    def get_write_buffer_size(self) -> Callable[[], int]: ...


class SentStream:
    """Yields the pieces of a stream to the framework, which sends each before it takes the next. `finish` must be
    called when the answer has ended, however it did."""

    def __init__(self, streams: OpenStreams, stream: Stream, req: falcon.asgi.Request, keys: KeyRing) -> None:
        self.caller: Caller = req.scope[CALLER]
        self.keys = keys
        self._streams = streams
        self._stream = stream
        self._names = {"method": req.method, "path": render_path(req), "request": req.scope[REQUEST_ID]}
        self._account: AnswerAccount = req.scope[ACCOUNT]
        self._transport: StreamTransport = req.scope[TRANSPORT]
        self._receive: Callable[[], Awaitable[dict[str, Any]]] = req.scope[RECEIVE]
        self._watch: asyncio.Task[None] | None = None
        self._deadline: RequestDeadline | None = None
        self._is_complete = False
        self._progress = (0, 0)
        """Has the number of pieces that were made, and how much is unread of those that were sent."""
        self._pieces = 0
        self._unread_since = 0.0
        self._cutting: asyncio.TimerHandle | None = None

    def __aiter__(self) -> "SentStream":
        return self

    async def __anext__(self) -> bytes:
        self._account.close()  # the connection holds what was sent
        if self._watch is None:
            self._watch = asyncio.create_task(self._wait_until_gone())
        while not self._transport.is_closing():
            piece = await self._make_piece()
            if piece is None:
                break
            if piece:
                self._account.resize(len(piece))
                self._pieces += 1
                return piece
        raise StopAsyncIteration

    def end_refused(self) -> None:
        """Lets the stream end because its caller may not read it any more, if it can."""
        if self._stream.refuse is not None:
            self._stream.refuse()

    def expect_reading(self) -> None:
        """Makes it this stream that decides how long its client may read nothing."""
        self._transport.expect_reading_within(MAX_UNREAD_SECONDS + 2 * KEPT_SECONDS)

    async def end_unread(self) -> None:
        """Ends the stream if its client has not read for too long, or leaves too much unread. It has to be called now
        and then."""
        reading = self._stream.reading
        if reading is None or self._cutting is not None or self._transport.is_closing():
            return
        unread, now = self._transport.get_write_buffer_size(), time.monotonic()
        pieces, unread_before = self._progress
        self._progress = self._pieces, unread
        if not unread or pieces != self._pieces or unread != unread_before:
            self._unread_since = now
            reading.count_from_now()
        elif now - self._unread_since >= MAX_UNREAD_SECONDS or await reading.has_too_much_unread():
            self._end_slow(reading)

    def _end_slow(self, reading: Reading) -> None:
        """Lets the stream end by itself, and cuts it off if its client does not read on; at once if it would not end
        with something whole."""
        if not reading.ends_whole:
            self._transport.abort()
            return
        reading.end(TOO_SLOW)
        self._cutting = asyncio.get_running_loop().call_later(KEPT_SECONDS, self._transport.abort)

    def end(self) -> None:
        """Lets the stream end by itself, if it can."""
        if self._stream.stop is not None:
            self._stream.stop()

    async def finish(self) -> None:
        """Ends the work, and breaks the answer off unless it is complete."""
        self._streams.remove(self)
        if self._watch is not None:
            self._watch.cancel()
        if self._cutting is not None:
            self._cutting.cancel()
        self._transport.expect_reading_within(None)
        if not self._is_complete:
            self._transport.break_off()
        await self._stream.free()

    async def _make_piece(self) -> bytes | None:
        """Returns the next piece, or None if there is none, because the stream is complete or has failed."""
        try:
            with self._streams.deadlines.begin(self._stream.piece_timeout_ms, writes=False) as self._deadline:
                return await anext(self._stream.pieces)
        except StopAsyncIteration:
            self._is_complete = self._stream.is_whole()
        except ClientGone:
            pass
        except MagistrateError as error:
            log.warning("stream broken off", **self._names, error=error.message, cause=repr(error.__cause__))
        except Exception as error:  # the answer has begun, so the edge that answers 500 comes too late
            log.error("fault", **self._names, exc_info=error)
        finally:
            self._deadline = None
        if not self._is_complete:
            self._transport.break_off()  # before the framework sends the last chunk
        return None

    async def _wait_until_gone(self) -> None:
        """Ends the work for a piece when the client has gone: nothing else would notice that before it is written."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._deadline is not None:
            self._deadline.end(ClientGone())


async def break_off_stream(scope: dict[str, Any], send: Send) -> bool:
    """Ends the connection of a request if its answer is a stream, and returns whether it is. The service stops, so
    nothing waits until the client has read what was sent."""
    if STREAM not in scope:
        return False
    transport: StreamTransport = scope[TRANSPORT]
    transport.abort()
    await send({"type": "http.response.body"})  # the server expects a last piece, which nobody gets
    return True


async def finish_stream(scope: dict[str, Any]) -> None:
    """Finishes the stream of a request, if its answer was one."""
    stream = cast(SentStream | None, scope.pop(STREAM, None))
    if stream is not None:
        await stream.finish()
