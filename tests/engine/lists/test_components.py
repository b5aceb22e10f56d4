"""Strongly connected components, against reachability worked out by brute force."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.model.components import components

Graph = Mapping[int, Sequence[int]]

graphs = st.integers(1, 8).flatmap(
    lambda size: st.fixed_dictionaries({node: st.lists(st.integers(0, size - 1), max_size=4) for node in range(size)})
)


def reachable(graph: Graph, start: int) -> set[int]:
    """From a node, by one step or more."""
    found: set[int] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph[node]
    return found


@given(graphs)
def test_nodes_are_together_exactly_if_they_reach_each_other(graph: Graph) -> None:
    found = list(components(graph, graph.__getitem__))

    assert sorted(node for component in found for node in component) == sorted(graph)
    for component in found:
        for node in graph:
            leads_both_ways = node in reachable(graph, component[0]) and component[0] in reachable(graph, node)
            assert (node in component) == (node == component[0] or leads_both_ways)


@given(graphs)
def test_a_component_comes_after_all_that_it_reaches(graph: Graph) -> None:
    places = {node: place for place, one in enumerate(components(graph, graph.__getitem__)) for node in one}

    assert all(places[child] <= places[node] for node, children in graph.items() for child in children)


def test_a_long_chain_is_no_deep_recursion() -> None:
    chain = {node: [node + 1] for node in range(50_000)} | {50_000: [0]}

    [circle] = components(chain, chain.__getitem__)

    assert len(circle) == 50_001
