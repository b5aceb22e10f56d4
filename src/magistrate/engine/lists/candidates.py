"""Checks every candidate by itself, for queries whose result sets cannot be computed as a whole (see Findings)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation, add_check, decide_added
from magistrate.engine.evaluation.loops import EDGES_AT_ONCE, EDGES_FOR_A_NODE
from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode, EvaluationScope
from magistrate.engine.evaluation.paths import EdgePositions
from magistrate.engine.lists.results import EXPLICIT, Findings, ListValue, RelationResult, Reports, ResultSet
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Steps, take_pieces
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants.warrant import Warrant, creation_order
from magistrate.engine.work import Work, sort_in_steps

# Finds the warrants that rows report where every candidate is checked by itself: those that
# docs/compatibility.md#reported-warrants names for queries, found on the nodes of an evaluation with reports.


class _ReportBranch(NamedTuple):
    """Holds a warrant that is reported, or a node that has the report, after its place among the alternatives."""

    order: tuple[int, tuple[int, int]]
    content: Warrant | CheckNode


class CheckedReports:
    """Finds reports on the nodes of one evaluation. With `follows_links`, a warrant that links to an object is not
    reported, but what is reported there; lists of subjects want that."""

    def __init__(self, model: Model, follows_links: bool, work: Work) -> None:
        self._positions = EdgePositions(model)
        self._follows_links = follows_links
        self._work = work

    def find(self, root: CheckNode) -> Checkpoints[Warrant | None]:
        """Returns the warrant that is reported for a node that holds: the first that a walk through its alternatives
        reaches, None if there is none. No node is visited twice. Raises BudgetExceeded."""
        walked: set[CheckNode] = set()
        waiting: list[_ReportBranch] = [_ReportBranch((0, (0, 0)), root)]
        while waiting:
            content = waiting.pop().content
            if isinstance(content, Warrant):
                return content
            if content not in walked:
                walked.add(content)
                branches = yield from self._sort_branches(content)
                waiting += reversed(branches)
        return None

    def _sort_branches(self, node: CheckNode) -> Checkpoints[list[_ReportBranch]]:
        branches_found: list[_ReportBranch] = []
        for number, branch in enumerate(self._list_branches(node), 1):
            branches_found.append(branch)
            if not number % EDGES_AT_ONCE:
                yield from self._work.charge(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
        yield from self._work.charge(1)
        return (yield from take_pieces(sort_in_steps(branches_found, attrgetter("order")), self._work))

    def _list_branches(self, node: CheckNode) -> Iterator[_ReportBranch]:
        plan = node.plan
        if isinstance(plan, Operation):
            values = [edge.child.value for edge in node.edges]
            for position in plan.rule.reasons(values):
                edge = node.edges[position]
                if edge.limit is not TRUE:
                    continue
                if edge.warrant is None:
                    yield _ReportBranch((position, (0, 0)), edge.child)
                else:
                    yield self._follow(0, edge.warrant, edge.child)
            return
        if (direct := node.direct) is not None:
            yield _ReportBranch((plan.positions[direct.relation], creation_order(direct)), direct)
        for edge in node.edges:
            if edge.child.value is TRUE and edge.limit is TRUE:
                yield self._find_branch(plan, edge)

    def _find_branch(self, plan: Plan, edge: CheckEdge) -> _ReportBranch:
        if edge.warrant is None:
            return _ReportBranch((self._positions.of_branch(plan, edge.child.plan), (0, 0)), edge.child)
        position, is_link = self._positions.of_warrant(plan, edge, edge.warrant)
        if is_link:
            return self._follow(position, edge.warrant, edge.child)
        return _ReportBranch((position, creation_order(edge.warrant)), edge.warrant)

    def _follow(self, position: int, link: Warrant, target: CheckNode) -> _ReportBranch:
        return _ReportBranch((position, creation_order(link)), target if self._follows_links else link)


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
    checked, checked_alone = (
        CheckedReports(decider.model, follows_links, work) for decider in (evaluation, by_warrants_alone)
    )
    nodes, valid_until = yield from _decide_candidates(evaluation, candidates)
    explicit, explicit_until = yield from _decide_candidates(by_warrants_alone, candidates)
    relation_results = []
    for candidate, node_by_id, by_warrants in zip(candidates, nodes, explicit, strict=True):
        holding = {object_id: node for object_id, node in node_by_id.items() if node.value is TRUE}
        values: dict[ObjectId, ListValue] = {
            object_id: EXPLICIT if by_warrants[object_id].value is TRUE else TRUE for object_id in holding
        }
        reports: dict[ObjectId, Warrant | None] = {}
        for object_id, node in holding.items():
            is_explicit = values[object_id] is EXPLICIT
            reports[object_id] = yield from (
                checked_alone.find(by_warrants[object_id]) if is_explicit else checked.find(node)
            )
        if values.pop(NOBODY, FALSE) >= values.get(WILDCARD, FALSE):
            values.pop(WILDCARD, None)
        relation_results.append(
            RelationResult(
                candidate.type,
                candidate.relation,
                ResultSet(exceptions=values),
                Reports(reports.get, remains=(reports,)),
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
    for candidate in candidates:
        nodes_found: dict[ObjectId, CheckNode] = {}
        for object_id in candidate.ids:
            evaluation.work.spend(1)
            nodes_found[object_id] = yield from add_check(evaluation, candidate.check(object_id))
        nodes.append(nodes_found)
    yield from decide_added(evaluation)
    return nodes, evaluation.valid_until
