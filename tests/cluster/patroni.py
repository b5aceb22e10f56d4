"""Three PostgreSQL servers under Patroni, with etcd and HAProxy, as docs/scaling.md describes them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.cluster.link import Link
from tests.cluster.programs import ClusterPrograms
from tests.debian_packages import HAPROXY
from tests.processes.served_processes import children_of, free_port
from tests.processes.starting import start_process
from tests.waiting import wait_until

MEMBERS = 3
TTL_SECONDS = 20
"""Is the least that Patroni takes: for so long, a primary that has gone counts as there."""
STARTED_WITHIN_SECONDS = 120.0
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000") if os.geteuid() == 0 else ()
"""Runs a command so that root looks like another user to it, because PostgreSQL refuses to be run by root."""
PARAMETERS: Mapping[str, object] = {
    # Tests kill processes, not machines: what is not on disk yet is safe with the operating system.
    "fsync": False,
    "max_connections": 60,
    "max_wal_size": "256MB",
    "shared_buffers": "32MB",
}
HAPROXY_SETTINGS = """global
    maxconn 200
defaults
    mode tcp
    timeout connect 2s
    timeout client 30m
    timeout server 30m
listen primary
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class Member:
    """Represents one server of the cluster: Patroni, and the PostgreSQL that it starts. Other members reach it, and it
    reaches etcd, over links that can be cut."""

    def __init__(self, name: str, folder: Path, etcd_port: int) -> None:
        self.name = name
        self.port, self.rest_port = free_port(), free_port()
        self.replication, self.etcd = Link(self.port), Link(etcd_port)
        self._folder = folder / name
        self._folder.mkdir()
        self._process: subprocess.Popen[str] | None = None

    def start(self, settings: Mapping[str, Any], patroni: Path) -> None:
        file = self._folder / "patroni.json"  # which YAML includes
        file.write_text(json.dumps(self._complete(settings)))
        with (self._folder / "log").open("a") as log:
            self._process = start_process(
                [*AS_USER, sys.executable, "-m", "patroni", file],
                folder=self._folder,
                environment=os.environ | {"PYTHONPATH": str(patroni), "HOME": str(self._folder)},
                output=log.fileno(),
                errors=subprocess.STDOUT,
            )

    def kill(self) -> None:
        """Ends all of its processes at once, as if the machine were switched off."""
        pids = [] if self._process is None else [self._process.pid]
        with suppress(OSError, ValueError, IndexError):
            postmaster = int((self._folder / "data" / "postmaster.pid").read_text().split("\n")[0])
            pids += [postmaster, *children_of(postmaster)]
        for kind in (signal.SIGSTOP, signal.SIGKILL):  # none may see that another has ended
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, kind)
        if self._process is not None:
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        self.replication.close()
        self.etcd.close()

    def read_log(self) -> str:
        return (self._folder / "log").read_text()

    def _complete(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the settings of the cluster with those of this member."""
        rest = f"127.0.0.1:{self.rest_port}"
        return {
            **settings,
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            # Otherwise Patroni would use the address that etcd names, and go around the link.
            "etcd3": {"hosts": [f"127.0.0.1:{self.etcd.port}"], "use_proxies": True},
            "postgresql": settings["postgresql"]
            | {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.replication.port}",
                "data_dir": str(self._folder / "data"),
                "pgpass": str(self._folder / "pgpass"),
                "parameters": {"unix_socket_directories": str(self._folder)},
            },
        }


class PatroniCluster:
    """Represents the whole cluster. `port` is that of HAProxy; with `is_synchronous`, no write is
    acknowledged that only the primary has."""

    def __init__(self, folder: Path, programs: ClusterPrograms, is_synchronous: bool) -> None:
        self._folder, self._programs = folder, programs
        self._is_synchronous = is_synchronous
        self._etcd_port, self.port = free_port(), free_port()
        self.members = [Member(f"member-{number}", folder, self._etcd_port) for number in range(MEMBERS)]
        self._processes: list[subprocess.Popen[str]] = []

    def url_at(self, port: int) -> str:
        """Returns the URL of the database that is reached over this port."""
        return f"postgresql://magistrate@127.0.0.1:{port}/magistrate"

    def start(self) -> None:
        self._start_etcd()
        self._start_haproxy()
        first, *others = self.members
        self.start_member(first)
        wait_until(lambda: self.find_primary() is first, STARTED_WITHIN_SECONDS)
        for member in others:
            self.start_member(member)
        self.wait_until_whole()
        with psycopg.connect(self._admin_url(first), autocommit=True) as connection:
            connection.execute("CREATE ROLE magistrate LOGIN")
            connection.execute("CREATE DATABASE magistrate OWNER magistrate")

    def close(self) -> None:
        for member in self.members:
            member.close()
        for process in self._processes:
            process.kill()
            process.wait()

    def start_member(self, member: Member) -> None:
        member.start(self._settings(), self._programs.patroni)

    def list_members(self) -> list[dict[str, Any]]:
        """Returns what any member knows of all."""
        for member in self.members:
            with suppress(httpx.HTTPError, ValueError, KeyError):
                address = f"http://127.0.0.1:{member.rest_port}/cluster"
                members: list[dict[str, Any]] = httpx.get(address, timeout=5, trust_env=False).json()["members"]
                return members
        return []

    def find_primary(self, other_than: Member | None = None) -> Member | None:
        """Returns the member that takes writes now."""
        for member in self.members:
            if member is not other_than:
                with suppress(httpx.HTTPError):
                    address = f"http://127.0.0.1:{member.rest_port}/primary"
                    if httpx.get(address, timeout=2, trust_env=False).status_code == 200:
                        return member
        return None

    def require_primary(self) -> Member:
        primary = self.find_primary()
        assert primary is not None
        return primary

    def list_standbys(self) -> list[Member]:
        primary = self.require_primary()
        return [member for member in self.members if member is not primary]

    def wait_until_whole(self) -> None:
        """Waits for a primary and standbys that follow it, one of them synchronously if it has to be."""
        wait_until(self._is_whole, STARTED_WITHIN_SECONDS)

    def read_clock(self) -> datetime:
        """Returns the time of the database."""
        with psycopg.connect(self._admin_url(self.require_primary())) as connection:
            [(now,)] = connection.execute("SELECT now()").fetchall()
        assert isinstance(now, datetime)
        return now

    def wait_until_replayed(self) -> None:
        """Waits until the standbys have what the primary has written by now."""
        with psycopg.connect(self._admin_url(self.require_primary()), autocommit=True) as connection:
            [(written,)] = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchall()
        for standby in self.list_standbys():
            with psycopg.connect(self._admin_url(standby), autocommit=True) as connection:
                wait_until(partial(_has_replayed, connection, written))

    def switch_over(self) -> None:
        """Makes a standby the primary, as an operator does."""
        primary = self.require_primary()
        address = f"http://127.0.0.1:{primary.rest_port}/switchover"
        answer = httpx.post(address, json={"leader": primary.name}, timeout=60, trust_env=False)
        assert answer.status_code == 200, answer.text

    def _is_whole(self) -> bool:
        members = self.list_members()
        roles = {member["role"] for member in members if member["state"] in ("running", "streaming")}
        is_streaming = [member["state"] for member in members].count("streaming") == MEMBERS - 1
        return "leader" in roles and is_streaming and ("sync_standby" in roles or not self._is_synchronous)

    def _settings(self) -> Mapping[str, Any]:
        dynamic = {
            "ttl": TTL_SECONDS,
            "loop_wait": 1,
            "retry_timeout": 3,
            "maximum_lag_on_failover": 1_048_576,
            "synchronous_mode": self._is_synchronous,
            "synchronous_mode_strict": self._is_synchronous,
            "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS},
        }
        return {
            "scope": "magistrate",
            "bootstrap": {
                "dcs": dynamic,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums", "no-sync"],
            },
            "postgresql": {
                "bin_dir": str(self._programs.postgres),
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
                "basebackup": [{"checkpoint": "fast"}, "no-sync"],
                "pg_hba": ["local all all trust", "host all,replication all 127.0.0.1/32 trust"],
            },
            "watchdog": {"mode": "off"},
        }

    def _admin_url(self, member: Member) -> str:
        return f"postgresql://postgres@127.0.0.1:{member.port}/postgres"

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{free_port()}"
        flags = {
            "data-dir": self._folder / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        }
        self._start([self._programs.etcd, "--unsafe-no-fsync", *(f"--{name}={value}" for name, value in flags.items())])

    def _start_haproxy(self) -> None:
        servers = "\n".join(
            f"    server {member.name} 127.0.0.1:{member.port} check port {member.rest_port}" for member in self.members
        )
        file = self._folder / "haproxy.cfg"
        file.write_text(HAPROXY_SETTINGS.format(port=self.port, servers=servers))
        self._start([self._programs.haproxy, "-db", "-f", file])

    def _start(self, command: list[str | Path]) -> None:
        name = Path(command[0]).name
        environment = os.environ | HAPROXY.environment
        with (self._folder / f"{name}.log").open("w") as log:
            self._processes.append(
                start_process(command, environment=environment, output=log.fileno(), errors=subprocess.STDOUT)
            )


def _has_replayed(connection: psycopg.Connection, written: str) -> bool:
    row = connection.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (written,)).fetchone()
    return row == (True,)


@contextmanager
def running_cluster(programs: ClusterPrograms, is_synchronous: bool) -> Iterator[PatroniCluster]:
    """Starts a cluster, and prints how long that took."""
    folder = Path(tempfile.mkdtemp(prefix="magistrate-cluster-"))
    cluster = PatroniCluster(folder, programs, is_synchronous)
    try:
        started_at = time.monotonic()
        cluster.start()
        print(f"the cluster took {time.monotonic() - started_at:.1f} s to start")
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(folder)
