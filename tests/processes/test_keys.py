"""API keys of a running service: the key file is followed, and SIGHUP reads all keys again."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from magistrate.wiring.api_keys import FOLLOW_EVERY_SECONDS, LOOK_EVERY_SECONDS
from magistrate.wiring.maintenance import reset_key
from tests.conftest import list_by_day
from tests.processes.served_processes import children_of, serving
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, settings_for
from tests.waiting import wait_until

FIRST, SECOND, THIRD = ("the-first-key-of-the-file", "the-second-key-of-the-file", "the-third-key-of-the-file")
INVALID = "the API key file is invalid, the previous keys stay valid"
AGAIN = "the API keys were read again"
WORKERS = pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
"""Is for tests of what each worker does by itself, as others show of two."""


def write_keys(file: Path, *keys: str) -> None:
    """In place, for its owner alone."""
    file.touch(mode=0o600)
    file.write_text("".join(f"{key}\n" for key in keys))


def replace_file(file: Path, *keys: str) -> None:
    """By another one of the same name, as editors do."""
    write_keys(file.with_suffix(".new"), *keys)
    file.with_suffix(".new").replace(file)


def statuses(service: ServiceProcess, key: str) -> Iterator[int]:
    """The statuses of so many connections that every worker answers one: of two, each misses one set in a million."""
    for _ in range(20):
        with Client(service.url, key) as client:
            yield client.get("/v2/objects").status_code


def accepts(service: ServiceProcess, key: str) -> set[int]:
    return {*statuses(service, key)}


def wait_for_status(status: int, key: str, *services: ServiceProcess) -> None:
    """Until every worker of the services answers so."""
    for service in services:
        wait_until(partial(is_answered, status, key, service))


def is_answered(status: int, key: str, service: ServiceProcess) -> bool:
    return all(each == status for each in statuses(service, key))


def wait_for_workers(service: ServiceProcess, key: str, count: int) -> None:
    """Until so many have written their metrics: a worker that starts later reads what a test has changed by then."""

    def all_serve() -> bool:
        with Client(service.url, key) as client:
            return len(re.findall(r"^magistrate_graph_revision\{", client.get("/metrics").text, re.MULTILINE)) == count

    wait_until(all_serve)


def logged(service: ServiceProcess) -> list[dict[str, str]]:
    """Stops the service."""
    assert service.stop() == 0
    return [json.loads(line) for line in service.errors().splitlines()]


@WORKERS
def test_the_keys_of_the_file_are_good_beside_those_of_the_setting(tmp_path: Path, workers: str) -> None:
    write_keys(tmp_path / "keys", "# a comment", "", FIRST, SECOND)

    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY, api_key_file="keys") as service:
        assert [accepts(service, key) for key in (KEY, FIRST, SECOND, THIRD)] == [{200}, {200}, {200}, {401}]
        assert "API key" not in service.printed
        assert logged(service) == []


@pytest.mark.parametrize(
    ("workers", "change"),
    [
        ("1", replace_file),
        ("2", write_keys),
        pytest.param("1", write_keys, marks=pytest.mark.nightly),
        pytest.param("2", replace_file, marks=pytest.mark.nightly),
    ],
)
def test_a_changed_file_is_in_force_without_a_restart(
    tmp_path: Path, workers: str, change: Callable[..., None]
) -> None:
    write_keys(tmp_path / "keys", FIRST)

    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY, api_key_file="keys") as service:
        wait_for_workers(service, KEY, int(workers))
        assert accepts(service, SECOND) == {401}
        change(tmp_path / "keys", SECOND)
        changed_at = time.monotonic()
        wait_for_status(200, SECOND, service)
        wait_for_status(401, FIRST, service)
        took = time.monotonic() - changed_at

        assert accepts(service, KEY) == {200}
        lines = logged(service)

    assert LOOK_EVERY_SECONDS <= 1
    assert took < 10  # a second or two, on a machine that is not busy
    assert [line["event"] for line in lines if line["level"] == "info"] == [AGAIN] * int(workers)


@WORKERS
def test_an_invalid_or_missing_file_is_logged_and_the_keys_before_stay(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "keys"
    write_keys(file, FIRST)

    with ServiceProcess(tmp_path, "--workers", workers, api_key_file="keys") as service:
        wait_for_workers(service, FIRST, int(workers))
        write_keys(file, THIRD, "short")
        time.sleep(2.5)
        assert [accepts(service, key) for key in (FIRST, THIRD)] == [{200}, {401}]
        file.unlink()
        time.sleep(2.5)
        assert accepts(service, FIRST) == {200}
        write_keys(file, SECOND)
        wait_for_status(200, SECOND, service)
        wait_for_status(401, FIRST, service)
        errors = [line for line in logged(service) if line["level"] == "error"]

    assert {line["event"] for line in errors} == {INVALID}
    # Once by each worker for each state; the file is empty for a moment while it is written.
    assert {line["error"].removeprefix("api_key_file: ") for line in errors} >= {
        "the key in line 2 of keys has 5 characters; it must have 16 or more; `openssl rand -hex 32` makes one",
        "keys cannot be read: No such file or directory",
    }
    assert THIRD not in str(errors)
    assert len(errors) <= 4 * int(workers)


@pytest.mark.nightly
def test_a_worker_that_starts_while_the_file_is_missing_takes_over_the_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    write_keys(file, FIRST)

    with ServiceProcess(tmp_path, "--workers", "2", api_key_file="keys") as service:
        wait_for_workers(service, FIRST, 2)
        write_keys(file, SECOND)
        wait_for_status(200, SECOND, service)
        file.unlink()
        before = set(serving(children_of(service.process.pid)))
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(set(serving(children_of(service.process.pid))) - before) == 2)

        assert [accepts(service, key) for key in (FIRST, SECOND)] == [{401}, {200}]
        wait_for_workers(service, SECOND, 2)
        replaced = set(serving(children_of(service.process.pid)))
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(now := set(serving(children_of(service.process.pid)))) == 2 and not now & replaced)

        assert [accepts(service, key) for key in (FIRST, SECOND)] == [{401}, {200}]
        assert INVALID in {line["event"] for line in logged(service)}


@pytest.mark.parametrize(
    ("content", "message"),
    list_by_day(
        [
            (f"{FIRST}\nsecret-5\n", "api_key_file: the key in line 2 of keys has 8 characters"),
            (None, "api_key_file: keys cannot be read: No such file or directory"),
            ("", "api_key_file: keys must hold a key or some"),
        ],
        1,
    ),
)
def test_a_file_that_cannot_stand_keeps_it_from_starting(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "keys").write_text(content)

    service = ServiceProcess(tmp_path, api_key=KEY, api_key_file="keys")
    errors = service.errors()

    assert message in errors
    assert "Traceback" not in errors
    assert "secret-5" not in errors
    assert service.process.returncode == 1
    assert not (tmp_path / "magistrate.db").exists()


def test_a_file_that_others_can_read_is_warned_of_at_the_start(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", FIRST)
    (tmp_path / "keys").chmod(0o644)

    with ServiceProcess(tmp_path, api_key_file="keys") as service:
        assert accepts(service, FIRST) == {200}
        [warning] = logged(service)

    assert (warning["level"], warning["file"], warning["mode"]) == ("warning", "keys", "0644")
    assert "chmod 600 keys" in warning["remedy"]


def test_sighup_reads_the_file_again_with_one_worker(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", FIRST)

    with ServiceProcess(tmp_path, api_key_file="keys") as service:
        service.process.send_signal(signal.SIGHUP)
        time.sleep(2.5)
        assert accepts(service, FIRST) == {200}
        lines = logged(service)

    assert [(line["event"], line["cause"]) for line in lines] == [(AGAIN, "SIGHUP")]


@WORKERS
def test_a_running_service_takes_a_key_that_was_reset_and_refuses_the_lost_one(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers) as service:
        assert service.process.stdout is not None
        [lost] = re.findall(r"once: (\S+)", "".join(service.process.stdout.readline() for _ in range(3)))
        wait_for_workers(service, lost, int(workers))
        key = reset_key(settings_for(f"sqlite:///{tmp_path}/magistrate.db"))

        wait_for_status(200, key, service)
        wait_for_status(401, lost, service)
        assert service.stop() == 0


@pytest.mark.parametrize(
    ("database_url", "workers"),
    [
        ("sqlite", "1"),
        ("postgres", "2"),
        pytest.param("sqlite", "2", marks=pytest.mark.nightly),
        pytest.param("postgres", "1", marks=pytest.mark.nightly),
    ],
    indirect=["database_url"],
)
def test_a_key_is_in_force_in_every_worker_and_of_both_services_on_a_database(
    tmp_path: Path, workers: str, database_url: str
) -> None:
    (tmp_path / "other").mkdir()
    options = ("--workers", workers, "--database-url", database_url)
    services = [ServiceProcess(folder, *options, api_key=KEY) for folder in (tmp_path, tmp_path / "other")]
    with services[0] as first, services[1], Client(first.url) as admin:
        for service in services:
            wait_for_workers(service, KEY, int(workers))
        issued = admin.post("/v2/keys", json={"name": "reader", "scopes": ["read"]}).json()
        wait_for_status(200, issued["key"], *services)
        rotated = admin.post(f"/v2/keys/{issued['id']}/rotate").json()
        wait_for_status(200, rotated["key"], *services)
        wait_for_status(401, issued["key"], *services)

        admin.delete(f"/v2/keys/{issued['id']}").raise_for_status()

        wait_for_status(401, rotated["key"], *services)
        assert [service.stop() for service in services] == [0, 0]
    assert FOLLOW_EVERY_SECONDS <= 0.5
