"""`magistrate backup`, `restore` and `export` through a service: they do what they do on its database."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.endpoints import backups
from tests.api.sockets import connect, head
from tests.backups import done, export, fill_database, magistrate
from tests.conftest import STORES, new_database_url
from tests.running import KEY, Client, running_service, settings_for

SUFFIXES = ("", ".gz", ".zst")
OTHER = {"sqlite": "postgres", "postgres": "sqlite"}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database with a store that has everything."""
    url = new_database_url(kind, tmp_path, request)
    fill_database(url)
    return url


@pytest.fixture
def service(database: str) -> Iterator[Client]:
    """A client of a service of this database."""
    with running_service(settings_for(database)) as url, Client(url) as client:
        yield client


def at(client: Client, key: str = KEY) -> tuple[str, ...]:
    return "--url", str(client.base_url), "--api-key", key


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("options", [(), ("--with-keys",), ("--all-stores",)])
def test_a_backup_is_the_same_as_that_of_the_database(
    database: str, service: Client, tmp_path: Path, suffix: str, options: tuple[str, ...]
) -> None:
    service.post("/v2/keys", json={"name": "own", "scopes": ["check"]}).raise_for_status()
    service.post("/v2/stores", json={"name": "acme", "description": "x"}).raise_for_status()
    of_database, of_service = tmp_path / f"database{suffix}", tmp_path / f"service{suffix}"

    there = done("backup", of_database, *options, "--database-url", database)
    here = done("backup", of_service, *options, *at(service))

    assert of_database.read_bytes() == of_service.read_bytes()
    assert here.stdout.splitlines()[:-1] == there.stdout.splitlines()[:-1]


def test_the_past_and_the_lines_alone_are_those_of_the_database(database: str, service: Client, tmp_path: Path) -> None:
    token = service.get("/v2/warrants").headers["Warrant-Token"]
    before = export(database)
    service.delete("/v2/objects/document/plan").raise_for_status()

    past = done("export", *at(service), "--as-of", token).stdout_bytes
    done("backup", tmp_path / "past", *at(service), "--as-of", token)
    done("backup", tmp_path / "same", "--database-url", database, "--as-of", token)

    assert past == before
    assert done("export", *at(service)).stdout_bytes == export(database) != before
    assert (tmp_path / "past").read_bytes() == (tmp_path / "same").read_bytes()


def test_a_store_to_which_nothing_was_written_is_backed_up(service: Client, database: str, tmp_path: Path) -> None:
    service.post("/v2/stores", json={"name": "acme"}).raise_for_status()

    done("backup", tmp_path / "acme", *at(service), "--store", "acme")
    done("backup", tmp_path / "same", "--database-url", database, "--store", "acme")

    assert (tmp_path / "acme").read_bytes() == (tmp_path / "same").read_bytes()


def test_only_keys_of_the_store_with_the_scope_admin_are_allowed(service: Client, tmp_path: Path) -> None:
    service.post("/v2/stores", json={"name": "acme"}).raise_for_status()
    scopes = ["check", "query", "read", "write", "model", "events", "keys", "stores"]
    weak = service.post("/v2/keys", json={"name": "weak", "scopes": scopes}).json()["key"]
    acme = service.post("/stores/acme/v2/keys", json={"name": "a", "scopes": ["admin"]}).json()["key"]
    limited = {"name": "limited", "scopes": ["admin"], "objectTypes": ["document"]}
    narrow = service.post("/v2/keys", json=limited).json().get("key", "none")

    for key, options, message in (
        (weak, (), "this request needs the scope admin"),
        (narrow, (), ""),
        (acme, ("--store", "default"), "Store default"),
        (acme, ("--all-stores",), "stores"),
    ):
        ran = magistrate("backup", tmp_path / "refused", *options, *at(service, key))
        assert ran.exit_code == 2
        assert message in ran.stderr
        assert not (tmp_path / "refused").exists()
    own = done("backup", tmp_path / "acme", *at(service, acme))
    assert own.stdout.startswith("store acme at ")


def test_the_place_is_named_once(service: Client, database: str, tmp_path: Path) -> None:
    ran = magistrate("backup", tmp_path / "none", *at(service), "--database-url", database)
    assert ran.exit_code == 2
    assert "either --url URL or --database-url URL" in ran.stderr


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Backups of services in this process wait behind their first page until it is called."""
    may_go_on, write = threading.Event(), backups._LineBuffer.write

    def write_later(buffer: Any, content: bytes) -> None:
        write(buffer, content)
        may_go_on.wait(30)

    monkeypatch.setattr(backups._LineBuffer, "write", write_later)
    yield may_go_on.set
    may_go_on.set()


def test_a_backup_that_fails_does_not_appear(service: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(buffer: Any, content: bytes) -> None:
        if buffer.pieces:
            raise ZeroDivisionError
        buffer.pieces.append(content)

    monkeypatch.setattr(backups._LineBuffer, "write", write)
    for _ in range(3):
        ran = magistrate("backup", tmp_path / "all", *at(service))
        assert ran.exit_code == 2
        assert "it ended the backup before it was complete" in ran.stderr
        assert list(tmp_path.glob("*all*")) == []
    assert service.get("/v2/warrants").status_code == 200


def test_only_some_backups_are_made_at_a_time(service: Client, database: str, tmp_path: Path) -> None:
    for number in range(30):
        meta = {"text": "x" * 50_000}
        body = {"objectType": "document", "objectId": f"large-{number}", "meta": meta}
        large = [{**body, "objectId": f"large-{number}-{part}"} for part in range(20)]
        service.post("/v2/objects", json=large).raise_for_status()
    with connect(service, receive_buffer=4_096) as first, connect(service, receive_buffer=4_096) as second:
        for connection in (first, second):
            connection.sendall(head(service, "GET", "/v2/backup"))
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        ran = magistrate("backup", tmp_path / "third", *at(service))
        assert "answered 503" in ran.stderr
        assert service.get("/v2/warrants").status_code == 200
        service.grant("document:new#owner@user:ann")
        answer = read_to_the_end_of_chunks(first)
    assert answer.count(b"\n") > 600


def read_to_the_end_of_chunks(connection: Any) -> bytes:
    answer = bytearray()
    while not answer.endswith(b"\r\n0\r\n\r\n"):
        received = connection.recv(1_048_576)
        assert received
        answer += received
    return bytes(answer)
