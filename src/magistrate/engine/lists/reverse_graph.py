"""Builds the nodes of a reverse expansion from one subject, and the edges between them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar, cast

from magistrate.engine.lists.results import EXPLICIT, ListValue, combine_each, limit_of, truth_of
from magistrate.engine.model.components import find_components
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, prepare_plans
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern, creation_order
from magistrate.engine.work import Container, Linked, Pieces, Work

# Finds the warrant that is reported on an object: the first that a walk through the parts of a node reaches.


PlacedWarrant = tuple[int, Warrant]
"""Holds a warrant to be reported, after its position among the alternatives."""


class Reporting(Protocol):
    """Represents a node on which reports are known; see ReverseNode."""

    @property
    def plan(self) -> Plan | Operation | None: ...

    @property
    def branches(self) -> "Sequence[Reporting]": ...

    @property
    def first_warrants(self) -> dict[ObjectId, PlacedWarrant] | None: ...

    @property
    def explicit(self) -> dict[ObjectId, PlacedWarrant]: ...

    def value(self, object_id: ObjectId) -> ListValue: ...


def note_reports(
    first_by_id: dict[ObjectId, PlacedWarrant],
    explicit: dict[ObjectId, PlacedWarrant],
    position: int,
    weighed: Iterable[tuple[Warrant, ListValue]],
) -> None:
    """Keeps for each object the first of all warrants that give it."""
    for warrant, value in weighed:
        if value >= TRUE:
            object_id, placed = warrant.object_id, (position, warrant)
            first = first_by_id.setdefault(object_id, placed)
            if first is not placed and _order(placed) < _order(first):
                first_by_id[object_id] = placed
            if value is EXPLICIT:
                first = explicit.setdefault(object_id, placed)
                if first is not placed and _order(placed) < _order(first):
                    explicit[object_id] = placed


def find_report(root: Reporting, object_id: ObjectId) -> Warrant | None:
    """Returns the warrant that is reported on an object where the node holds: the first that a walk through its parts
    reaches. No part is visited twice."""
    if root.value(object_id) is EXPLICIT:
        placed = _first(root.explicit, object_id)
        return placed[1] if placed else None
    walked: set[Reporting] = set()
    waiting: list[Reporting | Warrant] = [root]
    while waiting:
        reason = waiting.pop()
        if isinstance(reason, Warrant):
            return reason
        if reason not in walked and reason.value(object_id) >= TRUE:
            walked.add(reason)
            waiting += reversed(_reasons(reason, object_id))
    return None


def _reasons(node: Reporting, object_id: ObjectId) -> Sequence[Reporting | Warrant]:
    """Returns the parts and warrants that make the node hold, in order."""
    if isinstance(node.plan, Operation) and node.plan.links:
        placed = _first(node.first_warrants or {}, object_id)
        return [placed[1]] if placed else []
    if isinstance(node.plan, Operation):
        positions = node.plan.rule.reasons([truth_of(branch.value(object_id)) for branch in node.branches])
        return [node.branches[position] for position in positions]
    assert node.plan is not None
    placed = _first(node.first_warrants or {}, object_id)
    if placed is None:
        return node.branches
    positions = [node.plan.positions[branch] for branch in node.plan.branches]
    return [
        *(branch for branch, position in zip(node.branches, positions, strict=True) if position < placed[0]),
        placed[1],
    ]


def _first(placed: Mapping[ObjectId, PlacedWarrant], object_id: ObjectId) -> PlacedWarrant | None:
    """Returns the first report on this object or on the wildcard."""
    return min([placed[where] for where in (object_id, WILDCARD) if where in placed], key=_order, default=None)


def _order(placed: PlacedWarrant) -> tuple[int, tuple[int, int]]:
    return placed[0], creation_order(placed[1])


Target = tuple[TypeName, RelationName]

IDS_AT_ONCE = 4_000
"""Limits the subjects whose warrants are read together."""


class ReverseEdge(NamedTuple):
    """Connects two nodes: warrants give `target` the value that `origin` has at their subject, limited to `limit`.
    `place` is the edge's position among the alternatives of the target."""

    origin: "ReverseNode"
    target: "ReverseNode"
    place: int
    limit: ListValue


class ReverseIndex(Linked):
    """Holds the warrants between objects of one type and subjects of one kind: which nodes gain by them, by relation,
    and, as far as they have been read, the warrants by subject."""

    def __init__(self, pattern: WarrantPattern) -> None:
        self.pattern = pattern
        self.edges: dict[RelationName, dict[ReverseNode, dict[ReverseEdge, None]]] = defaultdict(dict)
        """Maps the relation of the warrants, then the origin, to the edges; each edge occurs once."""
        self.warrants: dict[ObjectId, list[Warrant]] = {}
        self.wanted: dict[ObjectId, None] = {}
        self.wants_all = False
        self.has_all = False
        self.names_wildcard = False

    def unlink(self) -> Sequence[Container]:
        warrants, self.warrants = self.warrants, {}
        ids, self.wanted = self.wanted, {}
        return warrants, ids

    def want(self, object_id: ObjectId) -> None:
        if not self.has_all and (object_id != WILDCARD or self.names_wildcard):
            self.wanted[object_id] = None

    def read(self) -> ReverseWarrantRead | None:
        """Returns the next read that is needed."""
        pattern = self.pattern
        request = WarrantsBySubject(
            pattern.object_type, tuple(self.edges), pattern.subject_type, pattern.subject_relation
        )
        if self.wants_all:
            self.wants_all, self.has_all = False, True
            self.wanted, self.warrants = {}, {}
            return ReverseWarrantRead(request, None)
        ids = tuple(islice(self.wanted, IDS_AT_ONCE))
        for object_id in ids:
            del self.wanted[object_id]
            self.warrants[object_id] = []
        return ReverseWarrantRead(request, ids) if ids else None


class ReverseNode:
    """Holds the result set of a plan or an operation; with neither, of the subject itself.

    All objects have `common_value`, the named ones too. `gained` has the ids that have not been propagated yet.
    `is_exact`: the node is below one that waits, where values short of TRUE matter. `is_needed_anywhere`: a warrant to
    `type:*#relation` needs the value on any object, which is kept at WILDCARD. `first_warrants` has for each object
    (WILDCARD: for all) the first warrant that gives it, with its place and number; `explicit` likewise, of those that
    give it EXPLICIT. `first_warrants` is None where no report is needed. `steps`: at least as many as the nodes that
    it is made of on one object."""

    __slots__ = (
        "branches",
        "common_value",
        "default",
        "default_gained",
        "exceptions",
        "explicit",
        "first_warrants",
        "gained",
        "indexes",
        "is_exact",
        "is_needed_anywhere",
        "origins",
        "plan",
        "steps",
        "waits",
        "wholes",
    )

    def __init__(self, plan: Plan | Operation | None) -> None:
        self.plan = plan
        self.exceptions: dict[ObjectId, ListValue] = {}
        self.default: ListValue = FALSE
        self.common_value: ListValue = FALSE
        self.gained: list[ObjectId] = []
        self.default_gained = False
        self.branches: list[ReverseNode] = []
        self.wholes: list[ReverseNode] = []
        self.origins: list[ReverseNode] = []
        self.indexes: dict[ReverseIndex, None] = {}
        self.steps = 1
        self.waits = isinstance(plan, Operation) and not (plan.rule.is_monotone and not plan.links)
        self.is_exact = False
        self.is_needed_anywhere = False
        self.first_warrants: dict[ObjectId, PlacedWarrant] | None = None
        self.explicit: dict[ObjectId, PlacedWarrant] = {}

    def value(self, object_id: ObjectId) -> ListValue:
        return self.exceptions.get(object_id, self.default)

    def combine_branches(self, ids: Sequence[ObjectId]) -> Pieces[list[Truth]]:
        """Returns the combined value of the parts for each of these ids."""
        combine = self.plan.rule.combine if isinstance(self.plan, Operation) else max
        return combine_each(combine, self.branches, ids)

    @property
    def waits_for_branch(self) -> bool:
        return self.waits or (isinstance(self.plan, Operation) and any(branch.waits for branch in self.branches))

    def list_dependencies(self) -> "Sequence[ReverseNode]":
        """Returns the nodes that it is made of, on this object and on others."""
        return (*self.branches, *self.origins)

    def release(self) -> None:
        """Frees what is needed only as long as a node may gain."""
        self.wholes, self.origins, self.indexes, self.gained = [], [], {}, []


class ReverseGraph:
    """Holds all nodes that one subject can reach on the way to the targets. `itself` is the start.

    After connecting, `negations` are the nodes that wait, being quantifiers or not monotone: first those that depend on
    no other, then those that depend on these only, and so on; None if one depends on itself, so that there is no order
    in which to compute the nodes. `remains` has what is to be freed afterwards. With `is_exact` values short of TRUE
    matter in all nodes."""

    def __init__(self, model: Model, subject_type: TypeName, work: Work, is_exact: bool = False) -> None:
        self._is_exact = is_exact
        self.model = model
        self._subject_type = subject_type
        self._work = work
        self._by_plan: dict[Plan | Operation, ReverseNode] = {}
        self._fresh: list[ReverseNode] = []
        self._indexes: dict[tuple[str, str, str], ReverseIndex] = {}
        self.remains: Sequence[Container] = (self._indexes, self._by_plan)
        self.itself = ReverseNode(None)
        self.roots: dict[Target, ReverseNode] = {}
        self.negations: list[list[ReverseNode]] | None = None

    def connect(self, targets: Iterable[Target]) -> Checkpoints[None]:
        for target in targets:
            yield from prepare_plans(self.model, [target], self._work)
            self.roots[target] = self._node(self.model.plan(*target))
            yield from self._work.checkpoint()
        while self._fresh:
            yield from self._connect(self._fresh.pop())
            yield from self._work.checkpoint()
        ordered = yield from find_components(self.all, ReverseNode.list_dependencies, self._work)
        yield from self._mark(ordered)
        self.negations = yield from _by_depth(ordered, self._work)

    @property
    def all(self) -> Iterable[ReverseNode]:
        return self._by_plan.values()

    @property
    def indexes(self) -> Iterable[ReverseIndex]:
        return self._indexes.values()

    def _node(self, plan: Plan | Operation) -> ReverseNode:
        node = self._by_plan.get(plan)
        if node is None:
            self._work.spend(1 + (len(plan.positions) if isinstance(plan, Plan) else 0))
            node = self._by_plan[plan] = ReverseNode(plan)
            self._fresh.append(node)
        return node

    def _connect(self, node: ReverseNode) -> Checkpoints[None]:
        """Connects a node with all that it is made of."""
        plan = node.plan
        assert plan is not None
        while not self.model.prepare_following(plan, self._work):
            yield None
        node.branches = [self._node(self.model.branch(plan.type, branch)) for branch in plan.branches]
        for branch in node.branches:
            branch.wholes.append(node)
        if isinstance(plan, Plan):
            yield from self._connect_patterns(node, plan)
            return
        for link in plan.links:
            node.origins.append((yield from self._find_node(link.of_type, link.relation)))

    def _connect_patterns(self, node: ReverseNode, plan: Plan) -> Checkpoints[None]:
        for pattern in self.model.patterns_to_subjects(plan):
            if pattern.subject_type == self._subject_type:
                self._join(
                    pattern, self.itself, node, plan.positions[pattern.relation], limit=limit_of(plan, None, pattern)
                )
        for pattern, branch in self.model.expand_patterns(plan):
            origin = yield from self._find_node(*branch.target(pattern))
            self._join(pattern, origin, node, branch.position(plan, pattern), limit=limit_of(plan, branch, pattern))

    def _find_node(self, of_type: TypeName, relation: RelationName) -> Checkpoints[ReverseNode]:
        yield from prepare_plans(self.model, [(of_type, relation)], self._work)
        return self._node(self.model.plan(of_type, relation))

    def _join(
        self, pattern: WarrantPattern, origin: ReverseNode, target: ReverseNode, place: int, limit: ListValue
    ) -> None:
        names = (pattern.object_type, pattern.subject_type, pattern.subject_relation)
        index = self._indexes.get(names)
        if index is None:
            index = self._indexes[names] = ReverseIndex(pattern)
        edge = ReverseEdge(origin, target, place, limit)
        self._work.spend(1)
        edges = index.edges[pattern.relation].setdefault(origin, {})
        if edge not in edges:
            edges[edge] = None
            target.origins.append(origin)
        origin.indexes[index] = None
        if pattern.subject_id == WILDCARD:
            index.names_wildcard = origin.is_needed_anywhere = True

    def _mark(self, ordered: Sequence[Sequence[ReverseNode]]) -> Checkpoints[None]:
        """Marks which values each node must provide, and how many steps it has."""
        yield from _count_steps(ordered, len(self._by_plan), self._work)
        for component in reversed(ordered):
            yield from self._work.checkpoint()
            is_exact = self._is_exact or any(node.is_exact for node in component)
            for node in component:
                self._work.spend(1)
                node.is_exact = is_exact
                if is_exact or node.waits:
                    for below in node.list_dependencies():
                        below.is_exact = True
        anywhere = [node for node in self.all if node.is_needed_anywhere]
        for node in (yield from collect_on_object(anywhere, set(), self._work)):
            node.is_needed_anywhere = True
        for node in (yield from collect_on_object(self.roots.values(), set(), self._work)):
            node.first_warrants = {}


def _count_steps(ordered: Sequence[Sequence[ReverseNode]], most: int, work: Work) -> Checkpoints[None]:
    """Counts the steps of each node. A node is counted again wherever two paths to it meet, which is quick; but never
    beyond `most`."""
    for component in ordered:
        inside = set(component)
        outer = (branch.steps for node in component for branch in node.branches if branch not in inside)
        steps = min(len(component) + sum(outer), most)
        for node in component:
            node.steps = steps
        yield from work.charge(len(component))


def _by_depth(ordered: Sequence[Sequence[ReverseNode]], work: Work) -> Checkpoints[list[list[ReverseNode]] | None]:
    """Returns the nodes that wait by depth (see ReverseGraph.negations). `ordered` has the components, each after
    those that it depends on."""
    depths: dict[ReverseNode, int] = {}
    negations: list[list[ReverseNode]] = []
    for component in ordered:
        yield from work.charge(len(component))
        waiting = [node for node in component if node.waits]
        if waiting and (len(component) > 1 or component[0] in component[0].list_dependencies()):
            return None
        below = {node_below for node in component for node_below in node.list_dependencies()}.difference(component)
        depth = max((depths[node_below] + node_below.waits for node_below in below), default=0)
        depths.update(dict.fromkeys(component, depth))
        if waiting:
            negations += [[] for _ in range(len(negations), depth + 1)]
            negations[depth] += waiting
    return negations


class OnObject(Protocol):
    """Represents a node that may be made of others on the same object."""

    @property
    def branches(self) -> "Sequence[OnObject]": ...


N = TypeVar("N", bound=OnObject)


def collect_on_object(nodes: Iterable[N], seen: set[N], work: Work) -> Checkpoints[list[N]]:
    """Returns these nodes and all that they are made of on the same object, without those in `seen`."""
    collected: list[N] = []
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            collected.append(node)
            waiting += cast(Sequence[N], node.branches)  # which are of the same kind
            yield from work.charge(1)
    return collected
