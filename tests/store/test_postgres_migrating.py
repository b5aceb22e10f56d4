"""Migrating a PostgreSQL database that others use: nodes that start at the same time, and sessions with locks."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.errors import StoreUnavailable
from magistrate.store import migration as migrate
from magistrate.store.postgres.migration import migrate_postgres
from magistrate.store.sql.postgres import LOCK_MIGRATIONS
from magistrate.store.sql.schema import CREATE_TABLE
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.databases import PostgresServer, dump, run_sql, set_default
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.running import settings_for

BASELINE = migrate.migrations()
NEXT = migrate.Migration(len(BASELINE) + 1, "next", "ALTER TABLE decision ADD COLUMN next BIGINT", 1)
"""A migration of a table that others read."""


def upgrade(url: str, timeout_ms: int = 5_000) -> None:
    migrate_postgres(conninfo_of(url), timeout_ms, migrate.MigrationRun((*BASELINE, NEXT)))


def conninfo_of(url: str) -> str:
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    return database.conninfo


def url_with_role(url: str, role: str, privileges: str) -> str:
    """The URL of the database with a role that has these privileges on the tables that exist."""
    run_sql(url, f"CREATE ROLE {role} LOGIN")
    if privileges:
        run_sql(url, f"GRANT {privileges} ON ALL TABLES IN SCHEMA public TO {role}")
    return url.replace("//postgres@", f"//{role}@")


@contextmanager
def reading(url: str, table: str) -> Iterator[None]:
    """A session that has read the table in a transaction that goes on, like a dump of the database."""
    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT * FROM {table}")
        yield
        connection.rollback()


def wait_for_waiting(url: str, sessions: int) -> None:
    """Returns when so many sessions of the database wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    deadline = time.monotonic() + 20
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(waiting).fetchone() != (sessions,):
            assert time.monotonic() < deadline, "other sessions wait, or none"
            time.sleep(0.01)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_nodes_that_start_at_once_upgrade_a_database_once(postgres: PostgresServer, isolation: str) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    set_default(url, "default_transaction_isolation", isolation)

    with ThreadPoolExecutor() as nodes:
        with reading(url, "decision"):
            started = [nodes.submit(upgrade, url) for _ in range(3)]
            wait_for_waiting(url, sessions=3)
        for node in started:
            node.result()

    assert len(dump(url)["migration"]) == NEXT.number


def test_nodes_that_start_at_once_create_a_database_once(postgres: PostgresServer) -> None:
    url = postgres.new_url()

    with ThreadPoolExecutor() as nodes, psycopg.connect(url) as first:
        first.execute(CREATE_TABLE)
        started = [nodes.submit(migrate_store, settings_for(url)) for _ in range(3)]
        wait_for_waiting(url, sessions=3)
        first.rollback()
        for node in started:
            node.result()

    assert len(dump(url)["migration"]) == len(BASELINE)
    assert len(dump(url)["head"]) == 1


def test_readers_do_not_wait_long_for_a_migration_that_waits(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    with ThreadPoolExecutor() as nodes, reading(url, "decision"):
        started = nodes.submit(upgrade, url, 4_000)
        wait_for_waiting(url, sessions=1)
        with psycopg.connect(url, autocommit=True) as reader:
            reader.execute("SET statement_timeout = 2500")
            reader.execute("SELECT * FROM decision")
            is_waiting = not started.done()
        with pytest.raises(StoreUnavailable, match="locks of other sessions after 4 s"):
            started.result()

    assert is_waiting
    assert len(dump(url)["migration"]) == len(BASELINE)


def test_a_migration_is_tried_again_when_it_has_waited_too_long_for_a_lock(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    with ThreadPoolExecutor() as nodes:
        with reading(url, "decision"):
            started = nodes.submit(upgrade, url)
            wait_for_waiting(url, sessions=1)
            wait_for_waiting(url, sessions=0)
            assert not started.done()
        started.result()

    assert len(dump(url)["migration"]) == NEXT.number


def test_a_role_that_may_not_create_tables_uses_a_database_that_is_migrated(postgres: PostgresServer) -> None:
    url = postgres.new_migrated_url()
    settings = settings_for(url_with_role(url, "writer", "SELECT, INSERT, UPDATE, DELETE"))

    migrate_store(settings)  # makes the identity
    migrate_store(settings)
    asyncio.run(prepare_store(settings))

    assert len(dump(url)["head"]) == 1


def test_an_up_to_date_database_needs_no_lock(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    with psycopg.connect(url) as migrating:
        migrating.execute(LOCK_MIGRATIONS)
        migrate_store(settings_for(url_with_role(url, "reader", "SELECT"), store_timeout_ms=200))


def test_a_migration_waits_for_another_one(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    with psycopg.connect(url) as migrating:
        migrating.execute(LOCK_MIGRATIONS)
        with pytest.raises(StoreUnavailable, match="timed out waiting for the locks of other sessions"):
            upgrade(url, timeout_ms=200)
    upgrade(url)


def test_a_table_of_this_name_in_another_schema_is_left_alone(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    run_sql(url, "CREATE TABLE migration (revision TEXT)")
    run_sql(url, "CREATE SCHEMA magistrate")

    migrate_store(settings_for(url.replace("?", "?options=-csearch_path%3Dmagistrate,public&")))

    assert dump(url) == {"migration": []}


def test_a_role_without_a_privilege_is_told_which_it_lacks(postgres: PostgresServer) -> None:
    empty, earlier, migrated = postgres.new_url(), postgres.new_url(), postgres.new_url()
    for url in (earlier, migrated):
        migrate_store(settings_for(url))
    run_sql(empty, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # as it is by default since PostgreSQL 15

    with pytest.raises(StoreUnavailable, match="migrated: permission denied for schema public; migrate it as the role"):
        migrate_store(settings_for(url_with_role(empty, "creator", "")))
    with pytest.raises(StoreUnavailable, match="migrated: must be owner of table decision; migrate it as the role"):
        upgrade(url_with_role(earlier, "upgrader", "ALL"))
    with pytest.raises(StoreUnavailable, match="the role of the service: permission denied for table head"):
        asyncio.run(prepare_store(settings_for(url_with_role(migrated, "onlooker", "SELECT"))))


def test_a_service_on_a_read_only_database_says_so_and_exits(postgres: PostgresServer, tmp_path: Path) -> None:
    empty, migrated = postgres.new_url(), postgres.new_url()
    migrate_store(settings_for(migrated))
    for url in (empty, migrated):
        set_default(url, "default_transaction_read_only", "on")

    services = [ServiceProcess(tmp_path, database_url=url) for url in (empty, migrated)]

    assert [read_failed_start(service.errors()) for service in services] == [
        "PostgreSQL cannot be migrated: cannot execute CREATE TABLE in a read-only transaction",
        "the database is read-only now",
    ]
    assert [service.process.returncode for service in services] == [1, 1]
