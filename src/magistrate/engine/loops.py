"""What is left when everything has been read: nodes that wait for each other.

Loops of alternatives add nothing: whatever has no other support does not hold. A loop through a noneOf, which only
warrants to groups can tie, leaves its nodes UNKNOWN. Together this is the well-founded semantics (Van Gelder, Ross
and Schlipf, "The well-founded semantics for general logic programs", 1991), by an alternating fixpoint that treats
each noneOf as a barrier: it looks at what is settled, not at what is being worked out.

A barrier that looks at unsettled relations may have any value between two ends. Where the least fixpoints for the
lower and for the upper ends agree, a node is settled; when none is any more, what remains below a barrier counts as
UNKNOWN."""

from collections import deque
from collections.abc import Generator, Sequence
from functools import partial
from typing import TypeVar

from magistrate.engine.nesting import fold
from magistrate.engine.nodes import CheckNode
from magistrate.engine.plans import Operation, Plan
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth

EDGES_FOR_A_NODE = 4
"""As much work as a node is otherwise."""

T = TypeVar("T")

Ends = tuple[Truth, Truth]


Settling = Generator[int, None, T]
"""Yields how much work was done since it yielded last."""


def settle(nodes: Sequence[CheckNode]) -> Settling[list[tuple[CheckNode, Truth]]]:
    """Returns the values of one node or more out of `nodes`, which are all that are undecided, each of them with all
    its children known."""
    low = yield from _find_least_values(nodes, (FALSE, TRUE), 0)
    high = yield from _find_least_values(nodes, (FALSE, TRUE), 1)
    agreed = [(node, low[node]) for node in nodes if low[node] == high[node]]
    if agreed:
        return agreed
    last = yield from _find_least_values(nodes, (UNKNOWN, UNKNOWN), 0)
    return list(last.items())


def _find_least_values(nodes: Sequence[CheckNode], unsettled: Ends, end: int) -> Settling[dict[CheckNode, Truth]]:
    """Returns the least values that agree with each other, if each combination with a noneOf has this end of those
    between which it must lie."""
    barriers: dict[CheckNode, Truth] = {}
    for node in nodes:
        if isinstance(node.plan, Operation) and node.plan.rule.negates:
            barriers[node] = _ends(node, unsettled)[end]
            yield 1 + len(node.edges)
    values = yield from _least_fixpoint(nodes, barriers)
    return values


def _ends(barrier: CheckNode, unsettled: Ends) -> Ends:
    """Between which values a combination must lie if every unsettled relation lies between these."""
    ends: Ends = fold(barrier, _between, partial(_ends_of, unsettled))
    return ends


def _between(node: CheckNode) -> Sequence[CheckNode]:
    """Of a relation nothing is known as long as it is not settled; into what stands between the barrier and the
    relations one looks further, as deep as rules were written into each other."""
    is_relation = isinstance(node.plan, Plan) and node.plan.relation is not None
    return () if node.value is not None or is_relation else [edge.child for edge in node.edges]


def _ends_of(unsettled: Ends, node: CheckNode, ends: Sequence[Ends]) -> Ends:
    if node.value is not None:
        return node.value, node.value
    if isinstance(node.plan, Operation):
        return _combine_ends(node, ends)
    if node.plan.relation is not None:
        return unsettled
    low, high = node.floor, node.floor
    for edge, (child_low, child_high) in zip(node.edges, ends, strict=True):
        low, high = max(low, min(edge.cap, child_low)), max(high, min(edge.cap, child_high))
    return low, high


def _combine_ends(node: CheckNode, ends: Sequence[Ends]) -> Ends:
    assert isinstance(node.plan, Operation)
    lows, highs = zip(*ends, strict=True)
    if not node.plan.rule.negates:
        return node.plan.rule.combine(lows), node.plan.rule.combine(highs)
    # Not the negated ends: the negation of what lies between them may lie outside of theirs (UNKNOWN and MISSING stay).
    between = [node.plan.rule.combine([Truth(inner)]) for inner in range(max(lows), max(highs) + 1)]
    return min(between), max(between)


def _least_fixpoint(nodes: Sequence[CheckNode], barriers: dict[CheckNode, Truth]) -> Settling[dict[CheckNode, Truth]]:
    """Returns the least values that agree with each other, given those of the barriers."""
    values: dict[CheckNode, Truth] = dict.fromkeys(nodes, FALSE)
    raised: deque[CheckNode] = deque()

    def raise_to(node: CheckNode, value: Truth) -> None:
        if value > values[node]:
            values[node] = value
            raised.append(node)

    for node in nodes:
        raise_to(node, barriers[node] if node in barriers else _value(node, values))
        yield 1 + len(node.edges) // EDGES_FOR_A_NODE
    while raised:
        node = raised.popleft()
        for edge in node.parents:
            if edge.node in values and edge.node not in barriers:
                parent = edge.node
                if isinstance(parent.plan, Operation):
                    raise_to(parent, _value(parent, values))
                    yield 1 + len(parent.edges) // EDGES_FOR_A_NODE
                else:
                    raise_to(parent, min(edge.cap, values[node]))
        yield 1 + len(node.parents) // EDGES_FOR_A_NODE
    return values


def _value(node: CheckNode, values: dict[CheckNode, Truth]) -> Truth:
    heard = [values.get(edge.child, FALSE) if edge.child.value is None else edge.child.value for edge in node.edges]
    if isinstance(node.plan, Operation):
        return node.plan.rule.combine(heard)
    return max([node.floor, *(min(edge.cap, value) for edge, value in zip(node.edges, heard, strict=True))])
