"""Finds relations that depend on their own negation.

A model has a meaning when its relations can be stratified: put in layers such that every negation uses only layers
below its own (Apt, Blair and Walker, "Towards a theory of declarative knowledge", 1988). That fails exactly when some
cycle in the graph of (type, relation) pairs has a negated edge. Cycles without one are valid: they add nothing to the
least fixpoint.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from magistrate.engine.model.components import components
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.rules import dependencies


class RelationNode(NamedTuple):
    type: TypeName
    relation: RelationName

    def __str__(self) -> str:
        return f"{self.type}#{self.relation}"


class RelationEdge(NamedTuple):
    """Represents the dependency of `source` on `target`, below an operator that is not monotone if `negated`."""

    source: RelationNode
    target: RelationNode
    negated: bool


def find_negation_loop(
    lookup: Callable[[TypeName], ObjectType | None], changed: Iterable[TypeName]
) -> tuple[RelationEdge, ...] | None:
    """Returns a cycle of edges through relations of the changed types, or None when there is none.

    The first edge is negated, and each starts where the one before ends. `lookup` returns the type of a name, or None
    when it is not defined. Only types that the changed ones reach are looked up: every cycle that a change can close
    goes through them. The cost is linear in the number of their edges, plus one search for the cycle that is reported.
    """
    edges = _edges_by_source(lookup, changed)
    component = _component_numbers(edges)
    for out in edges.values():
        for edge in out:
            if edge.negated and component[edge.source] == component[edge.target]:
                return (edge, *_path(edges, edge.target, edge.source))
    return None


def render_loop(loop: tuple[RelationEdge, ...], visible: frozenset[str] | None = None) -> str:
    """Returns the cycle as text, such as `document#viewer -> not document#blocked -> document#viewer`. Relations of
    types that are not `visible` have no names in it."""

    def render(node: RelationNode) -> str:
        return str(node) if visible is None or node.type in visible else "(a relation of another object type)"

    return render(loop[0].source) + "".join(
        f" -> {'not ' if edge.negated else ''}{render(edge.target)}" for edge in loop
    )


def _edges_by_source(
    lookup: Callable[[TypeName], ObjectType | None], changed: Iterable[TypeName]
) -> dict[RelationNode, list[RelationEdge]]:
    """Returns all edges reachable from relations of the changed types, by source; an undefined relation has no edge."""
    types: dict[TypeName, ObjectType | None] = {name: lookup(name) for name in changed}
    edges: dict[RelationNode, list[RelationEdge]] = {}
    waiting = [
        RelationNode(of_type.name, relation) for of_type in types.values() if of_type for relation in of_type.relations
    ]
    while waiting:
        source = waiting.pop()
        if source in edges:
            continue
        if source.type not in types:
            types[source.type] = lookup(source.type)
        of_type = types[source.type]
        rule = of_type.relations.get(source.relation) if of_type else None
        edges[source] = [
            RelationEdge(source, RelationNode(dependency.type or source.type, dependency.relation), dependency.negated)
            for dependency in (dependencies(rule) if rule else ())
        ]
        waiting.extend(edge.target for edge in edges[source])
    return edges


def _component_numbers(edges: Mapping[RelationNode, list[RelationEdge]]) -> dict[RelationNode, int]:
    """Returns the number of each node's strongly connected component."""
    groups = components(edges, lambda node: [edge.target for edge in edges[node]])
    return {node: number for number, component in enumerate(groups) for node in component}


def _path(
    edges: Mapping[RelationNode, list[RelationEdge]], start: RelationNode, end: RelationNode
) -> tuple[RelationEdge, ...]:
    """Returns a shortest path of edges between two nodes of one component; it is empty when they are the same node."""
    arrived_by: dict[RelationNode, RelationEdge] = {}
    waiting = deque([start])
    while waiting and end not in arrived_by and start != end:
        for edge in edges[waiting.popleft()]:
            if edge.target not in arrived_by and edge.target != start:
                arrived_by[edge.target] = edge
                waiting.append(edge.target)
    path: list[RelationEdge] = []
    while end != start:
        path.append(arrived_by[end])
        end = path[-1].source
    return tuple(reversed(path))
