"""Checks every candidate by itself, for queries whose result sets cannot be computed as a whole (see Findings)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from magistrate.engine.evaluation import Check, Evaluation
from magistrate.engine.nodes import CheckNode, EvaluationScope
from magistrate.engine.plans import Model
from magistrate.engine.query.checked_reports import CheckedReports
from magistrate.engine.query.result_set import EXPLICIT, ListValue, ResultSet
from magistrate.engine.query.rows import Findings, RelationResult, Reports
from magistrate.engine.query.search import Steps
from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

NOBODY = ObjectId("")
"""This id stands for a subject that no warrant names: it has only what a wildcard warrant gives."""


class Candidates(NamedTuple):
    """Holds the ids, of one type and relation, that may be rows. `check` builds the check for one of them."""

    type: TypeName
    relation: RelationName
    ids: Sequence[ObjectId]
    check: Callable[[ObjectId], Check]


def check_candidates(
    model: Model, candidates: Sequence[Candidates], follows_links: bool, now: int, work: Work
) -> Steps[Findings]:
    """Returns one RelationResult for each of the candidates. `follows_links` is that of CheckedReports."""
    scope = EvaluationScope(with_reports=True)
    evaluation = Evaluation(model, now, work, scope)
    by_warrants_alone = Evaluation(model.without_rules(), now, work, scope)
    checked, checked_alone = (CheckedReports(one.model, follows_links, work) for one in (evaluation, by_warrants_alone))
    nodes, valid_until = yield from _decide_candidates(evaluation, candidates)
    explicit, explicit_until = yield from _decide_candidates(by_warrants_alone, candidates)
    relation_results = []
    for one, found, by_warrants in zip(candidates, nodes, explicit, strict=True):
        holding = {id: node for id, node in found.items() if node.value is TRUE}
        values: dict[ObjectId, ListValue] = {id: EXPLICIT if by_warrants[id].value is TRUE else TRUE for id in holding}
        reports: dict[ObjectId, Warrant | None] = {}
        for id, node in holding.items():
            is_explicit = values[id] is EXPLICIT
            reports[id] = yield from (checked_alone.find(by_warrants[id]) if is_explicit else checked.find(node))
        if values.pop(NOBODY, FALSE) >= values.get(WILDCARD, FALSE):
            values.pop(WILDCARD, None)
        relation_results.append(
            RelationResult(
                one.type, one.relation, ResultSet(exceptions=values), Reports(reports.get, remains=(reports,))
            )
        )
    for _ in chain(evaluation.release(), by_warrants_alone.release()):
        yield None
    return Findings(relation_results, min(valid_until, explicit_until))


def _decide_candidates(
    evaluation: Evaluation, candidates: Sequence[Candidates]
) -> Steps[tuple[list[Mapping[ObjectId, CheckNode]], int]]:
    """Returns the nodes of each of the candidates by id, and the time at which the first of them may change."""
    nodes: list[Mapping[ObjectId, CheckNode]] = []
    for one in candidates:
        found: dict[ObjectId, CheckNode] = {}
        for id in one.ids:
            while (node := evaluation.add_check(one.check(id))) is None:
                yield None
            found[id] = node
            evaluation.work.spend(1)
            if evaluation.work.needs_checkpoint:
                yield None
        nodes.append(found)
    while (reads := evaluation.advance()) != []:
        warrants = yield reads
        if reads and warrants is not None:
            evaluation.take(warrants)
    return nodes, evaluation.valid_until
