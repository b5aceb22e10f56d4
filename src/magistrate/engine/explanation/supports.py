"""Chooses what each node that holds rests on: a warrant to the subject, or one of its children.

The choices never go in a circle. Where there are several, that of the path of the check is taken (paths.py), otherwise
the one that needs the fewest warrants.
"""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from magistrate.engine.expansion import Operation
from magistrate.engine.nodes import CheckEdge, CheckNode
from magistrate.engine.paths import PathSearch, PathStep
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

EDGES_FOR_A_NODE = 4
"""Counts the edges that take as much work as one node."""

Supports = dict[CheckNode, CheckEdge | Warrant]
"""Maps nodes of relations that hold to what they rest on. Combinations rest on all rules that matter to them."""


def find_supports(root: CheckNode, work: Work) -> Generator[None, Any, Supports]:
    """Returns what each node that holds, from the root on, rests on. Yields when the time slice is over. Raises
    BudgetExceeded."""
    parents = yield from _list_parents(root, work)
    supports: Supports = {}
    is_supported: set[CheckNode] = set()
    open_children = {node: len(list_holding(node)) for node in parents if isinstance(node.plan, Operation)}
    waiting = deque(node for node in parents if node.reason[0] is not None or not list_holding(node))
    while waiting:
        node = waiting.popleft()
        if node in is_supported:
            continue
        is_supported.add(node)
        if node.reason[0] is not None:
            supports[node] = node.reason[0]
        for edge in parents[node]:
            if edge.node in open_children:
                open_children[edge.node] -= 1
                if not open_children[edge.node]:
                    waiting.append(edge.node)
            elif edge.node not in supports and edge.node.reason[0] is None:
                supports[edge.node] = edge
                waiting.append(edge.node)
        yield from _charge(work, 1 + len(parents[node]) // EDGES_FOR_A_NODE)
    return supports


def list_holding(node: CheckNode) -> Sequence[CheckEdge]:
    """Returns the edges that a node which holds may rest on; for a combination, those it rests on."""
    if isinstance(node.plan, Operation):
        positions = node.plan.rule.explain([edge.child.value for edge in node.edges])
        return [node.edges[position] for position in positions if node.edges[position].child.value is TRUE]
    return [edge for edge in node.edges if edge.child.value is TRUE and edge.limit is TRUE]


def _list_parents(root: CheckNode, work: Work) -> Generator[None, Any, dict[CheckNode, list[CheckEdge]]]:
    """Returns all nodes that hold from the root on, with the edges by which others may rest on them."""
    parents: dict[CheckNode, list[CheckEdge]] = {}
    waiting = [root]
    if root.value is TRUE:
        parents[root] = []
    for node in waiting:  # grows during the loop
        edges = list_holding(node) if node.value is TRUE else node.edges
        for edge in edges:
            if edge.child not in parents and edge.child.value is not None:
                parents[edge.child] = []
                waiting.append(edge.child)
            if edge.child in parents and node.value is TRUE:
                parents[edge.child].append(edge)
        yield from _charge(work, 1 + len(node.edges) // EDGES_FOR_A_NODE)
    return {node: edges for node, edges in parents.items() if node.value is TRUE}


def follow_path(
    root: CheckNode, path: Sequence[Warrant], search: PathSearch, supports: Supports, work: Work
) -> Generator[None, Any, None]:
    """Lets the nodes on the path of the root rest on its warrants. Yields when the time slice is over. Raises
    BudgetExceeded."""
    node, left = root, len(path)
    while left:
        step = yield from search.first_step(node)
        reached: dict[CheckNode, CheckEdge | None] = {node: None}
        waiting = [node]
        while waiting:
            one = waiting.pop()
            yield from _charge(work, 1 + len(one.edges) // EDGES_FOR_A_NODE)
            last = _find_last(one, path[0]) if step is None else _find_step(one, step)
            if last is not None:
                _rest_on(one, last, reached, supports)
                break
            for edge in reversed(list_holding(one)):
                if edge.warrant is None and edge.child not in reached:
                    reached[edge.child] = edge
                    waiting.append(edge.child)
        left -= 1
        node = step.target if step is not None else node


def _find_last(node: CheckNode, warrant: Warrant) -> Warrant | None:
    return warrant if node.reason[0] is warrant else None


def _find_step(node: CheckNode, step: PathStep) -> CheckEdge | None:
    edges = (edge for edge in list_holding(node) if edge.warrant is step.warrant and edge.child is step.target)
    return next(edges, None)


def _rest_on(
    node: CheckNode,
    support: CheckEdge | Warrant,
    reached: dict[CheckNode, CheckEdge | None],
    supports: Supports,
) -> None:
    """Lets a node rest on its support, and those through which it was reached each on the next one."""
    supports[node] = support
    while (edge := reached[node]) is not None:
        node = edge.node
        if not isinstance(node.plan, Operation):
            supports[node] = edge


def _charge(work: Work, nodes: int) -> Generator[None, Any, None]:
    work.spend(nodes)
    if work.needs_checkpoint:
        yield None
