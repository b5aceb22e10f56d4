"""Holds reverse graphs that are connected, so that many lists can use each of them.

Connecting a reverse graph takes longer than most lists that are computed with bitmaps. What it consists of depends on
the model, the type of the subject and the targets only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.graph.adjacency import AdjacencyKey
from magistrate.engine.plans import Model
from magistrate.engine.query.result_set import EXPLICIT
from magistrate.engine.query.reverse_graph import (
    ReverseEdge,
    ReverseGraph,
    ReverseNode,
    Target,
    collect_on_object,
)
from magistrate.engine.query.search import Steps
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.terms import TypeName
from magistrate.engine.warrants import WarrantPattern
from magistrate.engine.work import Work

MOST_NODES = 500
"""Limits the nodes of a graph that is kept; some hundred kilobytes."""


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingEdges:
    """Holds the edges of one node by warrants of one kind; see ReverseEdge."""

    key: AdjacencyKey
    edges: tuple[ReverseEdge, ...]
    names_wildcard: bool
    has_explicit: bool


@dataclass(frozen=True, slots=True)
class ConnectedGraph:
    """Holds the nodes of a connected reverse graph, none of which is changed any more. It does not hold the model.

    `outgoing` has the edges of each node, `incoming` those to each plan by the kind of their warrants. `on_object` has
    the nodes that each target is made of on the same object. Warrants of the patterns in `stranded` do not count.
    """

    itself: ReverseNode
    roots: Mapping[Target, ReverseNode]
    negations: Sequence[Sequence[ReverseNode]]
    outgoing: Mapping[ReverseNode, Sequence[OutgoingEdges]]
    incoming: Mapping[ReverseNode, Mapping[AdjacencyKey, Sequence[ReverseEdge]]]
    on_object: Mapping[Target, Sequence[ReverseNode]]
    stranded: Set[WarrantPattern]


def connect_graph(
    model: Model, subject_type: TypeName, targets: Sequence[Target], work: Work
) -> Steps[ConnectedGraph | None]:
    """Returns the graph of these targets, or None if lists cannot be computed with bitmaps: if nodes rest on their own
    negation, depend on more than which warrants there are, or are needed for usersets on any object of a type."""
    graph = ReverseGraph(model, subject_type, work)
    yield from graph.connect(targets)
    if graph.negations is None or not _is_decided_by_sets(graph.all):
        return None
    outgoing: dict[ReverseNode, list[OutgoingEdges]] = defaultdict(list)
    incoming: dict[ReverseNode, dict[AdjacencyKey, list[ReverseEdge]]] = defaultdict(lambda: defaultdict(list))
    for index in graph.indexes:
        pattern = index.pattern
        for relation, by_origin in index.edges.items():
            key = AdjacencyKey(pattern.object_type, relation, pattern.subject_type, pattern.subject_relation)
            for origin, edges in by_origin.items():
                has_explicit = any(edge.limit is EXPLICIT for edge in edges)
                outgoing[origin].append(OutgoingEdges(key, tuple(edges), index.names_wildcard, has_explicit))
                for edge in edges:
                    incoming[edge.target][key].append(edge)
                work.spend(len(edges))
                if work.needs_checkpoint:
                    yield None
    on_object: dict[Target, Sequence[ReverseNode]] = {}
    for target, root in graph.roots.items():
        on_object[target] = yield from collect_on_object([root], set(), work)
    for node in (graph.itself, *graph.all):
        node.indexes = {}
    return ConnectedGraph(
        graph.itself, graph.roots, graph.negations, outgoing, incoming, on_object, frozenset(model.stranded)
    )


def _is_decided_by_sets(nodes: Iterable[ReverseNode]) -> bool:
    every = [*nodes]
    return len(every) <= MOST_NODES and all(map(_is_supported, every))


def _is_supported(node: ReverseNode) -> bool:
    if node.is_needed_anywhere:
        return False
    if isinstance(node.plan, Operation):
        return isinstance(node.plan.rule, RuleOperator)
    return isinstance(node.plan, Plan) and (node.plan.is_defined or not node.is_exact)
