"""Writes the lines of an audit log to standard output, in turn with other workers (docs/operating.md#audit).

Lines may be longer than what a pipe takes in one piece, therefore workers share a lock. What was written can neither be
read back nor cut off: each worker has a chain of its own, and completes a line that it has begun before anything else
is written."""

import fcntl
import os
from collections import deque
from pathlib import Path

from magistrate.api.server.audit_records import LineContent
from magistrate.audit_chain import ChainLink, begin_chain, seal_line
from magistrate.errors import InvalidSetting

LOCK_NAME = "audit-output.lock"
COMPLETE, INCOMPLETE = b"0", b"1"
"""Say in the file of the lock whether the last line is complete."""


class OutputLock:
    """Represents the lock that workers share through a folder. Raises InvalidSetting if it cannot be created."""

    def __init__(self, folder: Path, output: int) -> None:
        self._output = output
        self._is_acquired = False
        try:
            self._descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InvalidSetting(f"audit_log: workers cannot share a lock in {folder}: {error.strerror}") from error

    def acquire(self) -> None:
        """Waits for the lock, and ends the line of a worker that was killed within it. Raises OSError."""
        if self._is_acquired:
            return
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            if os.pread(self._descriptor, 1, 0) == INCOMPLETE:
                os.write(self._output, b"\n")
            os.pwrite(self._descriptor, INCOMPLETE, 0)
        except OSError:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            raise
        self._is_acquired = True

    def release(self) -> None:
        """Gives the lock to another worker. The last line must be complete."""
        os.pwrite(self._descriptor, COMPLETE, 0)
        self._is_acquired = False
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


class ChainedOutput:
    """Writes lines to a descriptor that other workers write to as well, unless `lock` is None."""

    def __init__(self, output: int, lock: OutputLock | None) -> None:
        self._output = output
        self._lock = lock
        self._link = begin_chain()
        self._unwritten = b""
        """Holds what was not written of the last line that was sealed."""
        self._is_within_line = False

    def append(self, contents: deque[LineContent]) -> None:
        """Writes a line for each content, and removes it. Raises OSError when a line could not be written completely;
        the next call writes the remainder first. Until then, this process keeps the lock if the line was begun."""
        if self._lock is not None:
            self._lock.acquire()
        try:
            self._write_remainder()
            while contents:
                line, digest = seal_line(contents[0](self._link))
                self._link = ChainLink(self._link.chain, self._link.sequence + 1, digest)
                self._unwritten = line + b"\n"
                contents.popleft()
                self._write_remainder()
        finally:
            if self._lock is not None and not self._is_within_line:
                self._lock.release()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _write_remainder(self) -> None:
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._output, self._unwritten) :]
            self._is_within_line = bool(self._unwritten)
