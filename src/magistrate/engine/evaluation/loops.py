"""Resolves the nodes that wait for each other when everything has been read.

Cycles of alternatives add nothing: a node without other support does not hold. A cycle through a negation, which only
warrants to groups can create, leaves its nodes UNKNOWN. Together this is the well-founded semantics (Van Gelder, Ross
and Schlipf, "The well-founded semantics for general logic programs", 1991), computed by an alternating fixpoint that
treats each operator that is not monotone as a barrier: it uses resolved values only, not those of the fixpoint that is
being computed.

A barrier over unresolved relations may have any value between two bounds. A node is resolved where the least fixpoints
for the lower and for the upper bounds agree; when none agrees any more, what remains below a barrier counts as UNKNOWN.
"""

from collections import deque
from collections.abc import Generator, Sequence
from functools import partial
from typing import TypeVar

from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.nesting import fold
from magistrate.engine.rules.operand_counts import OperandCounts
from magistrate.engine.rules.rule import Bounds
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth

EDGES_FOR_A_NODE = 4
"""Counts the edges that take as much work as one node."""

EDGES_AT_ONCE = 400
"""Limits the edges that are followed between two yields."""

T = TypeVar("T")

Resolving = Generator[int, None, T]
"""Yields the amount of work done since the last yield."""


def resolve_nodes(nodes: Sequence[CheckNode]) -> Resolving[list[tuple[CheckNode, Truth]]]:
    """Returns the values of at least one of `nodes`, which must be all undecided nodes, each with all of its
    children known."""
    low = yield from _find_least_values(nodes, (FALSE, TRUE), 0)
    high = yield from _find_least_values(nodes, (FALSE, TRUE), 1)
    agreed = [(node, low[node]) for node in nodes if low[node] == high[node]]
    if agreed:
        return agreed
    last = yield from _find_least_values(nodes, (UNKNOWN, UNKNOWN), 0)
    return list(last.items())


def _find_least_values(nodes: Sequence[CheckNode], unresolved: Bounds, end: int) -> Resolving[dict[CheckNode, Truth]]:
    """Returns the least fixpoint in which each combination that is not monotone has this end (0 lower, 1 upper)
    of its bounds."""
    barriers: dict[CheckNode, Truth] = {}
    for node in nodes:
        if isinstance(node.plan, Operation) and not node.plan.rule.is_monotone:
            barriers[node] = _ends(node, unresolved)[end]
            yield 1 + len(node.edges)
    fixpoint = _LeastFixpoint(nodes, barriers)
    yield from fixpoint.begin()
    yield from fixpoint.propagate()
    return fixpoint.values


def _ends(barrier: CheckNode, unresolved: Bounds) -> Bounds:
    """Returns the bounds of a combination when the bounds of every unresolved relation are `unresolved`."""
    ends: Bounds = fold(barrier, _between, partial(_ends_of, unresolved))
    return ends


def _between(node: CheckNode) -> Sequence[CheckNode]:
    """Returns the children that the bounds of a node depend on.

    Nothing is known of a relation until it is resolved, so it has none. The nodes between the barrier and the relations
    are followed as deep as rules are nested.
    """
    is_relation = isinstance(node.plan, Plan) and node.plan.relation is not None
    return () if node.value is not None or is_relation else [edge.child for edge in node.edges]


def _ends_of(unresolved: Bounds, node: CheckNode, ends: Sequence[Bounds]) -> Bounds:
    if node.value is not None:
        return node.value, node.value
    if isinstance(node.plan, Operation):
        lows, highs = zip(*ends, strict=True)
        rule, limits = node.plan.rule, [edge.limit for edge in node.edges]
        return rule.bounds(rule.list_operands(node.floor, limits, lows), rule.list_operands(node.floor, limits, highs))
    if node.plan.relation is not None:
        return unresolved
    low, high = node.floor, node.floor
    for edge, (child_low, child_high) in zip(node.edges, ends, strict=True):
        low, high = max(low, min(edge.limit, child_low)), max(high, min(edge.limit, child_high))
    return low, high


class _LeastFixpoint:
    """Raises the values of nodes from FALSE, for given values of the barriers."""

    def __init__(self, nodes: Sequence[CheckNode], barriers: dict[CheckNode, Truth]) -> None:
        self.values: dict[CheckNode, Truth] = dict.fromkeys(nodes, FALSE)
        self._barriers = barriers
        self._operands: dict[CheckNode, OperandCounts] = {}
        self._raised: deque[CheckNode] = deque()
        self._passed: dict[CheckNode, Truth] = {}
        """Has the values that the parents of a node know of; FALSE for the others."""

    def begin(self) -> Resolving[None]:
        """Gives each node the value that it has while all undecided children are FALSE."""
        for node in self.values:
            if node in self._barriers:
                self._raise(node, self._barriers[node])
            elif isinstance(node.plan, Operation):
                self._operands[node] = yield from _count_operands(node, node.plan)
                self._raise(node, self._operands[node].compute_value())
            else:
                self._raise(node, node.floor)
            yield 1

    def propagate(self) -> Resolving[None]:
        """Raises the parents of what was raised until nothing is left."""
        while self._raised:
            node = self._raised.popleft()
            before, value = self._passed.get(node, FALSE), self.values[node]
            self._passed[node] = value
            for number, edge in enumerate(node.parents if value > before else (), 1):
                self._raise_parent(edge, before, value)
                if not number % EDGES_AT_ONCE:
                    yield EDGES_AT_ONCE // EDGES_FOR_A_NODE
            yield 1

    def _raise_parent(self, edge: CheckEdge, before: Truth, value: Truth) -> None:
        parent = edge.node
        operands = self._operands.get(parent)
        if operands is not None:
            operands.replace(edge.limit, before, value)
            self._raise(parent, operands.compute_value())
        elif parent in self.values and parent not in self._barriers:
            self._raise(parent, min(edge.limit, value))

    def _raise(self, node: CheckNode, value: Truth) -> None:
        if value > self.values[node]:
            self.values[node] = value
            self._raised.append(node)


def _count_operands(node: CheckNode, plan: Operation) -> Resolving[OperandCounts]:
    """Returns the operands of a combination while all of its undecided children are FALSE."""
    operands = plan.rule.count_operands(node.floor)
    for number, edge in enumerate(node.edges, 1):
        operands.add(edge.limit, FALSE if edge.child.value is None else edge.child.value)
        if not number % EDGES_AT_ONCE:
            yield EDGES_AT_ONCE // EDGES_FOR_A_NODE
    return operands


def find_open_nodes(roots: Sequence[CheckNode]) -> Resolving[tuple[list[CheckNode], int]]:
    """Returns every undecided node that an undecided root reaches, and how many edges these nodes have. Yields the
    number of nodes and edges examined."""
    open_nodes = dict.fromkeys(roots)
    waiting = list(open_nodes)
    count = 0
    while waiting:
        edges = waiting.pop().edges
        count += len(edges)
        for number, edge in enumerate(edges, 1):
            if edge.child.value is None and edge.child not in open_nodes:
                open_nodes[edge.child] = None
                waiting.append(edge.child)
            if not number % EDGES_AT_ONCE:
                yield EDGES_AT_ONCE // EDGES_FOR_A_NODE
        yield 1
    return list(open_nodes), count
