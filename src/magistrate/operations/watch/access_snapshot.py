"""Lists all access that is selected, as of one position of the effective feed."""

from collections.abc import AsyncGenerator, Sequence

from magistrate.engine.difference.comparison import AccessChange, Existence
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.model.model import Model
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded, HistoryReplaced
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.difference.comparison import Comparer
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import compare_everywhere, iterate_nodes
from magistrate.operations.difference.selection import Selection
from magistrate.operations.difference.states import ComparedState, StateComparison
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.scheduling import limit_work
from magistrate.operations.watch.access_steps import AccessPosition, find_named
from magistrate.store.contract.revisions import Presence

FIRST_BATCH, MAX_BATCH = 16, 256
"""Limit the relations on objects that are evaluated together, at first and at most."""
MIN_ROWS, MAX_ROWS = 1_000, 5_000
"""Set how many rows a batch should have: with fewer, the next is larger, with more, it is smaller."""


async def list_access(
    ctx: Context, narrowing: Narrowing, position: AccessPosition
) -> AsyncGenerator[Sequence[AccessChange], None]:
    """Yields all access in the order of /v2/difference, as if it had been gained from nothing, in lists of some
    thousand rows. Its budget counts for each of them.

    Raises NotRetained, RevisionUnavailable, HistoryReplaced, and BudgetExceeded if one relation on one object takes too
    much."""
    point = await find_point(ctx, AsOf(position.id.revision, bits=position.id.bits), NO_DEMAND)
    model = await ctx.caches.models.at(point.revision, point.model_revision)
    if not all((await find_named(ctx, narrowing, point.revision)).values()):
        return
    nothing = Model({}, model.revision, frozenset())
    before, after = (ComparedState(each, ctx.store, point.revision, position.time) for each in (nothing, model))
    comparison = StateComparison(before, after, united=ctx.store, warrants=(), existence=Existence())
    work = limit_work(ctx.max_query_work)
    async with compare_everywhere(ctx.store, comparison, Selection((nothing, model), narrowing), work) as compared:
        async for rows in _compare_all(compared, work, ctx.max_query_work):
            yield rows
    if await ctx.store.locate(position.id) is not Presence.STORED:
        raise HistoryReplaced


async def _compare_all(compared: Comparer, work: Work, budget: int) -> AsyncGenerator[Sequence[AccessChange], None]:
    size = FIRST_BATCH
    async for nodes in iterate_nodes(compared, None, upwards=True):
        place = 0
        while place < len(nodes):
            work.left = budget
            rows = await _compare_fewer(compared, nodes[place : place + size], work, budget)
            place += size
            if len(rows) > MAX_ROWS:
                size = max(size // 2, 1)
            elif len(rows) < MIN_ROWS:
                size = min(size * 2, MAX_BATCH)
            if rows:
                yield rows


async def _compare_fewer(
    compared: Comparer, nodes: Sequence[ObjectRelation], work: Work, budget: int
) -> Sequence[AccessChange]:
    """Returns the rows of these relations on objects; one after another if they take too much together."""
    try:
        return await compared.compare(nodes)
    except BudgetExceeded:
        if len(nodes) == 1:
            raise
    rows: list[AccessChange] = []
    for node in nodes:
        work.left = budget
        rows += await compared.compare([node])
    return rows
