"""Finds the subjects that have relations on one object with bitmaps, from the subject adjacency in the graph cache.

It computes what engine/lists/subjects.py computes, in the same order. A *union* has a plan on an object, with
everything that grants it there by alternatives alone: groups, links, relations on the same object. It needs no set for
each of these places: all groups that were reached are expanded together, and all their subjects are united. Only
combinations have sets of their own, which are computed from those of their parts, each a union again.

The policies and time limits of the warrants that are met are evaluated. Those of which that is unknown count in the
unions below an odd number of exclusions, and in no others (see connected_graph.py). There is no result, and
engine/lists/subjects.py answers, where a warrant names the usersets of all objects of a type, for rows that depend on
an exclusion or a named policy alone, for quantifiers, and where relations depend on their own negation.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, starmap
from operator import methodcaller
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import UnknownAs
from magistrate.engine.bitmaps.subject_nodes import (
    LeafNode,
    Node,
    NodeOnObject,
    OperationNode,
    PlanEdges,
    SolvedSubjects,
    SubjectEdge,
    SubjectSet,
    UnionNode,
    list_edges,
)
from magistrate.engine.cache.adjacency import group_indexes
from magistrate.engine.cache.adjacency_reads import SubjectFetch
from magistrate.engine.cache.ids import WILDCARD_NUMBER
from magistrate.engine.cache.subject_adjacency import AdjacentSubjects, ReachedSubjects, SubjectIndex
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.reverse_graph import IDS_AT_ONCE
from magistrate.engine.model.components import find_components
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import LeafRule
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.steps import Checkpoints, Steps, empty_list, fetch_warrants, prepare_plans, take_pieces
from magistrate.engine.subjects import select_kind
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import Truth
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Work

NUMBERS_FOR_A_NODE = 1_000
"""Counts the numbers of a bitmap that are handled in the time of one unit of work."""
MAX_NODES = 2_000
"""Limits the unions and combinations of one search. With more of them, the places that they share are expanded too
often."""


class SubjectSetSearch:
    """Searches the subjects of one object; SubjectBitmapSearch those of many. It ends as soon as it has found that
    they cannot be computed (`_is_computable`). `known_edges` are of the same model, and get more. The entries that are
    read are cached by `fetch`."""

    _max_nodes = MAX_NODES

    def __init__(
        self,
        model: Model,
        known_edges: dict[Plan, PlanEdges],
        fetch: SubjectFetch,
        types: Sequence[TypeName],
        conditions: PolicyEvaluator,
        work: Work,
    ) -> None:
        self._model = model
        self._edges = known_edges
        self._fetch = fetch
        self._types = types
        self._type_names = {*types}
        self._conditions = conditions
        self._work = work
        self._unions: dict[tuple[Plan, int, UnknownAs], UnionNode] = {}
        self._operations: dict[tuple[Operation, int, UnknownAs], NodeOnObject] = {}
        self._busy: dict[UnionNode, None] = {}
        self._object: ObjectRef | None = None
        self._itself: ObjectRef | None = None
        self._missing: dict[tuple[UnionNode, SubjectEdge], BitMap] = defaultdict(BitMap)
        self._known: dict[SubjectIndex, dict[int, AdjacentSubjects]] = defaultdict(dict)
        self._is_computable = True

    def steps(self, obj: ObjectRef, relations: Sequence[RelationName]) -> Steps[SolvedSubjects | None]:
        """Returns the subjects that have each of the relations on the object, or None if they cannot be computed.
        Raises BudgetExceeded."""
        adjacency, self._object = self._fetch.adjacency, obj
        plans: dict[RelationName, Plan] = {}
        for relation in relations:
            plans[relation], _ = yield from self._begin(obj, relation)
        yield from self._reach_all()
        if not self._is_computable:
            return None
        entries = {index.key: entry for index, entry in self._known.items()}
        names = {obj.type, *self._types, *(key.subject_type for key in entries)}
        solved = SolvedSubjects(
            obj,
            adjacency.table(obj.type).assign(obj.id),
            plans,
            self._unions,
            operations=self._operations,
            edges=self._edges,
            entries=entries,
            tables={name: adjacency.table(name) for name in names},
            condition_values=self._conditions.values,
            valid_until=self._conditions.valid_until,
        )
        nodes: list[Node] = [*self._unions.values(), *self._operations.values()]
        components = yield from self._find_components(nodes, methodcaller("dependencies"))
        if components is None:
            return None
        unions = [self._unions[plan, solved.number, UnknownAs.FALSE] for plan in plans.values()]
        yield from self._solve_components(components, None)
        if any(union.set.is_complement for union in unions):  # rows would depend on an exclusion alone
            return None
        for of_type in self._types:
            yield from self._solve_components(components, of_type)
            solved.solved[of_type] = {node: node.set for node in self._operations.values()}
            for relation, union in zip(plans, unions, strict=True):
                solved.results[of_type, relation] = union.set
        solved.itself = self._itself
        return solved if self._is_computable else None

    def _begin(self, obj: ObjectRef, relation: RelationName) -> Checkpoints[tuple[Plan, UnionNode]]:
        """Returns the plan of a relation, and its union on the object."""
        yield from prepare_plans(self._model, [(obj.type, relation)], self._work)
        plan = self._model.plan(obj.type, relation)
        number = self._fetch.adjacency.table(obj.type).assign(obj.id)
        return plan, self._union(plan, number, UnknownAs.FALSE)

    def _reach_all(self) -> Steps[None]:
        """Expands all that can be reached, and reads what it takes."""
        yield from self._propagate()
        while self._missing and self._is_computable:
            yield from self._read_missing()
            yield from self._propagate()
        yield from self._fetch.adjacency.pack_ids(self._work)

    def _union(self, plan: Plan, number: int, unknown_as: UnknownAs) -> UnionNode:
        key = (plan, number, unknown_as)
        union = self._unions.get(key)
        if union is None:
            self._charge_node()
            union = self._unions[key] = UnionNode(unknown_as)
            self._add(union, plan, BitMap([number]))
        return union

    def _operation(self, operation: Operation, number: int, unknown_as: UnknownAs) -> Checkpoints[NodeOnObject | None]:
        """Returns the node of a combination, and makes those of all combinations nested in it. Returns None if one of
        them cannot be computed."""
        made: list[tuple[OperationNode, UnknownAs]] = []
        waiting = [(operation, unknown_as)]
        for nested, unknown in waiting:  # grows during the loop
            key = (nested, number, unknown)
            if key in self._operations:
                continue
            self._charge_node()
            if nested.rule.leaf is not None:
                self._operations[key] = yield from self._leaf(nested, nested.rule.leaf, number, unknown)
                continue
            if not isinstance(nested.rule, RuleOperator):
                self._is_computable = False
                return None
            while not self._model.prepare_following(nested, self._work):
                yield None
            branches = [self._model.branch(nested.type, branch) for branch in nested.branches]
            node = self._operations[key] = OperationNode(nested.rule, branches)
            below = unknown.below(nested.rule)
            made.append((node, below))
            waiting += ((branch, below) for branch in branches if isinstance(branch, Operation))
        for node, below in made:
            node.branches = [
                self._union(branch, number, below)
                if isinstance(branch, Plan)
                else self._operations[branch, number, below]
                for branch in node.plans
            ]
        return self._operations[operation, number, unknown_as]

    def _leaf(self, operation: Operation, leaf: LeafRule, number: int, unknown_as: UnknownAs) -> Checkpoints[LeafNode]:
        yield from self._conditions.evaluate_each(self._conditions.list_placeholders(leaf.policy))
        obj = ObjectRef(operation.type, self._fetch.adjacency.table(operation.type).find_id(number))
        return LeafNode(partial(self._find_leaf_set, leaf, obj, partial(self._includes, unknown_as)))

    def _find_leaf_set(
        self, leaf: LeafRule, obj: ObjectRef, includes: Callable[[Truth], bool], of_type: TypeName | None
    ) -> SubjectSet:
        """Returns the subjects of a type for which the leaf has a value that the set includes."""
        default, exceptions = leaf.list_subjects(obj.type, obj.id, of_type, self._conditions)
        numbers = BitMap()
        if of_type is not None and exceptions:
            assign = self._fetch.adjacency.table(of_type).assign
            numbers = BitMap(
                [assign(object_id) for object_id, value in exceptions.items() if includes(value) != includes(default)]
            )
            self._itself = obj if obj == self._object else self._itself
        return SubjectSet(numbers, includes(default))

    def _includes(self, unknown_as: UnknownAs, value: Truth) -> bool:
        """Returns whether a set has what has this value, and notes if that makes it impossible to compute."""
        self._is_computable = self._is_computable and unknown_as.permits(value)
        return unknown_as.includes(value)

    def _charge_node(self) -> None:
        self._work.spend(1)
        if len(self._unions) + len(self._operations) >= self._max_nodes:
            self._is_computable = False

    def _add(self, union: UnionNode, plan: Plan, numbers: BitMap) -> None:
        """Adds objects on which the plan grants what the union has."""
        if WILDCARD_NUMBER in numbers or (union.unknown_as is not UnknownAs.FALSE and not plan.is_defined):
            self._is_computable = False
            return
        reached = union.reached.get(plan)
        new = numbers if reached is None else numbers - reached
        if not new:
            return
        union.reached[plan] = new if reached is None else reached | new
        pending = union.pending.get(plan)
        union.pending[plan] = new if pending is None else pending | new
        self._busy[union] = None
        self._work.spend(1 + len(numbers) // NUMBERS_FOR_A_NODE)

    def _reach(self, union: UnionNode, target: Plan, numbers: BitMap) -> Checkpoints[None]:
        """Adds objects that warrants name: the union gets the subjects that have the plan on them."""
        self._add(union, target, numbers)
        yield from ()  # one step is enough here

    def _propagate(self) -> Checkpoints[None]:
        """Expands what was reached until it takes reads to go on."""
        while self._busy and self._is_computable:
            union = next(iter(self._busy))
            del self._busy[union]
            while union.pending and self._is_computable:
                plan, numbers = union.pending.popitem()
                if plan not in self._edges:
                    self._edges[plan] = yield from list_edges(self._model, plan, self._work)
                yield from self._expand(union, self._edges[plan], numbers)

    def _expand(self, union: UnionNode, edges: PlanEdges, numbers: BitMap) -> Checkpoints[None]:
        for _, branch in edges.same:
            if isinstance(branch, Plan):
                self._add(union, branch, numbers)
                continue
            for number in numbers:
                node = yield from self._operation(branch, number, union.unknown_as)
                if node is None or not self._is_computable:
                    return
                union.operations[node] = None
                yield from self._work.checkpoint()
        for edge in edges.followed:
            yield from self._follow(union, edge, numbers)
        for edge in edges.direct:
            if edge.key.subject_type in self._type_names:
                yield from self._follow(union, edge, numbers)

    def _follow(self, union: UnionNode, edge: SubjectEdge, numbers: BitMap) -> Checkpoints[None]:
        index = self._fetch.subject_adjacency.index(edge.key)
        waiting = iter(numbers | BitMap([WILDCARD_NUMBER]) if edge.names_any_object else numbers)
        while some := [*islice(waiting, ITEMS_AT_ONCE)]:
            reached = index.collect(some, self._known[index])
            if reached.missing:
                self._missing[union, edge].update(reached.missing)
            self._work.spend(1 + len(some) // ITEMS_FOR_A_NODE)
            if reached.has_any:
                yield from self._apply(union, edge, index, reached)
            if not self._is_computable:
                return
            yield from self._work.checkpoint()

    def _apply(
        self, union: UnionNode, edge: SubjectEdge, index: SubjectIndex, reached: ReachedSubjects
    ) -> Checkpoints[None]:
        numbers = reached.unite()
        if reached.conditional:
            numbers |= yield from self._evaluate(union, index, reached.conditional)
        if not numbers:
            return
        if edge.target is not None:
            yield from self._reach(union, edge.target, numbers)
            return
        former = union.direct.get(edge.key.subject_type)
        union.direct[edge.key.subject_type] = numbers if former is None else former | numbers
        self._work.spend(len(numbers) // NUMBERS_FOR_A_NODE)

    def _evaluate(self, union: UnionNode, index: SubjectIndex, warrants: Sequence[Warrant]) -> Checkpoints[BitMap]:
        """Returns the subjects of the warrants that count."""
        yield from self._conditions.evaluate_each(warrants)
        numbers = BitMap()
        for warrant in warrants:
            if self._includes(union.unknown_as, self._conditions.value(warrant)):
                numbers.add(index.subjects.assign(warrant.subject_id))
        self._work.spend(len(warrants))
        return numbers

    def _read_missing(self) -> Steps[None]:
        """Reads the entries that are missing, and goes on with them."""
        pending, self._missing = self._missing, defaultdict(BitMap)
        numbers_by_index: dict[SubjectIndex, BitMap] = defaultdict(BitMap)
        for (_, edge), numbers in pending.items():
            numbers_by_index[self._fetch.subject_adjacency.index(edge.key)] |= numbers
        lookups, reads = [], []
        for lookup in _group_lookups(numbers_by_index):
            ids = yield from lookup.indexes[0].objects.find_ids(lookup.numbers, self._work)
            lookups.append((lookup, ids))
            reads.append(lookup.build_read(ids))
        matching = [[*warrants] for warrants in (yield from fetch_warrants(reads))]  # lists that may be emptied
        self._work.spend(sum(map(len, matching)))  # above the budget rows are missing, and nothing must be cached
        for (lookup, ids), warrants in zip(lookups, matching, strict=True):
            pieces = self._fetch.cache_subjects(lookup.indexes, lookup.numbers, ids, warrants, entries=self._known)
            yield from take_pieces(pieces, self._work)
            yield from empty_list(warrants, self._work)
        for (union, edge), numbers in pending.items():
            yield from self._follow(union, edge, numbers)

    def _find_components(
        self, nodes: Sequence[Node], dependencies: Callable[[Node], Sequence[Node]]
    ) -> Checkpoints[Sequence[Sequence[Node]] | None]:
        """Returns the nodes in groups that depend on each other, each after those that it depends on; None if one
        depends on its own negation."""
        components = yield from find_components(nodes, dependencies, self._work)
        for component in components:
            if len(component) > 1 and any(
                isinstance(node, OperationNode) and not node.rule.is_monotone for node in component
            ):
                return None
        return components

    def _solve_components(self, components: Sequence[Sequence[Node]], of_type: TypeName | None) -> Checkpoints[None]:
        for component in components:
            for node in component:
                node.set = SubjectSet(BitMap())
            gains = True
            while gains:
                gains = False
                for node in component:
                    former, node.set = node.set, node.compute(of_type)
                    gains = gains or (len(component) > 1 and node.set != former)
                    sets = node.count_dependencies() // ITEMS_FOR_A_NODE
                    yield from self._work.charge(1 + sets + len(node.set.numbers) // NUMBERS_FOR_A_NODE)


class _SubjectLookup(NamedTuple):
    """Reads the entries of the same objects in indexes whose warrants one request has."""

    indexes: Sequence[SubjectIndex]
    numbers: Sequence[int]

    def build_read(self, ids: tuple[ObjectId, ...]) -> WarrantRead:
        key = self.indexes[0].key
        relations = tuple(dict.fromkeys(index.key.relation for index in self.indexes))
        subjects = select_kind(key.subject_type, key.subject_relation)
        request = WarrantsByObject(key.object_type, relations, subjects, False, has_subject_wildcard=False)
        return WarrantRead(request, ids)


def _group_lookups(numbers_by_index: Mapping[SubjectIndex, BitMap]) -> Iterator[_SubjectLookup]:
    def find_kind(index: SubjectIndex) -> tuple[TypeName, TypeName | None]:
        return index.key.object_type, select_kind(index.key.subject_type, index.key.subject_relation)

    return starmap(_SubjectLookup, group_indexes(numbers_by_index, find_kind, IDS_AT_ONCE))
