"""`magistrate import`: what it says, that it goes on where it was killed, and that services may run meanwhile."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.killing import kill_when
from tests.processes.starting import start_process
from tests.running import Client, running_service, settings_for

LINES = 30_000
DOCUMENT = {"type": "document", "relations": {"viewer": {}}}


def magistrate(*arguments: str, typed: bytes | None = None) -> Result:
    return CommandRunner().invoke(main, ["import", *arguments], input=typed, env={}, prog_name="magistrate")


def written(*lines: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def warrants(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        subject = {"objectType": "user", "objectId": f"user-{number % 100}"}
        yield {"objectType": "document", "objectId": f"d-{number}", "relation": "viewer", "subject": subject}


def command(url: str, path: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "magistrate", "import", str(path), "--database-url", url, *arguments]


def stored_lines(url: str) -> int:
    """By the progress of the only import."""
    return max((int(str(row[1])) for row in dump(url).get("import", [])), default=0)


def kill_when_some_are_stored(url: str, path: Path) -> int:
    """Begins an import, kills it in the middle; answers how many lines were stored by then."""
    kill_when(lambda: stored_lines(url), command(url, path, "--chunk", "1000"))
    return stored_lines(url)


def test_a_long_import_says_now_and_then_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magistrate.cli.output.PROGRESS_EVERY_SECONDS", 0.0)
    (tmp_path / "all.jsonl").write_bytes(written(DOCUMENT, *warrants(3)))

    ran = magistrate(str(tmp_path / "all.jsonl"), "--chunk", "2", "--database-url", f"sqlite:///{tmp_path}/m.db")

    assert ran.exit_code == 0, ran.output
    assert re.fullmatch(r"2 lines are stored \(\d\d%\)\n4 lines are stored \(100%\)\n", ran.stderr)


def test_a_file_is_imported_into_a_new_database_that_then_can_be_served(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(written(DOCUMENT, *warrants(3)))

    ran = magistrate(str(tmp_path / "all.jsonl"), "--database-url", database_url)

    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    assert ran.stdout.startswith("4 lines in ")
    assert ran.stdout.endswith("lines/s); new or changed: 1 object types, 6 objects, 3 warrants\n")
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        types = [row["type"] for row in client.get("/v2/object-types").json()["results"]]
        assert types == ["document", "feature", "permission", "pricing-tier", "role", "tenant", "user"]
        assert client.ask("document:d-2#viewer@user:user-2").json()["code"] == 200


def test_standard_input_is_imported(database_url: str) -> None:
    ran = magistrate("-", "--database-url", database_url, typed=written(DOCUMENT, *warrants(3)))

    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    assert len(dump(database_url)["warrant"]) == 3
    assert dump(database_url)["import"] == []


@pytest.mark.parametrize("beginning", [BOM_UTF8, BOM_UTF8 + b"\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(beginning: bytes, sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(beginning + written(DOCUMENT, *warrants(3)) + b"{\n")
    options = (str(tmp_path / "all.jsonl"), "--database-url", sqlite_url, "--chunk", "2")

    stopped = magistrate(*options)
    (tmp_path / "all.jsonl").write_bytes(beginning + written(DOCUMENT, *warrants(5)))
    resumed = magistrate(*options)

    assert f"line {len(beginning) + 2}: " in stopped.stderr
    assert (resumed.exit_code, resumed.stderr) == (0, "Resuming at line 5: those before it are stored\n")
    assert len(dump(sqlite_url)["warrant"]) == 5


def test_a_wrong_line_is_reported_with_what_to_do_and_the_next_import_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(written(DOCUMENT, *warrants(3), {"objectType": "document"}))

    ran = magistrate(str(path), "--database-url", database_url, "--chunk", "2")

    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"Error: {path}, line 5: objectId: Missing required parameter objectId; fix the line; "
        "run the same command again to resume at its chunk\n"
    )
    path.write_bytes(written(DOCUMENT, *warrants(4)))
    ran = magistrate(str(path), "--database-url", database_url)
    assert (ran.exit_code, ran.stderr) == (0, "Resuming at line 5: those before it are stored\n")
    assert ran.stdout.startswith("1 lines in ")


def test_a_line_that_allowed_types_forbid_is_reported(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    limited = DOCUMENT | {"allowedTypes": {"viewer": ["team#member"]}}
    path.write_bytes(written(limited, *warrants(1)))

    ran = magistrate(str(path), "--database-url", database_url)

    assert ran.exit_code == 2
    reason = "line 2: subject: document#viewer cannot be given to user: it allows team#member"
    assert f"{path}, {reason}" in ran.stderr


def test_a_type_that_forbids_stored_warrants_is_reported_with_its_line(database_url: str, tmp_path: Path) -> None:
    limited = DOCUMENT | {"allowedTypes": {"viewer": []}}
    assert magistrate("-", "--database-url", database_url, typed=written(DOCUMENT, *warrants(1))).exit_code == 0

    ran = magistrate("-", "--database-url", database_url, typed=written({"type": "user", "relations": {}}, limited))

    assert ran.exit_code == 2
    assert "line 2: allowedTypes: stored warrants would not be allowed any more: document:d-0#viewer@user:user-0" in (
        ran.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.jsonl"], "missing.jsonl: No such file or directory"),
        (["-", "--database-url", "mysql://x"], "database"),
        (["-", "--chunk", "0"], "--chunk"),
        (["-", "--chunk", "100001"], "--chunk"),
    ],
)
def test_what_cannot_be_done_is_reported_and_ends_with_2(arguments: list[str], told: str) -> None:
    ran = magistrate(*arguments, typed=b"")

    assert ran.exit_code == 2
    assert told in ran.stderr


@pytest.mark.parametrize("kind", STORES)
def test_killed_in_the_middle_it_goes_on_behind_the_last_whole_chunk(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, path = new_database_url(kind, tmp_path, request), tmp_path / "all.jsonl"
    path.write_bytes(written(DOCUMENT, *warrants(LINES - 1)))
    magistrate("-", "--database-url", url, typed=b"")

    stored = kill_when_some_are_stored(url, path)
    tables = dump(url)
    ran = subprocess.run(command(url, path, "--chunk", "5000"), capture_output=True, text=True)

    assert 0 < stored < LINES
    assert stored % 1_000 == 0
    assert len(tables["warrant"]) == stored - 1
    assert len([row for row in tables["change"] if row[3] == "warrant"]) == stored - 1
    first, *progress = ran.stderr.splitlines()
    assert (ran.returncode, first) == (0, f"Resuming at line {stored + 1:,}: those before it are stored")
    assert all(re.fullmatch(r"[0-9,]+ lines are stored \([0-9]+%\)", line) for line in progress)
    assert ran.stdout.startswith(f"{LINES - stored:,} lines in ")
    assert len(dump(url)["warrant"]) == LINES - 1


@pytest.mark.parametrize("kind", STORES)
def test_a_service_answers_and_writes_while_an_import_runs_and_sees_what_it_brings(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, path = new_database_url(kind, tmp_path, request), tmp_path / "all.jsonl"
    path.write_bytes(written(DOCUMENT, *warrants(LINES - 1)))
    last = f"document:d-{LINES - 2}#viewer@user:user-{(LINES - 2) % 100}"
    statuses = []

    with running_service(settings_for(url)) as service, Client(service) as client:
        client.define({"document": {"viewer": {}}})
        assert client.ask(last).json()["code"] == 403
        importing = start_process(command(url, path, "--chunk", "1000"))
        while importing.poll() is None:
            statuses.append(client.post("/v2/objects", json={"objectType": "user"}).status_code)
            statuses.append(client.ask(last).status_code)
        importing.communicate()
        time.sleep(0.1)  # the bound of what other processes wrote, on PostgreSQL

        assert importing.returncode == 0
        assert client.ask(last).json()["code"] == 200
    assert len(statuses) > 10
    assert set(statuses) == {200}


def test_on_a_terminal_there_is_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(written(DOCUMENT, *warrants(3)))
    terminal, their_side = pty.openpty()
    shown = bytearray()

    def watch() -> None:
        while b"100%" not in shown:
            shown.extend(os.read(terminal, 4_096))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    ran = subprocess.run(command(f"sqlite:///{tmp_path}/x.db", path), stdout=subprocess.PIPE, stderr=their_side)
    watching.join(timeout=30)
    os.close(their_side)
    os.close(terminal)

    assert ran.returncode == 0
    assert b"Importing" in shown
    assert b"100%" in shown


TEST_FILE = """model: |
  version 1.0
  type user
  /// A text.
  type document
    relation viewer [user, user:*]
    relation reader []
    inherit reader if relation viewer
  policy small(amount integer) {
    amount < 10
  }
setup:
  warrants:
    - document:plan#viewer@user:ann[small]
    - {warrant: "document:plan#viewer@user:bob", expires_at: "2099-01-01T00:00:00Z"}
    - {subject: "user:*", relation: viewer, resource: "document:faq"}
tests:
  - {check: "document:plan#reader@user:bob", expect: true}
"""


def test_a_test_file_brings_its_model_and_its_warrants(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "a.test.yaml").write_text(TEST_FILE)

    ran = magistrate(str(tmp_path / "a.test.yaml"), "--database-url", database_url)

    assert ran.exit_code == 0, ran.output
    assert ran.stdout.endswith("new or changed: 2 object types, 4 objects, 3 warrants, 1 policies\n")
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        for check in ("document:plan#reader@user:bob", "document:faq#reader@user:ann"):
            assert client.ask(check).json()["code"] == 200, check
        [row] = [one for one in client.get("/v2/object-types").json()["results"] if one["type"] == "document"]
        assert row["description"] == "A text."
        assert row["allowedTypes"] == {"viewer": ["user", "user:*"], "reader": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEST_FILE.replace("plan#viewer", "plan#reader", 1), "document#reader"),
        (TEST_FILE.replace("expect: true", "expect: maybe"), "tests[0].expect: must be true or false"),
        ("model: 'type user'\ntuples:\n", "is a test file of another product; add --from-openfga"),
        ("schema: definition user {}\n", "is a test file of another product; add --from-spicedb"),
    ],
)
def test_a_test_file_with_a_fault_writes_nothing(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.test.yaml").write_text(content)

    ran = magistrate(str(tmp_path / "a.test.yaml"), "--database-url", f"sqlite:///{tmp_path}/m.db")

    assert ran.exit_code == 2
    assert message in ran.stderr
    assert not (tmp_path / "m.db").exists()
