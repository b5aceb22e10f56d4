"""Finds the paths of checks: of several, the one that the rules reach first (docs/compatibility.md#reported-warrants).

A relation on an object is granted by warrants on that object, in an order: its own, then those of each rule from left
to right. Such a warrant is a step: it names the subject itself, which ends the path, or reaches another node. The
steps of a node end at the first one that names the subject, because none after it can be needed.

Where steps lead back to the node they begin at, the order alone could go around for ever. Within such a cycle a step
therefore counts only if it reaches a node from which fewer warrants suffice.
"""

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from itertools import chain, islice
from math import inf
from typing import Any, NamedTuple, TypeVar

from magistrate.engine.evaluation.loops import EDGES_FOR_A_NODE
from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode
from magistrate.engine.model.components import find_components
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Branch, Operation, Plan
from magistrate.engine.steps import take_pieces
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import Warrant, creation_order
from magistrate.engine.work import Work, sort_in_steps


class EdgePositions:
    """Looks up positions for the nodes of one evaluation, which was made with `model`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._of_branches: dict[Plan, dict[Plan | Operation, int]] = {}

    def of_warrant(self, plan: Plan, edge: CheckEdge, warrant: Warrant) -> tuple[int, bool]:
        """Returns the first position at which the warrant reaches the child of the edge, and whether an arrow stands
        there."""
        return min(
            (branch.position(plan, warrant), not branch.is_explicit)
            for branch in plan.expand(warrant)
            if self._model.plan(*branch.target(warrant)) is edge.child.plan
        )

    def of_branch(self, plan: Plan, branch: Plan | Operation) -> int:
        """Returns the first position at which the plan continues with `branch` on the same object."""
        positions = self._of_branches.get(plan)
        if positions is None:
            own_branch: Branch
            positions = self._of_branches[plan] = {}
            for own_branch in reversed(plan.branches):
                positions[self._model.branch(plan.type, own_branch)] = plan.positions[own_branch]
        return positions[branch]


T = TypeVar("T")

EDGES_AT_ONCE = 200
"""Limits the edges that are examined between two looks at the time."""


class PathStep(NamedTuple):
    """Represents a warrant on the object of one node that reaches another node."""

    warrant: Warrant
    target: CheckNode


class _PathBranch(NamedTuple):
    """Represents what grants a relation at one position of its rules: a warrant to the subject, a node on the same
    object, or steps, of which the nearest counts first if `is_arrow`. Alternatives sort by `order`."""

    order: tuple[int, bool]
    content: Warrant | CheckNode | list[PathStep]
    is_arrow: bool = False


class _Steps:
    """Holds the steps of a node in order, and the warrant after them that names the subject. `length` is the least
    number of warrants that suffice; infinite when the node holds by the absence of warrants alone."""

    __slots__ = ("branches", "component", "end", "length")

    def __init__(self) -> None:
        self.branches: list[_PathBranch] = []
        self.end: Warrant | None = None
        self.length = inf
        self.component = 0

    def targets(self) -> Iterable[CheckNode]:
        steps = (branch.content for branch in self.branches if isinstance(branch.content, list))
        return (step.target for step in chain.from_iterable(steps))


class PathSearch:
    """Finds the paths of nodes that hold, all of one evaluation that was made with paths."""

    def __init__(self, model: Model, roots: Sequence[CheckNode], work: Work) -> None:
        self._roots = roots
        self.work = work
        self._steps: dict[CheckNode, _Steps] = {}
        self._first: dict[CheckNode, PathStep | None] = {}
        self._positions = EdgePositions(model)

    def prepare(self) -> Generator[None, Any, None]:
        """Determines the steps of all nodes, which `find` needs. Yields when the time slice is
        over. Raises BudgetExceeded."""
        waiting = [*self._roots]
        while waiting:
            node = waiting.pop()
            if node not in self._steps:
                steps = self._steps[node] = _Steps()
                yield from self._collect(node, steps)
                waiting += yield from self._gather(steps.targets())
        yield from self._measure()
        ordered = yield from find_components(self._steps, lambda node: self._steps[node].targets(), self.work)
        for number, component in enumerate(ordered):
            for start in range(0, len(component), EDGES_AT_ONCE):
                for node in component[start : start + EDGES_AT_ONCE]:
                    self._steps[node].component = number
                yield from self.work.charge(1)

    def find(self, node: CheckNode) -> Generator[None, Any, list[Warrant]]:
        """Returns the warrants that the node depends on, from the subject to the object; none if it holds by the
        absence of warrants alone. Yields when the time slice is over. Raises BudgetExceeded."""
        path: list[Warrant] = []
        while (step := (yield from self.first_step(node))) is not None:
            path.append(step.warrant)
            node = step.target
            yield from self.work.charge(1)
        if (end := self._steps[node].end) is not None:
            path.append(end)
        return path[::-1]

    def first_step(self, node: CheckNode) -> Generator[None, Any, PathStep | None]:
        """Returns the step that the path takes from a node; many paths may lead through it. Yields and raises like
        `find`."""
        if node not in self._first:
            self._first[node] = yield from self._choose(self._steps[node])
        return self._first[node]

    def _choose(self, steps: _Steps) -> Generator[None, Any, PathStep | None]:
        """Returns the first step that counts; of the steps of an arrow, the first of the nearest."""
        for branch in steps.branches:
            assert isinstance(branch.content, list)
            nearest: PathStep | None = None
            for number, step in enumerate(branch.content, 1):
                if not number % EDGES_AT_ONCE:
                    yield from self.work.charge(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
                if not self._counts(steps, step):
                    continue
                if not branch.is_arrow:
                    return step
                if nearest is None or self._length(step.target) < self._length(nearest.target):
                    nearest = step
            if nearest is not None:
                return nearest
        return None

    def _counts(self, steps: _Steps, step: PathStep) -> bool:
        target = self._steps[step.target]
        return target.component != steps.component or target.length < steps.length

    def _collect(self, node: CheckNode, steps: _Steps) -> Generator[None, Any, None]:
        """Adds the steps of a node, in order, up to the first warrant that names the subject."""
        seen: set[CheckNode] = set()
        waiting = [_PathBranch((0, False), node)]
        while waiting:
            branch = waiting.pop()
            if isinstance(branch.content, Warrant):
                steps.end, steps.length = branch.content, 1
                return
            if isinstance(branch.content, list):
                steps.branches.append(branch)
            elif branch.content not in seen:
                seen.add(branch.content)
                yield from self.work.charge(1)
                branches = yield from self._branches(branch.content)
                waiting += reversed(branches)

    def _branches(self, node: CheckNode) -> Generator[None, Any, list[_PathBranch]]:
        """Returns what grants the relation of the node, in order: warrants to the subject, then usersets, then the rest
        as it is written."""
        plan = node.plan
        if isinstance(plan, Operation):
            return (yield from self._list_operation_branches(node, plan))
        branches = [_PathBranch((plan.positions[direct.relation], False), direct)] if (direct := node.direct) else []
        usersets: dict[int, list[PathStep]] = {}
        arrows: dict[int, list[PathStep]] = {}
        for number, edge in enumerate(node.edges, 1):
            if not number % EDGES_FOR_A_NODE:
                yield from self.work.charge(1)
            if edge.child.value is not TRUE or edge.limit is not TRUE:
                continue
            if edge.warrant is None:
                branches.append(_PathBranch((self._positions.of_branch(plan, edge.child.plan), False), edge.child))
                continue
            position, is_arrow = self._positions.of_warrant(plan, edge, edge.warrant)
            (arrows if is_arrow else usersets).setdefault(position, []).append(PathStep(edge.warrant, edge.child))
        for position, steps in usersets.items():
            ordered = yield from take_pieces(sort_in_steps(steps, _userset_order), self.work)
            branches.append(_PathBranch((position, True), ordered))
        for position, steps in arrows.items():
            ordered = yield from take_pieces(sort_in_steps(steps, _link_order), self.work)
            branches.append(_PathBranch((position, True), ordered, is_arrow=True))
        return sorted(branches, key=lambda branch: branch.order)

    def _list_operation_branches(self, node: CheckNode, plan: Operation) -> Generator[None, Any, list[_PathBranch]]:
        values = yield from self._gather(edge.child.value for edge in node.edges)
        reasons = ((position, node.edges[position]) for position in plan.rule.reasons(values))
        edges = yield from self._gather((position, edge) for position, edge in reasons if edge.limit is TRUE)
        links = ((edge.warrant, edge.child) for _, edge in edges)
        steps = yield from self._gather(PathStep(warrant, child) for warrant, child in links if warrant is not None)
        if steps:
            ordered = yield from take_pieces(sort_in_steps(steps, _link_order), self.work)
            return [_PathBranch((0, True), ordered, is_arrow=True)]
        return [_PathBranch((position, False), edge.child) for position, edge in edges]

    def _measure(self) -> Generator[None, Any, None]:
        """Determines the length of each node, from those that a warrant grants to the subject itself outwards."""
        origins: dict[CheckNode, list[CheckNode]] = {}
        bare: list[CheckNode] = []
        ends: list[CheckNode] = []
        for node, steps in self._steps.items():
            if not steps.branches and steps.end is None:
                steps.length = 0
                bare.append(node)
            elif steps.end is not None:
                ends.append(node)
            for number, target in enumerate(steps.targets(), 1):
                origins.setdefault(target, []).append(node)
                if not number % EDGES_AT_ONCE:
                    yield from self.work.charge(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
            yield from self.work.charge(1)
        waiting = deque([*bare, *ends])
        while waiting:
            node = waiting.popleft()
            length = self._length(node) + 1
            for number, origin in enumerate(origins.get(node, ()), 1):
                if length < self._length(origin):
                    self._steps[origin].length = length
                    waiting.append(origin)
                if not number % EDGES_AT_ONCE:
                    yield from self.work.charge(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
            yield from self.work.charge(1)

    def _length(self, node: CheckNode) -> float:
        return self._steps[node].length

    def _gather(self, items: Iterable[T]) -> Generator[None, Any, list[T]]:
        """Returns the items as a list, with a look at the time after every EDGES_AT_ONCE."""
        chosen: list[T] = []
        remaining = iter(items)
        while some := [*islice(remaining, EDGES_AT_ONCE)]:
            chosen += some
            if len(some) == EDGES_AT_ONCE:
                yield from self.work.checkpoint(EDGES_AT_ONCE // EDGES_FOR_A_NODE)
        return chosen


def _userset_order(step: PathStep) -> tuple[bool, tuple[int, int]]:
    return step.warrant.policy != "", creation_order(step.warrant)


def _link_order(step: PathStep) -> tuple[int, int]:
    return creation_order(step.warrant)
