"""Finds the objects on which one subject has relations with bitmaps, from the adjacency in the graph cache.

It computes what `objects.py` computes, in the same order, for graphs whose nodes only depend on which warrants there
are (connected_graph.py): each node has the set of objects where it holds, and gains objects until nothing changes.
New members of a node are expanded together, from cached entries; those that are not cached are read level by level.
The policies and time limits of the warrants that are met are evaluated. Where one of them is unknown and matters, where
a warrant is on every object, or where all objects of a type may be rows, GivenUp is raised, and `objects.py` answers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.expansion import Operation
from magistrate.engine.facts import WARRANTS_FOR_A_NODE
from magistrate.engine.graph.adjacency import (
    AdjacencyIndex,
    AdjacentObjects,
    ReachedObjects,
)
from magistrate.engine.graph.adjacency_fetch import AdjacencyFetch
from magistrate.engine.graph.id_table import WILDCARD_NUMBER, IdTable
from magistrate.engine.graph.walk_reads import GivenUp
from magistrate.engine.query.connected_graph import ConnectedGraph, OutgoingEdges
from magistrate.engine.query.result_set import EXPLICIT, ListValue
from magistrate.engine.query.reverse_graph import IDS_AT_ONCE, ReverseNode
from magistrate.engine.query.search import Checkpoints, Steps, discard_warrants, fetch_warrants
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.terms import ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrant_reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

SUBJECTS_AT_ONCE = 1_000
"""Limits the subjects whose entries are looked up before the time slice may end; some tenths of a millisecond."""
WARRANTS_AT_ONCE = 500
SUBJECTS_FOR_A_NODE = 10
NUMBERS_FOR_A_NODE = 1_000
"""Count the subjects that are looked up, and the numbers of a bitmap, in the time of one unit of work."""


class ObjectSet:
    """Holds the objects on which a node holds, by number: those of `numbers`, or all others if it `is_complement`.

    `explicit` has those of them on which warrants of the relation itself grant it. `gained` and `gained_explicit` are
    not propagated yet.
    """

    __slots__ = ("explicit", "gained", "gained_explicit", "is_complement", "numbers")

    def __init__(self) -> None:
        self.numbers = BitMap()
        self.explicit = BitMap()
        self.is_complement = False
        self.gained = BitMap()
        self.gained_explicit = BitMap()

    def find_value(self, number: int | None) -> ListValue:
        """Returns the value on an object; None stands for one that no cached warrant names."""
        if number is not None and number in self.explicit:
            return EXPLICIT
        return TRUE if (number is not None and number in self.numbers) != self.is_complement else FALSE

    def restrict(self, within: BitMap) -> BitMap:
        """Returns those of these objects on which it holds."""
        return within - self.numbers if self.is_complement else within & self.numbers


@dataclass(frozen=True, slots=True)
class ObjectSets:
    """Holds the result of a search: the set of each node. `tables` have the ids of the numbers by type, and
    `condition_values` the values of all conditional warrants that were met, by number. Rows may differ from
    `valid_until` on."""

    graph: ConnectedGraph
    subject: ObjectRef
    sets: Mapping[ReverseNode, ObjectSet]
    tables: Mapping[TypeName, IdTable]
    condition_values: Mapping[int, Truth]
    valid_until: int

    def count_numbers(self) -> int:
        return sum(len(one.numbers) + len(one.explicit) for one in self.sets.values())


def search_sets(
    graph: ConnectedGraph, fetch: AdjacencyFetch, subject: ObjectRef, conditions: PolicyEvaluator, work: Work
) -> Steps[ObjectSets]:
    """Returns the set of each node. The entries that it reads are cached by `fetch`, whose adjacency must stay as it
    is for as long as the search lasts. Raises GivenUp and BudgetExceeded."""
    return (yield from _SetSearch(graph, fetch, subject, conditions, work).steps())


class _SetSearch:
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
        self._sets: dict[ReverseNode, ObjectSet] = defaultdict(ObjectSet)
        self._busy: dict[ReverseNode, None] = {}
        self._awake: set[ReverseNode] = set()
        self._negations = iter(graph.negations)
        self._missing: dict[tuple[OutgoingEdges, bool], BitMap] = defaultdict(BitMap)
        self._read: dict[AdjacencyIndex, dict[int, AdjacentObjects]] = defaultdict(dict)

    def steps(self) -> Steps[ObjectSets]:
        number = self._adjacency.table(self._subject.type).assign(self._subject.id)
        start, itself = BitMap([number, WILDCARD_NUMBER]), self._sets[self._graph.itself]
        itself.numbers, itself.explicit, itself.gained, itself.gained_explicit = (start.copy() for _ in range(4))
        self._busy[self._graph.itself] = None
        while True:
            yield from self._propagate()
            if self._missing:
                yield from self._read_missing()
            elif not self._wake():
                break
        yield from self._adjacency.pack_ids(self._work)
        types = {self._subject.type, *(of_type for of_type, _ in self._graph.roots)}
        types |= {key.subject_type for by_key in self._graph.incoming.values() for key in by_key}
        tables = {of_type: self._adjacency.table(of_type) for of_type in types}
        known, valid_until = self._conditions.values, self._conditions.valid_until
        return ObjectSets(self._graph, self._subject, dict(self._sets), tables, dict(known), valid_until)

    def _propagate(self) -> Checkpoints[None]:
        """Propagates what was gained until it takes reads to go on."""
        while self._busy:
            node = next(iter(self._busy))
            del self._busy[node]
            one = self._sets[node]
            gained, one.gained = one.gained, BitMap()
            explicit, one.gained_explicit = one.gained_explicit, BitMap()
            for whole in node.wholes:
                if not self._waits_for_branch(whole):
                    self._update(whole, gained)
            outgoing = self._graph.outgoing.get(node, ())
            for numbers, is_explicit in ((gained - explicit, False), (explicit, True)):
                for edges in outgoing if numbers else ():
                    yield from self._follow(edges, numbers, is_explicit)
            self._work.spend(1)
            if self._work.needs_checkpoint:
                yield None

    def _follow(self, outgoing: OutgoingEdges, numbers: BitMap, is_explicit: bool) -> Checkpoints[None]:
        """Propagates to the objects of the warrants to these subjects."""
        index = self._adjacency.index(outgoing.key)
        remaining = numbers - index.entries.empty
        if not outgoing.names_wildcard:
            remaining.discard(WILDCARD_NUMBER)
        self._work.spend(1 + len(numbers) // NUMBERS_FOR_A_NODE)
        waiting = iter(remaining)
        while some := [*islice(waiting, SUBJECTS_AT_ONCE)]:
            reached = index.collect(some, self._read[index])
            if reached.missing:
                self._missing[outgoing, is_explicit].update(reached.missing)
            self._work.spend(1 + len(some) // SUBJECTS_FOR_A_NODE)
            yield from self._apply(outgoing, index, reached, is_explicit)
            if self._work.needs_checkpoint:
                yield None

    def _apply(
        self, outgoing: OutgoingEdges, index: AdjacencyIndex, reached: ReachedObjects, is_explicit: bool
    ) -> Checkpoints[None]:
        numbers = reached.unite()
        if reached.conditional:
            numbers |= yield from self._evaluate(outgoing, index, reached.conditional)
        if not numbers:
            return
        for edge in outgoing.edges:
            self._add(edge.target, numbers, is_explicit and edge.limit is EXPLICIT)

    def _evaluate(
        self, outgoing: OutgoingEdges, index: AdjacencyIndex, warrants: Sequence[Warrant]
    ) -> Checkpoints[BitMap]:
        """Returns the objects of the warrants that count."""
        yield from self._conditions.evaluate_each(warrants)
        numbers = BitMap()
        for warrant in warrants:
            value = self._conditions.value(warrant)
            if value is TRUE:
                numbers.add(index.objects.assign(warrant.object_id))
            elif value is not FALSE and any(edge.target.is_exact for edge in outgoing.edges):
                raise GivenUp
        self._work.spend(len(warrants))
        return numbers

    def _add(self, node: ReverseNode, numbers: BitMap, is_explicit: bool) -> None:
        if WILDCARD_NUMBER in numbers:
            raise GivenUp
        one = self._sets[node]
        new = numbers - one.numbers
        if new:
            one.numbers |= new
            one.gained |= new
            self._busy[node] = None
        if is_explicit and (new := numbers - one.explicit):
            one.explicit |= new
            one.gained_explicit |= new
            self._busy[node] = None
        self._work.spend(1 + len(numbers) // NUMBERS_FOR_A_NODE)

    def _update(self, whole: ReverseNode, numbers: BitMap) -> None:
        """Propagates to a node that one of its parts gained these objects."""
        if not isinstance(whole.plan, Operation):
            self._add(whole, numbers, is_explicit=False)
            return
        one = self._sets[whole]
        holding = self._combine(whole, whole.plan, numbers)
        if not one.is_complement:
            self._add(whole, holding, is_explicit=False)
        elif new := holding & one.numbers:
            one.numbers -= new
            one.gained |= new
            self._busy[whole] = None

    def _combine(self, node: ReverseNode, plan: Operation, within: BitMap) -> BitMap:
        """Returns those of these objects on which the combination of the parts holds."""
        assert isinstance(plan.rule, RuleOperator)
        self._work.spend(len(node.branches) * (1 + len(within) // NUMBERS_FOR_A_NODE))
        return plan.rule.combine_sets([self._sets[branch].restrict(within) for branch in node.branches], within)

    def _waits_for_branch(self, node: ReverseNode) -> bool:
        branches = node.branches if isinstance(node.plan, Operation) else ()
        return self._waits(node) or any(map(self._waits, branches))

    def _waits(self, node: ReverseNode) -> bool:
        return node.waits and node not in self._awake

    def _wake(self) -> bool:
        """Computes the next nodes that wait, once no node gains anything any more; returns false if there is none."""
        ready = next(self._negations, ())
        self._awake.update(ready)
        waiting = [*ready, *(whole for node in ready for whole in node.wholes)]
        while waiting:
            node = waiting.pop()
            if not self._waits_for_branch(node) and self._compute(node):
                waiting += node.wholes
        return bool(ready)

    def _compute(self, node: ReverseNode) -> bool:
        """Computes a node from all that its parts have, and returns whether it holds on the objects that none of them
        names. Raises GivenUp where it would have to lead to all of these."""
        branches = [self._sets[branch] for branch in node.branches]
        plan, one = node.plan, self._sets[node]
        if not isinstance(plan, Operation):
            if any(branch.is_complement for branch in branches):
                raise GivenUp
            return False  # it gains what its parts gain
        others = plan.rule.combine(TRUE if branch.is_complement else FALSE for branch in branches)
        all_numbers = BitMap.union(BitMap(), *(branch.numbers for branch in branches))
        holding = self._combine(node, plan, all_numbers)
        if others is not TRUE:
            self._add(node, holding, is_explicit=False)
            return False
        one.is_complement, one.numbers = True, all_numbers - holding
        return True

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
        matching = [[*found] for found in (yield from fetch_warrants(reads))]  # lists that may be emptied
        self._work.spend(sum(map(len, matching)))  # above the budget rows are missing, and nothing must be cached
        for (lookup, ids), found in zip(lookups, matching, strict=True):
            yield from self._keep(lookup, ids, found)
            yield from discard_warrants(found, self._work)
        for (outgoing, is_explicit), numbers in pending.items():
            yield from self._follow(outgoing, numbers, is_explicit)

    def _keep(self, lookup: "_Lookup", ids: Sequence[ObjectId], warrants: Sequence[Warrant]) -> Checkpoints[None]:
        is_single = len(lookup.indexes) == 1
        by_relation = {lookup.indexes[0].key.relation: warrants} if is_single else (yield from self._divide(warrants))
        subjects = [*zip(lookup.numbers, ids, strict=True)]
        for index in lookup.indexes:
            given = by_relation.get(index.key.relation, ())
            for cost in self._fetch.cache_entries(index, subjects, given, self._read[index]):
                self._work.hasten_checkpoint(cost // WARRANTS_FOR_A_NODE)
                if self._work.needs_checkpoint:
                    yield None

    def _divide(self, warrants: Sequence[Warrant]) -> Checkpoints[Mapping[RelationName, Sequence[Warrant]]]:
        by_relation: dict[RelationName, list[Warrant]] = defaultdict(list)
        for number, warrant in enumerate(warrants, 1):
            by_relation[warrant.relation].append(warrant)
            if not number % WARRANTS_AT_ONCE:
                self._work.hasten_checkpoint(WARRANTS_AT_ONCE // WARRANTS_FOR_A_NODE)
                if self._work.needs_checkpoint:
                    yield None
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


def _group_lookups(numbers_by_index: Mapping[AdjacencyIndex, BitMap]) -> Iterator[_Lookup]:
    groups: dict[tuple[tuple[str, str, str], tuple[int, ...]], list[AdjacencyIndex]] = defaultdict(list)
    for index, wanted in numbers_by_index.items():
        kind = (index.key.object_type, index.key.subject_type, index.key.subject_relation)
        groups[kind, tuple(wanted)].append(index)
    for (_, numbers), indexes in groups.items():
        for start in range(0, len(numbers), IDS_AT_ONCE):
            yield _Lookup(indexes, numbers[start : start + IDS_AT_ONCE])
