"""Which relations depend on their own negation.

A model has a meaning when its relations can be put in layers such that every noneOf looks only at layers below its
own (Apt, Blair and Walker, "Towards a theory of declarative knowledge", 1988). That fails exactly when some loop in
the graph of (type, relation) pairs has a negated edge. Loops without one are fine: they add nothing to the least
fixpoint."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from magistrate.engine.model import ObjectType
from magistrate.engine.terms import RelationName, TypeName


@dataclass(frozen=True, slots=True)
class Node:
    type: TypeName
    relation: RelationName

    def __str__(self) -> str:
        return f"{self.type}#{self.relation}"


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` looks at `target`, below a noneOf if `negated`."""

    source: Node
    target: Node
    negated: bool


def find_negation_loop(model: Iterable[ObjectType]) -> tuple[Edge, ...] | None:
    """A loop of edges, the first of them negated, each starting where the one before ends; None if there is none.

    Cost: linear in the number of edges, plus one search for the loop that is reported.
    """
    edges = _edges_by_source(model)
    component = _components({source: [edge.target for edge in out] for source, out in edges.items()})
    for out in edges.values():
        for edge in out:
            if edge.negated and component[edge.source] == component[edge.target]:
                return (edge, *_path(edges, edge.target, edge.source))
    return None


def written_loop(loop: tuple[Edge, ...]) -> str:
    """`document#viewer -> not document#blocked -> document#viewer`."""
    return str(loop[0].source) + "".join(f" -> {'not ' if edge.negated else ''}{edge.target}" for edge in loop)


def _edges_by_source(model: Iterable[ObjectType]) -> dict[Node, list[Edge]]:
    edges: dict[Node, list[Edge]] = {}
    for object_type in model:
        for relation, rule in object_type.relations.items():
            source = Node(object_type.name, relation)
            edges[source] = [
                Edge(source, Node(wanted.type or object_type.name, wanted.relation), wanted.negated)
                for wanted in rule.dependencies()
            ]
    for edge in [edge for out in edges.values() for edge in out]:
        edges.setdefault(edge.target, [])
    return edges


def _components(targets: Mapping[Node, list[Node]]) -> dict[Node, int]:
    """Each node's strongly connected component, as a number (Kosaraju, without recursion: models may be deep)."""
    sources: dict[Node, list[Node]] = {node: [] for node in targets}
    for node, reached in targets.items():
        for target in reached:
            sources[target].append(node)
    component: dict[Node, int] = {}
    for root in reversed(_finished_order(targets)):
        if root in component:
            continue
        number = len(component)
        component[root] = number
        waiting = [root]
        while waiting:
            for source in sources[waiting.pop()]:
                if source not in component:
                    component[source] = number
                    waiting.append(source)
    return component


def _finished_order(targets: Mapping[Node, list[Node]]) -> list[Node]:
    """Every node, each after all that a depth-first walk reached from it."""
    order: list[Node] = []
    seen: set[Node] = set()
    for root in targets:
        if root in seen:
            continue
        seen.add(root)
        walk = [(root, iter(targets[root]))]
        while walk:
            node, unvisited = walk[-1]
            following = next((target for target in unvisited if target not in seen), None)
            if following is None:
                order.append(node)
                walk.pop()
            else:
                seen.add(following)
                walk.append((following, iter(targets[following])))
    return order


def _path(edges: Mapping[Node, list[Edge]], start: Node, end: Node) -> tuple[Edge, ...]:
    """A shortest path of edges between two nodes of one component; empty if they are the same node."""
    arrived_by: dict[Node, Edge] = {}
    waiting = deque([start])
    while waiting and end not in arrived_by and start != end:
        for edge in edges[waiting.popleft()]:
            if edge.target not in arrived_by and edge.target != start:
                arrived_by[edge.target] = edge
                waiting.append(edge.target)
    path: list[Edge] = []
    while end != start:
        path.append(arrived_by[end])
        end = path[-1].source
    return tuple(reversed(path))
