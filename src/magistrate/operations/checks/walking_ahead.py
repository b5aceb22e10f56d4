"""Decides single checks by a walk over the rows that are read ahead for them, in one statement."""

from magistrate.engine.evaluation.check import Decision
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, Revision
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.walk.warrants_ahead import WarrantsAhead
from magistrate.engine.warrants.read_ahead import AheadReader, ReadsAhead, outline_reads
from magistrate.engine.work import Work
from magistrate.operations.checks.check_batch import CheckBatch
from magistrate.operations.checks.prefetching_reader import MOST_ROWS, BegunRead
from magistrate.operations.scheduling import checkpoint, is_time_up


def predict_reads(model: Model, batch: CheckBatch) -> ReadsAhead | None:
    """Returns what has to be read ahead for the check of the batch, or None if only an evaluation can decide it."""
    if len(batch.checks) != 1 or batch.with_path or batch.contextual is not None:
        return None
    [check] = batch.checks
    plan = model.plans.get((check.object.type, check.relation))
    if plan is None or check.object.id == WILDCARD:
        return None
    outline = outline_reads(model, plan, check.subject)
    return outline.name_subject(check.subject) if plan in outline.plans else None


async def read_for_walk(reader: AheadReader, ahead: ReadsAhead, batch: CheckBatch, at: Revision | None) -> BegunRead:
    """Reads what was predicted for the check of the batch, at one revision, and leaves time to others before and after
    it. Raises what `read_ahead` raises."""
    if is_time_up():
        await checkpoint()
    reads = ahead.outline.begin_on((batch.checks[0].object.id,))
    # One row above the budget is enough to detect that the rows exceed it.
    limit = min(MOST_ROWS, batch.most_work + 1)
    result = await reader.read_ahead(reads, ahead, at, limit)
    if is_time_up():
        await checkpoint()
    return BegunRead(reads, ahead, result, is_complete=len(result.warrants) < limit)


def decide_ahead(model: Model, batch: CheckBatch, begun: BegunRead) -> Decision | None:
    """Returns the decision of the check of the batch from what was read, or None if an evaluation has to decide it.
    `model` is that for which the reads were predicted, and of their revision."""
    if not begun.is_complete:
        return None
    [check], outline = batch.checks, begun.ahead.outline
    ahead = WarrantsAhead(model, outline, batch.now)
    if not ahead.take(model.plan(check.object.type, check.relation), begun.result.warrants, batch.most_work):
        return None
    decision = Walk(ahead, batch.now, Work(batch.most_work)).decide(check)
    return None if isinstance(decision, Undecided) else decision
