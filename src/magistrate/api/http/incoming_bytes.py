"""Passes on what a client sends in slices, so that other connections are served in between.

What arrives at once may be 256 KiB. As a chunked body of one-byte chunks, that is 43,000 calls of the parser, which
took a quarter of a second."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import NamedTuple

from uvicorn.protocols.http.flow_control import FlowControl

from magistrate.api.http.client_transport import ClientTransport

PARSED_AT_ONCE = 16_384
"""Limits the bytes that are parsed at once (16 KiB): some milliseconds of one-byte chunks."""


class Parsing(NamedTuple):
    """Holds how received bytes are parsed, and whether the connection can take what is in them."""

    parse: Callable[[bytes], None]
    has_capacity: Callable[[], bool]


class IncomingBytes:
    """Passes received bytes on to be parsed, at most PARSED_AT_ONCE of them in one iteration of the event loop. Reading
    is paused until all are parsed. Between `pause` and `resume`, nothing is parsed."""

    __slots__ = ("_flow", "_is_paused", "_loop", "_parsing", "_transport", "may_wait", "waiting")

    def __init__(
        self, loop: AbstractEventLoop, transport: ClientTransport, flow: FlowControl, parsing: Parsing
    ) -> None:
        self._loop = loop
        self._transport = transport
        self._flow = flow
        self._parsing = parsing
        self._is_paused = False
        self.waiting = b""
        """Holds what is not parsed yet."""
        self.may_wait = False
        """Is true while parsing is paused or something is not parsed yet, and until something is received after that:
        most of what is received needs no other check."""

    def add(self, data: bytes) -> None:
        """Passes on what was received. What is at most PARSED_AT_ONCE bytes may be passed on without this, unless it
        `may_wait`."""
        if self._is_paused or self.waiting:
            self.waiting += data
            if self._transport.is_lingering:
                self._discard()
            elif self._is_paused:
                self._transport.pause_reading()
        elif len(data) <= PARSED_AT_ONCE or self._transport.is_lingering:
            self.may_wait = False
            self._parsing.parse(data)
        else:
            self.may_wait = True
            self.waiting = data
            self.parse_slice()

    def pause(self) -> None:
        """Keeps what arrives from being parsed. Reading is paused only if something arrives, because most clients send
        nothing before they have their answer."""
        self.may_wait = self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        if self.waiting:
            self._loop.call_soon(self.parse_slice)

    def parse_slice(self) -> None:
        """Parses the next slice, and the others in further iterations."""
        if self._transport.is_lingering:
            self._discard()
        if self._is_paused or not self.waiting or not self._parsing.has_capacity():
            return
        if self._transport.is_closing() and not self._transport.is_lingering:
            self.waiting = b""
            return
        data, self.waiting = self.waiting[:PARSED_AT_ONCE], self.waiting[PARSED_AT_ONCE:]
        self._parsing.parse(data)
        if self._transport.is_lingering:
            self._discard()
        if self.waiting:
            self._transport.pause_reading()
            self._loop.call_soon(self.parse_slice)
        elif self._transport.is_lingering or not self._flow.read_paused:
            self._transport.resume_reading()

    def _discard(self) -> None:
        """Passes all on at once while the connection lingers: it is discarded, which takes no time and needs no
        slices."""
        data, self.waiting = self.waiting, b""
        self._parsing.parse(data)
