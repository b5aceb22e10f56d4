"""The password of the database that a command prints."""

import time
from pathlib import Path

import psycopg
import pytest

from magistrate.errors import InvalidSetting, MagistrateError, StoreUnavailable
from magistrate.store.postgres.database import PostgresDatabase
from magistrate.store.postgres.password import PasswordCommand
from magistrate.store.sql_store import SqlStore
from magistrate.wiring import stores
from magistrate.wiring.stores import migrate_store, open_store, reach_store
from tests.conftest import new_database_url
from tests.running import running_service, settings_for

COMMAND = "echo run >> {folder}/runs; echo 'it is sesame; \"quoted\"'; echo more"
PASSWORD = 'it is sesame; "quoted"'


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return new_database_url("postgres", tmp_path, request)


def count_runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


@pytest.mark.anyio
async def test_each_connection_of_a_service_has_the_password(url: str, tmp_path: Path) -> None:
    settings = settings_for(url, database_password_command=COMMAND.format(folder=tmp_path))
    migrate_store(settings)
    reach_store(settings)
    before = count_runs(tmp_path)
    store = await open_store(settings)
    try:
        assert isinstance(store, SqlStore)
        assert isinstance(store.database, PostgresDatabase)
        pool = store.database.server._pool._pool
        async with pool.connection() as first, pool.connection() as second:
            assert (first.info.password, second.info.password) == (PASSWORD, PASSWORD)
    finally:
        await store.close()
    assert count_runs(tmp_path) == before + 1


def test_the_password_is_kept_for_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = PasswordCommand(COMMAND.format(folder=tmp_path), 10_000)
    now = time.monotonic()
    for seconds, runs in ((0, 1), (59.9, 1), (60.1, 2), (119, 2), (121, 3)):
        monkeypatch.setattr(time, "monotonic", lambda at=now + seconds: at)
        conninfo = psycopg.conninfo.conninfo_to_dict(command.complete("postgresql://me@h/d"))
        assert (conninfo["password"], conninfo["user"]) == (PASSWORD, "me")
        assert count_runs(tmp_path) == runs


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo first >&2; echo 'no token' >&2; exit 3", "the command ended with 3: no token"),
        ("exit 1", "the command ended with 1"),
        ("no-such-command-at-all", "the command ended with 127: "),
        ("true", "the command printed no password"),
        ("echo; echo second", "the command printed no password"),
        ("sleep 100 & sleep 100", "the command did not end within 0.5 s"),
        ("kill -9 $$", "the command ended with -9"),
    ],
)
def test_a_command_that_fails_is_one_line(url: str, command: str, message: str) -> None:
    settings = settings_for(url, database_password_command=command, store_timeout_ms=500)
    for use in (migrate_store, reach_store, stores.inspect_store):
        with pytest.raises(StoreUnavailable, match=r"^database_password_command: ") as caught:
            use(settings)
        assert message in caught.value.message
        assert "\n" not in caught.value.message


def test_a_service_survives_a_command_that_fails_later(url: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("sesame\n")
    settings = settings_for(url, database_password_command=f"cat {tmp_path}/password", store_timeout_ms=1000)
    with running_service(settings):
        (tmp_path / "password").unlink()

    with pytest.raises(StoreUnavailable):
        reach_store(settings)


def test_a_password_is_given_once() -> None:
    for url, kind in (("postgresql://me:x@h/d", MagistrateError), ("sqlite:///x.db", InvalidSetting)):
        with pytest.raises(kind, match="database_password_command"):
            reach_store(settings_for(url, database_password_command="echo x"))
