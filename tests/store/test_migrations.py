"""Migrations: numbered without gaps, the same for both stores, applied once, and refused by older versions; what was
made before the first release is refused as well."""

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.errors import SchemaMismatch, StoreUnavailable
from magistrate.store import migration as migrate
from magistrate.store.sql.schema import CREATE_TABLE
from magistrate.wiring.stores import inspect_store, migrate_store
from tests.databases import dump, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio


def test_migrations_are_numbered_from_1() -> None:
    numbers = [migration.number for migration in migrate.migrations()]

    assert numbers == list(range(1, len(numbers) + 1))


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    migrate_store(settings_for(empty_database_url))
    before = dump(empty_database_url)

    migrate_store(settings_for(empty_database_url))

    assert dump(empty_database_url) == before
    assert len(before["head"]) == 1


def test_several_processes_may_migrate_at_once(empty_database_url: str) -> None:
    async def migrate_in_threads() -> None:
        settings = settings_for(empty_database_url)
        await asyncio.gather(*(asyncio.to_thread(migrate_store, settings) for _ in range(6)))

    asyncio.run(migrate_in_threads())

    assert len(dump(empty_database_url)["head"]) == 1
    assert len(dump(empty_database_url)["migration"]) == len(migrate.migrations())


def test_a_store_of_a_newer_version_is_left_alone(empty_database_url: str) -> None:
    migrate_store(settings_for(empty_database_url))
    run_sql(empty_database_url, "INSERT INTO migration (number, name) VALUES (9999, 'from_the_future')")

    with pytest.raises(SchemaMismatch, match="newer Magistrate"):
        migrate_store(settings_for(empty_database_url))


def test_a_migration_that_fails_leaves_nothing(empty_database_url: str) -> None:
    run_sql(empty_database_url, "CREATE TABLE object (in_the_way BIGINT)")

    with pytest.raises(StoreUnavailable, match="already exists"):
        migrate_store(settings_for(empty_database_url))

    assert dump(empty_database_url) == {"object": []}


def test_a_store_from_before_the_first_release_is_left_alone(empty_database_url: str) -> None:
    run_sql(empty_database_url, CREATE_TABLE)
    run_sql(empty_database_url, "INSERT INTO migration (number, name) VALUES (1, 'foundation'), (2, 'warrants')")
    run_sql(empty_database_url, "CREATE TABLE revision (revision BIGINT, written_at BIGINT)")

    with pytest.raises(SchemaMismatch, match=r"before the first release; import from a service"):
        migrate_store(settings_for(empty_database_url))

    assert inspect_store(settings_for(empty_database_url)).mismatch
    assert sorted(dump(empty_database_url)) == ["migration", "revision"]


def test_a_fresh_schema_equals_the_baseline(tmp_path: Path) -> None:
    migrate_store(settings_for(f"sqlite:///{tmp_path}/m.db"))
    baseline = migrate.migrations()[0]
    list_tables = "SELECT type, name, sql FROM sqlite_schema WHERE name <> 'migration' ORDER BY type, name"

    with closing(apsw.Connection(":memory:")) as alone, closing(apsw.Connection(f"{tmp_path}/m.db")) as fresh:
        alone.execute(baseline.sql)
        expected = alone.execute(list_tables).fetchall()
        assert baseline.name == "tables"
        assert [row for row in fresh.execute(list_tables).fetchall() if "migration" not in str(row[1])] == expected
