"""The audit log on standard output, which several workers write to and which may fail in the middle of a line."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from magistrate.api.audit.log import INCOMPLETE, LOCK_NAME, ChainedOutput, OutputLock
from magistrate.errors import InvalidSetting
from tests.audit_records import contents, find_faults
from tests.processes.starting import start_process

ROOT = Path(__file__).parents[1]
BODY = b'{"meta":"' + b"x" * 4_000 + b'"}'
LONG_LINES = """
import sys
from pathlib import Path
from magistrate.api.audit.log import ChainedOutput, OutputLock
from tests.audit_records import contents
from tests.test_audit_output import BODY

output = ChainedOutput(1, OutputLock(Path(sys.argv[1]), 1))
for number in range(int(sys.argv[2])):
    output.append(contents(number, body=BODY))
"""
FULL_DISK = """
import os, resource, signal, time
from msgspec.structs import replace
from magistrate.api.audit import log as audit_log
from magistrate.log import log_to_stderr
from tests.audit_records import record

audit_log.WRITTEN_EVERY_SECONDS = audit_log.RETRIED_EVERY_SECONDS = 0.01
log_to_stderr()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, unlimited[1]))
log = audit_log.AuditLog("-", "json")
for number in range(6):
    log.note(replace(record(number), path="/\\ud800") if number == 5 else record(number))
time.sleep(0.2)
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
log.close()
os._exit(0)  # without flushing stderr, whose disk may be full
"""


class Pipe:
    """A pipe of which writes fail while it is full."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        os.set_blocking(self.reader, False)
        self.content = b""

    def drain(self) -> None:
        while True:
            try:
                self.content += os.read(self.reader, 65_536)
            except BlockingIOError:
                return

    def request_ids(self) -> list[str]:
        return [json.loads(line)["requestId"] for line in self.content.splitlines()]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    os.close(pipe.reader)
    os.close(pipe.writer)


def start(script: str, *arguments: str, stdout: int, stderr: int | None = None) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *arguments]
    return start_process(command, environment=environment, output=stdout, errors=2 if stderr is None else stderr)


def append_until_full(pipe: Pipe, output: ChainedOutput) -> None:
    with pytest.raises(BlockingIOError):
        output.append(contents(*range(100), body=BODY))
    pipe.drain()
    assert not pipe.content.endswith(b"\n")


def test_a_line_that_was_begun_is_completed_and_none_is_written_twice(pipe: Pipe) -> None:
    output, waiting = ChainedOutput(pipe.writer, None), contents(*range(100), body=BODY)
    failures = 0
    while waiting:
        try:
            output.append(waiting)
        except BlockingIOError:
            failures += 1
        pipe.drain()

    assert failures > 3
    assert find_faults(pipe.content) == []
    assert pipe.request_ids() == [f"r-{number}" for number in range(100)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device here")
@pytest.mark.parametrize("has_log_on_full_disk", [False, True])
def test_after_a_full_disk_each_record_is_in_the_log_once(tmp_path: Path, has_log_on_full_disk: bool) -> None:
    with (tmp_path / "out").open("wb") as out, open("/dev/full", "wb") as full:
        stderr = full.fileno() if has_log_on_full_disk else None
        assert start(FULL_DISK, stdout=out.fileno(), stderr=stderr).wait(timeout=60) == 0

    content = (tmp_path / "out").read_bytes()
    assert find_faults(content) == []
    assert [json.loads(line)["requestId"] for line in content.splitlines()] == [f"r-{number}" for number in range(6)]


def test_long_lines_of_two_workers_stay_whole_in_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    workers = [start(LONG_LINES, str(tmp_path), "100", stdout=writer) for _ in range(2)]
    os.close(writer)
    with open(reader, "rb") as collector:
        content = collector.read()

    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    assert find_faults(content) == []
    assert content.count(b"\n") == 200


def test_a_worker_that_has_begun_a_line_keeps_the_lock_until_it_is_complete(tmp_path: Path, pipe: Pipe) -> None:
    one, other = (ChainedOutput(pipe.writer, OutputLock(tmp_path, pipe.writer)) for _ in range(2))
    append_until_full(pipe, one)

    thread = threading.Thread(target=other.append, args=(contents(200),))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    one.append(contents(201))
    thread.join(20)
    pipe.drain()
    one.close()
    other.close()

    assert find_faults(pipe.content) == []
    assert pipe.request_ids()[-2:] == ["r-201", "r-200"]


def test_a_worker_that_has_begun_no_line_releases_the_lock(tmp_path: Path, pipe: Pipe) -> None:
    one, other = (ChainedOutput(pipe.writer, OutputLock(tmp_path, pipe.writer)) for _ in range(2))
    with suppress(BlockingIOError):
        while True:
            os.write(pipe.writer, b"\n" * 4_096)
    with pytest.raises(BlockingIOError):
        one.append(contents(0))
    pipe.drain()
    pipe.content = b""

    other.append(contents(1))
    one.append(contents())
    pipe.drain()
    one.close()
    other.close()

    assert find_faults(pipe.content) == []
    assert pipe.request_ids() == ["r-1", "r-0"]


def test_a_line_of_a_worker_that_was_killed_is_ended_by_the_next_one(tmp_path: Path, pipe: Pipe) -> None:
    os.set_blocking(pipe.writer, True)
    worker = start(LONG_LINES, str(tmp_path), "100", stdout=pipe.writer)
    lock = tmp_path / LOCK_NAME
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(2)  # by then the pipe is full
    worker.kill()
    worker.wait()
    assert lock.read_bytes() == INCOMPLETE
    pipe.drain()
    whole = pipe.content.count(b"\n")

    other = ChainedOutput(pipe.writer, OutputLock(tmp_path, pipe.writer))
    other.append(contents(200, 201))
    pipe.drain()
    other.close()

    assert find_faults(pipe.content) == [whole + 1]
    assert pipe.content.count(b"\n") == whole + 3
    assert lock.stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_shared_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"workers cannot share a lock in .*: No such file or directory"):
        OutputLock(tmp_path / "nowhere", 1)
