"""`magistrate serve`: starting, the first key, stopping, and refusing settings that cannot stand."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import httpx
import pytest

import magistrate
from magistrate.commit import COMMIT
from magistrate.store.sqlite.database import SqliteFile
from magistrate.wiring.stores import migrate_store
from tests.api.sockets import connect, head, is_hung_up, read_answer
from tests.conftest import list_by_day
from tests.databases import dump
from tests.processes.served_processes import children_of, serving
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.processes.starting import start_process
from tests.running import KEY, settings_for
from tests.waiting import wait_until

COUNT_COLLECTIONS = """
import gc, sys
collections = []
def follow(phase, info):
    server = sys.modules.get("magistrate.wiring.server")
    if server is not None and not hasattr(server, "serve"):
        collections.append(phase)
gc.callbacks.append(follow)
from magistrate.cli.commands import main
try:
    main(["serve", "--database-url", "sqlite:////no/such/folder/m.db"])
finally:
    print(hasattr(sys.modules["magistrate.wiring.server"], "serve"), collections, gc.isenabled())
"""


def test_the_server_is_imported_without_garbage_collections() -> None:
    printed, refused = start_process([sys.executable, "-c", COUNT_COLLECTIONS]).communicate()

    assert printed == "True [] True\n", refused


def test_a_wrong_setting_is_reported_before_the_server_is_imported() -> None:
    code = "import sys; from magistrate.cli.commands import main\ntry: main(['serve', '--port', 'x'])\n"
    code += "finally: print('magistrate.wiring' in sys.modules)"

    printed, refused = start_process([sys.executable, "-c", code]).communicate()

    assert printed == "False\n"
    assert read_failed_start(refused) == "--port must be a whole number, not 'x'"


def test_without_settings_it_makes_a_key_prints_it_once_and_a_command_that_works(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        assert service.process.stdout is not None
        lines = [service.process.stdout.readline() for _ in range(7)]
        [key] = re.findall(r"API key, shown only this once: (\S+)", "".join(lines))
        [command] = [line for line in lines if "curl" in line]
        _, _, url, _, header = shlex.split(command)
        answer = httpx.get(url, headers=dict([header.split(": ", 1)]), trust_env=False)
        assert answer.status_code == 200
        assert answer.json()["results"][0]["type"] == "feature"
        assert service.stop() == 0
    with ServiceProcess(tmp_path) as again, again.client(key) as client:
        assert client.get("/v2/objects").status_code == 200
        again.stop()
        assert key not in again.process.communicate()[0]

    assert key.encode() not in (tmp_path / "magistrate.db").read_bytes()


def test_the_file_is_made_with_a_write_ahead_log_and_survives_a_restart(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY) as service, service.client() as client:
        client.post("/v2/objects", json={"objectType": "d", "objectId": "x"})
    with ServiceProcess(tmp_path, api_key=KEY) as service, service.client() as client:
        assert client.get("/v2/objects/d/x").status_code == 200

    connection = apsw.Connection(str(tmp_path / "magistrate.db"))
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_the_connections_wait_for_the_disk(tmp_path: Path) -> None:
    migrate_store(settings_for(f"sqlite:///{tmp_path}/m.db"))
    file = SqliteFile(str(tmp_path / "m.db"), 1_000, lambda sql: None)

    assert file._writer.connection.execute("PRAGMA synchronous").fetchall() == [(2,)]  # FULL


def test_sigterm_stops_it_while_it_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "magistrate", "serve", "--port", "0", "--workers", "1", "--api-key", KEY]
    for _ in range(3):
        process = start_process(command, folder=tmp_path, errors=subprocess.DEVNULL)
        assert process.stdout is not None
        process.stdout.readline()

        process.terminate()  # it has said where it listens, and is about to begin
        process.communicate(timeout=30)

        assert process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize("workers", list_by_day(["2", "1"], 1))
def test_sigterm_lets_requests_in_flight_finish_and_exits_0(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY) as service, service.client() as client:
        body = b'{"objectType":"d","objectId":"x"}'
        connection = connect(client)
        connection.sendall(head(client, "POST", "/v2/objects", f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")

        with connect(client) as idle:
            service.process.send_signal(signal.SIGTERM)
            assert is_hung_up(idle)  # the service has begun to stop
        connection.sendall(body)

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.close()
        assert service.process.wait(timeout=30) == 0
        with pytest.raises(httpx.ConnectError):
            client.get("/healthz")

    assert len(dump(f"sqlite:///{tmp_path}/magistrate.db")["object"]) == 1


def test_sigint_stops_it_as_well(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY) as service:
        service.process.send_signal(signal.SIGINT)

        assert service.process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("flags", "settings", "message"),
    list_by_day(
        [
            (["--database-url", "mysql://x/y"], {}, "unknown scheme"),
            (["--database-url", "postgresql://u:s%zz@h/d"], {}, "libpq cannot read it"),
            (
                ["--database-url", "postgresql://u@h/d", "--read-database-url", "postgresql://u:s%zz@h/d"],
                {},
                "libpq cannot read it",
            ),
            (["--host", "no such host"], {}, "cannot listen on"),
            (["--database-url", "sqlite:////no/such/folder/m.db"], {}, "No such file or directory"),
            (["--port", "70000"], {}, "--port must be from 0 to 65535"),
            ([], {"prot": "8000"}, "MAGISTRATE_PROT is not a setting"),
            ([], {"api_key": ""}, "MAGISTRATE_API_KEYS is empty"),
            (
                [],
                {"API_KEY": "magistrate_Vd3..."},
                "MAGISTRATE_API_KEY: the API key is an example of the documentation",
            ),
            (["--jwt-keys", "no.pem", "--jwt-issuer", "x", "--jwt-audience", "y"], {}, "no.pem cannot be read"),
            (["--database-url", "postgresql://host:notaport/db"], {}, "port"),
            (["--port", "9" * 5000], {}, "--port must be from 0 to 65535, not 999"),
            (["--rate-limit", "-1"], {}, "--rate-limit must be from 0 to 1000000, not -1"),
            (["--workers", "many"], {}, "--workers must be a whole number"),
            ([], {"workers": "257"}, "MAGISTRATE_WORKERS must be from 0"),
            ([], {"api_keys": "magistrate_Vd3..."}, "the API key is an example of the documentation"),
            (["--no-such-flag"], {}, "No such option"),
            (["--host", "192.0.2.1"], {}, "cannot listen on"),
        ],
        10,
    ),
)
def test_a_setting_that_cannot_stand_stops_it_with_a_message(
    tmp_path: Path, flags: list[str], settings: dict[str, str], message: str
) -> None:
    service = ServiceProcess(tmp_path, *flags, **settings)

    errors = service.errors()

    assert message in read_failed_start(errors)
    assert "Traceback" not in errors
    assert "s%zz" not in errors
    assert service.process.returncode in (1, 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "spoil",
    list_by_day(
        [
            lambda path: path.write_bytes(b"this is no database, but long enough to be read as one" * 100),
            lambda path: path.mkdir(),
            lambda path: apsw.Connection(str(path)).execute("CREATE TABLE migration (other)"),
        ],
        1,
    ),
)
def test_a_file_that_is_no_store_stops_it_with_a_message(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    spoil(tmp_path / "magistrate.db")

    service = ServiceProcess(tmp_path, api_key=KEY)

    errors = service.errors()
    *warnings, failed = errors.splitlines()  # some of these files can be read by others
    assert read_failed_start(failed).startswith("the SQLite database magistrate.db cannot be migrated")
    assert all(json.loads(line)["level"] == "warning" for line in warnings)
    assert "Traceback" not in errors
    assert service.process.returncode == 1


def test_a_file_that_was_moved_away_is_noticed_and_no_write_is_lost_in_it(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY) as service, service.client() as client:
        (tmp_path / "magistrate.db").rename(tmp_path / "moved.db")

        write, ready = client.post("/v2/objects", json={"objectType": "d"}), client.get("/readyz")
        (tmp_path / "moved.db").rename(tmp_path / "magistrate.db")
        again = client.post("/v2/objects", json={"objectType": "d"})

    assert (write.status_code, ready.status_code, again.status_code) == (503, 503, 200)


def test_a_request_that_does_not_finish_learns_that_the_service_stops(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY, stop_timeout_ms="1000") as service, service.client() as client:
        connection = connect(client)
        connection.sendall(head(client, "POST", "/v2/objects", "Content-Length: 100", "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # now it waits for the body
        connection.sendall(b"{")
        service.process.send_signal(signal.SIGTERM)

        answer = read_answer(connection)
        connection.close()
        assert service.process.wait(timeout=30) == 0

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert answer.endswith(b'{"code":"unavailable","message":"the service is stopping"}\n')


def test_a_hung_up_terminal_stops_it_like_sigterm(tmp_path: Path) -> None:
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "magistrate", "serve", "--port", "0", "--workers", "1"]
    process = start_process(command, folder=tmp_path, environment=dict(os.environ) | {"TERM": "dumb"}, output=end)
    os.close(end)
    shown = b""
    while b"API key" not in shown:  # printed before the handler is installed, so wait for an answer, too
        shown += os.read(terminal, 65_536)
    [url] = re.findall(r"http://[0-9.:]+", shown.decode().splitlines()[0])
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        assert client.get("/readyz").status_code == 200

    process.send_signal(signal.SIGHUP)

    assert process.wait(timeout=30) == 0
    os.close(terminal)


def test_a_worker_that_dies_is_replaced_even_while_the_store_is_away(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        workers = serving(children_of(service.process.pid))
        assert len(workers) == 2
        (tmp_path / "magistrate.db").rename(tmp_path / "moved.db")
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(set(serving(children_of(service.process.pid))) - set(workers)) == 1)
        time.sleep(1)
        assert not (tmp_path / "magistrate.db").exists()
        (tmp_path / "moved.db").rename(tmp_path / "magistrate.db")

        def every_answer_is_200() -> bool:
            answers = []
            for _ in range(20):
                with service.client() as client:
                    answers.append(client.get("/v2/objects").status_code)
            return set(answers) == {200}

        wait_until(every_answer_is_200)
        assert service.process.poll() is None
        assert service.stop() == 0


def test_workers_stop_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        workers = serving(children_of(service.process.pid))
        service.kill()

        wait_until(lambda: not serving(workers))


def test_a_port_in_use_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = ServiceProcess(tmp_path, "--port", str(taken.getsockname()[1]), api_key=KEY)

        assert "Address already in use" in service.errors()
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_show_every_setting() -> None:
    def output(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "magistrate", *arguments], capture_output=True, text=True, check=True
        ).stdout

    assert output("--version").strip() == f"magistrate, version {magistrate.__version__}, commit {COMMIT}"
    assert "serve" in output("--help")
    assert "--database-url" in output("serve", "--help")


def test_a_body_of_a_gigabyte_does_not_grow_the_memory(tmp_path: Path) -> None:
    piece = b"x" * 1_048_576
    with ServiceProcess(tmp_path, api_key=KEY, max_body_bytes="1048576") as service, service.client() as client:
        client.get("/v2/objects")
        before = service.resident_bytes()

        for key, headers in (
            (KEY, ["Content-Length: 1073741824"]),
            (KEY, ["Transfer-Encoding: chunked"]),
            ("wrong", ["Content-Length: 1073741824"]),
        ):
            with service.client(key) as caller, connect(caller) as connection:
                connection.sendall(head(caller, "POST", "/v2/objects", *headers))
                try:
                    for _ in range(1024):
                        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if "chunked" in headers[0] else piece
                        connection.sendall(chunk)
                except ConnectionError:
                    pass  # the service hung up, as it may

        assert client.get("/healthz").status_code == 200
        assert service.resident_bytes() - before < 20_000_000


@pytest.mark.parametrize("workers", ["2", *(pytest.param(count, marks=pytest.mark.nightly) for count in ("1", "3"))])
def test_metrics_are_added_up_over_the_workers(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY) as service:

        def call() -> None:
            with service.client() as client:
                for _ in range(10):
                    client.get("/v2/object-types")

        threads = [threading.Thread(target=call) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counted = 'magistrate_requests_total{method="GET",route="/v2/object-types",status="200"} 60.0'
        timed = 'magistrate_request_seconds_bucket{le="+Inf",method="GET",route="/v2/object-types"} 60.0'
        deadline = time.monotonic() + 60
        with service.client() as client:
            # What another worker has counted is reported within a second of its start.
            while True:
                metrics = client.get("/metrics").text
                if counted in metrics and metrics.count("magistrate_graph_entries{") == int(workers):
                    break
                assert time.monotonic() < deadline, metrics
                time.sleep(0.1)

    assert timed in metrics
