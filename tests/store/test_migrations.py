"""Migrations: numbered without gaps, the same on both stores, applied once, and refused by older versions."""

import asyncio

import pytest

from magistrate import wiring
from magistrate.config import SqliteUrl, read_database_url
from magistrate.errors import SchemaMismatch, StoreUnavailable
from magistrate.store import schema as migrate
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.schema import CREATE_TABLE
from tests.databases import dump, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio


def test_both_stores_have_the_same_migrations_numbered_from_1() -> None:
    sqlite, postgres = migrate.migrations("sqlite"), migrate.migrations("postgres")

    assert [(m.number, m.name) for m in sqlite] == [(m.number, m.name) for m in postgres]
    assert [m.number for m in sqlite] == list(range(1, len(sqlite) + 1))


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    wiring.migrate_store(settings_for(empty_database_url))
    before = dump(empty_database_url)

    wiring.migrate_store(settings_for(empty_database_url))

    assert dump(empty_database_url) == before
    assert len(before["head"]) == 1


def test_several_processes_may_migrate_at_once(empty_database_url: str) -> None:
    async def migrate_in_threads() -> None:
        settings = settings_for(empty_database_url)
        await asyncio.gather(*(asyncio.to_thread(wiring.migrate_store, settings) for _ in range(6)))

    asyncio.run(migrate_in_threads())

    assert len(dump(empty_database_url)["head"]) == 1
    assert len(dump(empty_database_url)["migration"]) == len(migrate.migrations("sqlite"))


def test_a_store_of_a_newer_version_is_left_alone(empty_database_url: str) -> None:
    wiring.migrate_store(settings_for(empty_database_url))
    run_sql(empty_database_url, "INSERT INTO migration (number, name) VALUES (9999, 'from_the_future')")

    with pytest.raises(SchemaMismatch, match="newer Magistrate"):
        wiring.migrate_store(settings_for(empty_database_url))


def test_a_migration_that_fails_leaves_nothing(empty_database_url: str) -> None:
    run_sql(empty_database_url, "CREATE TABLE object (in_the_way BIGINT)")

    with pytest.raises(StoreUnavailable, match="already exists"):
        wiring.migrate_store(settings_for(empty_database_url))

    assert dump(empty_database_url) == {"object": []}


async def test_a_store_of_the_first_version_is_brought_up_to_date_with_what_it_holds(empty_database_url: str) -> None:
    database = read_database_url(empty_database_url)
    first = migrate.migrations("sqlite" if isinstance(database, SqliteUrl) else "postgres")[0]
    for statement in (
        first.sql,
        CREATE_TABLE,
        "INSERT INTO migration (number, name) VALUES (1, 'foundation')",
        f"INSERT INTO head VALUES (1, '{'a' * 16}', '{'b' * 32}', 7, 1)",
        f"""INSERT INTO object_type VALUES ('document', '{{"relations":{{"viewer":{{}}}}}}', 5, 7, {ALIVE})""",
    ):
        run_sql(empty_database_url, statement)

    wiring.migrate_store(settings_for(empty_database_url))

    store = await wiring.open_store(settings_for(empty_database_url))
    model = await store.read_model()
    await store.close()
    assert (model.revision, model.value.written_at) == (7, 7)
    assert list(model.value.definitions) == ["document"]


async def test_the_patterns_of_the_warrants_of_the_second_version_are_found(empty_database_url: str) -> None:
    database = read_database_url(empty_database_url)
    earlier = migrate.migrations("sqlite" if isinstance(database, SqliteUrl) else "postgres")[:2]
    for statement in (
        *(migration.sql for migration in earlier),
        CREATE_TABLE,
        "INSERT INTO migration (number, name) VALUES (1, 'foundation'), (2, 'warrants')",
        f"INSERT INTO head VALUES (1, '{'a' * 16}', '{'b' * 32}', 7, 1, 5)",
        f"""INSERT INTO warrant VALUES
            (1, 'document', 'a', 'viewer', 'user', 'ann', '', '', 5, 7, {ALIVE}),
            (2, 'document', 'b', 'viewer', 'user', 'bob', '', '', 5, 7, {ALIVE}),
            (3, 'document', '*', 'viewer', 'team', '*', 'member', '', 5, 7, 8)""",
    ):
        run_sql(empty_database_url, statement)

    wiring.migrate_store(settings_for(empty_database_url))

    store = await wiring.open_store(settings_for(empty_database_url))
    model = await store.read_model()
    await store.close()
    assert model.value.written_at == 5
    assert model.value.patterns == {
        ("document", "", "viewer", "user", "", ""),
        ("document", "*", "viewer", "team", "*", "member"),
    }
