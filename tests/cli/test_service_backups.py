"""`magistrate backup`, `restore` and `export` through a service: they do what they do on its database."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.endpoints import backups
from magistrate.operations.backups import lines, restore
from tests.api.sockets import connect, head, read_answer
from tests.backups import done, export, fill, fill_database, magistrate, read_answers
from tests.conftest import STORES, new_database_url
from tests.running import KEY, Client, running_server, running_service, settings_for, wait_for_stopped_services
from tests.waiting import wait_until

SUFFIXES = ("", ".gz", ".zst")
OTHER = {"sqlite": "postgres", "postgres": "sqlite"}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    """The store of the service. Commands on a database are tested on both; the other is where a store moves to."""
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


@pytest.fixture
def target(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of a service of an empty database of the other kind."""
    (tmp_path / "target").mkdir()
    url = new_database_url(OTHER[kind], tmp_path / "target", request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_store_moves_through_services_to_the_other_database(
    service: Client, target: Client, tmp_path: Path, suffix: str
) -> None:
    before, backup = read_answers(service), tmp_path / f"all{suffix}"

    done("backup", backup, *at(service))
    restored = done("restore", backup, *at(target))
    again = magistrate("restore", backup, *at(target))
    replaced = done("restore", backup, *at(target), "--replace", "--no-verify")

    assert read_answers(target) == before
    assert done("export", *at(target)).stdout_bytes == done("export", *at(service)).stdout_bytes
    assert "verified: the number of rows, their digest, and " in restored.stdout
    assert again.exit_code == 2
    assert "the store is not empty; --replace replaces what it has" in again.stderr
    assert "verified" not in replaced.stdout
    assert f"token {target.get('/v2/warrants').headers['Warrant-Token']}:" in replaced.stdout


def test_all_stores_and_their_keys_move_at_once(service: Client, target: Client, tmp_path: Path) -> None:
    service.post("/v2/stores", json={"name": "acme", "from": "default", "limits": {"warrants": 50}}).raise_for_status()
    key = service.post("/stores/acme/v2/keys", json={"name": "own", "scopes": ["admin"]}).json()["key"]
    fill(service, "/stores/acme")

    done("backup", tmp_path / "all", "--all-stores", "--with-keys", *at(service))
    done("restore", tmp_path / "all", *at(target), "--replace")

    assert read_answers(target, "/stores/acme") == read_answers(service, "/stores/acme")
    assert target.get("/v2/stores/acme").json()["limits"] == {"warrants": 50}
    with Client(str(target.base_url), key) as own:
        assert own.get("/v2/warrants").status_code == 200  # at once
    refused = magistrate("restore", tmp_path / "all", *at(target, key), "--replace")
    assert refused.exit_code == 2
    assert "the backup is of 2 stores" in refused.stderr


def test_a_restore_makes_a_store(service: Client, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", *at(service))

    done("restore", tmp_path / "all", *at(service), "--into", "copy")

    assert read_answers(service, "/stores/copy") == read_answers(service)
    done("restore", tmp_path / "all", *at(service), "--into", "copy", "--replace")
    missing = magistrate("restore", tmp_path / "all", *at(service), "--store", "none")
    assert "Store none" in missing.stderr


def test_a_damaged_or_incomplete_upload_changes_nothing(service: Client, tmp_path: Path) -> None:
    content = done("backup", "-", *at(service)).stdout_bytes
    before = service.get("/v2/warrants").headers["Warrant-Token"]
    lines = content.splitlines(keepends=True)
    middle = len(content) // 2

    for damaged in (
        b"",
        b"".join(lines[:5] + lines[6:]),
        b"".join(lines[:-1]),
        content[:-1],
        content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        content + b"{}\n",
        content.replace(b'"meta":{"', b'"meta":{"\xff', 1),
    ):
        assert damaged != content
        answer = service.post("/v2/restore", params={"replace": "true"}, content=damaged)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.text
    with connect(service) as connection:
        length = f"Content-Length: {len(content)}"
        connection.sendall(head(service, "POST", "/v2/restore?replace=true", length) + content[:-10])
    with connect(service) as connection:
        connection.sendall(head(service, "POST", "/v2/restore?replace=true", "Transfer-Encoding: chunked"))
        connection.sendall(b"%x\r\n" % len(content) + content + b"\r\n")  # the last chunk is missing
    wait_until(lambda: service.post("/v2/restore", content=b"x").status_code == 400)

    assert service.get("/v2/warrants").headers["Warrant-Token"] == before
    restored = service.post("/v2/restore", params={"replace": "true"}, content=content)
    assert restored.status_code == 200
    [store] = restored.json()["stores"]
    assert store["differences"] == []
    assert store["token"] == restored.headers["Warrant-Token"] == service.get("/v2/warrants").headers["Warrant-Token"]


def test_an_upload_has_limits_and_only_some_are_made_at_a_time(database: str) -> None:
    settings = settings_for(database, max_restore_bytes=2_000, body_timeout_ms=1_000, max_body_bytes=1_024)
    with running_service(settings) as url, Client(url) as client:
        content = done("backup", "-", *at(client)).stdout_bytes
        too_large = client.post("/v2/restore", content=content)
        in_chunks = client.post("/v2/restore", content=iter([content[:1_500], content[1_500:]]))
        assert {too_large.status_code, in_chunks.status_code} == {413}
        with connect(client) as connection:
            connection.sendall(head(client, "POST", "/v2/restore", "Content-Length: 1500"))
            wait_until(lambda: client.post("/v2/restore", content=b"x").status_code == 503)
            assert read_answer(connection).startswith(b"HTTP/1.1 408 ")
        limited = {"name": "few", "scopes": ["admin"], "objectTypes": ["document"]}
        key = client.post("/v2/keys", json=limited).json()["key"]
        with Client(url, key) as narrow:
            assert narrow.post("/v2/restore", content=b"x").status_code == 403
            assert narrow.get("/v2/backup").status_code == 403
        assert client.post("/v2/restore", content=b"x").status_code == 400


def test_a_restore_is_stopped_with_the_service(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on, has_begun = threading.Event(), threading.Event()
    read_rows = lines.read_rows

    def wait_and_read(batch: Sequence[bytes], validates: bool = True) -> Any:
        if not validates:
            has_begun.set()
            may_go_on.wait(30)
        return read_rows(batch, validates)

    monkeypatch.setattr(restore, "read_rows", wait_and_read)
    settings = settings_for(database, stop_timeout_ms=1_000)
    with running_server(settings) as (url, server), Client(url) as client, ThreadPoolExecutor(1) as threads:
        before = client.get("/v2/warrants").json()["results"]
        content = done("backup", "-", *at(client)).stdout_bytes
        restoring = threads.submit(client.post, "/v2/restore", params={"replace": "true"}, content=content)
        assert has_begun.wait(30)
        with Client(url) as other:
            assert other.get("/v2/warrants").json()["results"] == before
        server.should_exit = True
        answer = restoring.result()
        may_go_on.set()

    assert answer.status_code == 503
    wait_for_stopped_services()
    with running_service(settings_for(database)) as url, Client(url) as client:
        assert client.get("/v2/warrants").json()["results"] == before
        client.grant("document:later#owner@user:ann")


def read_to_the_end_of_chunks(connection: Any) -> bytes:
    answer = bytearray()
    while not answer.endswith(b"\r\n0\r\n\r\n"):
        received = connection.recv(1_048_576)
        assert received
        answer += received
    return bytes(answer)
