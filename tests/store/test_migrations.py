"""Migrations: numbered without gaps, the same for both stores, applied once, and refused by the versions that they
break; what was made before the first release is refused as well."""

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import SchemaMismatch, StoreUnavailable
from magistrate.store import migration as migrate
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import MigrationRun, apply_migrations, inspect_store, migrate_store
from tests.databases import dump, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio

KNOWN = len(migrate.migrations())
NEXT = (
    *migrate.migrations(),
    migrate.Migration(KNOWN + 1, "next", "CREATE TABLE next (number INTEGER)", 1),
    migrate.Migration(KNOWN + 2, "last", "CREATE TABLE last (number INTEGER)", KNOWN + 1),
)
"""Has the migrations of a newer version, the last of which breaks this one."""


def record_newer(url: str, breaks_before: int) -> None:
    """Does what a migration of a newer version does to the table of migrations."""
    run_sql(url, f"INSERT INTO migration (number, name, breaks_before) VALUES (9999, 'newer', {breaks_before})")


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


def test_a_newer_schema_that_breaks_this_version_is_refused(empty_database_url: str) -> None:
    migrate_store(settings_for(empty_database_url))
    record_newer(empty_database_url, breaks_before=KNOWN + 1)

    for mode in ("auto", "never"):
        with pytest.raises(
            SchemaMismatch, match=f"9999, made by a newer Magistrate; it .* that know schema {KNOWN + 1}"
        ):
            migrate_store(settings_for(empty_database_url, migrate=mode))


def test_a_newer_schema_that_does_not_break_this_version_is_used(empty_database_url: str) -> None:
    migrate_store(settings_for(empty_database_url))
    record_newer(empty_database_url, breaks_before=KNOWN)

    assert [migrate_store(settings_for(empty_database_url, migrate=mode)) for mode in ("auto", "never")] == [(), ()]
    assert inspect_store(settings_for(empty_database_url)).is_usable


async def test_an_open_store_is_ready_until_a_migration_breaks_it(store: Store, database_url: str) -> None:
    record_newer(database_url, breaks_before=KNOWN)
    assert await store.check() == 0

    run_sql(database_url, f"UPDATE migration SET breaks_before = {KNOWN + 1} WHERE number = 9999")
    with pytest.raises(SchemaMismatch, match="made by a newer Magistrate"):
        await store.check()


async def test_a_store_that_lacks_a_migration_is_not_ready(store: Store, database_url: str) -> None:
    run_sql(database_url, "UPDATE migration SET number = number - 1")

    with pytest.raises(SchemaMismatch, match=f"has schema {KNOWN - 1}, this version of Magistrate needs {KNOWN}"):
        await store.check()


async def test_a_statement_that_names_a_missing_column_says_why(store: Store, database_url: str) -> None:
    run_sql(database_url, "ALTER TABLE object RENAME COLUMN meta TO renamed")

    with pytest.raises(SchemaMismatch, match="the schema of another version"):
        await store.get_object(object_ref("document", "plan"))
    with pytest.raises(SchemaMismatch, match="the schema of another version"):
        await store.put_objects([NewObject(TypeName("document"), ObjectId("plan"), None, False)], Stamp("ann", 1, None))


def test_migrations_of_a_store_that_exists_are_reported_and_all_are_returned(empty_database_url: str) -> None:
    reported: list[migrate.Migration] = []
    run = MigrationRun(NEXT, report=reported.append)
    settings = settings_for(empty_database_url)

    assert [*apply_migrations(settings, MigrationRun(NEXT, to=KNOWN, report=reported.append))] == [*NEXT[:KNOWN]]
    assert reported == []
    assert [*apply_migrations(settings, run)] == reported == [*NEXT[KNOWN:]]
    assert dump(empty_database_url)["migration"] == [migration.row for migration in NEXT]
    assert apply_migrations(settings, run) == ()
    assert reported == [*NEXT[KNOWN:]]


def test_a_database_is_migrated_to_a_schema_in_between(empty_database_url: str) -> None:
    settings = settings_for(empty_database_url)

    first = apply_migrations(settings, MigrationRun(NEXT, to=KNOWN + 1))
    assert len(first) == KNOWN + 1
    assert "last" not in dump(empty_database_url)
    assert [step.name for step in inspect_store(settings, MigrationRun(NEXT)).pending] == ["last"]

    assert [step.name for step in apply_migrations(settings, MigrationRun(NEXT))] == ["last"]
    assert len(dump(empty_database_url)["store"]) == 1
    with pytest.raises(SchemaMismatch, match=f"has schema {KNOWN + 2} already: there is no way back to {KNOWN + 1}"):
        apply_migrations(settings, MigrationRun(NEXT, to=KNOWN + 1))
    with pytest.raises(SchemaMismatch, match=f"knows the schemas up to {KNOWN + 2}, not {KNOWN + 3}"):
        apply_migrations(settings, MigrationRun(NEXT, to=KNOWN + 3))


def test_what_may_never_be_migrated_is_refused_until_it_is(empty_database_url: str) -> None:
    settings = settings_for(empty_database_url, migrate="never")

    with pytest.raises(SchemaMismatch, match=rf"schema 0, and .* needs {KNOWN}; run `magistrate migrate`"):
        migrate_store(settings)
    assert dump(empty_database_url) == {}

    apply_migrations(settings, MigrationRun())
    assert migrate_store(settings) == ()


@pytest.mark.parametrize("first_line", ["", "-- breaks_before: 0\n", "-- breaks_before: 4\n", "-- breaks_before: 1; "])
def test_a_migration_that_does_not_say_what_it_breaks_is_refused(first_line: str) -> None:
    with pytest.raises(ValueError, match="migration 3 has to begin with `-- breaks_before: N`, N from 1 to 3"):
        migrate.read_migration(3, "third", f"{first_line}CREATE TABLE third (number INTEGER)")


def test_a_migration_that_fails_leaves_nothing(empty_database_url: str) -> None:
    run_sql(empty_database_url, "CREATE TABLE object (in_the_way BIGINT)")

    with pytest.raises(StoreUnavailable, match="already exists"):
        migrate_store(settings_for(empty_database_url))

    assert dump(empty_database_url) == {"object": []}


@pytest.mark.parametrize("name", ["foundation", "tables"])
def test_a_store_from_before_the_first_release_is_left_alone(empty_database_url: str, name: str) -> None:
    run_sql(empty_database_url, "CREATE TABLE migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
    run_sql(empty_database_url, f"INSERT INTO migration (number, name) VALUES (1, '{name}'), (2, 'warrants')")
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
