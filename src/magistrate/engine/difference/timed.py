"""Finds the warrants that come to count, or cease to, by time alone."""

from collections.abc import Sequence

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.query.search import Checkpoints
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work


def find_timed_changes(
    warrants: Sequence[Warrant], evaluators: Sequence[tuple[PolicyEvaluator, PolicyEvaluator]], work: Work
) -> Checkpoints[list[WarrantChange]]:
    """Returns the changes of those warrants whose value differs between the two evaluators of a pair, which have the
    times of the two states."""
    for pair in evaluators:
        for evaluator in pair:
            yield from evaluator.evaluate_each(warrants)
    changes: list[WarrantChange] = []
    for warrant in warrants:
        values = {(earlier.value(warrant), later.value(warrant)): None for earlier, later in evaluators}
        changes += [WarrantChange(warrant, later > earlier) for earlier, later in values if earlier is not later]
        work.spend(1)
        if work.needs_checkpoint:
            yield None
    return changes
