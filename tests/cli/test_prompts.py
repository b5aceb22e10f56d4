"""What commands prompt for, and how they end when nobody answers or somebody stops them."""

import ast
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.cases import Magistrate
from tests.cli.every_command import ARGUMENTS, Words, write_files
from tests.conftest import list_by_day
from tests.generated_docs import ROOT
from tests.http_server import SilentHandler, serving
from tests.processes.starting import start_process
from tests.running import KEY, Client, running_service, settings_for
from tests.waiting import wait_until


class Asking(NamedTuple):
    """A command that reaches a prompt, what it prompts with, what it says when it is refused and when it is done, and
    the exit code of a refusal."""

    command: Words
    prompt: bytes
    refusal: bytes
    done: bytes
    refused_code: int


ASKING = {
    "cli/models/plans.py": Asking(
        ("model", "apply", "model.txt"), b"Apply this? [y/N]", b"Error: not applied", b"applied", 1
    ),
    "cli/administration/stores.py": Asking(
        ("stores", "delete", "spare"),
        b"Delete the store spare and everything in it? [y/N]",
        b"Error: not deleted",
        b"deleted  spare",
        2,
    ),
}
"""Each file of the command line that prompts."""
WAIT_SECONDS = 60
PRESS_SECONDS = 5

LOGIN = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, '-m', 'magistrate', *sys.argv[1:]])"


@cache
def list_calls() -> list[tuple[str, str]]:
    """The last name of what is called, and the file, of every call."""
    source = ROOT / "src/magistrate"
    return [
        (ast.unparse(node.func).split(".")[-1], str(path.relative_to(source)))
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]


def list_files_that_call(name: str) -> set[str]:
    return {path for called, path in list_calls() if called == name}


def test_every_question_is_asked_in_one_way() -> None:
    assert list_files_that_call("demand_yes") == set(ASKING)
    assert list_files_that_call("confirm") == {"cli/service.py"}
    for name in ("prompt", "input", "getpass", "getchar"):
        assert list_files_that_call(name) == set()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(settings_for(f"sqlite:///{tmp_path_factory.mktemp('service')}/m.db")) as url:
        yield url


@pytest.fixture
def seeded(url: str, tmp_path: Path) -> dict[str, str]:
    """The variables of commands that call a service without a model, and with a store `spare`."""
    with Client(url) as client:
        client.clear()
        deadline = time.monotonic() + WAIT_SECONDS
        while client.get("/v2/stores/spare").status_code != 200:
            assert time.monotonic() < deadline
            # the name is free again when the rows of the store that had it have been removed
            if client.post("/v2/stores", json={"name": "spare"}).status_code == 409:
                time.sleep(0.5)
    write_files(tmp_path)
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("MAGISTRATE_")}
    own = {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": KEY, "PYTHONPATH": str(ROOT)}
    return inherited | own


@contextmanager
def at_terminal(
    command: Words, folder: Path, environment: dict[str, str]
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Runs a command on a terminal of its own, and yields the other end of that."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", LOGIN, *command]
    process = start_process(words, folder=folder, environment=environment, output=theirs, stdin=theirs)
    os.close(theirs)
    try:
        yield ours, process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, expected: bytes | None, pressing: bytes = b"") -> bytes:
    """What is shown up to this text, or to the end of the process. A key may be pressed again while nothing is shown,
    as a person does: a signal between a prompt and the reading of its answer takes effect with the next one."""
    shown, deadline = b"", time.monotonic() + WAIT_SECONDS
    while expected is None or expected not in shown:
        if not select.select([terminal], [], [], PRESS_SECONDS)[0]:
            assert time.monotonic() < deadline, shown
            os.write(terminal, pressing)
            continue
        try:
            data = os.read(terminal, 65_536)
        except OSError:  # Linux reports the end in this way
            data = b""
        if not data:
            assert expected is None, shown
            return shown
        shown += data
    return shown


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize(("typed", "outcome"), [
    (b"\x03", "unanswered"),
    (b"\x04", "unanswered"),
    (b"n\r", "refused"),
    (b"\r", "refused"),
    (b"what\r\x03", "unanswered"),
    (b"y\r", "done"),
])  # fmt: skip
def test_a_question_ends_well_whatever_is_typed(
    seeded: dict[str, str], tmp_path: Path, asking: str, typed: bytes, outcome: str
) -> None:
    command, prompt, refusal, done, refused_code = ASKING[asking]
    outcomes = {"unanswered": (130, b"nobody answered"), "refused": (refused_code, refusal), "done": (0, done)}
    code, said = outcomes[outcome]
    with at_terminal(command, tmp_path, seeded) as (terminal, process):
        read_until(terminal, prompt)
        wait_until(lambda: is_asleep(process.pid))
        os.write(terminal, typed)
        shown = read_until(terminal, None, pressing=b"\x03" if typed.endswith(b"\x03") else b"")

        assert process.wait(WAIT_SECONDS) == code
    assert said in shown
    assert b"Traceback" not in shown


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("json", [(), ("--json",)])
@pytest.mark.parametrize("redirection", list_by_day(["<&-", "</dev/null", ": |"], 1))
def test_a_question_that_nobody_can_answer_is_no(
    seeded: dict[str, str], tmp_path: Path, asking: str, json: Words, redirection: str
) -> None:
    words = " ".join([sys.executable, "-m", "magistrate", *ASKING[asking].command, *json])
    line = f"{words} {redirection}" if redirection.startswith("<") else f"{redirection} {words}"
    ran = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=seeded, capture_output=True, text=True, check=False)

    assert ran.returncode == 130, ran.stderr
    assert "nobody answered; --yes answers beforehand" in ran.stderr
    assert "Traceback" not in ran.stderr
    magistrate = Magistrate(seeded["MAGISTRATE_SERVER"])
    assert "relation viewer" not in magistrate.done("model", "show")
    assert "spare" in magistrate.done("stores", "list")


class Never(SilentHandler):
    """Never answers."""

    def do_GET(self) -> None:
        time.sleep(WAIT_SECONDS)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET


LOCAL: set[Words] = {(name,) for name in ("serve", "completion", "doctor", "import", "migrate", "playground")}
LOCAL |= {("model", name) for name in ("fmt", "lint", "convert", "test")}
LOCAL |= {("backup",), ("restore",), ("export",), ("audit", "verify"), ("sessions", "revoke"), ("keys", "reset")}
LOCAL |= {("forward", "test"), ("forward", "schema"), ("mcp",)}
"""The commands that call no service."""


WAITING = [
    pytest.param(command, id=" ".join(command), marks=[pytest.mark.nightly] * (place % 6 > 0))
    for place, command in enumerate(sorted(set(ARGUMENTS) - LOCAL))
]
"""All others; a run without `-m nightly` takes every sixth, as one function ends them all."""


@pytest.mark.parametrize("command", WAITING)
def test_sigint_ends_every_command_that_waits_with_130(tmp_path: Path, command: Words) -> None:
    write_files(tmp_path)
    arrived = tmp_path / "arrived"

    class Noted(Never):
        def parse_request(self) -> bool:
            arrived.touch()
            return super().parse_request()

    inherited = {name: text for name, text in os.environ.items() if not name.startswith("MAGISTRATE_")}
    with serving(Noted) as url:
        environment = inherited | {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": KEY, "PYTHONPATH": str(ROOT)}
        with at_terminal((*command, *ARGUMENTS[command]), tmp_path, environment) as (terminal, process):
            deadline = time.monotonic() + WAIT_SECONDS
            while not arrived.exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            os.write(terminal, b"\x03")
            shown = read_until(terminal, None)

            assert process.wait(WAIT_SECONDS) == 130
    assert b"Traceback" not in shown


def wait_until_reading(terminal: int, pid: int) -> None:
    """Waits until a process has read a line of its terminal, and sleeps until there is another. Before, a key finds it
    starting, or no process at all that the terminal may signal."""
    os.write(terminal, b"\n")
    read_until(terminal, b"\n")  # the terminal has the line when it shows it
    stdin = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY)
    try:
        wait_until(lambda: not count_unread(stdin) and is_asleep(pid), WAIT_SECONDS)
    finally:
        os.close(stdin)


def count_unread(terminal: int) -> int:
    [number] = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))
    return int(number)


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("S")


READING = (
    ("types", "apply", "-"),
    ("policies", "apply", "-"),
    ("write", "-"),
    ("model", "fmt", "-"),
    ("model", "lint", "-"),
    ("model", "convert", "-"),
    ("model", "plan", "-"),
    ("model", "apply", "-", "--yes"),
    ("audit", "verify", "-"),
    ("import", "-", "--database-url", "sqlite:///new.db"),
)


@pytest.mark.parametrize("command", list_by_day([(command,) for command in READING], 4), ids=" ".join)
def test_sigint_ends_every_command_that_reads_with_130(seeded: dict[str, str], tmp_path: Path, command: Words) -> None:
    with at_terminal(command, tmp_path, seeded) as (terminal, process):
        wait_until_reading(terminal, process.pid)
        os.write(terminal, b"\x03")
        shown = read_until(terminal, None, pressing=b"\x03")

        assert process.wait(WAIT_SECONDS) == 130, shown
    assert not re.search(b"Traceback|Error: ", shown), shown
