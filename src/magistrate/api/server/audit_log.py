"""Writes the audit log: who changed what, who was refused, and administrative calls (docs/operating.md#audit).

A thread writes the records, so that no request waits for the disk. All workers append to one file, each while it has
the lock on it, and each line follows the last one there, whichever worker wrote that: so a file has one chain. If the
file is moved away, the next line is the first of a new file and follows the last one of the moved file. Standard output
cannot be read back: there, each worker has a chain of its own."""

import fcntl
import os
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress

import structlog

from magistrate.api.server.audit_records import AuditRecord, LineContent
from magistrate.audit_chain import ChainLink, begin_chain, read_sealed_line, seal_line
from magistrate.errors import InvalidSetting

STANDARD_OUTPUT = "-"
WRITTEN_EVERY_SECONDS = 0.2
RETRIED_EVERY_SECONDS = 1.0
CLOSED_WITHIN_SECONDS = 5.0
AT_ONCE = 1_000
MOST_RECORDS = 10_000
"""Limits the records that wait to be written."""
MOST_BYTES = 16_777_216
"""Limits the bodies that wait to be written (16 MiB)."""
TAIL_BYTES = 65_536
"""Sets how much of a file is read to find its last line, which is shorter."""

log = structlog.get_logger()


class ChainedFile:
    """Appends lines to a file that other processes append to as well. A path of `-` stands for standard output."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._link: ChainLink | None = None
        """Holds the link of the next line, None if it has to be read from the file."""
        self._size = -1
        self._descriptor = 1 if path == STANDARD_OUTPUT else -1

    def append(self, contents: Sequence[LineContent]) -> None:
        """Appends a line for each content, all or none. Raises OSError."""
        if self._path == STANDARD_OUTPUT:
            for line in self._seal(self._link or begin_chain(), contents):
                _write_all(self._descriptor, line)
            return
        self._open_locked()
        try:
            size = os.fstat(self._descriptor).st_size
            if self._link is None or size != self._size:
                self._link, size = _read_end(self._descriptor, size, self._link)
            lines = b"".join(self._seal(self._link, contents))
            try:
                _write_all(self._descriptor, lines)
            except OSError:
                self._link = None
                with suppress(OSError):
                    os.ftruncate(self._descriptor, size)  # a part of a line would stay
                raise
            self._size = size + len(lines)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor > 1:
            os.close(self._descriptor)
            self._descriptor = -1

    def _seal(self, link: ChainLink, contents: Sequence[LineContent]) -> list[bytes]:
        lines = []
        for render in contents:
            line, digest = seal_line(render(link))
            lines.append(line + b"\n")
            link = ChainLink(link.chain, link.sequence + 1, digest)
        self._link = link
        return lines

    def _open_locked(self) -> None:
        """Opens and locks the file that has this path now. Of one that was moved away, the end is read first, when
        nobody appends to it any more."""
        while True:
            if self._descriptor < 0:
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._descriptor, self._size = os.open(self._path, flags, 0o600), -1
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            opened = os.fstat(self._descriptor)
            with suppress(FileNotFoundError):
                if os.path.samestat(opened, os.stat(self._path)):
                    return
            if opened.st_size:
                self._link, _ = _read_end(self._descriptor, opened.st_size, None)
            self.close()  # which unlocks it


class AuditLog:
    """Holds the records of one process that wait to be written, and writes them in a thread until it is closed.

    `dropped` counts those that were not written because too many were waiting; the next line says so, too."""

    def __init__(self, path: str, format: str) -> None:
        self.dropped = 0
        self._file = ChainedFile(path)
        self._format = format
        self._reported = 0
        self._waiting: list[AuditRecord] = []
        self._waiting_bytes = 0
        self._state = threading.Lock()
        self._has_records, self._is_closing = threading.Event(), threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._write_on, name="audit-log", daemon=True)
        self._thread.start()

    def note(self, record: AuditRecord) -> None:
        """Adds a record. Raises nothing and waits for nothing."""
        with self._state:
            if len(self._waiting) >= MOST_RECORDS or self._waiting_bytes >= MOST_BYTES:
                self.dropped += 1
            else:
                self._waiting.append(record)
                self._waiting_bytes += len(record.body)
        self._has_records.set()

    def count_dropped(self) -> int:
        return self.dropped

    def close(self) -> None:
        """Writes what waits, once, and ends the thread. A disk that hangs is not waited for any longer."""
        self._is_closing.set()
        self._has_records.set()
        self._thread.join(CLOSED_WITHIN_SECONDS)
        if not self._thread.is_alive():
            self._file.close()

    def _write_on(self) -> None:
        is_last = False
        while not is_last:
            self._has_records.wait()
            self._is_closing.wait(RETRIED_EVERY_SECONDS if self._is_failing else WRITTEN_EVERY_SECONDS)
            self._has_records.clear()
            is_last = self._is_closing.is_set()
            self._write_waiting()

    def _write_waiting(self) -> None:
        while batch := self._waiting[:AT_ONCE]:
            dropped = self.dropped
            contents = [
                LineContent(self._format, record, 0 if place else dropped - self._reported)
                for place, record in enumerate(batch)
            ]
            try:
                self._file.append(contents)
            except Exception as error:  # whatever it is, the thread has to go on
                if not self._is_failing:
                    log.error("the audit log cannot be written, records wait in memory", cause=repr(error))
                self._is_failing = True
                self._has_records.set()
                return
            if self._is_failing:
                log.warning("the audit log is written again", dropped=dropped - self._reported)
            self._is_failing, self._reported = False, dropped
            with self._state:
                del self._waiting[: len(batch)]
                self._waiting_bytes -= sum(len(record.body) for record in batch)


def check_audit_log(path: str) -> None:
    """Creates the file if there is none, and warns if other users can read it. Raises InvalidSetting if it cannot be
    written: workers would only log it."""
    if path in ("", STANDARD_OUTPUT):
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        os.close(descriptor)
    except OSError as error:
        raise InvalidSetting(f"audit_log: {path} cannot be written: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InvalidSetting(f"audit_log: {path} must be a regular file, or - for standard output")
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        log.warning(
            "other users of this machine can use the audit log", file=path, mode=mode, remedy=f"chmod 600 {path}"
        )


def _read_end(descriptor: int, size: int, otherwise: ChainLink | None) -> tuple[ChainLink, int]:
    """Returns the link of the next line, and the size of the file without the line at its end that was not written
    completely, which is cut off: the process that wrote it was killed. In an empty file the next link is `otherwise`,
    or that of a new chain; so it is behind a line that is not what its hash says, so that this stays visible."""
    start = max(0, size - TAIL_BYTES)
    tail = os.pread(descriptor, size - start, start)
    complete = tail[: tail.rfind(b"\n") + 1]
    if len(complete) < len(tail):
        size -= len(tail) - len(complete)
        os.ftruncate(descriptor, size)
        log.warning("an incomplete line at the end of the audit log was cut off", bytes=len(tail) - len(complete))
    last = read_sealed_line(complete[:-1].rpartition(b"\n")[2]) if complete else None
    if last is not None:
        return last.next, size
    return (otherwise if not complete and otherwise is not None else begin_chain()), size


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
