"""The chain of hashes in an audit log, and `magistrate audit verify`."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from magistrate.api.audit import log as audit_log
from magistrate.api.audit import records as audit_records
from magistrate.api.audit.chain import begin_chain, read_sealed_line, seal_line
from magistrate.api.audit.log import CHAIN_BYTES, AuditLog, ChainedFile
from magistrate.api.audit.records import AUDIT_FORMATS, NOT_RENDERED, LineContent
from magistrate.cli.commands import main
from tests.audit_records import contents, find_faults, record
from tests.captured_log import captured_log
from tests.cli.runner import CommandRunner
from tests.processes.starting import start_process
from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
APPENDS = """
import sys
import time
from magistrate.api.audit.log import ChainedFile
from tests.audit_records import contents

file = ChainedFile(sys.argv[1])
for number in range(200):
    file.append(contents(number))
    time.sleep(0.001)
"""
FORMATS = pytest.mark.parametrize("log_format", AUDIT_FORMATS)


def write(path: Path, *numbers: int, log_format: str = "json") -> None:
    file = ChainedFile(str(path))
    file.append(contents(*numbers, log_format=log_format))
    file.close()


def verify(*paths: Path, options: tuple[str, ...] = ()) -> Result:
    return CommandRunner().invoke(main, ["audit", "verify", *map(str, paths), *options], prog_name="magistrate")


def faults(path: Path) -> list[int]:
    """The numbers of the lines that are at fault."""
    return find_faults(path.read_bytes())


@FORMATS
def test_what_is_written_by_several_in_turn_is_one_chain(tmp_path: Path, log_format: str) -> None:
    path = tmp_path / "audit"
    one, other = ChainedFile(str(path)), ChainedFile(str(path))
    for number, file in enumerate((one, other, one, one, other)):
        file.append(contents(number, 10 + number, log_format=log_format))
    one.close()
    other.close()

    ran = verify(path)

    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith("10 records are as they were written\n")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["sequence"] for line in lines] == list(range(10))
    assert len({line["chain"] for line in lines}) == 1
    assert path.stat().st_mode & 0o777 == 0o600


@FORMATS
def test_a_line_that_is_changed_removed_added_or_moved_is_noticed(tmp_path: Path, log_format: str) -> None:
    path = tmp_path / "audit"
    write(path, *range(5), log_format=log_format)
    lines = path.read_bytes().splitlines(keepends=True)
    forged = seal_line(lines[2].partition(b',"hash"')[0].replace(b"ann", b"bob") + b"}")[0] + b"\n"
    for changed, expected in (
        ([*lines[:2], lines[2].replace(b"ann", b"bob"), *lines[3:]], [3, 4]),
        ([*lines[:2], *lines[3:]], [3]),
        ([*lines[:2], lines[3], lines[2], lines[4]], [3, 4, 5]),
        ([*lines[:2], lines[1], *lines[2:]], [3]),
        ([*lines[:2], forged, *lines[3:]], [4]),
        ([*lines[:4], lines[4][:-10]], [5]),
        (lines[1:], [1]),
    ):
        path.write_bytes(b"".join(changed))

        assert faults(path) == expected
        ran = verify(path)
        assert ran.exit_code == 2
        assert f"{path}, line {expected[0]}: " in ran.stderr


def test_lines_missing_at_the_end_are_noticed_by_a_hash_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    write(path, *range(5))
    [end] = json.loads(verify(path, options=("--json",)).output)["chains"]
    assert end["sequence"] == 4
    assert verify(path, options=("--includes", end["hash"])).exit_code == 0

    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))

    assert verify(path).exit_code == 0
    assert verify(path, options=("--includes", end["hash"])).stderr.startswith("Error: no line has the hash ")


def test_a_chain_goes_on_in_the_next_file_after_a_rotation(tmp_path: Path) -> None:
    path, moved = tmp_path / "audit", tmp_path / "audit.1"
    one, other = ChainedFile(str(path)), ChainedFile(str(path))
    one.append(contents(0))
    other.append(contents(1, 2))
    path.rename(moved)
    one.append(contents(3))
    other.append(contents(4))
    one.close()
    other.close()

    assert verify(moved, path).exit_code == 0
    assert verify(path).exit_code == 2
    assert verify(path, options=("--tail",)).exit_code == 0
    assert verify(path, moved, options=("--tail",)).exit_code == 2


def test_a_chain_goes_on_after_two_rotations_in_which_a_worker_was_idle(tmp_path: Path) -> None:
    path, first, second = tmp_path / "audit", tmp_path / "audit.2", tmp_path / "audit.1"
    one, other = ChainedFile(str(path)), ChainedFile(str(path))
    one.append(contents(0))
    other.append(contents(1))
    path.rename(first)
    other.append(contents(2, 3))
    path.rename(second)
    one.append(contents(4))
    other.append(contents(5))
    one.close()
    other.close()

    assert verify(first, second, path).output.startswith("6 records are as they were written\n")


def test_a_chain_goes_on_after_a_rotation_and_a_restart(tmp_path: Path) -> None:
    path, moved = tmp_path / "audit", tmp_path / "audit.1"
    write(path, 0, 1)
    path.rename(moved)
    write(path, 2)

    assert verify(moved, path).exit_code == 0
    assert len(json.loads(verify(moved, path, options=("--json",)).output)["chains"]) == 1


@pytest.mark.parametrize("lines_of_other", [0, 1, 2])
def test_a_chain_goes_on_in_a_file_that_was_copied_and_emptied(tmp_path: Path, lines_of_other: int) -> None:
    path, copied = tmp_path / "audit", tmp_path / "audit.1"
    one, other = ChainedFile(str(path)), ChainedFile(str(path))
    other.append(contents(0))
    one.append(contents(1))
    other.append(contents(2))
    one.append(contents(3))
    shutil.copy(path, copied)
    os.truncate(path, 0)
    for number in range(lines_of_other):
        other.append(contents(4 + number))
    one.append(contents(6))
    one.close()
    other.close()

    assert verify(copied, path).output.startswith(f"{5 + lines_of_other} records are as they were written\n")


def test_a_file_that_was_emptied_and_is_as_long_again_is_read_again(tmp_path: Path) -> None:
    path, copied = tmp_path / "audit", tmp_path / "audit.1"
    one, other = ChainedFile(str(path)), ChainedFile(str(path))
    one.append(contents(1))
    size = path.stat().st_size
    shutil.copy(path, copied)
    os.truncate(path, 0)
    other.append(contents(2))
    assert path.stat().st_size == size
    one.append(contents(3))
    one.close()
    other.close()

    assert verify(copied, path).exit_code == 0


@pytest.mark.parametrize("kept", [b"", b"{", b'{"chain":"a"}'])
def test_without_its_state_a_chain_goes_on_from_what_a_worker_knows(tmp_path: Path, kept: bytes) -> None:
    path, state = tmp_path / "audit", tmp_path / "audit.chain"
    one, moved = ChainedFile(str(path)), tmp_path / "audit.1"
    one.append(contents(0))
    state.unlink()
    state.write_bytes(kept)
    one.append(contents(1))
    state.write_bytes(kept)
    path.rename(moved)
    one.append(contents(2))
    one.close()
    write(path, 3)

    assert verify(moved, path).exit_code == 0
    assert len(json.loads(verify(moved, path, options=("--json",)).output)["chains"]) == 1
    assert state.stat().st_size == CHAIN_BYTES


def test_a_chain_goes_on_after_a_worker_was_killed_before_it_wrote_the_state(tmp_path: Path) -> None:
    path, state, moved = tmp_path / "audit", tmp_path / "audit.chain", tmp_path / "audit.1"
    one = ChainedFile(str(path))
    one.append(contents(0))
    before = state.read_bytes()
    write(path, 1)
    state.write_bytes(before)
    path.rename(moved)
    one.append(contents(2))
    one.close()

    assert verify(moved, path).exit_code == 0
    assert state.stat().st_mode & 0o777 == 0o600


def test_processes_write_one_chain_while_the_file_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    moved: list[Path] = []
    processes = [
        start_process(
            [sys.executable, "-c", APPENDS, str(path)], environment=os.environ | {"PYTHONPATH": str(ROOT)}, output=2
        )
        for _ in range(3)
    ]
    while any(process.poll() is None for process in processes):
        if path.exists():
            moved.append(path.rename(tmp_path / f"audit.{len(moved)}"))
        time.sleep(0.005)

    assert [process.returncode for process in processes] == [0, 0, 0]
    ran = verify(*moved, *[path] * path.exists())
    assert ran.output.startswith("600 records are as they were written\n"), ran.output
    assert len(moved) > 3


def test_a_line_that_was_not_written_completely_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    write(path, 0, 1)
    with path.open("ab") as file:
        file.write(b'{"time":"2026')

    write(path, 2)

    assert faults(path) == []
    assert [json.loads(line)["requestId"] for line in path.read_text().splitlines()] == ["r-0", "r-1", "r-2"]


def test_a_changed_last_line_is_not_covered_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    write(path, 0, 1)
    path.write_bytes(path.read_bytes()[:-5] + b"0000\n")

    write(path, 2)

    assert 2 in faults(path)


@FORMATS
def test_bodies_are_recorded_up_to_a_length_and_then_as_a_digest(log_format: str) -> None:
    short = LineContent(log_format, record(0, b'{ "a" :\n 1 }'), 0)(begin_chain())
    long = LineContent(log_format, record(0, b'{"a":"' + b"x" * 5_000 + b'"}'), 7)(begin_chain())

    text = LineContent(log_format, record(0, b'type "d"\n'), 0)(begin_chain())

    assert b'"request":{"a":1}' in short
    assert rb'"request":"type \"d\"\n"' in text
    assert b"\n" not in short
    assert b'"requestBytes":5008' in long
    assert b'"dropped":7' in long
    assert len(long) < 1_000


@FORMATS
@pytest.mark.parametrize("depth", [990, 996, 997, 998, 999, 1_000, 4_096])
def test_a_deeply_nested_body_is_recorded_as_json_or_text(tmp_path: Path, depth: int, log_format: str) -> None:
    path = tmp_path / "audit"
    log = AuditLog(str(path), log_format)

    log.note(record(0, b"[" * (depth // 2) + b"]" * (depth // 2)))
    log.note(record(1, b"[" * depth))
    log.note(record(2, b"{}"))
    log.close()

    assert faults(path) == []
    lines = path.read_text().splitlines()
    assert [f'"requestId":"r-{number}"' in line for number, line in enumerate(lines)] == [True] * 3
    assert f'"request":"{"[" * depth}"' in lines[1]
    assert NOT_RENDERED not in path.read_text()


@FORMATS
def test_a_record_that_cannot_be_rendered_leaves_a_stub_and_the_next_ones_are_written(
    tmp_path: Path, log_format: str
) -> None:
    path = tmp_path / "audit"
    unusual = msgspec.structs.replace(record(0, b"{}"), path="/v2/\ud800")  # a character that UTF-8 does not have
    with captured_log(audit_records) as logged:
        log = AuditLog(str(path), log_format)
        log.note(unusual)
        log.note(record(1))
        log.close()

    assert faults(path) == []
    stub, line = (json.loads(line).get("data", json.loads(line)) for line in path.read_text().splitlines())
    assert (stub["error"], stub["requestId"], stub["path"], stub["requestBytes"]) == (NOT_RENDERED, "r-0", "/v2/?", 2)
    assert (line["requestId"], "error" in line) == ("r-1", False)
    [fault] = logged
    assert (fault["log_level"], fault["request_id"]) == ("error", "r-0")
    assert "surrogates not allowed" in fault["cause"]


def test_a_cloud_event_has_what_the_specification_requires() -> None:
    event = json.loads(LineContent("cloudevents", record(0), 0)(begin_chain()))

    assert {"specversion", "id", "source", "type"} <= event.keys()
    assert (event["specversion"], event["type"]) == ("1.0", "magistrate.audit.change")
    assert all(name.isalnum() and name.islower() for name in event)


def test_a_sealed_line_is_read_back() -> None:
    link = begin_chain()
    line, digest = seal_line(LineContent("json", record(0), 0)(link))

    sealed = read_sealed_line(line)

    assert sealed is not None
    assert (sealed.link, sealed.hash) == (link, digest)
    assert read_sealed_line(line[:-1]) is None
    assert read_sealed_line(b"") is None


def test_what_cannot_be_written_waits_and_what_is_dropped_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder" / "audit"
    for name, value in {"MAX_RECORDS": 3, "WRITTEN_EVERY_SECONDS": 0.01, "RETRIED_EVERY_SECONDS": 0.01}.items():
        monkeypatch.setattr(audit_log, name, value)
    log = AuditLog(str(path), "json")

    for number in range(5):  # the folder is not there yet
        log.note(record(number))
    assert log.count_dropped() == 2
    path.parent.mkdir()
    wait_until(lambda: path.exists() and path.stat().st_size > 0)
    log.note(record(9))
    log.close()

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["requestId"] for line in lines] == ["r-0", "r-1", "r-2", "r-9"]
    assert [line.get("dropped") for line in lines] == [2, None, None, None]
    assert faults(path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device here")
def test_a_full_disk_is_logged_once_and_the_records_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "audit").symlink_to("/dev/full")
    monkeypatch.setattr(audit_log, "WRITTEN_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(audit_log, "RETRIED_EVERY_SECONDS", 0.01)
    with captured_log(audit_log) as logged:
        log = AuditLog(str(tmp_path / "audit"), "json")
        log.note(record(0))
        wait_until(lambda: bool(logged))
        log.close()

    [failure] = logged
    assert failure["log_level"] == "error"
    assert "No space left on device" in failure["cause"]
