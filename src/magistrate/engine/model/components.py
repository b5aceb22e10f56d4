"""Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972), without recursion."""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from magistrate.engine.work import Work

Node = TypeVar("Node", bound=Hashable)

STEPS_AT_ONCE = 100
"""Counts the nodes and edges that are visited between two looks at the time; some hundredths of a millisecond."""
STEPS_FOR_A_NODE = 10
"""Counts the visits that take as long as one unit of work."""


def components(nodes: Iterable[Node], children: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
    """Yields the strongly connected components of the graph, each after the components that it has edges to."""
    return filter(None, _search(nodes, children))


def find_components(
    nodes: Iterable[Node], children: Callable[[Node], Iterable[Node]], work: Work
) -> Generator[None, Any, list[list[Node]]]:
    """Returns the components in the order of `components`; their nodes are charged. Yields when the time slice is over,
    also within a component or on a long way to the first one. Raises BudgetExceeded."""
    components_found: list[list[Node]] = []
    for component in _search(nodes, children):
        if component is None:
            work.hasten_checkpoint(STEPS_AT_ONCE // STEPS_FOR_A_NODE)
        else:
            components_found.append(component)
            work.spend(len(component))
        yield from work.checkpoint()
    return components_found


def _search(nodes: Iterable[Node], children: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node] | None]:
    """Yields the components, and None whenever it has taken STEPS_AT_ONCE."""
    found_at: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    stack: dict[Node, None] = {}
    steps = 0
    for start in nodes:
        path: list[tuple[Node, Iterator[Node]]] = []
        if start not in found_at:
            path.append((start, iter(children(start))))
            found_at[start] = lowest[start] = len(found_at)
            stack[start] = None
        while path:
            steps += 1
            if not steps % STEPS_AT_ONCE:
                yield None
            node, following = path[-1]
            child = next(following, None)
            if child is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == found_at[node]:
                    yield from _pop_component(stack, node)
            elif child not in found_at:
                path.append((child, iter(children(child))))
                found_at[child] = lowest[child] = len(found_at)
                stack[child] = None
            elif child in stack:
                lowest[node] = min(lowest[node], found_at[child])


def _pop_component(stack: dict[Node, None], last: Node) -> Iterator[list[Node] | None]:
    """Yields None for every STEPS_AT_ONCE nodes, and then the component."""
    taken: list[Node] = []
    while not taken or taken[-1] != last:
        taken.append(stack.popitem()[0])
        if not len(taken) % STEPS_AT_ONCE:
            yield None
    yield taken
