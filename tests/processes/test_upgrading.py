"""Two versions of Magistrate on one database, under load: neither order of their starts disturbs requests, unless a
migration says that it breaks the other version."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.processes.versions import BREAKING, EXPANDING, NEWEST, ROOT, install_version
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

LOADED_REQUESTS = 40
"""How many requests each client has answered before and after each step."""
PAUSE_SECONDS = 0.005
"""Passes between the requests of a client: the processor is for the versions that start meanwhile."""
FIRST, SECOND = "document:plan#viewer@user:first", "document:plan#viewer@user:second"


@pytest.fixture(scope="module")
def this_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_version(tmp_path_factory.mktemp("this"))


@pytest.fixture(scope="module")
def expanding_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version, which expands the schema."""
    return install_version(tmp_path_factory.mktemp("expanding"), EXPANDING)


@pytest.fixture(scope="module")
def breaking_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version that breaks this one."""
    return install_version(tmp_path_factory.mktemp("breaking"), BREAKING)


class Load:
    """Clients that read and write until they are stopped."""

    def __init__(self, url: str) -> None:
        self.faults: list[str] = []
        self._url = url
        self._is_stopped = threading.Event()
        self._answered = [0, 0]
        self._threads = [
            threading.Thread(target=self._send, args=(place, send)) for place, send in enumerate((write, read))
        ]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        self.go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self._is_stopped.set()
        for thread in self._threads:
            thread.join()

    def go_on(self) -> None:
        """Returns when each client has had some more answers."""
        wanted = [answered + LOADED_REQUESTS for answered in self._answered]
        deadline = time.monotonic() + 60
        while any(answered < least for answered, least in zip(self._answered, wanted, strict=True)):
            assert not self.faults, self.faults
            assert time.monotonic() < deadline, "the service does not answer"
            time.sleep(0.01)

    def _send(self, place: int, send: "Callable[[Client, int], Iterator[httpx.Response]]") -> None:
        with Client(self._url) as client:
            while not self._is_stopped.is_set():
                try:
                    for answer in send(client, self._answered[place]):
                        answer.raise_for_status()
                        self._answered[place] += 1
                        self._is_stopped.wait(PAUSE_SECONDS)
                except httpx.HTTPError as error:
                    text = error.response.text if isinstance(error, httpx.HTTPStatusError) else ""
                    self.faults.append(f"{error!r} {text}")
                    return


def write(client: Client, number: int) -> Iterator[httpx.Response]:
    warrant = warrant_body(f"document:plan#viewer@user:u{number}")
    yield client.post("/v2/warrants", json=warrant)
    yield client.post("/v2/objects", json={"objectType": "document", "objectId": f"d{number}", "meta": {"n": number}})
    yield client.put(f"/v2/objects/document/d{number}", json={"meta": {"n": 0}})
    yield client.delete_json("/v2/warrants", warrant)
    yield client.post("/v2/object-types", json={"type": f"t{number % 5}", "relations": {}})


def read(client: Client, number: int) -> Iterator[httpx.Response]:
    yield client.ask(f"document:plan#viewer@user:u{number}")
    yield client.ask(FIRST, debug=True)
    yield client.get("/v2/query", params={"q": "select document where user:first is viewer"})
    yield client.get("/v2/warrants", params={"limit": 5})
    yield client.get("/v2/objects", params={"limit": 5, "q": "d"})
    yield client.get("/v2/resource-events")
    yield client.get("/v2/keys")
    yield client.get("/v2/stores")


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database_url(request.param, tmp_path, request, has_tables=False)


def start(version: Path, url: str, folder: Path, *flags: str) -> ServiceProcess:
    class OtherVersion(ServiceProcess):
        package = version

    return OtherVersion(folder, *flags, database_url=url, api_key=KEY, decision_log="100")


def define_model(service: ServiceProcess) -> None:
    with service.client() as client:
        client.define({"document": {"viewer": {}}, "user": {}})


def grant(service: ServiceProcess, text: str) -> str:
    with service.client() as client:
        answer = client.post("/v2/warrants", json=warrant_body(text))
        answer.raise_for_status()
        return str(answer.headers["Warrant-Token"])


def is_allowed(service: ServiceProcess, text: str, token: str) -> bool:
    with service.client() as client:
        client.headers["Warrant-Token"] = token
        return bool(client.ask(text).json()["result"] == "Authorized")


def readiness(service: ServiceProcess) -> tuple[int, str]:
    with service.client() as client:
        answer = client.get("/readyz")
        return answer.status_code, answer.text


def stop_quietly(service: ServiceProcess) -> list[str]:
    """Stops a service, and returns what it has logged, in which there is nothing at which somebody has to look."""
    assert service.stop() == 0
    lines = [json.loads(line) for line in service.errors().splitlines()]
    assert {line["level"] for line in lines} <= {"debug", "info"}, lines
    return [f"{line['event']}: {line.get('name', line.get('schema'))}" for line in lines]


def write_every_table(service: ServiceProcess, name: str) -> None:
    """Makes a row of each kind that no client of a load makes."""
    policy = {"name": f"{name}-office", "parameters": {"network": "string"}, "expression": 'network == "office"'}
    made = {"objectType": "document", "objectId": name}
    writes = {"create": {"warrants": [warrant_body(f"document:plan#viewer@user:{name}")], "objects": [made]}}
    expiring = warrant_body("document:plan#viewer@user:soon") | {"expiresAt": "2100-01-01T00:00:00Z"}
    with service.client() as client:

        def post(path: str, body: object, **headers: str) -> httpx.Response:
            answer = client.post(path, json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            return answer

        key = post("/v2/keys", {"name": f"{name}-key", "scopes": ["check"]}).json()
        post(f"/v2/keys/{key['id']}/rotate", {"graceSeconds": 60})
        for number in range(2):
            post("/v2/writes", writes, **{"Idempotency-Key": f"{name}-key-of-a-write"})
            post("/v2/policies", policy | {"expression": f'network == "office{number}"'})
        post("/v2/warrants", expiring | {"policy": f'network == "{name}"'})
        post("/v2/sessions", {"type": "sess", "userId": "ann"})
        store = post("/v2/stores", {"name": f"{name}-store", "from": "default"}).json()
        assert client.delete(f"/v2/stores/{store['id']}").status_code == 202
        decided = client.ask(FIRST)
        deadline = time.monotonic() + 10
        while not client.get("/v2/access-events", headers={"Warrant-Token": decided.headers["Warrant-Token"]}).json()[
            "results"
        ]:
            assert time.monotonic() < deadline, "decisions are not recorded"
            time.sleep(0.1)


def agree(first: ServiceProcess, second: ServiceProcess) -> None:
    """Each sees what the other has written."""
    assert is_allowed(second, FIRST, grant(first, FIRST))
    assert is_allowed(first, SECOND, grant(second, SECOND))
    assert readiness(first) == readiness(second) == (200, readiness(first)[1])


def schema_of(url: str) -> tuple[object, ...]:
    return dump(url)["migration"][-1]


def run_command(version: Path, url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"MAGISTRATE_DATABASE_URL": url, "PYTHONPATH": str(version)}
    command = [sys.executable, "-m", "magistrate", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def use_commands(version: Path, url: str, folder: Path) -> None:
    """Runs the commands that work on a database."""
    lines = [{"objectType": "user", "objectId": "kim"}, warrant_body("document:plan#viewer@user:kim")]
    (folder / "lines.json").write_text("\n".join(map(json.dumps, lines)))
    for command in (("import", "lines.json"), ("backup", "backup.gz"), ("migrate",), ("sessions", "revoke")):
        ran = run_command(version, url, folder, *command)
        assert ran.returncode == 0, ran.stderr


def test_a_new_version_migrates_under_the_one_before_which_can_be_restarted(
    url: str, this_version: Path, expanding_version: Path, tmp_path: Path
) -> None:
    with ExitStack() as running:
        before = running.enter_context(start(this_version, url, tmp_path))
        define_model(before)
        with Load(before.url) as load:
            after = running.enter_context(start(expanding_version, url, tmp_path))
            assert schema_of(url) == (NEWEST + 1, "next", 1)
            load.go_on()
            agree(before, after)
        with Load(after.url):
            stop_quietly(before)
            again = running.enter_context(start(this_version, url, tmp_path))
            with Load(again.url):
                agree(again, after)
        assert stop_quietly(again) == []
        assert stop_quietly(after) == ["a migration begins: next", f"the database was migrated: {NEWEST + 1}"]


@pytest.mark.nightly
def test_a_version_starts_on_what_the_next_one_has_made(
    url: str, this_version: Path, expanding_version: Path, tmp_path: Path
) -> None:
    with ExitStack() as running:
        after = running.enter_context(start(expanding_version, url, tmp_path))
        define_model(after)
        with Load(after.url):
            before = running.enter_context(start(this_version, url, tmp_path))
            with Load(before.url):
                agree(before, after)
                write_every_table(before, "before")
                write_every_table(after, "after")
                use_commands(this_version, url, tmp_path)
        with Load(before.url):
            stop_quietly(after)
            again = running.enter_context(start(expanding_version, url, tmp_path))
            with Load(again.url):
                agree(before, again)
        stop_quietly(before)
        stop_quietly(again)


@pytest.mark.nightly
def test_a_version_that_a_migration_breaks_is_not_ready_and_does_not_start(
    url: str, this_version: Path, breaking_version: Path, tmp_path: Path
) -> None:
    reason = (
        f"the store has schema {NEWEST + 1}, made by a newer Magistrate; it can be used by versions that know schema "
        f"{NEWEST + 1}, and this one knows {NEWEST}"
    )
    with ExitStack() as running:
        before = running.enter_context(start(this_version, url, tmp_path))
        define_model(before)
        assert readiness(before)[0] == 200
        after = running.enter_context(start(breaking_version, url, tmp_path))
        with Load(after.url):
            status, body = readiness(before)
            assert (status, json.loads(body)["message"]) == (503, reason)
            before.stop()
            refused = start(this_version, url, tmp_path)
            assert read_failed_start(refused.errors()) == reason
            assert refused.process.returncode == 1
        stop_quietly(after)


@pytest.mark.nightly
def test_the_commands_of_an_upgrade_do_what_operating_says(
    url: str, this_version: Path, expanding_version: Path, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "operating.md").read_text().partition("\n## Upgrading\n")[2]
    [block] = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    plan, migrate, serve = (line.removeprefix("$ magistrate ").split() for line in block.splitlines())
    with start(this_version, url, tmp_path) as before:
        define_model(before)
        refused = run_command(expanding_version, url, tmp_path, *serve)
        assert refused.returncode == 1
        assert read_failed_start(refused.stderr) == (
            f"the store has schema {NEWEST}, and this version of Magistrate needs {NEWEST + 1}; run `magistrate "
            "migrate`, or start without --migrate never"
        )
        assert run_command(expanding_version, url, tmp_path, *plan).returncode == 1
        assert schema_of(url)[0] == NEWEST

        with Load(before.url):
            assert run_command(expanding_version, url, tmp_path, *migrate).stdout == f"Applied {NEWEST + 1:04}_next\n"
            assert run_command(expanding_version, url, tmp_path, *plan).returncode == 0
            assert readiness(before)[0] == 200
            with start(expanding_version, url, tmp_path, *serve[1:]) as after:
                agree(before, after)
                assert stop_quietly(after) == []
