"""Provides the connections of a server: from a listening socket of its own, or from a supervisor that accepts them."""

import asyncio
import errno
import socket
import struct
from asyncio.events import TimerHandle
from collections.abc import Callable, Sequence, Sized
from contextlib import suppress
from typing import NamedTuple

import structlog

Admit = Callable[[socket.socket, bool], None]
"""Takes ownership of a connection; must not raise. The second argument says whether it came to the admin port."""

_ADMIN, _PUBLIC = b"a", b"c"
"""Stand before a connection in a channel, and say to which port it came."""

ACCEPTED_AT_ONCE = 64
"""Limits the connections accepted before the event loop runs other callbacks."""

ACCEPT_AGAIN_SECONDS = 0.2
"""Sets the pause when no descriptor is free: every earlier attempt would fail and keep the event loop busy."""

REPORT_EVERY_SECONDS = 1.0

LAST_CONNECTIONS_WITHIN_SECONDS = 5.0
"""Limits the wait for the last connections. The supervisor closes the channel of a leaving worker within milliseconds,
unless the supervisor has died or hangs."""

log = structlog.get_logger()
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_REPORT = struct.Struct("!QQ?")


class Report(NamedTuple):
    """Holds the report of a worker: the number of connections it has received so far, the number that are open, and
    whether it is leaving and accepts no more."""

    received: int
    open: int
    is_leaving: bool


class Acceptor:
    """Accepts the connections of listening sockets, which it closes at the end. Those at the admin port are for health
    and metrics."""

    def __init__(self, sockets: Sequence[socket.socket], admin_port: int = 0) -> None:
        self._is_admin = {listening: listening.getsockname()[1] == admin_port for listening in sockets}
        self._is_accepting = False
        self._again: TimerHandle | None = None

    def start(self, admit: Admit) -> None:
        """Begins to accept connections in the running event loop."""
        self._admit = admit
        self._loop = asyncio.get_running_loop()
        for listening in self._is_admin:
            listening.setblocking(False)
        self.resume()

    async def finish(self) -> None:
        """Stops accepting, after admitting the connections that clients have already made."""
        self.close()

    def resume(self) -> None:
        if not self._is_accepting:
            self._is_accepting = True
            for listening in self._is_admin:
                self._loop.add_reader(listening.fileno(), self._accept, listening)

    def pause(self) -> None:
        """Leaves connections in the kernel's queue until `resume` is called."""
        if self._is_accepting:
            self._is_accepting = False
            for listening in self._is_admin:
                self._loop.remove_reader(listening.fileno())
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def close(self) -> None:
        """Accepts the queued connections, which the kernel would otherwise reset, and closes the sockets."""
        self.pause()
        for listening, is_admin in self._is_admin.items():
            while (connection := self._next(listening)) is not None:
                self._admit(connection, is_admin)
            listening.close()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            connection = self._next(listening) if self._is_accepting else None
            if connection is None:
                return
            self._admit(connection, self._is_admin[listening])

    def _next(self, listening: socket.socket) -> socket.socket | None:
        """Returns the next connection, or None if there is none or it cannot be accepted now."""
        while True:
            try:
                return listening.accept()[0]
            except BlockingIOError:
                return None
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._wait_for_descriptors(error)
                    return None
                # Any other error concerns only the connection that failed, so the next one is tried.

    def _wait_for_descriptors(self, error: OSError) -> None:
        log.warning("connections cannot be accepted", outage="descriptors", reason=error.strerror)
        if self._is_accepting:
            self.pause()
            self._again = self._loop.call_later(ACCEPT_AGAIN_SECONDS, self.resume)


class Channel:
    """Receives the connections that the supervisor has accepted for this worker, and sends it reports: one after each
    connection, and one every second to show that the event loop runs."""

    def __init__(self, channel: socket.socket, connections: Sized) -> None:
        self._channel = channel
        self._connections = connections
        self._received = 0
        self._is_leaving = False
        self._ended = asyncio.Event()
        self._reporting: TimerHandle | None = None

    def start(self, admit: Admit) -> None:
        self._admit = admit
        self._loop = asyncio.get_running_loop()
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._receive)
        self._report_again()

    async def finish(self) -> None:
        self._is_leaving = True
        self._report()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), LAST_CONNECTIONS_WITHIN_SECONDS)
        self._end()

    def _receive(self) -> None:
        before = self._received
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                message, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
            except BlockingIOError:
                break
            except OSError:
                message, descriptors = b"", []
            if not message:
                self._end()
                return
            self._received += 1
            if descriptors:
                self._admit(socket.socket(fileno=descriptors[0]), message == _ADMIN)
            else:  # the kernel has closed the connection
                reason = "the worker has as many open files as it may"
                log.warning("connections cannot be accepted", outage="descriptors", reason=reason)
        if self._received != before:
            self._report()

    def _report(self) -> None:
        # The counters are cumulative, so a report that does not fit may be lost: the next one contains its numbers.
        with suppress(OSError):
            self._channel.send(_REPORT.pack(self._received, len(self._connections), self._is_leaving))

    def _report_again(self) -> None:
        self._report()
        self._reporting = self._loop.call_later(REPORT_EVERY_SECONDS, self._report_again)

    def _end(self) -> None:
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None
        if self._channel.fileno() >= 0:
            self._loop.remove_reader(self._channel.fileno())
            self._channel.close()
        self._ended.set()


def send_connection(channel: socket.socket, connection: socket.socket, is_admin: bool) -> None:
    """Sends a connection to the Channel at the other end. Raises BlockingIOError if the channel is full, and another
    OSError if the other end is closed."""
    socket.send_fds(channel, [_ADMIN if is_admin else _PUBLIC], [connection.fileno()])


def read_reports(received: bytes) -> tuple[Report | None, bytes]:
    """Returns the last complete report in the bytes received from a channel, and the bytes that follow it."""
    end = len(received) - len(received) % _REPORT.size
    if not end:
        return None, received
    return Report(*_REPORT.unpack(received[end - _REPORT.size : end])), received[end:]
