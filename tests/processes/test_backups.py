"""Backups and restores beside running services, and in processes that are killed."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.backups import answers_of, done, export, fill, fill_database, magistrate, read_answers
from tests.conftest import STORES, new_database_url
from tests.databases import Dump, dump
from tests.killing import kill_when
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

NOTICED_SECONDS = 1.0
KILLS, NIGHTLY_KILLS = 3, 50
MANY_KILLS = pytest.mark.parametrize("kills", [KILLS, pytest.param(NIGHTLY_KILLS, marks=pytest.mark.nightly)])
WARRANTS = 20_000


@pytest.fixture(scope="module", params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_database(kind: str, folder: Path, request: pytest.FixtureRequest, has_tables: bool = True) -> str:
    folder.mkdir(exist_ok=True)
    return new_database_url(kind, folder, request, has_tables)


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "magistrate", *map(str, arguments)]


def after(seconds: float) -> Callable[[], bool]:
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def write_lines(path: Path) -> None:
    lines = [b'{"type":"document","relations":{"viewer":{}}}\n']
    for number in range(WARRANTS):
        subject = b'{"objectType":"user","objectId":"u%d"}' % (number % 100)
        lines.append(
            b'{"objectType":"document","objectId":"d%d","relation":"viewer","subject":%s}\n' % (number, subject)
        )
    path.write_bytes(b"".join(lines))


@pytest.fixture(scope="module")
def filled(kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    """A database with enough rows for a backup or a restore to take a moment. No test changes it."""
    folder = tmp_path_factory.mktemp("filled")
    url = make_database(kind, folder / "store", request)
    write_lines(folder / "lines.jsonl")
    done("import", folder / "lines.jsonl", "--database-url", url)
    return url


@pytest.mark.nightly
@MANY_KILLS
def test_a_backup_that_is_killed_leaves_no_file_under_its_name(kills: int, filled: str, tmp_path: Path) -> None:
    chance = random.Random(38)
    folder = tmp_path / "backups"
    folder.mkdir()
    done("backup", folder / "whole.zst", "--database-url", filled)
    whole = (folder / "whole.zst").read_bytes()

    for number in range(kills):
        path = folder / f"{number}.zst"
        kill_when(after(chance.uniform(0.2, 2.0)), command("backup", path, "--database-url", filled))
        assert not path.exists() or path.read_bytes() == whole
    kill_when(
        lambda: any(folder.glob(".again.zst.*")), command("backup", folder / "again.zst", "--database-url", filled)
    )

    assert not (folder / "again.zst").exists() or (folder / "again.zst").read_bytes() == whole
    assert magistrate("restore", folder / "whole.zst", "--database-url", filled).exit_code == 2


def list_contents(url: str) -> Dump:
    return {name: rows for name, rows in dump(url).items() if name not in ("migration", "store")}


def measure_restore(backup: Path, url: str) -> float:
    began_at = time.monotonic()
    subprocess.run(command("restore", backup, "--database-url", url, "--no-verify"), check=True, capture_output=True)
    return time.monotonic() - began_at


@MANY_KILLS
def test_a_restore_that_is_killed_changes_nothing_and_can_be_repeated(
    kind: str, kills: int, filled: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(39)
    done("backup", tmp_path / "all.zst", "--database-url", filled)
    target = make_database(kind, tmp_path / "target", request)
    fill_database(target)
    stored, whole = list_contents(target), export(filled)
    restoring = ("restore", tmp_path / "all.zst", "--database-url", target, "--replace", "--no-verify")

    seconds = measure_restore(tmp_path / "all.zst", make_database(kind, tmp_path / "measured", request))
    restores = 0
    for _ in range(kills):
        kill_when(after(chance.uniform(0.1, 0.9) * seconds), command(*restoring))
        is_restored = export(target) == whole
        assert is_restored or list_contents(target) == stored
        restores += is_restored
        stored = list_contents(target)

    assert restores < kills
    done(*restoring)
    assert export(target) == whole


@pytest.mark.nightly
def test_a_restore_into_a_store_that_is_killed_shows_nothing_and_can_be_repeated(
    kind: str, filled: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    done("backup", tmp_path / "all.zst", "--database-url", filled)
    target = make_database(kind, tmp_path / "target", request)
    restoring = ("restore", tmp_path / "all.zst", "--database-url", target, "--into", "copy")

    kill_when(lambda: len(dump(target)["store"]) > 1, command(*restoring))

    assert {row[0] for row in dump(target)["warrant"]} == set() or export(target, "--store", "copy") == export(filled)
    if not dump(target)["warrant"]:
        done(*restoring)
    assert export(target, "--store", "copy") == export(filled)


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        ("sqlite", "1"),
        ("postgres", "2"),
        pytest.param("sqlite", "2", marks=pytest.mark.nightly),
        pytest.param("postgres", "1", marks=pytest.mark.nightly),
    ],
    indirect=["kind"],
)
def test_a_running_service_answers_from_the_restored_store_within_a_second(
    kind: str, workers: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = make_database(kind, tmp_path / "served", request)
    with ServiceProcess(tmp_path, "--workers", workers, database_url=url, api_key=KEY) as service:
        clients = [service.client() for _ in range(4)]
        fill(clients[0])
        kept = clients[0].post("/v2/keys", json={"name": "kept", "scopes": ["check", "read"]}).json()["key"]
        before = read_answers(clients[0])
        done("backup", tmp_path / "all.zst", "--database-url", url)
        clients[0].define({"later": {"viewer": {}}})
        clients[0].grant("document:plan#viewer@user:new", "later:a#viewer@user:new")
        clients[0].delete("/v2/objects/document/spare").raise_for_status()
        session = clients[0].post("/v2/sessions", json={"userId": "ann", "type": "sess"}).json()["token"]
        assert check_with_session(service, session).status_code == 200
        lost = clients[0].get("/v2/warrants").headers["Warrant-Token"]
        for client in clients:
            assert read_answers(client) != before
            assert client.ask("document:plan#viewer@user:new").json()["result"] == "Authorized"

        restored = done("restore", tmp_path / "all.zst", "--database-url", url, "--replace")
        time.sleep(NOTICED_SECONDS)

        for client in clients:
            assert read_answers(client) == before
            token = client.get("/v2/warrants").headers["Warrant-Token"]
            assert f"token {token}:" in restored.stdout
            answer = client.get("/v2/warrants", headers={"Warrant-Token": lost})
            assert (answer.status_code, answer.json()["code"]) == (409, "revision_lost")
        with service.client(kept) as client:
            assert client.ask("document:plan#viewer@user:ann").json()["result"] == "Authorized"
        assert check_with_session(service, session).status_code == 401
        clients[0].grant("document:plan#viewer@user:after")
        time.sleep(NOTICED_SECONDS)
        for client in clients:
            assert client.ask("document:plan#viewer@user:after").json()["result"] == "Authorized"
            client.close()


def check_with_session(service: ServiceProcess, session: str) -> httpx.Response:
    body = {"warrants": [warrant_body("document:plan#viewer@user:ann")]}
    with Client(service.url) as client:
        return client.post("/v2/check", json=body, headers={"Authorization": f"Bearer {session}"})


def test_a_store_is_backed_up_at_one_revision_while_it_is_written_to(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each write creates two warrants and deletes two: a backup has both or neither."""
    url, target = (make_database(kind, tmp_path / name, request) for name in ("served", "target"))
    with ServiceProcess(tmp_path, "--workers", "1", database_url=url, api_key=KEY) as service:
        with service.client() as client:
            client.define({"document": {"viewer": {}}})
            client.grant(*(f"document:d{number}#viewer@user:u{number}" for number in range(3_000)))
        begun, ended = threading.Event(), threading.Event()

        def move_on() -> None:
            with service.client() as writer:
                for number in range(100_000):
                    if ended.is_set():
                        return
                    pair = [warrant_body(f"document:{name}#viewer@user:pair{number}") for name in ("a", "z")]
                    former = [warrant_body(f"document:{name}#viewer@user:pair{number - 1}") for name in ("a", "z")]
                    body = {"create": {"warrants": pair}, "delete": {"warrants": former if number else []}}
                    writer.post("/v2/writes", json=body).raise_for_status()
                    begun.set()

        writing = threading.Thread(target=move_on)
        writing.start()
        try:
            assert begun.wait(30)
            for number in range(3):
                done("backup", tmp_path / f"{number}.zst", "--database-url", url)
        finally:
            ended.set()
            writing.join()

    for number in range(3):
        done("restore", tmp_path / f"{number}.zst", "--database-url", target, "--replace")
        rows = [row for row in dump(target)["warrant"] if str(row[5]).startswith("pair")]
        assert [sorted(str(row[2]) for row in rows), len({row[5] for row in rows})] == [["a", "z"], 1]
    assert answers_of(target)
