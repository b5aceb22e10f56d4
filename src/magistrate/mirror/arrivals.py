"""Receives a stream in a thread, so that all that has arrived while a transaction was made goes into the next one."""

import threading
import time
from collections.abc import Mapping, Sequence

from magistrate.client import Client, LineStream
from magistrate.errors import MagistrateError, ServiceUnreachable

MAX_WAITING_BYTES = 4_194_304
"""Limits the lines that wait to be taken (4 MiB), unless it is a single one; the service waits while they are as many.
Decoded, they take ten times as much."""
ENOUGH_BYTES = MAX_WAITING_BYTES // 2
"""Sets from how many bytes on lines are taken at once, so that the service need not wait."""
END_SECONDS = 5.0
"""Limits the wait for the thread to end; it holds nothing but the connection."""


class ArrivingLines:
    """Reads the lines of a stream ahead. Use it in a `with` statement, which breaks the stream off at its end."""

    def __init__(self, client: Client, path: str, parameters: Mapping[str, str | Sequence[str]]) -> None:
        self._client = client
        self._request = path, parameters
        self._changed = threading.Condition()
        self._lines: list[bytes] = []
        self._bytes = 0
        self._stream: LineStream | None = None
        self._failure: Exception | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._receive, name="mirror-stream", daemon=True)

    def __enter__(self) -> "ArrivingLines":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
            if self._stream is not None:
                self._stream.break_off()
        self._thread.join(END_SECONDS)

    def take(self, seconds: float, not_before: float = 0) -> list[bytes]:
        """Returns all lines that have arrived, as soon as there is one, or none after so many seconds. Unless they are
        many, it waits until `not_before`, a time of `time.monotonic`, for others that come with them. Behind the last
        line of a stream that has ended, raises why it has: what `Client.open_stream` and `LineStream` raise."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._failure, seconds)
            self._changed.wait_for(
                lambda: self._failure or self._bytes >= ENOUGH_BYTES, max(0.0, not_before - time.monotonic())
            )
            lines, self._lines, self._bytes = self._lines, [], 0
            self._changed.notify_all()
            if not lines and self._failure is not None:
                raise self._failure
            return lines

    def _receive(self) -> None:
        failure: Exception = ServiceUnreachable(self._client.url, "the stream has ended")
        try:
            with self._client.open_stream(*self._request) as stream:
                self._stream = stream
                for line in stream.read_lines():
                    if not self._add(line):
                        break
        except MagistrateError as error:
            failure = error
        except Exception as error:  # raised again where lines are taken
            failure = error
        with self._changed:
            self._stream, self._failure = None, failure
            self._changed.notify_all()

    def _add(self, line: bytes) -> bool:
        """Returns whether more lines are wanted, after there is space for this one."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or not self._lines or self._bytes + len(line) <= MAX_WAITING_BYTES
            )
            self._lines.append(line)
            self._bytes += len(line)
            self._changed.notify_all()
            return not self._is_over
