"""Restricts the rows of a list of objects to those that meet its further conditions (docs/query-language.md#syntax).

The rows of the first condition and the objects of each other one are result sets, so the restriction is exact for ids
that no warrant names as well."""

from collections import defaultdict
from collections.abc import Sequence

from magistrate.engine.query.language import ObjectsQuery
from magistrate.engine.query.result_set import IDS_AT_ONCE, IDS_FOR_A_NODE, ResultSet, collect_ids
from magistrate.engine.query.rows import Findings, RelationResult
from magistrate.engine.query.search import Checkpoints, Steps, discard
from magistrate.engine.terms import ObjectId, TypeName
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.work import Work


def meet_conditions(query: ObjectsQuery, searches: Sequence[Steps[Findings]], work: Work) -> Steps[Findings]:
    """Returns the rows of the first search on the objects that meet the further conditions, whose searches follow in
    their order. Without a result set in one of them, there is none for the rows."""
    first, *others = searches
    findings = yield from first
    for condition, search in zip(query.further, others, strict=True):
        if findings.relation_results is None:
            break
        found = yield from search
        valid_until = min(findings.valid_until, found.valid_until)
        if found.relation_results is None:
            return Findings(None, valid_until)
        yield from _restrict(findings.relation_results, found.relation_results, condition.is_negated, work)
        yield from discard([container for one in found.relation_results for container in one.unlink()], work)
        findings = Findings(findings.relation_results, valid_until, findings.itself)
    return findings


def _restrict(
    results: Sequence[RelationResult], others: Sequence[RelationResult], is_negated: bool, work: Work
) -> Checkpoints[None]:
    sets: dict[TypeName | None, list[ResultSet]] = defaultdict(list)
    for other in others:
        sets[other.type].append(other.result_set)
    for result in results:
        yield from _restrict_set(result.result_set, sets[result.type], is_negated, work)


def _restrict_set(
    result_set: ResultSet, others: Sequence[ResultSet], is_negated: bool, work: Work
) -> Checkpoints[None]:
    """Makes a result set FALSE where none of the others holds, or with `is_negated` where one does."""

    def meets(id: ObjectId | None) -> bool:
        values = (other.default if id is None else other.value(id) for other in others)
        return any(value >= TRUE for value in values) is not is_negated

    ids = [*result_set.exceptions]
    if result_set.default:
        ids = [*(yield from collect_ids((result_set, *others), work))]
    for number, id in enumerate(ids, 1):
        result_set.exceptions[id] = result_set.value(id) if meets(id) else FALSE
        if not number % IDS_AT_ONCE:
            work.spend(len(others))
            work.hasten_checkpoint(IDS_AT_ONCE * (1 + len(others)) // IDS_FOR_A_NODE)
            if work.needs_checkpoint:
                yield None
    if not meets(None):
        result_set.default = FALSE
