"""Finds every relation on an object that changes can affect, by reverse-expanding from where they begin.

First all nodes and edges are found, level by level, in both states at once; policies do not matter. Then the numbers of
the changes are propagated along the edges, as bitmaps, until no node gains any."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from pyroaring import FrozenBitMap

from magistrate.engine.difference.influences import Dependent, Influences
from magistrate.engine.lists.reverse_graph import IDS_AT_ONCE, Target
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Steps, fetch_warrants
from magistrate.engine.warrants.reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work

READS_AT_ONCE = 100
WARRANTS_AT_ONCE = 500
"""Limits the reads of one batch, and the warrants that are charged together."""

NUMBERS_FOR_A_NODE = 20_000
"""Converts numbers that are combined into nodes: this many take as long as one node."""


class ObjectRelation(NamedTuple):
    """Represents a relation on an object; with the id `*`, on every object of the type."""

    type: TypeName
    id: ObjectId
    relation: RelationName


class Direction(NamedTuple):
    """Says whether something may raise the value of a node, and whether it may lower it."""

    raises: bool
    lowers: bool

    def opposite(self) -> "Direction":
        return Direction(self.lowers, self.raises)


_NO_NUMBERS = FrozenBitMap()


class Reach(NamedTuple):
    """Holds the numbers of the origins that may raise the value of a node, and of those that may lower it. Most nodes
    are reached by few of many thousands."""

    raising: FrozenBitMap = _NO_NUMBERS
    lowering: FrozenBitMap = _NO_NUMBERS

    @property
    def all(self) -> FrozenBitMap:
        return _unite(self.raising, self.lowering)

    def opposite(self) -> "Reach":
        return Reach(self.lowering, self.raising)

    def union(self, other: "Reach") -> "Reach":
        return Reach(_unite(self.raising, other.raising), _unite(self.lowering, other.lowering))


NOTHING_REACHED = Reach()


def begin_reach(number: int, direction: Direction) -> Reach:
    """Returns what an origin with this number reaches where it begins."""
    own = FrozenBitMap([number])
    return Reach(own if direction.raises else _NO_NUMBERS, own if direction.lowers else _NO_NUMBERS)


def _unite(left: FrozenBitMap, right: FrozenBitMap) -> FrozenBitMap:
    if not left or not right:
        return left or right
    return left | right


_Edge = tuple[ObjectRelation, bool]
_IndexNames = tuple[TypeName, RelationName, TypeName, str]
"""Holds the object type, relation, subject type and subject relation of warrants."""


@dataclass(slots=True)
class _SubjectIndex:
    """Holds the objects of warrants with the same names by the id of the subject, as far as they have been read."""

    objects: dict[ObjectId, list[ObjectId]] = field(default_factory=dict)
    has_all: bool = False
    wanted: dict[ObjectId, None] = field(default_factory=dict)
    wants_all: bool = False

    def list_objects(self, subject_id: ObjectId) -> Iterable[ObjectId]:
        """Returns the objects of the warrants to this subject or to any; with the id `*`, of all warrants."""
        if subject_id != WILDCARD:
            return dict.fromkeys((*self.objects.get(subject_id, ()), *self.objects.get(WILDCARD, ())))
        return dict.fromkeys(chain.from_iterable(self.objects.values()))


class ReverseExpansion:
    """Expands from nodes to all that depend on them. Relations that are not `relevant` are left out, unless it is
    None."""

    def __init__(self, influences: Influences, relevant: Collection[Target] | None, work: Work) -> None:
        self._influences = influences
        self._relevant = relevant
        self._work = work
        self._edges: dict[ObjectRelation, list[_Edge]] = {}
        self._fresh: list[ObjectRelation] = []
        self._indexes: dict[_IndexNames, _SubjectIndex] = defaultdict(_SubjectIndex)

    def is_relevant(self, node: ObjectRelation) -> bool:
        return self._relevant is None or (node.type, node.relation) in self._relevant

    def expand(self, starts: Iterable[ObjectRelation]) -> Steps[None]:
        """Finds all nodes and edges."""
        for node in starts:
            self._add(node)
            yield from self._work.checkpoint(1)
        while self._fresh:
            level: list[ObjectRelation] = []
            while self._fresh:
                node = self._fresh.pop()
                level.append(node)
                self._add_computed(node)
                for names, _ in self._list_usages(node):
                    self._want(names, node.id)
                yield from self._work.checkpoint()
            yield from self._read()
            for node in level:
                yield from self._add_usages(node)

    def propagate(
        self, origins: Iterable[tuple[ObjectRelation, Reach]], count: int
    ) -> Steps[dict[ObjectRelation, Reach]]:
        """Returns what reaches each node, given what begins at some; `count` is the number of origins."""
        reached: dict[ObjectRelation, Reach] = {}
        waiting: deque[ObjectRelation] = deque()
        is_waiting: set[ObjectRelation] = set()

        def add(node: ObjectRelation, more: Reach) -> None:
            reach = reached.get(node, NOTHING_REACHED)
            both = reach.union(more)
            if both != reach:
                reached[node] = both
                if node not in is_waiting:
                    is_waiting.add(node)
                    waiting.append(node)

        cost = 1 + count // NUMBERS_FOR_A_NODE
        for node, reach in origins:
            if self.is_relevant(node):
                add(node, reach)
            yield from self._work.checkpoint(cost)
        while waiting:
            node = waiting.popleft()
            is_waiting.discard(node)
            reach = reached[node]
            for target, is_opposite in self._edges[node]:
                add(target, reach.opposite() if is_opposite else reach)
            yield from self._work.charge(cost * (1 + len(self._edges[node])))
        return reached

    def _add(self, node: ObjectRelation) -> bool:
        """Adds a node unless it is there; returns whether it is relevant."""
        if not self.is_relevant(node):
            return False
        if node not in self._edges:
            self._work.spend(1)
            self._edges[node] = []
            self._fresh.append(node)
        return True

    def _connect(self, node: ObjectRelation, target: ObjectRelation, is_opposite: bool) -> None:
        if self._add(target):
            self._edges[node].append((target, is_opposite))
            self._work.spend(1)

    def _add_computed(self, node: ObjectRelation) -> None:
        for dependent in self._influences.computed.get((node.type, node.relation), ()):
            self._connect(node, node._replace(relation=dependent.relation), dependent.is_opposite)

    def _list_usages(self, node: ObjectRelation) -> Iterator[tuple[_IndexNames, Dependent]]:
        """Yields the names of the warrants whose subject is the object of the node, and what depends on the node on
        the objects of these warrants."""
        target = (node.type, node.relation)
        for of_type, relation in self._influences.usersets.get(target, ()):
            yield (of_type, relation, node.type, node.relation), Dependent(relation, False)
        for linked in self._influences.arrows.get(target, ()):
            for group in self._influences.groups.get((linked.type, linked.with_relation, node.type), ()):
                names = (linked.type, linked.with_relation, node.type, group)
                yield names, Dependent(linked.relation, linked.is_opposite)

    def _want(self, names: _IndexNames, subject_id: ObjectId) -> None:
        index = self._indexes[names]
        if subject_id == WILDCARD:
            index.wants_all = not index.has_all
        elif not index.has_all:
            ids = (subject_id, WILDCARD) if names in self._influences.wildcards else (subject_id,)
            index.wanted.update(dict.fromkeys(object_id for object_id in ids if object_id not in index.objects))

    def _read(self) -> Steps[None]:
        """Reads the warrants of all ids that are wanted."""
        while reads := [*islice(self._list_reads(), READS_AT_ONCE)]:
            fetched = yield from fetch_warrants([read for _, read in reads])
            for (index, read), warrants in zip(reads, fetched, strict=True):
                if read.ids is None:
                    index.objects, index.has_all = {}, True
                for object_id in read.ids or ():
                    index.objects[object_id] = []
                yield from self._take(index, warrants)

    def _take(self, index: _SubjectIndex, warrants: Sequence[Warrant]) -> Steps[None]:
        for start in range(0, len(warrants), WARRANTS_AT_ONCE):
            some = warrants[start : start + WARRANTS_AT_ONCE]
            for warrant in some:
                index.objects.setdefault(warrant.subject_id, []).append(warrant.object_id)
            yield from self._work.charge(len(some))

    def _list_reads(self) -> Iterator[tuple[_SubjectIndex, ReverseWarrantRead]]:
        for (of_type, relation, subject_type, group), index in self._indexes.items():
            request = WarrantsBySubject(of_type, (relation,), subject_type, group)
            if index.wants_all:
                index.wants_all, index.wanted = False, {}
                yield index, ReverseWarrantRead(request, None)
            while index.wanted:
                ids = tuple(islice(index.wanted, IDS_AT_ONCE))
                for object_id in ids:
                    del index.wanted[object_id]
                yield index, ReverseWarrantRead(request, ids)

    def _add_usages(self, node: ObjectRelation) -> Steps[None]:
        for names, dependent in self._list_usages(node):
            for object_id in self._indexes[names].list_objects(node.id):
                self._connect(node, ObjectRelation(names[0], object_id, dependent.relation), dependent.is_opposite)
                yield from self._work.checkpoint()
