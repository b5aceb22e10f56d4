"""Statements go to PostgreSQL in batches of bounded size, in their order."""

import gc
from weakref import ref

import psycopg
import pytest

from magistrate.store.postgres.pipeline import (
    STATEMENTS_AT_ONCE,
    VALUES_AT_ONCE,
    Statement,
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
