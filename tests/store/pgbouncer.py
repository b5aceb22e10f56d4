"""A PgBouncer in front of the PostgreSQL server of the tests."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.databases import PostgresServer
from tests.debian_packages import Program
from tests.processes.starting import start_process

PGBOUNCER = Program("pgbouncer", ("pgbouncer", "libc-ares2", "libevent-2.1-7"))
STARTED_WITHIN_SECONDS = 20
ENDED_WITHIN_SECONDS = 10


@contextmanager
def pooled(postgres: PostgresServer, url: str, pool_mode: str) -> Iterator[str]:
    """The URL of a database behind a PgBouncer that has two connections to the server. Skips the test where there is
    no PgBouncer."""
    program = PGBOUNCER.find()
    if program is None:
        pytest.skip("PgBouncer is not installed, and its Debian package cannot be downloaded")
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    folder = Path(tempfile.mkdtemp(prefix="magistrate-pgbouncer-"))
    folder.chmod(0o777)  # run by root, it has to become the user of the server
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{name} = host={postgres.socket_folder} user=postgres\n"
        f"[pgbouncer]\npool_mode = {pool_mode}\ndefault_pool_size = 2\nauth_type = any\nlisten_port = 6432\n"
        f"listen_addr =\nunix_socket_dir = {folder}\nlogfile = {folder}/log\n"
    )
    command: list[str | Path] = [
        program,
        *(["-u", postgres.socket_folder.owner()] if os.geteuid() == 0 else []),
        settings,
    ]
    with start_process(command, environment=os.environ | PGBOUNCER.environment) as process:
        try:
            pooled_url = f"postgresql://postgres@/{name}?host={folder}&port=6432"
            wait_for(pooled_url)
            yield pooled_url
        finally:
            process.terminate()
            process.communicate(timeout=ENDED_WITHIN_SECONDS)
            shutil.rmtree(folder)


def wait_for(url: str) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while True:
        try:
            return psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
