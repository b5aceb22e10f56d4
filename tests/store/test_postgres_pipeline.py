"""Statements go to PostgreSQL in batches of bounded size, in their order."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import ref

import psycopg
import pytest

from magistrate.store.postgres.pipeline import (
    MAX_MISTAKES,
    STATEMENTS_AT_ONCE,
    VALUES_AT_ONCE,
    OtherSession,
    Statement,
    StatementPipeline,
    divide_statements,
    pipeline_of,
)
from tests.databases import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("values", "batches"),
    [
        ([], []),
        ([1] * STATEMENTS_AT_ONCE, [STATEMENTS_AT_ONCE]),
        ([1] * (STATEMENTS_AT_ONCE + 1), [STATEMENTS_AT_ONCE, 1]),
        ([VALUES_AT_ONCE // 2] * 5, [2, 2, 1]),
        ([1, VALUES_AT_ONCE, VALUES_AT_ONCE + 1, 1, 1], [1, 1, 1, 2]),
    ],
)
def test_statements_are_divided_by_their_number_and_that_of_their_values(values: list[int], batches: list[int]) -> None:
    statements: list[Statement] = [(str(number), (None,) * count) for number, count in enumerate(values)]

    divided = [*divide_statements(statements)]

    assert [len(batch) for batch in divided] == batches
    assert [one for batch in divided for one in batch] == statements


async def test_a_connection_that_nobody_uses_is_freed(postgres: PostgresServer) -> None:
    connection = await psycopg.AsyncConnection.connect(postgres.new_url(), autocommit=True)
    assert await pipeline_of(connection).run([("SELECT 1", ())]) == [[(1,)]]
    assert pipeline_of(connection) is pipeline_of(connection)
    await connection.close()
    known = ref(connection)

    del connection
    gc.collect()

    assert known() is None


PREPARED = "SELECT name, statement FROM pg_prepared_statements ORDER BY name"


@asynccontextmanager
async def connected(postgres: PostgresServer) -> AsyncIterator[psycopg.AsyncConnection]:
    connection = await psycopg.AsyncConnection.connect(postgres.new_url(), autocommit=True, prepare_threshold=None)
    try:
        yield connection
    finally:
        await connection.close()


async def list_prepared(connection: psycopg.AsyncConnection) -> list[tuple[object, ...]]:
    return await (await connection.execute(PREPARED)).fetchall()


async def test_a_text_has_the_same_name_on_every_connection(postgres: PostgresServer) -> None:
    async with connected(postgres) as one, connected(postgres) as other:
        await pipeline_of(one).run([("SELECT 1", ()), ("SELECT ?::text", ("a",))])
        await pipeline_of(other).run([("SELECT ?::text", ("a",)), ("SELECT 1", ())])

        named = await list_prepared(one)
        assert [text for _, text in named] in (["SELECT 1", "SELECT $1::text"], ["SELECT $1::text", "SELECT 1"])
        assert named == await list_prepared(other)


async def test_what_another_has_prepared_is_used(postgres: PostgresServer) -> None:
    async with connected(postgres) as connection:
        await pipeline_of(connection).run_alone("SELECT 1", ())
        [(name, text)] = await list_prepared(connection)
        await connection.execute("DEALLOCATE ALL")
        await connection.execute(f"PREPARE {name} AS {text}")
        another = StatementPipeline(connection)

        assert await another.run_alone("SELECT 1", ()) == [(1,)]
        assert await another.run_alone("SELECT 1", ()) == [(1,)]
        assert another.is_naming


async def test_what_is_not_prepared_any_more_is_prepared_again(postgres: PostgresServer) -> None:
    async with connected(postgres) as connection:
        pipeline = pipeline_of(connection)
        for _ in range(3):
            assert await pipeline.run_alone("SELECT 1", ()) == [(1,)]
            await connection.execute("DISCARD ALL")

        assert pipeline.is_naming


async def test_a_batch_tells_that_it_has_to_be_run_again(postgres: PostgresServer) -> None:
    async with connected(postgres) as connection:
        pipeline = pipeline_of(connection)
        batch: list[Statement] = [("BEGIN", ()), ("SELECT 1", ()), ("COMMIT", ())]
        await pipeline.run(batch)
        await connection.execute("DISCARD ALL")

        with pytest.raises(OtherSession):
            await pipeline.run(batch)

        assert await pipeline.run(batch) == [[], [(1,)], []]


async def test_a_session_that_changes_all_the_time_gets_statements_without_names(postgres: PostgresServer) -> None:
    """All but one of the statements are prepared there, so neither that it has them nor that it has none is true."""
    async with connected(postgres) as connection:
        texts = [f"SELECT {number}" for number in range(4)]
        await pipeline_of(connection).run([(text, ()) for text in texts])
        name = dict((text, name) for name, text in await list_prepared(connection))["SELECT 3"]
        await connection.execute(f"DEALLOCATE {name}")
        pipeline = StatementPipeline(connection)
        batch: list[Statement] = [(text, ()) for text in texts]

        for _ in range(MAX_MISTAKES):
            with pytest.raises(OtherSession):
                await pipeline.run(batch)

        assert await pipeline.run(batch) == [[(0,)], [(1,)], [(2,)], [(3,)]]
        assert not pipeline.is_naming
