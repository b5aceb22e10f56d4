"""Closes connections so that the client can still read its last answer.

A socket that is closed while the client is sending answers further data with a reset, and a reset makes the client's
kernel discard the answer that the client has not read yet. So if a client may be sending when its connection is to be
closed, only the server's side is closed at first. Data that arrives is read and discarded until the client closes its
side or a limit is reached (a lingering close)."""

from asyncio import AbstractEventLoop, Transport
from asyncio.events import TimerHandle
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from fcntl import ioctl
from socket import IPPROTO_TCP, TCP_NOTSENT_LOWAT
from struct import unpack
from termios import FIONREAD

WAITING_BYTES = 65_536
"""Limits what the kernel takes of an answer before it sends it (64 KiB), if it matters whether its client reads."""
UNSENT_BYTES = 8_192
"""Sets the bytes of answers that a connection holds at most twice, and that are not counted (8 KiB)."""

LINGER_BYTES = 33_554_432
"""Limits the bytes that are discarded (32 MiB): four times the default limit of bodies. A client that sends more never
reads."""

LINGER_SILENCE_SECONDS = 2.0
"""Limits the silence of a lingering client: one that sends nothing for this long has had time to read its answer."""


class State(Enum):
    OPEN = auto()
    LINGERING = auto()
    CLOSED = auto()


class ClientTransport:
    """Represents the transport of one connection, as far as the protocol and uvicorn use it.

    `is_client_sending` says whether the client may be sending data that will not be read. Discarded data is not
    stored. `note_written` is called with the size of whatever was written and may not be sent at once: all of it stays
    in memory until its last byte is sent."""

    def __init__(
        self,
        transport: Transport,
        loop: AbstractEventLoop,
        linger_seconds: float,
        is_client_sending: Callable[[], bool],
        note_written: Callable[[int], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._linger_seconds = linger_seconds
        self._is_client_sending = is_client_sending
        self._state = State.OPEN
        self._bytes_left = self._left_at_last_look = LINGER_BYTES
        self._ends_at = 0.0
        self._deadline: TimerHandle | None = None
        self._note_written = note_written
        self.reading_seconds: float | None = None
        """Is the time in which the client has to read something, if that is another than usual."""
        self.write: Callable[[bytes], None] = self._write
        self.write_small: Callable[[bytes], None] = transport.write
        """Writes an answer of up to UNSENT_BYTES, which is the cheaper way."""
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def is_closing(self) -> bool:
        return self._state is not State.OPEN or self._transport.is_closing()

    @property
    def is_lingering(self) -> bool:
        return self._state is State.LINGERING

    def has_unread_bytes(self) -> bool:
        """Returns whether the kernel has received bytes that have not been passed to `data_received` yet."""
        if self._transport.is_closing():
            return False
        waiting = ioctl(self._transport.get_extra_info("socket").fileno(), FIONREAD, bytes(4))
        return bool(unpack("i", waiting)[0])

    def _write(self, data: bytes) -> None:
        self._transport.write(data)
        if len(data) > UNSENT_BYTES:
            self._note_written(len(data))

    def expect_reading_within(self, seconds: float | None) -> None:
        """Sets the time in which the client has to read something, None for the usual one. With a time, the kernel
        takes little that it cannot send, which would hide whether the client reads."""
        self.reading_seconds = seconds
        if seconds is not None and not self._transport.is_closing():
            connected = self._transport.get_extra_info("socket")
            with suppress(OSError):  # it is no TCP socket, or is closed
                connected.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, WAITING_BYTES)

    def close(self) -> None:
        """Closes the connection once pending data is sent; keeps reading until then if the client may be sending."""
        if self.is_closing():
            return
        if self._is_client_sending():
            self._linger()
        else:
            self._state = State.CLOSED
            self._transport.close()

    def break_off(self) -> None:
        """Closes the connection in the middle of an answer: once what was written is sent, and nothing further is."""
        self.close()
        self.write = self.write_small = _drop

    def abort(self) -> None:
        """Closes the connection at once."""
        self.connection_lost()
        self._transport.abort()

    def discard(self, data: bytes) -> None:
        """Counts the bytes received while lingering, and closes the connection when they exceed the limit."""
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            self.abort()

    def hurry(self) -> None:
        """Shortens a lingering close because the service is stopping."""
        self._ends_at = min(self._ends_at, self._loop.time() + LINGER_SILENCE_SECONDS)

    def connection_lost(self) -> None:
        """Ends it: answers of requests that are still being processed are dropped from now on."""
        self.write = self.write_small = _drop
        self._state = State.CLOSED
        self._stop_deadline()

    def _linger(self) -> None:
        self._state = State.LINGERING
        if self._transport.can_write_eof():  # an encrypted connection has no side that could be closed
            self._transport.write_eof()
        self._transport.resume_reading()
        self._ends_at = self._loop.time() + self._linger_seconds
        self._look_again()

    def _look_again(self) -> None:
        self._left_at_last_look = self._bytes_left
        remaining = self._ends_at - self._loop.time()
        self._deadline = self._loop.call_later(min(remaining, LINGER_SILENCE_SECONDS), self._end_if_silent)

    def _end_if_silent(self) -> None:
        is_silent = self._bytes_left == self._left_at_last_look and not self.has_unread_bytes()
        if is_silent or self._loop.time() >= self._ends_at:
            self.abort()
        else:
            self._look_again()

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _drop(data: bytes) -> None:
    """Does nothing: nobody can read this any more."""
