"""SQLite's write-ahead log is copied between writes, not within a commit."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.sqlite.files import migrate_sqlite, open_connection
from magistrate.store.sqlite.writer import PAGES_BETWEEN_CHECKPOINTS, WalCheckpoints
from magistrate.wiring.stores import migrate_store, open_store
from tests.running import settings_for

PAGE_BYTES = 4_096


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    path = f"{tmp_path}/m.db"
    migrate_sqlite(path, 1_000)
    with closing(open_connection(path, 1_000)) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        yield connection


def uncopied_pages(connection: apsw.Connection) -> int:
    in_log, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return in_log - copied


def fill_pages(connection: apsw.Connection, number: int) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS filling (content BLOB)")
    connection.execute("INSERT INTO filling VALUES (zeroblob(?))", (number * PAGE_BYTES,))


def test_a_long_log_is_copied_after_the_commit(connection: apsw.Connection) -> None:
    checkpoints = WalCheckpoints(connection)

    fill_pages(connection, PAGES_BETWEEN_CHECKPOINTS)
    assert uncopied_pages(connection) >= PAGES_BETWEEN_CHECKPOINTS
    checkpoints.run_if_due()

    assert uncopied_pages(connection) == 0


def test_a_short_log_is_left(connection: apsw.Connection) -> None:
    checkpoints = WalCheckpoints(connection)

    fill_pages(connection, PAGES_BETWEEN_CHECKPOINTS // 2)
    checkpoints.run_if_due()

    assert uncopied_pages(connection) >= PAGES_BETWEEN_CHECKPOINTS // 2


def test_what_a_reader_keeps_from_being_copied_is_copied_after_the_next_commit(
    connection: apsw.Connection, tmp_path: Path
) -> None:
    checkpoints = WalCheckpoints(connection)
    fill_pages(connection, 1)
    with closing(open_connection(f"{tmp_path}/m.db", 1_000)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM filling").fetchall()
        fill_pages(connection, PAGES_BETWEEN_CHECKPOINTS)
        checkpoints.run_if_due()
        assert uncopied_pages(connection) >= PAGES_BETWEEN_CHECKPOINTS
        reader.execute("COMMIT")

    fill_pages(connection, 1)
    checkpoints.run_if_due()

    assert uncopied_pages(connection) == 0


@pytest.mark.anyio
async def test_the_log_of_a_store_stays_short_under_many_writes(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")
    migrate_store(settings)
    store = await open_store(settings)
    meta = '{"text":"' + "x" * PAGE_BYTES * 400 + '"}'
    for number in range(20):
        await store.put_objects([NewObject(TypeName("d"), ObjectId(f"id-{number}"), meta)], Stamp("ann", 1))

    # Without copying, all of it: four times as long.
    assert os.stat(f"{tmp_path}/m.db-wal").st_size < 2_500 * PAGE_BYTES
    await store.close()
