"""Finds the objects on which one subject has relations with bitmaps, from the adjacency in the graph cache.

It computes what engine/lists/objects.py computes, in the same order, for graphs whose nodes only depend on which
warrants there are (connected_graph.py): each node has the set of objects where it holds, and gains objects until
nothing changes. New members of a node are expanded together, from cached entries; those that are not cached are read
level by level. The policies and time limits of the warrants that are met are evaluated. A node that holds on every
object, by a warrant on `*` or because a combination excludes only some, has a complement. Where that reaches other
objects, there is no result, and engine/lists/objects.py answers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import ConnectedGraph, OutgoingEdges, SetNode, UnknownAs
from magistrate.engine.cache.adjacency import AdjacencyIndex, group_indexes
from magistrate.engine.cache.adjacency_reads import AdjacencyFetch
from magistrate.engine.cache.adjacent_objects import ReachedObjects
from magistrate.engine.cache.ids import WILDCARD_NUMBER, IdTable
from magistrate.engine.cache.object_entries import ReadEntries
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.results import EXPLICIT, ListValue
from magistrate.engine.lists.reverse_graph import IDS_AT_ONCE
from magistrate.engine.model.plans import Operation
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.steps import Checkpoints, Steps, empty_list, fetch_warrants, take_pieces
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.warrants.reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Work


@dataclass(eq=False, slots=True)
class ObjectSet:
    """Holds the objects on which a node holds, by number: those of `numbers`, or all others if it `is_complement`.

    `explicit` has those of them on which warrants of the relation itself grant it; with `is_all_explicit`, these are
    all objects. `gained` and `gained_explicit` are not propagated yet.
    """

    numbers: BitMap = field(default_factory=BitMap)
    explicit: BitMap = field(default_factory=BitMap)
    is_complement: bool = False
    is_all_explicit: bool = False
    gained: BitMap = field(default_factory=BitMap)
    gained_explicit: BitMap = field(default_factory=BitMap)

    def add(self, numbers: BitMap) -> bool:
        """Makes it hold on these objects, and returns whether it did not hold on one of them."""
        if self.is_complement:
            new = numbers & self.numbers
            self.numbers -= new
        else:
            new = numbers - self.numbers
            self.numbers |= new
        self.gained |= new
        return bool(new)

    def add_explicit(self, numbers: BitMap) -> bool:
        """Makes it explicit on these objects, and returns whether it was not on one of them."""
        new = numbers - self.explicit
        self.explicit |= new
        self.gained_explicit |= new
        return bool(new)

    def add_all_but(self, lacking: BitMap) -> bool:
        """Makes it hold on all objects but those of `lacking` on which it does not hold yet. Returns whether it held
        on named ones only."""
        if self.is_complement:
            self.add(self.numbers - lacking)
            return False
        self.numbers, self.is_complement = lacking - self.numbers, True
        return True

    def find_value(self, number: int | None) -> ListValue:
        """Returns the value on an object; None stands for one that no cached warrant names."""
        if self.is_all_explicit or (number is not None and number in self.explicit):
            return EXPLICIT
        return TRUE if (number is not None and number in self.numbers) != self.is_complement else FALSE

    def restrict(self, within: BitMap) -> BitMap:
        """Returns those of these objects on which it holds."""
        return within - self.numbers if self.is_complement else within & self.numbers


@dataclass(frozen=True, slots=True)
class ObjectSets:
    """Holds the result of a search: the set of each node. `tables` have the ids of the numbers by type, and
    `condition_values` the values of all conditional warrants that were met, by number. Rows may differ from
    `valid_until` on.

    `itself` is the subject if a rule made a row of it (`self`): unlike all other rows, it need not exist. With
    `has_wildcards`, warrants on every object were met."""

    graph: ConnectedGraph
    subject: ObjectRef
    sets: Mapping[SetNode, ObjectSet]
    tables: Mapping[TypeName, IdTable]
    condition_values: Mapping[int, Truth]
    valid_until: int
    itself: ObjectRef | None
    has_wildcards: bool

    def list_complements(self) -> Sequence[TypeName]:
        """Returns the types of which all existing objects may be rows."""
        roots = self.graph.roots.items()
        types = [of_type for (of_type, _), root in roots if root in self.sets and self.sets[root].is_complement]
        return [*dict.fromkeys(types)]


NUMBERS_FOR_A_NODE = 1_000
"""Counts the numbers of a bitmap that are handled in the time of one unit of work."""


class ObjectSetSearch:
    """Finds the set of each node. The entries that it reads are cached by `fetch`, whose adjacency must stay as it is
    for as long as the search lasts."""

    def __init__(
        self,
        graph: ConnectedGraph,
        fetch: AdjacencyFetch,
        subject: ObjectRef,
        conditions: PolicyEvaluator,
        work: Work,
    ) -> None:
        self._graph = graph
        self._fetch = fetch
        self._adjacency = fetch.adjacency
        self._subject = subject
        self._conditions = conditions
        self._work = work
        self._sets: dict[SetNode, ObjectSet] = defaultdict(ObjectSet)
        self._busy: dict[SetNode, None] = {}
        self._awake: set[SetNode] = set()
        self._negations = iter(graph.negations)
        self._missing: dict[tuple[OutgoingEdges, bool], BitMap] = defaultdict(BitMap)
        self._read: dict[AdjacencyIndex, ReadEntries] = defaultdict(ReadEntries)
        self._itself: ObjectRef | None = None
        self._has_wildcards = False
        self._is_computable = True

    def steps(self) -> Steps[ObjectSets | None]:
        """Returns the sets, or None if they cannot be computed. Raises BudgetExceeded."""
        number = self._adjacency.table(self._subject.type).assign(self._subject.id)
        start, itself = BitMap([number, WILDCARD_NUMBER]), self._sets[self._graph.itself]
        itself.numbers, itself.explicit, itself.gained, itself.gained_explicit = (start.copy() for _ in range(4))
        self._busy[self._graph.itself] = None
        for leaf in self._graph.leaves:
            yield from self._begin_leaf(leaf)
        while self._is_computable:
            yield from self._propagate()
            if self._missing:
                yield from self._read_missing()
            elif not self._wake():
                break
        if not self._is_computable:
            return None
        yield from self._adjacency.pack_ids(self._work)
        types = {self._subject.type, *(of_type for of_type, _ in self._graph.roots)}
        types |= {key.subject_type for by_key in self._graph.incoming.values() for key in by_key}
        tables = {of_type: self._adjacency.table(of_type) for of_type in types}
        return ObjectSets(
            self._graph,
            self._subject,
            dict(self._sets),
            tables,
            condition_values=dict(self._conditions.values),
            valid_until=self._conditions.valid_until,
            itself=self._itself,
            has_wildcards=self._has_wildcards,
        )

    def _begin_leaf(self, node: SetNode) -> Checkpoints[None]:
        plan = node.plan
        assert isinstance(plan, Operation)
        assert plan.rule.leaf is not None
        leaf, includes = plan.rule.leaf, partial(self._includes, node.unknown_as)
        yield from self._conditions.evaluate_each(self._conditions.list_placeholders(leaf.policy))
        default, exceptions = leaf.list_objects(plan.type, self._subject.type, self._subject.id, self._conditions)
        if includes(default):
            self._add_all(node, is_explicit=False)
        assign = self._adjacency.table(plan.type).assign
        numbers = BitMap(
            [assign(object_id) for object_id, value in exceptions.items() if includes(value) and object_id != WILDCARD]
        )
        self._itself = self._subject if numbers else self._itself
        self._add(node, numbers)

    def _includes(self, unknown_as: UnknownAs, value: Truth) -> bool:
        """Returns whether a set has what has this value, and notes if that makes it impossible to compute."""
        self._is_computable = self._is_computable and unknown_as.permits(value)
        return unknown_as.includes(value)

    def _propagate(self) -> Checkpoints[None]:
        """Propagates what was gained until it takes reads to go on."""
        while self._busy and self._is_computable:
            node = next(iter(self._busy))
            del self._busy[node]
            object_set = self._sets[node]
            gained, object_set.gained = object_set.gained, BitMap()
            explicit, object_set.gained_explicit = object_set.gained_explicit, BitMap()
            for whole in node.wholes:
                if not self._waits_for_branch(whole):
                    self._update(whole, gained)
            outgoing = self._graph.outgoing.get(node, ())
            for numbers, is_explicit in ((gained - explicit, False), (explicit, True)):
                for edges in outgoing if numbers else ():
                    yield from self._follow(edges, numbers, is_explicit)
            yield from self._work.charge(1)

    def _follow(self, outgoing: OutgoingEdges, numbers: BitMap, is_explicit: bool) -> Checkpoints[None]:
        """Propagates to the objects of the warrants to these subjects."""
        index = self._adjacency.index(outgoing.key)
        remaining = numbers - index.entries.empty
        if not outgoing.names_wildcard:
            remaining.discard(WILDCARD_NUMBER)
        self._work.spend(1 + len(numbers) // NUMBERS_FOR_A_NODE)
        for some in _divide(remaining, ITEMS_AT_ONCE):
            reached = index.collect(some, self._read[index])
            if reached.missing:
                self._missing[outgoing, is_explicit].update(reached.missing)
            self._work.spend(1 + len(some) // ITEMS_FOR_A_NODE)
            yield from self._apply(outgoing, index, reached, is_explicit)
            if not self._is_computable:
                return
            yield from self._work.checkpoint()

    def _apply(
        self, outgoing: OutgoingEdges, index: AdjacencyIndex, reached: ReachedObjects, is_explicit: bool
    ) -> Checkpoints[None]:
        numbers, unknown = reached.unite(), BitMap()
        if reached.conditional:
            granting, unknown = yield from self._evaluate(index, reached.conditional)
            numbers |= granting
        for edge in outgoing.edges:
            passed = numbers | unknown if unknown and self._includes(edge.target.unknown_as, UNKNOWN) else numbers
            if passed:
                self._add_objects(edge.target, passed, is_explicit and edge.limit is EXPLICIT)

    def _evaluate(self, index: AdjacencyIndex, warrants: Sequence[Warrant]) -> Checkpoints[tuple[BitMap, BitMap]]:
        """Returns the objects of the warrants that count, and of those of which that is unknown."""
        yield from self._conditions.evaluate_each(warrants)
        granting, unknown = BitMap(), BitMap()
        for warrant in warrants:
            value = self._conditions.value(warrant)
            if value is not FALSE:
                (granting if value is TRUE else unknown).add(index.objects.assign(warrant.object_id))
        self._work.spend(len(warrants))
        return granting, unknown

    def _add_objects(self, node: SetNode, numbers: BitMap, is_explicit: bool) -> None:
        """Makes a node hold on the objects of warrants, among which `*` may be."""
        if WILDCARD_NUMBER in numbers:
            self._has_wildcards = True
            self._add_all(node, is_explicit)
            numbers = numbers - BitMap([WILDCARD_NUMBER])
        if is_explicit and self._sets[node].add_explicit(numbers):
            self._busy[node] = None
        self._add(node, numbers)

    def _add(self, node: SetNode, numbers: BitMap) -> None:
        if self._sets[node].add(numbers):
            self._busy[node] = None
        self._work.spend(1 + len(numbers) // NUMBERS_FOR_A_NODE)

    def _add_all(self, node: SetNode, is_explicit: bool) -> None:
        """Makes a node hold on every object."""
        object_set = self._sets[node]
        object_set.is_all_explicit = object_set.is_all_explicit or is_explicit
        if self._add_all_but(node, BitMap()):
            self._compute_each([*node.wholes])

    def _add_all_but(self, node: SetNode, lacking: BitMap) -> bool:
        """Makes a node hold on all objects but those of `lacking` on which it does not hold yet. Returns whether it
        held on named ones only. Nothing can be computed if that reaches other objects, which may be any."""
        if self._graph.outgoing.get(node):
            self._is_computable = False
            return False
        object_set = self._sets[node]
        is_new = object_set.add_all_but(lacking)
        if object_set.gained:
            self._busy[node] = None
        self._work.spend(1 + len(lacking) // NUMBERS_FOR_A_NODE)
        return is_new

    def _update(self, whole: SetNode, numbers: BitMap) -> None:
        """Propagates to a node that one of its parts gained these objects."""
        holding = self._combine(whole, numbers) if isinstance(whole.plan, Operation) else numbers
        self._add(whole, holding)

    def _combine(self, node: SetNode, within: BitMap) -> BitMap:
        """Returns those of these objects on which the parts of a node make it hold."""
        self._work.spend(len(node.branches) * (1 + len(within) // NUMBERS_FOR_A_NODE))
        sets = [self._sets[branch].restrict(within) for branch in node.branches]
        if not isinstance(node.plan, Operation):
            return BitMap.union(BitMap(), *sets)
        assert isinstance(node.plan.rule, RuleOperator)
        return node.plan.rule.combine_sets(sets, within)

    def _waits_for_branch(self, node: SetNode) -> bool:
        branches = node.branches if isinstance(node.plan, Operation) else ()
        return self._waits(node) or any(map(self._waits, branches))

    def _waits(self, node: SetNode) -> bool:
        return node.waits and node not in self._awake

    def _wake(self) -> bool:
        """Computes the next nodes that wait, once no node gains anything any more; returns false if there is none."""
        ready = next(self._negations, ())
        self._awake.update(ready)
        self._compute_each([*ready, *(whole for node in ready for whole in node.wholes)])
        return bool(ready)

    def _compute_each(self, waiting: list[SetNode]) -> None:
        """Computes nodes, and those that they are parts of."""
        while waiting:
            node = waiting.pop()
            if not self._waits_for_branch(node) and self._compute(node):
                waiting += node.wholes

    def _compute(self, node: SetNode) -> bool:
        """Computes a node from all that its parts have, and returns whether it has come to hold on the objects that
        none of them names."""
        branches = [self._sets[branch] for branch in node.branches]
        others = (TRUE if branch.is_complement else FALSE for branch in branches)
        value = node.plan.rule.combine(others) if isinstance(node.plan, Operation) else max(others, default=FALSE)
        within = BitMap.union(BitMap(), *(branch.numbers for branch in branches))
        holding = self._combine(node, within)
        if value is TRUE:
            return self._add_all_but(node, within - holding)
        self._add(node, holding)
        return False

    def _read_missing(self) -> Steps[None]:
        """Reads the entries that are missing, and propagates through them."""
        pending, self._missing = self._missing, defaultdict(BitMap)
        numbers_by_index: dict[AdjacencyIndex, BitMap] = defaultdict(BitMap)
        for (outgoing, _), numbers in pending.items():
            numbers_by_index[self._adjacency.index(outgoing.key)] |= numbers
        lookups, reads = [], []
        for lookup in _group_lookups(numbers_by_index):
            ids = yield from lookup.indexes[0].subjects.find_ids(lookup.numbers, self._work)
            lookups.append((lookup, ids))
            reads.append(lookup.build_read(ids))
        matching = [[*warrants] for warrants in (yield from fetch_warrants(reads))]  # lists that may be emptied
        self._work.spend(sum(map(len, matching)))  # above the budget rows are missing, and nothing must be cached
        for (lookup, ids), warrants in zip(lookups, matching, strict=True):
            yield from self._keep(lookup, ids, warrants)
            yield from empty_list(warrants, self._work)
        for (outgoing, is_explicit), numbers in pending.items():
            yield from self._follow(outgoing, numbers, is_explicit)

    def _keep(self, lookup: "_Lookup", ids: Sequence[ObjectId], warrants: Sequence[Warrant]) -> Checkpoints[None]:
        is_single = len(lookup.indexes) == 1
        by_relation = {lookup.indexes[0].key.relation: warrants} if is_single else (yield from self._divide(warrants))
        subjects = [*zip(lookup.numbers, ids, strict=True)]
        for index in lookup.indexes:
            indexed = by_relation.get(index.key.relation, ())
            yield from take_pieces(self._fetch.cache_entries(index, subjects, indexed, self._read[index]), self._work)
        yield from empty_list(subjects, self._work)

    def _divide(self, warrants: Sequence[Warrant]) -> Checkpoints[Mapping[RelationName, Sequence[Warrant]]]:
        by_relation: dict[RelationName, list[Warrant]] = defaultdict(list)
        for number, warrant in enumerate(warrants, 1):
            by_relation[warrant.relation].append(warrant)
            if not number % ITEMS_AT_ONCE:
                yield from self._work.checkpoint(ITEMS_AT_ONCE // ITEMS_FOR_A_NODE)
        return by_relation


class _Lookup(NamedTuple):
    """Reads the entries of the same subjects in indexes that differ in the relation only."""

    indexes: Sequence[AdjacencyIndex]
    numbers: Sequence[int]

    def build_read(self, ids: tuple[ObjectId, ...]) -> ReverseWarrantRead:
        key = self.indexes[0].key
        relations = tuple(index.key.relation for index in self.indexes)
        request = WarrantsBySubject(key.object_type, relations, key.subject_type, key.subject_relation)
        return ReverseWarrantRead(request, ids)


def _divide(numbers: BitMap, most: int) -> Iterator[BitMap]:
    if 0 < len(numbers) <= most:
        yield numbers
        return
    for start in range(0, len(numbers), most):
        yield numbers[start : start + most]


def _group_lookups(numbers_by_index: Mapping[AdjacencyIndex, BitMap]) -> Iterator[_Lookup]:
    def find_kind(index: AdjacencyIndex) -> tuple[str, str, str]:
        return index.key.object_type, index.key.subject_type, index.key.subject_relation

    return starmap(_Lookup, group_indexes(numbers_by_index, find_kind, IDS_AT_ONCE))
