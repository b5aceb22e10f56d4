"""Decides checks as of the past: by an evaluation with the warrants and the model of then. The graph cache, which is at
the newest revision, has no part in it."""

from collections.abc import Sequence

from magistrate.engine.evaluation.check import Check
from magistrate.operations.checks.check_batch import CheckBatch, Decisions, StopAt
from magistrate.operations.checks.check_run import CheckRun
from magistrate.operations.checks.prefetching_reader import PrefetchingReader
from magistrate.operations.checks.walking_ahead import decide_ahead, predict_reads, read_for_walk
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.readers.contextual_warrants import ContextualWarrants
from magistrate.operations.readers.overlaid_reader import OverlaidReader
from magistrate.operations.runs import complete_run
from magistrate.store.contract.lists import Snapshot


async def check_as_of(
    ctx: Context,
    checks: Sequence[Check],
    stop_at: StopAt,
    as_of: AsOf,
    freshness: Freshness,
    with_path: bool = False,
    contextual: ContextualWarrants | None = None,
    visible_types: frozenset[str] | None = None,
) -> Decisions:
    """Returns the decisions that these checks had at that point in time, like `check`. They are not logged: nobody was
    given or refused access. `visible_types` are those of a CheckBatch.

    Raises what `check` and `find_point` raise."""
    point = await find_point(ctx, as_of, freshness)
    model = await ctx.models.at(point.revision, point.model_revision)
    added = None if contextual is None else contextual.date(point.now)
    batch = CheckBatch(checks, stop_at, point.now, ctx.max_check_work, with_path, added, visible_types)
    predicted, begun = predict_reads(model, batch), None
    if predicted is not None:
        begun = await read_for_walk(ctx.store, predicted, batch, point.revision)
        decision = decide_ahead(model, batch, begun)
        if decision is not None:
            return Snapshot(point.revision, [decision])
    run = CheckRun(model if added is None else added.extend_model(model), batch)
    ahead = PrefetchingReader(ctx.store, ctx.store, run, begun)
    reader = ahead if added is None else OverlaidReader(ahead, added.overlay)
    return Snapshot(point.revision, await complete_run(reader, run, point.revision))
