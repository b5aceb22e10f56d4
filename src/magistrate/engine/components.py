"""Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972), without recursion."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(nodes: Iterable[Node], children: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
    """Yields the strongly connected components of the graph, each after the components that it has edges to."""
    found_at: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    stack: dict[Node, None] = {}
    for start in nodes:
        path: list[tuple[Node, Iterator[Node]]] = []
        if start not in found_at:
            path.append((start, iter(children(start))))
            found_at[start] = lowest[start] = len(found_at)
            stack[start] = None
        while path:
            node, following = path[-1]
            child = next(following, None)
            if child is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == found_at[node]:
                    yield _pop_component(stack, node)
            elif child not in found_at:
                path.append((child, iter(children(child))))
                found_at[child] = lowest[child] = len(found_at)
                stack[child] = None
            elif child in stack:
                lowest[node] = min(lowest[node], found_at[child])


def _pop_component(stack: dict[Node, None], last: Node) -> list[Node]:
    taken: list[Node] = []
    while not taken or taken[-1] != last:
        taken.append(stack.popitem()[0])
    return taken
