"""Finds the objects on which one subject has relations, by reverse-expanding from the subject.

The nodes are plans and operations: each has a result set over the objects of its type, which starts
empty and only gains. A node that gains propagates it: on the same object to the nodes that are built from it, and to
other objects through the warrants that name what was gained. These warrants are read level by level, for everything
gained in between.

A combination that is not monotone, such as a noneOf, cannot be computed before everything that it depends on is known.
It waits until no node gains anything, and then becomes one more node that gains. So does a quantifier, which has to
know all links of an object at once (`find_linked_objects`). Where one depends on itself (groups
can cause that, rules cannot) nothing is computed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.results import (
    EXPLICIT,
    VALUES_FOR_A_NODE,
    Findings,
    ListValue,
    RelationResult,
    Reports,
    ResultSet,
    collect_ids,
    truth_of,
)
from magistrate.engine.lists.reverse_graph import (
    IDS_AT_ONCE,
    ReverseEdge,
    ReverseGraph,
    ReverseIndex,
    ReverseNode,
    Target,
    collect_on_object,
    find_report,
    note_reports,
)
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import ArrowExpansion, Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import LeafRule
from magistrate.engine.steps import Checkpoints, Steps, fetch_warrants, take_pieces
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, Truth
from magistrate.engine.warrants.reader import AnyRead, ReverseWarrantRead, WarrantRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import Warrant, creation_order
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Work

# Computes on which objects a quantifier holds, once it is known on which linked objects the subject has the
# relation. If only the objects matter on which it holds, those that are linked to an object with the relation are
# found first, and all links of these are read. Otherwise all links of the type are read.


class LinkedObjects(NamedTuple):
    """Holds the value of a quantifier on the objects of a type: those of `exceptions`, and `default` on the rest."""

    default: ListValue
    exceptions: dict[ObjectId, ListValue]


def find_linked_objects(
    model: Model, node: ReverseNode, conditions: PolicyEvaluator, work: Work
) -> Steps[LinkedObjects]:
    """Returns the values, given the node of the quantifier, and keeps with the node the link that is reported on each
    object where it holds: the oldest."""
    plan = node.plan
    assert isinstance(plan, Operation)
    [link] = plan.links
    links: dict[ObjectId, list[Warrant]] = defaultdict(list)
    for reads in (yield from _plan_reads(node, plan.type, link)):
        for matching in (yield from fetch_warrants(reads)):
            yield from conditions.evaluate_each(matching)
            for warrant in filter(model.counts, link.select(matching)):
                links[warrant.object_id].append(warrant)
            yield from work.charge(len(matching))
    everywhere = links.pop(WILDCARD, [])
    exceptions: dict[ObjectId, ListValue] = {}
    for object_id, own in links.items():
        exceptions[object_id] = _compute_value(node, plan, [*own, *everywhere], conditions)
        _report(node, object_id, own, conditions)
        yield from work.charge(1 + len(everywhere))
    _report(node, WILDCARD, everywhere, conditions)
    if node.is_needed_anywhere:
        all_links = [*everywhere, *(link for own in links.values() for link in own)]
        exceptions[WILDCARD] = _compute_value(node, plan, all_links, conditions)
    return LinkedObjects(_compute_value(node, plan, everywhere, conditions), exceptions)


def _plan_reads(node: ReverseNode, of_type: TypeName, link: ArrowExpansion) -> Steps[Iterator[Sequence[AnyRead]]]:
    """Returns the reads of all links that matter, in batches."""
    requests, [origin] = link.requests, node.origins
    is_general = node.is_exact or node.is_needed_anywhere or origin.default is not FALSE
    if is_general or any(request.has_object_wildcard or request.subjects is None for request in requests):
        return iter([[WarrantRead(request, None)] for request in requests])
    holding = [object_id for object_id, value in origin.exceptions.items() if value >= TRUE and object_id != WILDCARD]
    objects: dict[ObjectId, None] = {}
    to_them = WarrantsBySubject(of_type, (link.with_relation,), link.of_type, "")
    for ids in _split(holding if requests else []):
        [matching] = yield from fetch_warrants([ReverseWarrantRead(to_them, ids)])
        objects.update((warrant.object_id, None) for warrant in matching)
    return ([WarrantRead(request, ids) for request in requests] for ids in _split([*objects]))


def _split(ids: Sequence[ObjectId]) -> Iterator[tuple[ObjectId, ...]]:
    return (tuple(ids[start : start + IDS_AT_ONCE]) for start in range(0, len(ids), IDS_AT_ONCE))


def _compute_value(node: ReverseNode, plan: Operation, links: Sequence[Warrant], conditions: PolicyEvaluator) -> Truth:
    quantifier, [origin] = plan.rule.quantifier, node.origins
    assert quantifier is not None
    limits = [conditions.value(link) for link in links]
    values = [
        quantifier.of_wildcard if link.subject_id == WILDCARD else truth_of(origin.value(link.subject_id))
        for link in links
    ]
    return plan.rule.combine([quantifier.begin(limits), *map(quantifier.weigh, limits, values)])


def _report(node: ReverseNode, object_id: ObjectId, links: Sequence[Warrant], conditions: PolicyEvaluator) -> None:
    certain = [link for link in links if conditions.value(link) is TRUE]
    if node.first_warrants is not None and certain:
        node.first_warrants[object_id] = (0, min(certain, key=creation_order))


_ANY_OTHER = ObjectId("")
"""This id stands for every id that is not named: it has the value and the report of the rest."""


def find_objects(
    graph: ReverseGraph, targets: Sequence[Target], subject: ObjectRef, conditions: PolicyEvaluator, work: Work
) -> Steps[Findings]:
    """Returns one RelationResult for each of these types and relations. The graph, for subjects of that type, is empty
    at first."""
    yield from graph.connect(targets)
    if graph.negations is None:
        return Findings(None)
    return (yield from _ObjectSearch(graph, graph.negations, subject, conditions, work=work).steps())


class _ObjectSearch:
    def __init__(
        self,
        graph: ReverseGraph,
        negations: Sequence[Sequence[ReverseNode]],
        subject: ObjectRef,
        conditions: PolicyEvaluator,
        work: Work,
    ) -> None:
        self._graph = graph
        self._negations = iter(negations)
        self._subject = subject
        self._conditions = conditions
        self._work = work
        self._busy: dict[ReverseNode, None] = {}
        self._self_objects: set[ObjectRef] = set()

    def steps(self) -> Steps[Findings]:
        yield from self._begin()
        while True:
            yield from self._propagate()
            indexes = [(index, read) for index in self._graph.indexes if (read := index.read())]
            if indexes:
                reads = [read for _, read in indexes]
                matching = yield from fetch_warrants(reads)
                for (index, _), stored in zip(indexes, matching, strict=True):
                    yield from self._take(index, stored)
            elif not (yield from self._wake()):
                break
        yield from self._release_nodes()
        relation_results: list[RelationResult] = []
        counted: set[ReverseNode] = set()
        for target, root in self._graph.roots.items():
            relation_results.append(
                _build_result(target, root, (yield from collect_on_object([root], counted, self._work)))
            )
            yield from self._work.charge(1)
        return Findings(relation_results, self._conditions.valid_until, self._self_objects)

    def _release_nodes(self) -> Checkpoints[None]:
        for number, node in enumerate(self._graph.all, 1):
            node.release()
            if not number % ITEMS_FOR_A_NODE:
                yield from self._work.checkpoint(1)

    def _begin(self) -> Checkpoints[None]:
        self._gain(self._graph.itself, self._subject.id, EXPLICIT)
        self._gain(self._graph.itself, WILDCARD, EXPLICIT)
        for node in self._graph.all:
            yield from self._work.checkpoint(1)
            if isinstance(node.plan, Plan):
                if not node.plan.is_defined:
                    yield from self._gain_default(node, UNDEFINED)
            elif node.plan is not None and node.plan.rule.leaf is not None:
                leaf = node.plan.rule.leaf
                yield from self._conditions.evaluate_each(self._conditions.list_placeholders(leaf.policy))
                yield from self._gain_leaf(node, node.plan.type, leaf)

    def _gain_leaf(self, node: ReverseNode, of_type: TypeName, leaf: LeafRule) -> Checkpoints[None]:
        default, exceptions = leaf.list_objects(of_type, self._subject.type, self._subject.id, self._conditions)
        yield from self._gain_default(node, default)
        self._self_objects |= {self._subject} if self._subject.id in exceptions else set()
        for object_id, value in exceptions.items():
            if object_id != WILDCARD or node.is_needed_anywhere:
                self._gain(node, object_id, value)

    def _propagate(self) -> Checkpoints[None]:
        """Propagates what was gained until it takes reads to go on."""
        while self._busy:
            node = next(iter(self._busy))
            del self._busy[node]
            gained, node.gained = node.gained, []
            default, node.default_gained = node.default_gained, False
            if default:
                yield from self._propagate_gain(node, (), default)
            for start in range(0, len(gained), ITEMS_AT_ONCE):
                yield from self._propagate_gain(node, gained[start : start + ITEMS_AT_ONCE])

    def _propagate_gain(self, node: ReverseNode, ids: Sequence[ObjectId], default: bool = False) -> Checkpoints[None]:
        """Propagates what a node gained on these objects, or on all others."""
        for whole in node.wholes:
            if not whole.waits_for_branch:
                yield from self._update(whole, ids, default)
        for index in node.indexes:
            yield from self._go(index, node, ids, default)
        yield from self._work.charge(len(ids))

    def _update(self, whole: ReverseNode, ids: Sequence[ObjectId], default: bool) -> Checkpoints[None]:
        """Propagates to a node that one of its parts gained on these objects, or on all others."""
        if not default:
            values = yield from self._combine(whole, ids)
            self._gain_each(whole, zip(ids, values, strict=True))
            return
        exceptions = yield from take_pieces(collect_ids(whole.branches), self._work)
        of_others, *values = yield from self._combine(whole, [_ANY_OTHER, *exceptions])
        yield from self._gain_default(whole, of_others, exceptions, values)

    def _combine(self, whole: ReverseNode, ids: Sequence[ObjectId]) -> Checkpoints[list[Truth]]:
        self._work.spend(len(ids) * len(whole.branches) // VALUES_FOR_A_NODE)
        return (yield from take_pieces(whole.combine_branches(ids), self._work))

    def _go(
        self, index: ReverseIndex, origin: ReverseNode, ids: Sequence[ObjectId], default: bool
    ) -> Checkpoints[None]:
        if default and index.has_all:
            ids = list(index.warrants)
        elif default:
            index.wants_all = True
        for start in range(0, len(ids), ITEMS_AT_ONCE):
            received: list[Warrant] = []
            for object_id in ids[start : start + ITEMS_AT_ONCE]:
                matching = index.warrants.get(object_id)
                if matching is None:
                    index.want(object_id)
                else:
                    received += matching
            yield from self._follow(index, received, origin)

    def _take(self, index: ReverseIndex, matching: Sequence[Warrant]) -> Checkpoints[None]:
        counting: list[Warrant] = []
        for number, warrant in enumerate(matching, 1):
            if self._graph.model.counts(warrant):
                index.warrants.setdefault(warrant.subject_id, []).append(warrant)
                counting.append(warrant)
            if not number % ITEMS_AT_ONCE:
                yield from self._work.checkpoint(ITEMS_AT_ONCE // ITEMS_FOR_A_NODE)
        yield from self._follow(index, counting)

    def _follow(
        self, index: ReverseIndex, matching: Sequence[Warrant], origin: ReverseNode | None = None
    ) -> Checkpoints[None]:
        """Propagates through these warrants what their subjects have, or only what they have of one origin."""
        for start in range(0, len(matching), ITEMS_AT_ONCE):
            some = matching[start : start + ITEMS_AT_ONCE]
            yield from self._conditions.evaluate_each(some)
            for relation, warrants in _by_relation(some).items():
                edges = index.edges[relation]
                for by_origin in edges.values() if origin is None else [edges.get(origin, {})]:
                    for edge in by_origin:
                        yield from self._gain_default(edge.target, self._apply(edge, warrants))
                        yield from self._work.charge(len(warrants))

    def _apply(self, edge: ReverseEdge, warrants: Sequence[Warrant]) -> ListValue:
        """Adds what the warrants give to the objects that they name, and returns what they give to all objects."""
        target, values = edge.target, self._values(edge, warrants)
        exceptions, least = target.exceptions, FALSE if target.is_exact else TRUE
        default: ListValue = FALSE
        gained: list[ObjectId] = []
        for warrant, value in zip(warrants, values, strict=True):
            object_id = warrant.object_id
            if object_id == WILDCARD:
                default = max(default, value)
            elif value > exceptions.get(object_id, target.default) and value >= least:
                exceptions[object_id] = value
                gained.append(object_id)
        if gained:
            target.gained += gained
            self._busy[target] = None
        if target.is_needed_anywhere:
            self._gain(target, WILDCARD, max(values))
        if target.first_warrants is not None:
            note_reports(target.first_warrants, target.explicit, edge.place, zip(warrants, values, strict=True))
        return default

    def _values(self, edge: ReverseEdge, warrants: Sequence[Warrant]) -> Sequence[ListValue]:
        """Returns the value that each of the warrants gives."""
        value_of, default, limit = edge.origin.exceptions.get, edge.origin.default, edge.limit
        had = [value_of(warrant.subject_id, default) for warrant in warrants]
        values = [value if value < limit else limit for value in had]
        if not any(warrant.is_conditional for warrant in warrants):
            return values
        policy_values = [self._conditions.value(warrant) for warrant in warrants]
        return [
            min(value, EXPLICIT if policy_value is TRUE else policy_value)
            for value, policy_value in zip(values, policy_values, strict=True)
        ]

    def _gain(self, node: ReverseNode, object_id: ObjectId, value: ListValue) -> None:
        if value > node.exceptions.get(object_id, node.default) and (value >= TRUE or node.is_exact):
            node.exceptions[object_id] = value
            node.gained.append(object_id)
            self._busy[node] = None

    def _gain_each(self, node: ReverseNode, values: Iterable[tuple[ObjectId, ListValue]]) -> None:
        exceptions, default, least = node.exceptions, node.default, FALSE if node.is_exact else TRUE
        gained = {
            object_id: value
            for object_id, value in values
            if value > exceptions.get(object_id, default) and value >= least
        }
        if gained:
            exceptions.update(gained)
            node.gained += gained
            self._busy[node] = None

    def _gain_default(
        self,
        node: ReverseNode,
        value: ListValue,
        exceptions: Collection[ObjectId] = (),
        values: Iterable[ListValue] = (),
    ) -> Checkpoints[None]:
        """Adds a value on all objects except some, which gain values of their own."""
        if value < TRUE and not node.is_exact:
            value = FALSE
        if not exceptions:
            if value <= node.common_value:
                return
            node.common_value = value
        if value > node.default:
            for number, object_id in enumerate(exceptions, 1):
                node.exceptions.setdefault(object_id, node.default)
                if not number % ITEMS_AT_ONCE:
                    yield from self._work.checkpoint(ITEMS_AT_ONCE // ITEMS_FOR_A_NODE)
            node.default, node.default_gained = value, True
            self._busy[node] = None
        others = ((object_id, FALSE if object_id in exceptions else value) for object_id in node.exceptions)
        gained = chain(others, zip(exceptions, values, strict=True))
        while some := [*islice(gained, ITEMS_AT_ONCE)]:
            self._gain_each(node, some)
            yield from self._work.checkpoint(len(some) // ITEMS_FOR_A_NODE)

    def _wake(self) -> Steps[bool]:
        """Computes the next nodes that wait, once no node gains anything any more; returns false if there is none."""
        ready = next(self._negations, ())
        for node in ready:
            node.waits = False
            if isinstance(node.plan, Operation) and node.plan.links:
                linked = yield from find_linked_objects(self._graph.model, node, self._conditions, self._work)
                yield from self._gain_default(node, linked.default, linked.exceptions, linked.exceptions.values())
            elif not node.waits_for_branch:
                yield from self._update(node, (), default=True)
            for whole in node.wholes:
                if not whole.waits_for_branch:
                    yield from self._update(whole, (), default=True)
        return bool(ready)


def _by_relation(warrants: Iterable[Warrant]) -> Mapping[RelationName, Sequence[Warrant]]:
    by_relation: dict[RelationName, list[Warrant]] = defaultdict(list)
    for warrant in warrants:
        by_relation[warrant.relation].append(warrant)
    return by_relation


def _build_result(target: Target, root: ReverseNode, new: Sequence[ReverseNode]) -> RelationResult:
    """Returns the RelationResult of a target. `new` has the nodes it is made of on the same object, without those that
    are counted with another target."""
    root.exceptions.pop(WILDCARD, None)
    remains = [
        container for node in new for container in (node.exceptions, node.first_warrants, node.explicit) if container
    ]
    reports = Reports(partial(find_report, root), root.steps, remains)
    return RelationResult(*target, ResultSet(root.default, root.exceptions), reports)
