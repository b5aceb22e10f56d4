"""A hot standby of a PostgreSQL server, which follows it by streaming replication."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.databases import PostgresServer, query_sql
from tests.waiting import wait_until

USER = "pgserver"
"""Is the user as whom the wheel runs servers for root."""
RAN_WITHIN_SECONDS = 60


class Standby:
    """A server that is made as a copy of another one, and follows it until it is promoted."""

    def __init__(self, primary: PostgresServer, folder: Path) -> None:
        self._primary = primary
        self._folder = folder
        self._data = folder / "data"
        self._user = USER if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        copied_from = f"--host={primary.socket_folder} --username=postgres"
        copy = f"pg_basebackup {copied_from} --pgdata={self._data} --write-recovery-conf --checkpoint=fast --no-sync"
        self._run(copy.split())
        self.start()

    def url(self, primary_url: str) -> str:
        """The URL here of a database of the primary."""
        folders = (self._primary.socket_folder, self._folder)
        here, there = (quote(str(folder), safe="") for folder in reversed(folders))
        assert there in primary_url
        return primary_url.replace(there, here)

    def start(self) -> None:
        options = f"-h '' -k {self._folder}"
        self._run(["pg_ctl", "start", "--wait", "--silent", "--log", f"{self._folder}/log", "--options", options])

    def stop(self) -> None:
        self._run(["pg_ctl", "stop", "--wait", "--silent", "--mode", "immediate"])

    def promote(self) -> None:
        """Makes it a primary of its own."""
        self._run(["pg_ctl", "promote", "--wait", "--silent"])

    def catch_up(self, primary_url: str) -> None:
        """Waits until it has replayed what the primary has written by now."""
        [(written,)] = query_sql(primary_url, "SELECT pg_current_wal_insert_lsn()::text")
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
        url = f"postgresql://postgres@/postgres?host={quote(str(self._folder), safe='')}"  # the database may be new
        wait_until(lambda: query_sql(url, replayed) == [(True,)], RAN_WITHIN_SECONDS)

    @contextmanager
    def paused(self, primary_url: str) -> Iterator[None]:
        """It receives what the primary writes, and does not show it."""
        url = self.url(primary_url)
        query_sql(url, "SELECT pg_wal_replay_pause()")
        wait_until(lambda: query_sql(url, "SELECT pg_get_wal_replay_pause_state()") == [("paused",)])
        try:
            yield
        finally:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SELECT pg_wal_replay_resume()")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It answers nobody, but its connections stay."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        with ExitStack() as stopped:
            for each in (pid, *map(int, children)):
                os.kill(each, signal.SIGSTOP)
                stopped.callback(os.kill, each, signal.SIGCONT)
            yield

    def close(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self.stop()

    def _run(self, command: list[str]) -> None:
        environment = os.environ | {
            "PATH": f"{self._primary.programs}:{os.environ['PATH']}",
            "PGDATA": str(self._data),
        }
        # Not to a pipe, which the server would keep open.
        with tempfile.TemporaryFile("w+") as output:
            ran = subprocess.run(
                command,
                cwd=self._folder,
                env=environment,
                user=self._user,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=RAN_WITHIN_SECONDS,
            )
            output.seek(0)
            assert ran.returncode == 0, (command, output.read())


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[Standby]:
    """A standby of a server, in a folder that the user of the server can reach."""
    folder = Path(tempfile.mkdtemp(prefix="magistrate-postgres-"))
    standby = None
    try:
        standby = Standby(primary, folder)
        yield standby
    finally:
        if standby is not None:
            standby.close()
        shutil.rmtree(folder)


def require_replication(primary: PostgresServer) -> None:
    """Skips a test where the programs that copy a server are not installed."""
    if not (primary.programs / "pg_basebackup").exists():
        pytest.skip(f"there is no pg_basebackup in {primary.programs}")
