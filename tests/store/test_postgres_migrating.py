"""Migrating a PostgreSQL database that others use: nodes that start at the same time, and sessions with locks."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from magistrate import wiring
from magistrate.errors import StoreUnavailable
from magistrate.store import migrate
from tests.databases import PostgresServer, dump, run_sql
from tests.running import settings_for

NEWEST = len(migrate.migrations("postgres"))
BEFORE_DECISIONS_CHANGE = 12
"""The next migration, the 13th, changes the table of decisions."""


def migrate_to(url: str, number: int) -> None:
    """Brings an empty database to an earlier version, with the identity of a store."""
    run_sql(url, migrate.CREATE_TABLE)
    for migration in migrate.migrations("postgres")[:number]:
        run_sql(url, migration.sql)
        run_sql(url, f"INSERT INTO migration (number, name) VALUES ({migration.number}, '{migration.name}')")
    run_sql(
        url,
        "INSERT INTO head (only_row, store_id, cursor_key, revision, horizon) "
        f"VALUES (1, '{'a' * 16}', '{'b' * 32}', 0, 1)",
    )


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
    migrate_to(url, BEFORE_DECISIONS_CHANGE)
    run_sql(
        url,
        f"ALTER DATABASE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} "
        f"SET default_transaction_isolation = '{isolation}'",
    )

    with ThreadPoolExecutor() as nodes:
        with reading(url, "decision"):
            started = [nodes.submit(wiring.migrate_store, settings_for(url)) for _ in range(3)]
            wait_for_waiting(url, sessions=3)
        for node in started:
            node.result()

    assert len(dump(url)["migration"]) == NEWEST


def test_nodes_that_start_at_once_create_a_database_once(postgres: PostgresServer) -> None:
    url = postgres.new_url()

    with ThreadPoolExecutor() as nodes, psycopg.connect(url) as first:
        first.execute(migrate.CREATE_TABLE)
        started = [nodes.submit(wiring.migrate_store, settings_for(url)) for _ in range(3)]
        wait_for_waiting(url, sessions=3)
        first.rollback()
        for node in started:
            node.result()

    assert len(dump(url)["migration"]) == NEWEST
    assert len(dump(url)["head"]) == 1


def test_readers_do_not_wait_long_for_a_migration_that_waits(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_to(url, BEFORE_DECISIONS_CHANGE)

    with ThreadPoolExecutor() as nodes, reading(url, "decision"):
        started = nodes.submit(wiring.migrate_store, settings_for(url, store_timeout_ms=4_000))
        wait_for_waiting(url, sessions=1)
        with psycopg.connect(url, autocommit=True) as reader:
            reader.execute("SET statement_timeout = 2500")
            reader.execute("SELECT * FROM decision")
            is_waiting = not started.done()
        with pytest.raises(StoreUnavailable, match="locks of other sessions after 4 s"):
            started.result()

    assert is_waiting
    assert len(dump(url)["migration"]) == BEFORE_DECISIONS_CHANGE


def test_a_migration_is_tried_again_when_it_has_waited_too_long_for_a_lock(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_to(url, BEFORE_DECISIONS_CHANGE)

    with ThreadPoolExecutor() as nodes:
        with reading(url, "decision"):
            started = nodes.submit(wiring.migrate_store, settings_for(url))
            wait_for_waiting(url, sessions=1)
            wait_for_waiting(url, sessions=0)
            assert not started.done()
        started.result()

    assert len(dump(url)["migration"]) == NEWEST
