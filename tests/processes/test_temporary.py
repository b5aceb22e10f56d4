"""Where no temporary folder can be written, whoever needs one says so first, and whoever needs none works."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.errors import StoreUnavailable
from magistrate.temporary_files import open_temporary_file, writing_to
from tests.cli.every_command import Words, write_files
from tests.generated_docs import ROOT
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.running import KEY

READ_ONLY = """
import errno, os, sys

FOLDERS = {folders!r}

def makes_file(flags):
    return isinstance(flags, int) and bool(flags & os.O_CREAT or flags & os.O_TMPFILE == os.O_TMPFILE)

def refuse(event, arguments):
    if event == "os.mkdir" or (event == "open" and makes_file(arguments[2])):
        path = os.path.abspath(os.fsdecode(arguments[0])) if isinstance(arguments[0], (str, bytes)) else ""
        if f"{{path}}/".startswith(FOLDERS) and ".db" not in path:
            raise OSError(errno.EROFS, "Read-only file system", path)

sys.addaudithook(refuse)
"""
"""Lets Python make nothing below these folders but databases, as if these were on a volume that is mounted there."""
USUAL = ("/tmp/", "/var/tmp/", "/usr/tmp/")
MEMORY = "/dev/shm/"
NOWHERE = "for temporary files, and none can be written; set TMPDIR to one that can be"


def forbid(folder: Path, *others: str) -> None:
    (folder / "sitecustomize.py").write_text(READ_ONLY.format(folders=(*USUAL, f"{folder}/", *others)))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("MAGISTRATE_", "XDG_"))}
    own = {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "TMPDIR": str(folder), "MAGISTRATE_API_KEYS": KEY}
    words = [sys.executable, "-m", "magistrate", *command]
    return subprocess.run(
        words, cwd=folder, env=inherited | own, capture_output=True, text=True, check=False, timeout=100
    )


def test_temporary_files_are_made_in_one_place() -> None:
    for path in (ROOT / "src/magistrate").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom) and path.name != "temporary_files.py":
                names = {alias.name for alias in node.names} | {getattr(node, "module", "")}
                assert "tempfile" not in names, path


SETUP = """
model: |
  version 1.0
  type user
    relation member
setup:
  warrants: ["user:a#member@user:b"]
tests:
  - name: own
    check: user:a#member@user:b
    expect: allowed
"""
DATABASE = ("--database-url", "sqlite:///new.db")
NEEDING: tuple[Words, ...] = (
    ("serve", "--workers", "2", "--port", "0", *DATABASE),
    ("playground",),
    ("import", "--from-openfga", "model.fga", *DATABASE),
    ("import", "--from-spicedb", "model.zed", *DATABASE),
    ("import", "setup.test.yaml", *DATABASE),
    ("import", "--from-warrant", "http://127.0.0.1:1", *DATABASE),
    ("import", "--from-openfga-url", "http://127.0.0.1:1/stores/1", *DATABASE),
)


def read_error(command: Words, errors: str) -> str:
    if command[0] == "serve":
        return read_failed_start(errors)
    [line] = errors.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize("command", NEEDING, ids=" ".join)
def test_whoever_needs_one_says_so_first(tmp_path: Path, command: Words) -> None:
    (tmp_path / "model.fga").write_text("model\n  schema 1.1\ntype user\n")
    (tmp_path / "model.zed").write_text("definition user {}\n")
    (tmp_path / "setup.test.yaml").write_text(SETUP)
    forbid(tmp_path, MEMORY)

    ran = run(tmp_path, *command)

    assert ran.returncode in (1, 2), ran.stdout
    assert NOWHERE in read_error(command, ran.stderr)
    assert "listens" not in ran.stdout
    assert not (tmp_path / "new.db").exists()


@pytest.mark.nightly
def test_doctor_finds_it(tmp_path: Path) -> None:
    forbid(tmp_path, MEMORY)

    found = {workers: run(tmp_path, "doctor", "--workers", workers, "--json", *DATABASE) for workers in ("1", "2")}

    told = {workers: [one["message"] for one in json.loads(ran.stdout)["findings"]] for workers, ran in found.items()}
    assert [message for message in told["2"] if NOWHERE in message]
    assert not [message for message in told["1"] if NOWHERE in message]


@pytest.mark.nightly
def test_whoever_needs_none_works(tmp_path: Path) -> None:
    write_files(tmp_path)
    forbid(tmp_path, MEMORY)

    assert run(tmp_path, "import", "lines.json", *DATABASE).returncode == 0
    with ServiceProcess(tmp_path, "--workers", "1", api_key=KEY) as service, service.client() as client:
        client.define({"folder": {"viewer": {}}})
        client.grant("folder:a#viewer@user:ann")
        assert client.ask("folder:a#viewer@user:ann").json()["code"] == 200
        assert client.get("/metrics").status_code == 200


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="the system has no files in memory")
def test_workers_share_memory_where_nothing_else_can_be_written(tmp_path: Path) -> None:
    if str(tmp_path).startswith(MEMORY):
        (tmp_path / "sitecustomize.py").write_text(READ_ONLY.format(folders=(*USUAL, f"{tmp_path}/")))
    else:
        forbid(tmp_path)
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service, service.client() as client:
        assert client.get("/metrics").status_code == 200


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full disk")
def test_a_full_disk_is_not_called_the_output() -> None:
    told = r"^the temporary file .*TMPDIR"
    with open("/dev/full", "wb") as full, pytest.raises(StoreUnavailable, match=told), writing_to(full):
        full.write(b"x")
    with open_temporary_file("a test needs") as file:
        with writing_to(file):
            file.write(b"x")
        file.seek(0)
        assert file.read() == b"x"
