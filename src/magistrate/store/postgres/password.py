"""Runs the command that prints the password of the database, for services whose password changes while they run."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress

import psycopg

from magistrate.errors import InvalidSetting, StoreUnavailable

CACHED_SECONDS = 60.0
"""Limits how long a password is used for further connections."""
SHOWN_CHARACTERS = 200
"""Limits what is shown of the error of a command."""


class PasswordCommand:
    """Represents a command for a shell, whose first line of output is the password. It is run for new connections of
    this process, at most once in a minute, and may take up to `timeout_ms`."""

    def __init__(self, command: str, timeout_ms: int) -> None:
        self._command = command
        self._timeout = timeout_ms / 1000
        self._password = ""
        self._read_at = -CACHED_SECONDS
        self._running = threading.Lock()

    def complete(self, conninfo: str) -> str:
        """Returns a connection string with the password. Raises StoreUnavailable if the command fails, and
        InvalidSetting for a string that has a password already."""
        if "password" in psycopg.conninfo.conninfo_to_dict(conninfo):
            raise InvalidSetting("database_password_command: the database URL has a password already; leave one out")
        return psycopg.conninfo.make_conninfo(conninfo, password=self._read())

    async def complete_in_thread(self, conninfo: str) -> str:
        """Returns the same, without holding the event loop meanwhile."""
        return await asyncio.to_thread(self.complete, conninfo)

    def _read(self) -> str:
        with self._running:
            if time.monotonic() - self._read_at >= CACHED_SECONDS:
                self._password = self._run()
                self._read_at = time.monotonic()
            return self._password

    def _run(self) -> str:
        with subprocess.Popen(  # noqa: S602  # the operator writes the command for a shell
            self._command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(timeout=self._timeout)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with what it has started
                raise _failure(f"did not end within {self._timeout:g} s") from None
        if process.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            raise _failure(f"ended with {process.returncode}" + (f": {lines[-1][:SHOWN_CHARACTERS]}" if lines else ""))
        password = output.decode(errors="replace").partition("\n")[0].rstrip("\r")
        if not password:
            raise _failure("printed no password")
        return password


def _failure(reason: str) -> StoreUnavailable:
    return StoreUnavailable(f"database_password_command: the command {reason}")
