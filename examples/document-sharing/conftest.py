"""Everything runs: Magistrate, and the application, each in a process of its own on a free port."""

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

HERE = Path(__file__).parent
KEY = "the-key-of-these-tests"
STARTED_WITHIN_SECONDS = 30.0


class Person(httpx.Client):
    """Somebody in front of the application."""

    name = ""

    def log_in(self, name: str) -> None:
        self.name = name
        token = self.post("/login", json={"user": name}).raise_for_status().json()["token"]
        self.headers["Authorization"] = f"Bearer {token}"

    def creates(self, kind: str, **body: str) -> str:
        """The id of a new item."""
        answer = self.post(f"/{kind}", json={"title": "Plan"} | body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def may_read(self, document: str) -> bool:
        answer = self.get(f"/documents/{document}")
        assert answer.status_code in {200, 404}, answer.text
        return answer.status_code == 200

    def does(self, method: str, path: str) -> None:
        answer = self.request(method, path)
        assert answer.status_code == 204, answer.text

    def lists(self, path: str) -> list[str]:
        return [each["id"] for each in self.get(path).raise_for_status().json()]


@contextmanager
def somebody(url: str, name: str = "") -> Iterator[Person]:
    """A client of the application at this URL, logged in if there is a name."""
    with Person(base_url=url, trust_env=False, timeout=30, verify=False) as person:  # there is no TLS to verify
        if name:
            person.log_in(name)
        yield person


@contextmanager
def running(log: Path, *arguments: str, **variables: str) -> Iterator[str]:
    """The URL that a process of ours announces in its log."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAGISTRATE_", "SHARING_"))}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=HERE, env=own | variables, stdout=output, stderr=output
        )
    try:
        yield announced(log, process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def announced(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while not (found := re.search(r"(?:listens|running) on (http://[\d.]+:\d+)", log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
    return found[1]


@contextmanager
def application(folder: Path, magistrate: str, **variables: str) -> Iterator[str]:
    """The URL of the application, which keeps its database in the folder."""
    settings = {
        "SHARING_DATABASE": str(folder / "sharing.db"),
        "SHARING_SECRET": "the-secret-of-these-tests",
        "MAGISTRATE_SERVER": magistrate,
        "MAGISTRATE_API_KEY": KEY,
    }
    if variables.get("SHARING_CLIENT") == "warrant":
        settings["HTTP_PROXY"] = "http://127.0.0.1:1"  # must not lead the SDK away
    command = ("uvicorn", "--factory", "sharing.app:create_app", "--port", "0")
    with running(folder / f"{secrets.token_hex(4)}.log", *command, **settings | variables) as url:
        yield url


@pytest.fixture(scope="session")
def magistrate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Magistrate that knows the model."""
    folder = tmp_path_factory.mktemp("magistrate")
    command = ("magistrate", "serve", "--port", "0", "--workers", "1")
    database = f"sqlite:///{folder}/magistrate.db"
    with running(folder / "log", *command, "--database-url", database, MAGISTRATE_API_KEYS=KEY) as url:
        define = [sys.executable, "-m", "magistrate", "model", "apply", "--yes", str(HERE / "model.txt")]
        asked = os.environ | {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": KEY}
        subprocess.run(define, env=asked, check=True, capture_output=True)
        yield url


@pytest.fixture(scope="session", params=["magistrate", "warrant"])
def client_name(request: pytest.FixtureRequest) -> str:
    """Which client the application calls Magistrate by."""
    return str(request.param)


@pytest.fixture(scope="session")
def url(magistrate: str, client_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with application(tmp_path_factory.mktemp("application"), magistrate, SHARING_CLIENT=client_name) as url:
        yield url


@pytest.fixture
def person(url: str) -> Iterator[Callable[[str], Person]]:
    """Makes people whom no other test knows."""
    with ExitStack() as made:
        yield lambda name: made.enter_context(somebody(url, f"{name}-{secrets.token_hex(4)}"))


@pytest.fixture
def ann(person: Callable[[str], Person]) -> Person:
    return person("ann")


@pytest.fixture
def bob(person: Callable[[str], Person]) -> Person:
    return person("bob")


@pytest.fixture
def kim(person: Callable[[str], Person]) -> Person:
    return person("kim")


@pytest.fixture
def visitor(url: str) -> Iterator[Person]:
    """Somebody who did not log in."""
    with somebody(url) as visitor:
        yield visitor
