"""Statements go to PostgreSQL in batches of bounded size, in their order."""

import pytest

from magistrate.store.postgres_pipeline import STATEMENTS_AT_ONCE, VALUES_AT_ONCE, Statement, divide_statements


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
