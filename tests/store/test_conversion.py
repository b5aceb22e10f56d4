"""A store from before the first release is served after deploy/conversion.sql, with all that it held."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from magistrate.wiring.stores import migrate_store
from tests.running import Client, running_service, settings_for

DUMP = Path(__file__).with_name("schema_16.sql")
CONVERSION = Path(__file__).parents[2] / "deploy" / "conversion.sql"

Shape = dict[str, set[tuple[object, ...]]]


def shape_of(path: Path) -> Shape:
    """The columns of each table, without their order and whether they may be NULL, and of each index."""
    shape: Shape = {}
    with closing(sqlite3.connect(path)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = database.execute(f"PRAGMA table_xinfo({name})").fetchall()
            shape[name] = {(column, of_type, key) for _, column, of_type, _, _, key, _ in columns}
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall():
            shape[name] = {tuple(row) for row in database.execute(f"PRAGMA index_xinfo({name})").fetchall() if row[2]}
    return shape


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    path = tmp_path / "m.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(DUMP.read_text())
        database.executescript(CONVERSION.read_text())
    return path


def test_a_converted_store_has_the_tables_and_indexes_of_a_fresh_one(converted: Path, tmp_path: Path) -> None:
    migrate_store(settings_for(f"sqlite:///{tmp_path}/fresh.db"))
    before, fresh = shape_of(converted), shape_of(tmp_path / "fresh.db")

    assert before.keys() == fresh.keys()
    for name in ("head", "revision", "change", "decision", "warrant", "warrant_pattern", "idempotency", "import"):
        assert before[name] == fresh[name], name


def test_a_converted_store_is_read_and_written(converted: Path) -> None:
    with running_service(settings_for(f"sqlite:///{converted}")) as url, Client(url) as client:
        listed = client.get("/v2/objects?objectType=document").json()["results"]
        results = [
            client.ask(written).json()["result"]
            for written in (
                "document:plan#viewer@user:ann",
                "document:plan#viewer@user:kim",
                "document:plan#viewer@user:eve",
            )
        ]
        client.grant("document:/a,b{c}#viewer@user:x+y@z.org")
        longer = client.ask("document:/a,b{c}#viewer@user:x+y@z.org").json()["result"]

    assert [row["objectId"] for row in listed] == ["..", "plan"]
    assert results == ["Authorized", "Authorized", "Not Authorized"]
    assert longer == "Authorized"


def test_only_schema_16_is_converted(converted: Path) -> None:
    before = converted.read_bytes()

    with closing(sqlite3.connect(converted)) as database, pytest.raises(sqlite3.IntegrityError):
        database.executescript(CONVERSION.read_text())

    assert converted.read_bytes() == before
