"""Explains checks (docs/explain.md): why one is allowed or denied, and what would allow it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from magistrate.engine.evaluation import Check
from magistrate.engine.explanation import Explanation, ExplanationSearch
from magistrate.engine.plans import Model
from magistrate.engine.rules import render_rule
from magistrate.engine.undefined_names import Relations, find_undefined_names
from magistrate.engine.work import Work
from magistrate.operations.checks.evaluating import drive_run, release_run
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint
from magistrate.operations.strict import collect_names, list_undefined_names
from magistrate.store.contract import Snapshot


@dataclass(frozen=True, slots=True)
class ExplainedCheck:
    """Holds an explanation, and a sentence for each name that the check, or the rule of its relation, has and the model
    does not define."""

    explanation: Explanation
    unknown: Sequence[str]


async def explain_check(ctx: Context, check: Check, freshness: Freshness, is_strict: bool) -> Snapshot[ExplainedCheck]:
    """Returns the explanation of a check at the newest revision. It writes nothing, the decision log included.

    Raises BudgetExceeded; InvalidParameter if the token is from the future or, with `is_strict`, for a name in a denied
    check that the model does not define.
    """
    now = ctx.now()
    search = ExplanationSearch(await ctx.models.get_known(), check, now, Work(ctx.max_check_work))
    try:
        while (reads := search.advance()) is None:
            await checkpoint()
        first = await ctx.store.read_warrants(reads, None, search.work.left + 1)
        freshness.demand(first.newest)
        model = await ctx.models.at(first.revision, first.model_revision)
        if model is search.model:
            search.take(first.warrants)
        else:
            release_run(search)
            search = ExplanationSearch(model, check, now, Work(ctx.max_check_work))
        explanation = await drive_run(ctx, search, first.revision)
    finally:
        release_run(search)
    return Snapshot(first.revision, _add_undefined_names(model, check, explanation, is_strict))


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
    names: dict[str, Relations] = {name: dict[str, None].fromkeys(one.relations) for name, one in model.types.items()}
    names[of_type] = {**names[of_type], relation: render_rule(defined.relations[relation])}
    return find_undefined_names(names, [of_type])
