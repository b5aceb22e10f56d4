"""Explains checks (docs/explain.md): why one is allowed or denied, and what would allow it."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation, ExplanationSearch
from magistrate.engine.model.model import Model
from magistrate.engine.model.undefined_names import Relations, find_undefined_names
from magistrate.engine.rules import render_rule
from magistrate.operations.checks.evaluators import Moment
from magistrate.operations.checks.suggestions import SuggestionCompletion
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.difference.states import ComparedState
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.models.undefined_names import collect_names, list_undefined_names
from magistrate.operations.readers.contextual_warrants import build_contextual_warrants
from magistrate.operations.readers.store_readers import ReaderWithExpired
from magistrate.operations.scheduling import limit_work
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant


@dataclass(frozen=True, slots=True)
class ExplainedCheck:
    """Holds an explanation, and a sentence for each name that the check, or the rule of its relation, has and the model
    does not define."""

    explanation: Explanation
    unknown: Sequence[str]


async def explain_check(
    ctx: Context,
    check: Check,
    freshness: Freshness,
    is_strict: bool,
    as_of: AsOf | None = None,
    contextual: Sequence[NewWarrant] = (),
    *,
    counts_effects: bool = True,
) -> Snapshot[ExplainedCheck]:
    """Returns the explanation of a check at the newest revision, or as of the past; contextual warrants count as if
    they were written. It writes nothing, the decision log included. Without `counts_effects`, suggestions are as they
    were found, for callers who do not show them.

    Raises BudgetExceeded; what `find_point` raises; InvalidParameter for a contextual warrant that could not be written
    or, with `is_strict`, for a name in a denied check that the model does not define.
    """
    point = None if as_of is None else await find_point(ctx, as_of, freshness)
    now = ctx.now() if point is None else point.now
    added = build_contextual_warrants(contextual, now)

    def begin(model: Model) -> ExplanationSearch:
        return ExplanationSearch(model, check, now, limit_work(ctx.max_check_work), added.overlay)

    reader = ReaderWithExpired(ctx.store)
    model, explained = await Moment(ctx, freshness, point).complete_run(begin, reader, added)
    explanation = explained.value
    if counts_effects:
        state = ComparedState(model, ctx.store, explained.revision, now)
        search = SuggestionCompletion(ctx.store, reader, state, check, added.overlay)
        explanation = await search.complete(
            explanation, lambda most: nullcontext(limit_work(min(ctx.max_check_work, most)))
        )
    return Snapshot(explained.revision, _add_undefined_names(model, check, explanation, is_strict))


def _add_undefined_names(model: Model, check: Check, explanation: Explanation, is_strict: bool) -> ExplainedCheck:
    faults = [*list_undefined_names(model, collect_names(check))]
    if faults and is_strict and not explanation.is_allowed:
        raise faults[0]
    return ExplainedCheck(explanation, [*(fault.message for fault in faults), *_faults_of_rule(model, check)])


def _faults_of_rule(model: Model, check: Check) -> Iterator[str]:
    """Yields a sentence for each undefined name in the rule of the checked relation."""
    of_type, relation = check.object.type, check.relation
    defined = model.types.get(of_type)
    if defined is None or relation not in defined.relations:
        return iter(())
    names: dict[str, Relations] = {
        name: dict[str, None].fromkeys(object_type.relations) for name, object_type in model.types.items()
    }
    names[of_type] = {**names[of_type], relation: render_rule(defined.relations[relation])}
    return find_undefined_names(names, [of_type])
