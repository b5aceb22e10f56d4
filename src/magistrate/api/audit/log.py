"""Writes the audit log: who changed what, who was refused, and administrative calls (docs/operating.md#audit).

A thread writes the records, so that no request waits for the disk. All workers append to one file, and each line
follows the last one, whichever worker wrote that: so there is one chain. The file `audit.log` may be moved away or
emptied at any time. Therefore `audit.log.chain`, which stays, has the link of the next line, and a process holds the
lock on it while it appends."""

import fcntl
import os
import stat
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from magistrate.api.audit.chain import ChainLink, begin_chain, read_sealed_line, seal_line
from magistrate.api.audit.records import AuditRecord, LineContent
from magistrate.api.http.json_values import build_decoder
from magistrate.errors import InvalidSetting

CHAIN_SUFFIX = ".chain"
CHAIN_BYTES = 256
"""Sets the size of the file with the next link, which is padded, so that one call replaces all of it."""
TAIL_BYTES = 65_536
"""Sets how much of a file is read to find its last line, which is shorter."""

log = structlog.get_logger()

_LINK = build_decoder(ChainLink)


class ChainState:
    """Represents the file that has the link of the next line of an audit log."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def open_file(self) -> None:
        """Opens the file, which is created if there is none. Raises OSError."""
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def lock(self) -> None:
        """Waits for the lock on the file that has this path now. Raises OSError."""
        while True:
            self.open_file()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            if _has_path(self._descriptor, self._path):
                return
            self.close()  # somebody removed it while this process waited

    def unlock(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def read(self) -> ChainLink | None:
        """Returns the link of the next line, or None if it is not known."""
        try:
            return _LINK.decode(os.pread(self._descriptor, CHAIN_BYTES, 0))
        except msgspec.MsgspecError:
            return None

    def write(self, link: ChainLink) -> None:
        os.pwrite(self._descriptor, msgspec.json.encode(link).ljust(CHAIN_BYTES - 1) + b"\n", 0)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)  # which unlocks it
            self._descriptor = -1


class ChainedFile:
    """Appends lines to a file that other processes append to as well."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._state = ChainState(path + CHAIN_SUFFIX)
        self._link: ChainLink | None = None
        """Holds the link of the line after those that this process knows, None if there are none."""
        self._size = -1
        self._descriptor = -1

    def append(self, contents: deque[LineContent]) -> None:
        """Appends a line for each content, and removes it: all or none. Raises OSError."""
        self._state.lock()
        try:
            self._open_locked()
            try:
                self._append_locked(contents)
                contents.clear()
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._state.unlock()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._state.close()

    def _open_locked(self) -> None:
        """Opens the file that has this path now. Of one that was moved away, the end is read first: nobody appends to
        it any more."""
        if self._descriptor >= 0 and not _has_path(self._descriptor, self._path):
            with suppress(OSError):
                self._link = _read_end(self._descriptor)[0] or self._link
            os.close(self._descriptor)
            self._descriptor = -1
        if self._descriptor < 0:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor, self._size = os.open(self._path, flags, 0o600), -1
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # by another name, the file has another state beside it

    def _append_locked(self, contents: Iterable[LineContent]) -> None:
        link, size = self._find_link()
        link, content = _seal(link, contents)
        try:
            _write_all(self._descriptor, content)
            self._state.write(link)
        except OSError:
            self._link = None
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)  # a part of a line would stay
            raise
        self._link, self._size = link, size + len(content)

    def _find_link(self) -> tuple[ChainLink, int]:
        """Returns the link of the next line, and the size of the file with complete lines only."""
        size, kept = os.fstat(self._descriptor).st_size, self._state.read()
        if size and size == self._size and kept is not None and kept == self._link:
            return kept, size  # no other process has written since this one did
        link, size = _read_end(self._descriptor)
        return link or self._continue_from(kept), size

    def _continue_from(self, kept: ChainLink | None) -> ChainLink:
        """Returns the link of the first line of a new or emptied file. A process that is killed after it has written
        lines leaves a state from before, so one that has read these lines knows more."""
        own = self._link
        if kept is None:
            return own or begin_chain()
        return own if own is not None and own.chain == kept.chain and own.sequence > kept.sequence else kept


def _has_path(descriptor: int, path: str) -> bool:
    """Returns whether the open file is the one that has this path now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _seal(link: ChainLink, contents: Iterable[LineContent]) -> tuple[ChainLink, bytes]:
    """Returns the link of the line after, and the lines."""
    lines = []
    for render in contents:
        line, digest = seal_line(render(link))
        lines.append(line + b"\n")
        link = ChainLink(link.chain, link.sequence + 1, digest)
    return link, b"".join(lines)


def _read_end(descriptor: int) -> tuple[ChainLink | None, int]:
    """Returns the link of the line after the last one, None if there is no line, and the size of the file without an
    incomplete line at its end, which is cut off: the process that wrote it was killed. Behind a line that is not what
    its hash says, a new chain begins, so that this stays visible."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - TAIL_BYTES)
    tail = os.pread(descriptor, size - start, start)
    complete = tail[: tail.rfind(b"\n") + 1]
    if len(complete) < len(tail):
        size -= len(tail) - len(complete)
        os.ftruncate(descriptor, size)
        log.warning("an incomplete line at the end of the audit log was cut off", bytes=len(tail) - len(complete))
    if not complete:
        return None, size
    last = read_sealed_line(complete[:-1].rpartition(b"\n")[2])
    return begin_chain() if last is None else last.next, size


def _write_all(descriptor: int, content: bytes) -> None:
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


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


STANDARD_OUTPUT, STANDARD_OUTPUT_DESCRIPTOR = "-", 1
WRITTEN_EVERY_SECONDS = 0.2
RETRIED_EVERY_SECONDS = 1.0
CLOSED_WITHIN_SECONDS = 5.0
AT_ONCE = 1_000
MAX_RECORDS = 10_000
"""Limits the records that wait to be written."""
MAX_BYTES = 16_777_216
"""Limits the bytes of the records that wait to be written, unless the operator does (16 MiB)."""


class AuditLog:
    """Holds the records of one process that wait to be written, and writes them in a thread until it is closed.

    Through `shared_folder`, if there is one, it takes the same lock as other workers to write to standard output, a
    path of `-`. `dropped` counts those that were not written because too many were waiting; the next line says so,
    too."""

    def __init__(
        self, path: str, log_format: str, shared_folder: Path | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self.dropped = 0
        self.waiting_bytes = 0
        """Estimates the bytes of the records that wait."""
        self._max_bytes = max_bytes
        self._file = _open_output(shared_folder) if path == STANDARD_OUTPUT else ChainedFile(path)
        self._format = log_format
        self._reported = 0
        self._waiting: list[AuditRecord] = []
        self._state = threading.Lock()
        self._has_records, self._is_closing = threading.Event(), threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._write_on, name="audit-log", daemon=True)
        self._thread.start()

    def note(self, record: AuditRecord) -> None:
        """Adds a record. Raises nothing and waits for nothing."""
        with self._state:
            size = record.measure()
            is_full = self._waiting and self.waiting_bytes + size > self._max_bytes
            if is_full or len(self._waiting) >= MAX_RECORDS:
                self.dropped += 1
            else:
                self._waiting.append(record)
                self.waiting_bytes += size
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
        while self._waiting or self._is_failing:  # of a line that failed, a part may have been written
            batch, dropped = self._waiting[:AT_ONCE], self.dropped
            contents = deque(
                LineContent(self._format, record, 0 if place else dropped - self._reported)
                for place, record in enumerate(batch)
            )
            failure, missing = self._try_append(contents), dropped - self._reported
            self._remove(batch[: len(batch) - len(contents)], dropped)
            self._note_outcome(failure, missing)
            if failure is not None:
                return

    def _try_append(self, contents: deque[LineContent]) -> Exception | None:
        """Returns what went wrong, or None if all are written; what is not stays in `contents`."""
        try:
            self._file.append(contents)
        except Exception as error:  # any error may be gone at the next attempt
            return error
        return None

    def _note_outcome(self, failure: Exception | None, missing: int) -> None:
        """Logs the first failure, and the success after failures."""
        was_failing, self._is_failing = self._is_failing, failure is not None
        if failure is not None:
            self._has_records.set()
        with suppress(Exception):  # the log of the service may be on the same full disk
            if failure is not None and not was_failing:
                log.error("the audit log cannot be written, records wait in memory", cause=repr(failure))
            elif failure is None and was_failing:
                log.warning("the audit log is written again", dropped=missing)

    def _remove(self, written: list[AuditRecord], dropped: int) -> None:
        """Removes the first records, which are written. The first line said how many were dropped."""
        if not written:
            return
        self._reported = dropped
        with self._state:
            del self._waiting[: len(written)]
            self.waiting_bytes -= sum(record.measure() for record in written)


def _open_output(shared_folder: Path | None) -> ChainedOutput:
    lock = None if shared_folder is None else OutputLock(shared_folder, STANDARD_OUTPUT_DESCRIPTOR)
    return ChainedOutput(STANDARD_OUTPUT_DESCRIPTOR, lock)


def check_audit_log(path: str) -> None:
    """Creates the file and the state of its chain if there are none, and warns if other users can read it. Raises
    InvalidSetting if they cannot be written: workers would only log it."""
    if path in ("", STANDARD_OUTPUT):
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        status = os.fstat(descriptor)
        os.close(descriptor)
    except OSError as error:
        raise InvalidSetting(f"audit_log: {path} cannot be written: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidSetting(f"audit_log: {path} must be a regular file, or - for standard output")
    try:
        state = ChainState(path + CHAIN_SUFFIX)
        state.open_file()
        state.close()
    except OSError as error:
        raise InvalidSetting(f"audit_log: {path}{CHAIN_SUFFIX} cannot be written: {error.strerror}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        log.warning(
            "other users of this machine can use the audit log", file=path, mode=mode, remedy=f"chmod 600 {path}"
        )
