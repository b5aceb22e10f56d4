"""Processes that tests start obey signals, whatever the tests were started with."""

import ast
import signal
import sys
from collections.abc import Iterator

import pytest

from tests.generated_docs import ROOT
from tests.processes.starting import start_process

TOLD = "import signal; print(*(int(s) for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN))"
BLOCKED = "import signal; print(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())))"


@pytest.fixture(params=[signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def deaf_to(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """This process ignores and blocks the signal meanwhile, as a shell has its children do it."""
    before = signal.signal(request.param, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {request.param})
    yield request.param
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    signal.signal(request.param, before)


def test_a_signal_that_the_tests_ignore_and_block_ends_what_they_start(deaf_to: signal.Signals) -> None:
    process = start_process(
        [sys.executable, "-c", "import sys, time; print('runs', flush=True); sys.stdin.read() or time.sleep(60)"]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"

    process.send_signal(deaf_to)
    process.communicate(timeout=60)

    # Python itself makes KeyboardInterrupt of SIGINT, and ends by it.
    assert process.returncode == -deaf_to


def test_nothing_is_ignored_or_blocked_but_what_python_itself_ignores(deaf_to: signal.Signals) -> None:
    ignored, blocked = (start_process([sys.executable, "-c", code]).communicate()[0] for code in (TOLD, BLOCKED))

    assert {int(number) for number in ignored.split()} <= {signal.SIGPIPE, signal.SIGXFSZ}
    assert blocked.split() == []


def test_tests_start_processes_in_no_other_way() -> None:
    starting = {"Popen", "create_subprocess_exec", "create_subprocess_shell", "posix_spawn", "fork"}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in starting
    }

    assert found == {"tests/processes/starting.py"}
