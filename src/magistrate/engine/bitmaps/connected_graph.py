"""Holds reverse graphs that are connected, so that many lists can use each of them.

Connecting a reverse graph takes longer than most lists that are computed with bitmaps. What it consists of depends on
the model, the type of the subject and the targets only.

A bitmap knows two values, but a warrant whose policy fails has a third: it neither grants nor excludes. So a plan may
have several nodes (UnknownAs). In one such warrants do not count, and its set has the objects on which the plan is
TRUE. In another they do, and it has those on which the plan is not FALSE. A combination that is antitone is TRUE where
its parts are FALSE, so it takes the other node of each part. One that is neither monotone nor antitone takes nodes in
which no such warrant may be.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from magistrate.engine.cache.adjacency import AdjacencyKey
from magistrate.engine.lists.results import ListValue
from magistrate.engine.lists.reverse_graph import ReverseEdge, ReverseGraph, ReverseNode, Target, collect_on_object
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import TypeName
from magistrate.engine.rules.rule import Combined
from magistrate.engine.steps import Checkpoints, Steps
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.engine.work import Work

MAX_NODES = 500
"""Limits the nodes of a graph that is kept; some hundred kilobytes."""
GRAPH_BYTES, NODE_BYTES, KIND_BYTES, EDGE_BYTES = 2_000, 300, 250, 100
"""Count a graph, a node, the edges of a node by warrants of one kind, and an edge."""


class UnknownAs(Enum):
    """Says what a value that is neither TRUE nor FALSE counts as in the set of a node; with NOTHING, the set cannot be
    computed if there is one."""

    FALSE = 0
    TRUE = 1
    NOTHING = 2

    __hash__ = object.__hash__  # that of Enum is written in Python, and nodes are looked up by it

    def permits(self, value: Truth) -> bool:
        """Returns whether a set with this value can be computed."""
        return self is not UnknownAs.NOTHING or value is TRUE or value is FALSE

    def includes(self, value: Truth) -> bool:
        """Returns whether a set has what has this value."""
        return value is TRUE or (self is UnknownAs.TRUE and value is not FALSE)

    def below(self, rule: Combined) -> "UnknownAs":
        """Returns the same for the parts of a combination."""
        if rule.is_monotone or self is UnknownAs.NOTHING:
            return self
        if not rule.is_antitone:
            return UnknownAs.NOTHING
        return UnknownAs.TRUE if self is UnknownAs.FALSE else UnknownAs.FALSE


@dataclass(eq=False, slots=True)
class SetNode:
    """Represents a plan or an operation whose objects are a set; with neither, the subject itself."""

    plan: Plan | Operation | None
    waits: bool
    unknown_as: UnknownAs
    branches: "list[SetNode]" = field(default_factory=list)
    wholes: "list[SetNode]" = field(default_factory=list)


class SetEdge(NamedTuple):
    """Connects two nodes like a ReverseEdge."""

    origin: SetNode
    target: SetNode
    place: int
    limit: ListValue


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingEdges:
    """Holds the edges of one node by warrants of one kind; see SetEdge."""

    key: AdjacencyKey
    edges: Sequence[SetEdge]
    names_wildcard: bool


@dataclass(frozen=True, slots=True)
class ConnectedGraph:
    """Holds the nodes of a connected reverse graph, none of which is changed any more. It does not hold the model.

    `leaves` are the nodes of leaf rules. `outgoing` has the edges of each node, `incoming` those to each node by the
    kind of their warrants. `on_object` has the nodes that each target is made of on the same object. Warrants of the
    patterns in `orphaned` do not count.
    """

    itself: SetNode
    roots: Mapping[Target, SetNode]
    leaves: Sequence[SetNode]
    negations: Sequence[Sequence[SetNode]]
    outgoing: Mapping[SetNode, Sequence[OutgoingEdges]]
    incoming: Mapping[SetNode, Mapping[AdjacencyKey, Sequence[SetEdge]]]
    on_object: Mapping[Target, Sequence[SetNode]]
    orphaned: Set[WarrantPattern]

    def measure(self) -> int:
        """Returns how many bytes the graph takes, without the plans of the model."""
        edges = sum(len(some.edges) for outgoing in self.outgoing.values() for some in outgoing)
        edges += sum(len(some) for incoming in self.incoming.values() for some in incoming.values())
        kinds = sum(map(len, self.outgoing.values())) + sum(map(len, self.incoming.values()))
        nodes = sum(map(len, self.on_object.values())) + len(self.outgoing) + len(self.incoming)
        return GRAPH_BYTES + NODE_BYTES * nodes + KIND_BYTES * kinds + EDGE_BYTES * edges


def connect_graph(
    model: Model, subject_type: TypeName, targets: Sequence[Target], work: Work
) -> Steps[ConnectedGraph | None]:
    """Returns the graph of these targets, or None if lists cannot be computed with bitmaps: if nodes depend on their
    own negation or on a quantifier, or are needed for usersets on any object of a type."""
    graph = ReverseGraph(model, subject_type, work)
    yield from graph.connect(targets)
    if graph.negations is None or not all(map(_is_supported, graph.all)):
        return None
    connection = _Connection(graph, work)
    if not (yield from connection.connect()):
        return None
    on_object = {}
    for target, root in connection.roots.items():
        on_object[target] = yield from collect_on_object([root], set(), work)
    return ConnectedGraph(
        connection.itself,
        connection.roots,
        [node for node in connection.all if isinstance(node.plan, Operation) and node.plan.rule.leaf is not None],
        [[*connection.find_nodes(nodes)] for nodes in graph.negations],
        outgoing={node: [*outgoing] for node, outgoing in connection.list_outgoing()},
        incoming=connection.incoming,
        on_object=on_object,
        orphaned=frozenset(model.orphaned),
    )


def _is_supported(node: ReverseNode) -> bool:
    return not node.is_needed_anywhere and (node.plan is None or not node.plan.links or isinstance(node.plan, Plan))


class _Connection:
    """Makes the nodes of a connected graph from those of a reverse graph."""

    def __init__(self, graph: ReverseGraph, work: Work) -> None:
        self._graph = graph
        self._work = work
        self._nodes: dict[tuple[ReverseNode, UnknownAs], SetNode] = {}
        self._fresh: list[tuple[ReverseNode, SetNode]] = []
        self._edges: dict[ReverseNode, list[tuple[AdjacencyKey, bool, ReverseEdge]]] = defaultdict(list)
        self._outgoing: dict[SetNode, dict[AdjacencyKey, tuple[bool, list[SetEdge]]]] = defaultdict(dict)
        self.itself = SetNode(None, False, UnknownAs.FALSE)
        self.roots: dict[Target, SetNode] = {}
        self.incoming: dict[SetNode, dict[AdjacencyKey, list[SetEdge]]] = defaultdict(lambda: defaultdict(list))

    @property
    def all(self) -> Sequence[SetNode]:
        return [*self._nodes.values()]

    def connect(self) -> Checkpoints[bool]:
        """Makes all nodes that the roots depend on, and returns whether their sets can be computed."""
        yield from self._collect_edges()
        for target, root in self._graph.roots.items():
            self.roots[target] = self._node(root, UnknownAs.FALSE)
        while self._fresh:
            reverse_node, node = self._fresh.pop()
            if len(self._nodes) > MAX_NODES:
                return False
            is_counted = node.unknown_as is not UnknownAs.FALSE
            if is_counted and isinstance(node.plan, Plan) and not node.plan.is_defined:
                return False
            self._connect(reverse_node, node)
            yield from self._work.checkpoint()
        return True

    def find_nodes(self, nodes: Sequence[ReverseNode]) -> Iterator[SetNode]:
        """Yields the nodes that were made for these."""
        for reverse_node in nodes:
            for unknown_as in UnknownAs:
                if (reverse_node, unknown_as) in self._nodes:
                    yield self._nodes[reverse_node, unknown_as]

    def list_outgoing(self) -> Iterator[tuple[SetNode, Iterator[OutgoingEdges]]]:
        for origin, by_key in self._outgoing.items():
            yield origin, (OutgoingEdges(key, edges, wildcard) for key, (wildcard, edges) in by_key.items())

    def _collect_edges(self) -> Checkpoints[None]:
        """Collects the edges to each node of the reverse graph."""
        for index in self._graph.indexes:
            pattern = index.pattern
            for relation, by_origin in index.edges.items():
                key = AdjacencyKey(pattern.object_type, relation, pattern.subject_type, pattern.subject_relation)
                for edge in (edge for edges in by_origin.values() for edge in edges):
                    self._edges[edge.target].append((key, index.names_wildcard, edge))
                    yield from self._work.charge(1)

    def _node(self, reverse_node: ReverseNode, unknown_as: UnknownAs) -> SetNode:
        if reverse_node is self._graph.itself:
            return self.itself
        node = self._nodes.get((reverse_node, unknown_as))
        if node is None:
            node = self._nodes[reverse_node, unknown_as] = SetNode(reverse_node.plan, reverse_node.waits, unknown_as)
            self._fresh.append((reverse_node, node))
            self._work.spend(1)
        return node

    def _connect(self, reverse_node: ReverseNode, node: SetNode) -> None:
        """Connects a node with all that it is made of."""
        unknown_as = node.unknown_as.below(node.plan.rule) if isinstance(node.plan, Operation) else node.unknown_as
        for branch in reverse_node.branches:
            below = self._node(branch, unknown_as)
            node.branches.append(below)
            below.wholes.append(node)
        for key, names_wildcard, edge in self._edges.get(reverse_node, ()):
            origin = self._node(edge.origin, node.unknown_as)
            connected = SetEdge(origin, node, edge.place, edge.limit)
            self._outgoing[origin].setdefault(key, (names_wildcard, []))[1].append(connected)
            self.incoming[node][key].append(connected)
            self._work.spend(1)
