"""`magistrate backup`, `restore` and `export`: what was written is restored exactly, or nothing is."""

import gzip
import json
import random
import stat
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from magistrate.engine.names import Revision
from magistrate.store.contract.backups import VersionedRow
from magistrate.store.contract.store import Store
from magistrate.store.postgres import joined_writes
from magistrate.store.sql import joined
from magistrate.store.sql.joined import NUMBER, join_insertions_of_group
from magistrate.wiring.stores import migrate_store
from tests.backups import answers_of, done, export, fill, fill_database, magistrate, read_answers
from tests.conftest import STORES, new_database_url
from tests.databases import Dump, dump, run_sql
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.decompress, ".zst": zstd.decompress}
SUFFIXES = tuple(DECOMPRESS)
OTHER = {"sqlite": "postgres", "postgres": "sqlite"}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database with a store that has everything."""
    url = new_database_url(kind, tmp_path, request)
    fill_database(url)
    return url


@pytest.fixture
def target(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An empty database of the other kind."""
    folder = tmp_path / "target"
    folder.mkdir()
    return new_database_url(OTHER[kind], folder, request, has_tables=False)


def test_a_store_moves_to_the_other_database_and_back(
    kind: str, url: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = answers_of(url)
    (tmp_path / "back").mkdir()
    back = new_database_url(kind, tmp_path / "back", request, has_tables=False)

    done("backup", tmp_path / "there.zst", "--database-url", url)
    there = done("restore", tmp_path / "there.zst", "--database-url", target)
    done("backup", tmp_path / "back.gz", "--database-url", target)
    done("restore", tmp_path / "back.gz", "--database-url", back)

    assert "verified: the number of rows, their digest, and " in there.stdout
    assert answers_of(target) == answers_of(back) == before
    assert export(url) == export(target) == export(back) != b""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_backups_of_a_revision_are_equal_to_the_byte(url: str, tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"

    done("backup", first, "--database-url", url)
    done("backup", second, "--database-url", url)

    assert first.read_bytes() == second.read_bytes()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("*second*")) == [second.name]


def test_webhooks_are_in_backups_without_secrets_and_not_in_what_is_exported(
    url: str, target: str, tmp_path: Path
) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        body = {"url": "https://8.8.8.8/hook", "relation": ["viewer"], "description": "to the index"}
        made = client.post("/v2/webhooks", json=body).raise_for_status().json()
    backed_up = done("backup", tmp_path / "file.zst", "--database-url", url)
    exported = export(url)
    done("restore", tmp_path / "file.zst", "--database-url", target)
    text = done("backup", "-", "--database-url", url).stdout
    with running_service(settings_for(target)) as service, Client(service) as client:
        [restored] = client.get("/v2/webhooks").json()["results"]
        refused = client.patch(f"/v2/webhooks/{made['id']}", json={"enabled": True})

    assert "0 keys, 1 webhooks" in backed_up.stdout + backed_up.stderr
    assert b"webhook" not in exported
    assert made["secret"] not in text
    kept = ("id", "url", "relation", "description", "createdAt", "createdBy")
    assert [restored[name] for name in kept] == [made[name] for name in kept]
    assert (restored["state"], restored["reason"]) == ("disabled", "it was restored from a backup")
    assert refused.status_code == 409


def test_saved_queries_are_in_backups_and_not_in_what_is_exported(url: str, target: str, tmp_path: Path) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        body = {"name": "Who? é \U0001f600", "q": "select document where user:kim is viewer", "description": "of kim"}
        for more in ({"context": {"network": "off\0ice", "n": [1, 2.5, None]}}, {"name": "other"}):
            client.post("/v2/saved-queries", json=body | more).raise_for_status()
        saved = client.get("/v2/saved-queries").json()["results"]
    backed_up = done("backup", tmp_path / "file.zst", "--database-url", url)
    exported = export(url)

    done("restore", tmp_path / "file.zst", "--database-url", target)

    with running_service(settings_for(target)) as service, Client(service) as client:
        restored = client.get("/v2/saved-queries").json()["results"]
        client.post("/v2/saved-queries", json=body | {"name": "own"}).raise_for_status()
        through_service = client.get("/v2/backup").text
        uploaded = client.post("/v2/restore", params={"replace": "true"}, content=(tmp_path / "file.zst").read_bytes())
        replaced = client.get("/v2/saved-queries").json()["results"]
    assert "2 saved queries" in backed_up.stdout + backed_up.stderr
    assert b"savedQuery" not in exported
    assert restored == replaced == saved
    assert json.loads(through_service.splitlines()[0])["counts"]["savedQueries"] == 3
    assert uploaded.json()["stores"][0]["counts"]["savedQueries"] == 2


def test_a_backup_has_header_lines_and_footer(url: str, tmp_path: Path) -> None:
    ran = done("backup", "-", "--database-url", url)
    header, *lines, footer = map(json.loads, ran.stdout_bytes.splitlines())

    assert header.keys() == {"format", "version", "store", "token", "time", "counts"}
    assert (header["format"], header["store"]["name"]) == ("magistrate-backup/1", "default")
    assert sum(header["counts"].values()) == len(lines) == footer["lines"]
    assert b"".join(ran.stdout_bytes.splitlines(keepends=True)[1:-1]) == export(url)
    assert f"token {header['token']}" in ran.stderr
    with running_service(settings_for(url)) as service, Client(service) as client:
        assert client.get("/v2/warrants").headers["Warrant-Token"] == header["token"]


def test_exported_lines_are_imported(url: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_bytes(export(url))

    done("import", tmp_path / "lines.jsonl", "--database-url", target)

    def without_times(lines: bytes) -> list[dict[str, object]]:
        rows = [json.loads(line) for line in lines.splitlines()]
        kept = (row if "subject" in row else {**row, "createdAt": ""} for row in rows)
        return sorted(kept, key=json.dumps)

    assert without_times(export(target)) == without_times(export(url))


def test_a_backup_as_of_the_past_has_what_there_was(url: str, target: str, tmp_path: Path) -> None:
    before = export(url)
    with running_service(settings_for(url)) as service, Client(service) as client:
        token = client.get("/v2/warrants").headers["Warrant-Token"]
        client.delete("/v2/objects/document/plan").raise_for_status()
        client.grant("document:new#owner@user:ann")

    done("backup", tmp_path / "past", "--database-url", url, "--as-of", token)
    done("restore", tmp_path / "past", "--database-url", target)

    assert export(url) != before
    assert export(url, "--as-of", token) == export(target) == before
    assert json.loads((tmp_path / "past").read_bytes().splitlines()[0])["token"] == token


def test_history_begins_with_the_restore(url: str, target: str, tmp_path: Path) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        token = client.get("/v2/warrants").headers["Warrant-Token"]
        time = client.get("/v2/resource-events", params={"limit": 1}).json()["results"][0]["createdAt"]
    done("backup", tmp_path / "all", "--database-url", url)

    restored = done("restore", tmp_path / "all", "--database-url", url, "--replace")
    done("restore", tmp_path / "all", "--database-url", target)

    for place, status in ((url, 409), (target, 400)):
        with running_service(settings_for(place)) as service, Client(service) as client:
            answer = client.get("/v2/warrants", headers={"Warrant-Token": token})
            assert answer.status_code == status, answer.text
            assert client.get("/v2/warrants", params={"asOf": token}).status_code == status
            assert client.get("/v2/warrants", params={"asOf": time}).status_code == 410
            newest = client.get("/v2/warrants").headers["Warrant-Token"]
            assert client.get("/v2/warrants", params={"asOf": newest}).status_code == 200
            client.grant("document:later#owner@user:ann")
            assert client.get("/v2/warrants", params={"asOf": newest}).status_code == 200
            assert [row["type"] for row in client.get("/v2/access-events").json()["results"]] == ["access_granted"]
            if place == url:
                assert f"token {newest}:" in restored.stdout


def test_only_an_empty_store_is_restored_into_unless_replace_is_given(url: str, target: str, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", "--database-url", url)
    run_magistrate_with_model(target)
    stored = dump(target)

    refused = magistrate("restore", tmp_path / "all", "--database-url", target)

    assert refused.exit_code == 2
    assert "the store is not empty; --replace replaces what it has" in refused.stderr
    assert dump(target) == stored
    done("restore", tmp_path / "all", "--database-url", target, "--replace")
    assert export(target) == export(url)


def run_magistrate_with_model(url: str) -> None:
    """A store without an object, but with a model of its own."""
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.define({"spare": {"viewer": {}}})


def test_a_store_that_was_only_seeded_counts_as_empty(url: str, target: str, tmp_path: Path) -> None:
    with running_service(settings_for(target)):
        pass
    done("backup", tmp_path / "all", "--database-url", url)

    done("restore", tmp_path / "all", "--database-url", target)

    assert export(target) == export(url)


def test_a_restore_makes_another_store(url: str, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", "--database-url", url)

    unknown = magistrate("restore", tmp_path / "all", "--database-url", url, "--store", "copy")
    done("restore", tmp_path / "all", "--database-url", url, "--into", "copy")
    again = magistrate("restore", tmp_path / "all", "--database-url", url, "--into", "copy")

    assert (unknown.exit_code, again.exit_code) == (2, 2)
    assert "Store with id copy" in unknown.stderr.replace("store", "Store") or "copy" in unknown.stderr
    assert "not empty" in again.stderr
    assert export(url, "--store", "copy") == export(url)
    with running_service(settings_for(url)) as service, Client(service) as client:
        assert read_answers(client, "/stores/copy") == read_answers(client)
        ids = [row["id"] for row in client.get("/v2/stores").json()["results"]]
        assert len({*ids}) == 2


def test_all_stores_are_restored_with_their_limits_and_keys(url: str, target: str, tmp_path: Path) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        body = {"name": "acme", "description": "of Acme", "limits": {"warrants": 500, "requestsPerSecond": 900}}
        client.post("/v2/stores", json=body).raise_for_status()
        fill(client, "/stores/acme")
        client.patch("/v2/stores/default", json={"limits": {"objects": 1}}).raise_for_status()
        own = {
            "name": "own",
            "scopes": ["check", "read"],
            "objectTypes": ["document"],
            "expiresAt": "2091-01-01T00:00:00Z",
        }
        key = client.post("/stores/acme/v2/keys", json=own).json()["key"]

    done("backup", tmp_path / "all.zst", "--all-stores", "--with-keys", "--database-url", url)
    done("restore", tmp_path / "all.zst", "--database-url", target)

    for name in ("default", "acme"):
        assert export(target, "--store", name) == export(url, "--store", name)
    with running_service(settings_for(target)) as service, Client(service) as client, Client(service, key) as owner:
        stores = {row["name"]: row for row in client.get("/v2/stores").json()["results"]}
        assert stores["acme"]["limits"] == {"warrants": 500, "requestsPerSecond": 900}
        assert (stores["acme"]["description"], stores["default"]["limits"]) == ("of Acme", {"objects": 1})
        path = "/v2/warrants?objectType=document"
        assert owner.get(path).json() == client.get(f"/stores/acme{path}").json()
        [row] = client.get("/stores/acme/v2/keys").json()["results"]
        assert {name: row[name] for name in own} == own


def test_a_backup_of_all_stores_as_of_the_past_has_those_that_there_were(url: str, target: str, tmp_path: Path) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
        client.grant("document:plan#owner@user:late")
        time = client.get("/v2/access-events", params={"limit": 1}).json()["results"][0]["createdAt"]
        client.grant("document:plan#owner@user:later")
        client.post("/v2/stores", json={"name": "later"}).raise_for_status()

    done("backup", tmp_path / "all", "--all-stores", "--as-of", time, "--database-url", url)
    done("restore", tmp_path / "all", "--database-url", target)

    with running_service(settings_for(target)) as service, Client(service) as client:
        assert [row["name"] for row in client.get("/v2/stores").json()["results"]] == ["acme", "default"]
    assert export(target) == export(url, "--as-of", time)


def test_a_store_to_which_nothing_was_ever_written_is_backed_up_and_restored(
    url: str, target: str, tmp_path: Path
) -> None:
    migrate_store(settings_for(target))

    ran = done("backup", tmp_path / "empty", "--database-url", target)
    done("restore", tmp_path / "empty", "--database-url", target)
    done("restore", tmp_path / "empty", "--database-url", url, "--replace")

    assert "0 object types, 0 policies, 0 objects, 0 warrants, 0 keys" in ran.stdout
    assert export(url) == export(target) == b""
    header = json.loads((tmp_path / "empty").read_bytes().splitlines()[0])
    assert header["time"] == "1970-01-01T00:00:00Z"
    with running_service(settings_for(target)) as service, Client(service) as client:
        assert client.get("/v2/warrants", headers={"Warrant-Token": header["token"]}).status_code in (200, 409)


def test_keys_are_in_a_backup_only_if_they_are_to_be(url: str, tmp_path: Path) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        secret = client.post("/v2/keys", json={"name": "own", "scopes": ["check"]}).json()["key"]

    plain = done("backup", "-", "--database-url", url).stdout
    with_keys = done("backup", "-", "--database-url", url, "--with-keys").stdout

    assert '"own"' not in plain
    assert '"own"' in with_keys
    assert secret not in with_keys
    assert done("backup", "-", "--database-url", url, "--with-keys").stdout == with_keys


def test_keys_are_restored_only_into_the_store_that_they_belong_to(url: str, target: str, tmp_path: Path) -> None:
    """`admin` of a store is not that of `default`, whose holder may do everything."""
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
        key = client.post("/stores/acme/v2/keys", json={"name": "own", "scopes": ["admin"]}).json()["key"]
    backup = tmp_path / "acme"
    done("backup", backup, "--store", "acme", "--with-keys", "--database-url", url)

    done("restore", backup, "--into", "default", "--database-url", target)
    with running_service(settings_for(target)) as service, Client(service, key) as client:
        assert client.get("/v2/warrants").status_code == 401
    done("restore", backup, "--into", "acme", "--database-url", target)
    with running_service(settings_for(target)) as service, Client(service, key) as client:
        assert client.get("/v2/warrants").status_code == 200
        assert client.get("/v2/stores").status_code == 403


def test_the_keys_of_a_store_stay_when_it_is_replaced(url: str, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", "--database-url", url)
    with running_service(settings_for(url)) as service, Client(service) as client:
        key = client.post("/v2/keys", json={"name": "own", "scopes": ["check", "read"]}).json()["key"]

    done("restore", tmp_path / "all", "--database-url", url, "--replace")

    with running_service(settings_for(url)) as service, Client(service, key) as client:
        assert client.get("/v2/warrants").status_code == 200


def test_a_limit_of_the_store_is_heeded(url: str, target: str, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", "--database-url", url)
    with running_service(settings_for(target)) as service, Client(service) as client:
        client.patch("/v2/stores/default", json={"limits": {"warrants": 3}}).raise_for_status()
    stored = dump(target)

    refused = magistrate("restore", tmp_path / "all", "--database-url", target)

    assert (refused.exit_code, dump(target)) == (2, stored)
    assert "the store may hold 3 warrants" in refused.stderr


DAMAGES = 40


@pytest.fixture(scope="module")
def backups(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A backup in each form, by suffix."""
    folder = tmp_path_factory.mktemp("backups")
    url = f"sqlite:///{folder}/magistrate.db"
    fill_database(url)
    for suffix in SUFFIXES:
        done("backup", folder / f"all{suffix}", "--database-url", url)
    return {suffix: (folder / f"all{suffix}").read_bytes() for suffix in SUFFIXES}


def damage(content: bytes) -> Iterator[bytes]:
    """Flipped bytes, and ends that are cut off."""
    chance = random.Random(38)
    for _ in range(DAMAGES):
        place = chance.randrange(len(content))
        yield content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        yield content[: chance.randrange(len(content))]
    yield b""
    yield content[:-1]
    yield content + b"\n"
    yield content + content


def lose_lines(content: bytes) -> Iterator[bytes]:
    lines = content.splitlines(keepends=True)
    for place in range(len(lines)):
        yield b"".join(lines[:place] + lines[place + 1 :])
    yield b"".join([lines[0], lines[2], lines[1], *lines[3:]])


def read_compressed(content: bytes, suffix: str) -> bytes | None:
    """What the file says, None if that cannot be read."""
    try:
        return DECOMPRESS[suffix](content)
    except (EOFError, OSError, zlib.error, zstd.ZstdError):
        return None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused_and_nothing_is_written(
    backups: dict[str, bytes], tmp_path: Path, suffix: str
) -> None:
    url, path = f"sqlite:///{tmp_path}/magistrate.db", tmp_path / f"damaged{suffix}"
    run_magistrate_with_model(url)
    stored: Dump = dump(url)
    content = backups[suffix]

    damaged = [*damage(content), *(lose_lines(content) if not suffix else ())]
    for number, text in enumerate(damaged):
        if len(text) == len(content) and read_compressed(text, suffix) == read_compressed(content, suffix):
            continue  # a time or an unused bit in a header, for example, which says nothing of the content
        path.write_bytes(text)
        ran = magistrate("restore", path, "--database-url", url, *(["--replace"] if number // 2 % 2 else []))
        assert ran.exit_code == 2, (number, ran.output)
        assert "not empty" not in ran.stderr
        assert ran.stderr.count("\n") == 1
        assert ran.stdout == ""
    assert dump(url) == stored


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/magistrate.db"
    run_magistrate_with_model(url)

    for text in (b"", b"{}\n", b'{"objectType": "user", "objectId": "ann"}\n', b"\xff\xfe" * 100, b"[" * 100_000):
        ran = magistrate("restore", "-", "--database-url", url, typed=text)
        assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1), ran.output


def test_a_backup_of_a_revision_that_is_deleted_meanwhile_does_not_appear(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from magistrate.operations.backups import backup

    listed = backup.list_pages

    async def collect_first(store: Store, at: Revision) -> AsyncIterator[Sequence[VersionedRow]]:
        run_sql(url, "UPDATE head SET horizon = revision + 1")
        async for rows in listed(store, at):
            yield rows

    monkeypatch.setattr(backup, "list_pages", collect_first)

    ran = magistrate("backup", tmp_path / "all", "--database-url", url)

    assert ran.exit_code == 2
    assert "the revision was deleted before its backup was complete" in ran.stderr
    assert [path.name for path in tmp_path.iterdir() if "all" in path.name] == []


def test_a_backup_of_a_store_that_is_restored_meanwhile_does_not_appear(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows would be of two histories, with one number."""
    from magistrate.operations.backups import backup

    listed = backup.list_pages

    async def replace_last(store: Store, at: Revision) -> AsyncIterator[Sequence[VersionedRow]]:
        async for rows in listed(store, at):
            yield rows
        run_sql(url, "UPDATE revision SET bits = 38")

    monkeypatch.setattr(backup, "list_pages", replace_last)

    ran = magistrate("backup", tmp_path / "all", "--database-url", url)

    assert ran.exit_code == 2
    assert "the store was restored while it was backed up" in ran.stderr
    assert [path.name for path in tmp_path.iterdir() if "all" in path.name] == []


def test_what_is_no_file_is_not_replaced(url: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    for path in ("/dev/null", tmp_path / "folder"):
        ran = magistrate("backup", path, "--database-url", url)
        assert ran.exit_code == 2
        assert "is not a file; - writes to standard output" in ran.stderr
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert magistrate("backup", tmp_path / "none" / "all", "--database-url", url).exit_code == 2
    assert magistrate("backup", tmp_path / "all", "--database-url", f"sqlite:///{tmp_path}/none.db").exit_code == 2


def test_a_wrong_point_or_name_is_named(url: str, tmp_path: Path) -> None:
    done("backup", tmp_path / "all", "--database-url", url)
    for arguments, start in (
        (("backup", tmp_path / "late", "--as-of", "9999-01-01T00:00:00Z"), "Error: asOf: is in the future"),
        (("restore", tmp_path / "all", "--into", "BAD NAME"), "Error: name: can only contain letters"),
    ):
        ran = magistrate(*arguments, "--database-url", url)
        assert (ran.exit_code, ran.stderr.startswith(start)) == (2, True), ran.stderr


def test_a_store_that_is_not_what_the_backup_has_is_reported(
    url: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from magistrate.wiring import backups as wiring

    done("backup", tmp_path / "all", "--database-url", url)
    verify = wiring._verify_all

    async def change_first(*arguments: Any) -> object:
        run_sql(target, "DELETE FROM warrant WHERE object_id = 'plan' AND relation = 'owner'")
        return await verify(*arguments)

    monkeypatch.setattr(wiring, "_verify_all", change_first)

    ran = magistrate("restore", tmp_path / "all", "--database-url", target)

    assert ran.exit_code == 1
    assert "differs from the backup: the store has" in ran.stderr
    assert "differs from the backup: document:plan#owner@user:ann is denied" in ran.stderr
    assert "verified" not in ran.stdout


def test_the_numbers_of_warrants_continue_behind_those_of_a_restore(
    url: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore makes as many revisions as its warrants take, each of which numbers a million."""
    for module in ("scripts.backups", "scripts.warrants", "postgres.group_plan"):
        monkeypatch.setattr(f"magistrate.store.{module}.MAX_WARRANTS_IN_A_WRITE", 5)
    monkeypatch.setitem(joined._SHIFTS, NUMBER, " + d.distance * 5")
    monkeypatch.setattr(joined_writes, "join_insertions_of_group", join_insertions_of_group.__wrapped__)
    done("backup", tmp_path / "all", "--database-url", url)

    done("restore", tmp_path / "all", "--database-url", target)

    stored = dump(target)
    [head] = stored["head"]
    assert head[0] == len(stored["revision"]) == -(-len(stored["warrant"]) // 5) > 1
    with running_service(settings_for(target)) as service, Client(service) as client:
        for number in range(4):
            client.post("/v2/warrants", json=warrant_body(f"document:later#owner@user:u{number}")).raise_for_status()
        newest = client.get("/v2/warrants").headers["Warrant-Token"]
        assert client.get("/v2/warrants", params={"asOf": newest}).status_code == 200
    assert KEY not in export(target).decode()
