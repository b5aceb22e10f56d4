"""Writes the audit log: who changed what, who was refused, and administrative calls (docs/operating.md#audit).

A thread writes the records, so that no request waits for the disk."""

import os
import stat
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

import structlog

from magistrate.api.audit.outputs import CHAIN_SUFFIX, ChainedFile, ChainedOutput, ChainState, OutputLock
from magistrate.api.audit.records import AuditRecord, LineContent
from magistrate.errors import InvalidSetting

STANDARD_OUTPUT, STANDARD_OUTPUT_DESCRIPTOR = "-", 1
WRITTEN_EVERY_SECONDS = 0.2
RETRIED_EVERY_SECONDS = 1.0
CLOSED_WITHIN_SECONDS = 5.0
AT_ONCE = 1_000
MAX_RECORDS = 10_000
"""Limits the records that wait to be written."""
MAX_BYTES = 16_777_216
"""Limits the bytes of the records that wait to be written, unless the operator does (16 MiB)."""

log = structlog.get_logger()


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
