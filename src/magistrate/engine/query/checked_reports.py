"""Finds the warrants that rows report where every candidate is checked by itself (candidates.py): those that
docs/compatibility.md#reported-warrants names for queries, found on the nodes of an evaluation with reports."""

from collections.abc import Iterator
from typing import NamedTuple

from magistrate.engine.edge_positions import EdgePositions
from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.loops import EDGES_AT_ONCE, EDGES_FOR_A_NODE
from magistrate.engine.nodes import CheckEdge, CheckNode
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Checkpoints, take_steps
from magistrate.engine.sorting import sort_in_steps
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant, creation_order
from magistrate.engine.work import Work


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
            one = waiting.pop().content
            if isinstance(one, Warrant):
                return one
            if one not in walked:
                walked.add(one)
                branches = yield from self._sort_branches(one)
                waiting += reversed(branches)
        return None

    def _sort_branches(self, node: CheckNode) -> Checkpoints[list[_ReportBranch]]:
        found: list[_ReportBranch] = []
        for number, branch in enumerate(self._list_branches(node), 1):
            found.append(branch)
            if not number % EDGES_AT_ONCE:
                self._work.spend(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
                if self._work.needs_checkpoint:
                    yield None
        self._work.spend(1)
        if self._work.needs_checkpoint:
            yield None
        return (yield from take_steps(sort_in_steps(found, _order), self._work))

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
        if (direct := node.reason[0]) is not None:
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


def _order(branch: _ReportBranch) -> tuple[int, tuple[int, int]]:
    return branch.order
