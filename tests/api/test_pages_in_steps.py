"""Large pages are rendered in steps, so that other requests run in between."""

import pytest

from magistrate.api.endpoints.lists import ROWS_AT_ONCE, render_page
from magistrate.operations.paging import Page

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("count", [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 5 * ROWS_AT_ONCE])
async def test_others_run_between_the_portions_of_a_page(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [0]

    async def pass_checkpoint() -> None:
        turns.append(0)

    def show(row: int) -> str:
        turns[-1] += 1
        return str(row)

    monkeypatch.setattr("magistrate.api.endpoints.lists.checkpoint", pass_checkpoint)
    answer = await render_page(Page([*range(count)], "before", "after"), show)

    assert answer.results == [*map(str, range(count))]
    assert (answer.prev_cursor, answer.next_cursor) == ("before", "after")
    assert max(turns) <= ROWS_AT_ONCE
    assert len(turns) == max(1, -(-count // ROWS_AT_ONCE))
