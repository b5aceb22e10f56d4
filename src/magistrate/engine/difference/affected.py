"""Holds what changes affect: for each relation on an object, which changes, and for which subjects."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from pyroaring import FrozenBitMap

from magistrate.engine.difference.comparing import AccessChange
from magistrate.engine.difference.origins import Change, ChangeOrigin
from magistrate.engine.difference.reverse_expansion import (
    NOTHING_REACHED,
    ObjectRelation,
    Reach,
    ReverseExpansion,
    begin_reach,
)
from magistrate.engine.query.reverse_graph import Target
from magistrate.engine.query.search import Steps
from magistrate.engine.terms import WILDCARD, ObjectRef
from magistrate.engine.work import Work

Concerned = Set[ObjectRef] | None
"""Represents the subjects that something concerns; None stands for any."""


class Affected:
    """Holds the relations on objects that the origins affect. `concerned` has the subjects of each origin.

    `nodes` are those on one object; `everywhere` has the relations that may be affected on every object."""

    def __init__(self, origins: Sequence[ChangeOrigin], concerned: Sequence[Concerned]) -> None:
        self._origins = origins
        self._concerned = concerned
        self._reached: Mapping[ObjectRelation, Reach] = {}
        self._further: dict[ObjectRelation, set[ObjectRef] | None] = {}
        self._subjects: dict[FrozenBitMap, Concerned] = {}

    def find_nodes(self, expansion: ReverseExpansion) -> Steps["Affected"]:
        """Finds all nodes; to be completed before anything else, except `add`. Returns itself."""
        yield from expansion.expand(node for origin in self._origins for node, _ in origin.starts)
        begun = (
            (node, begin_reach(number, direction))
            for number, origin in enumerate(self._origins)
            for node, direction in origin.starts
        )
        self._reached = yield from expansion.propagate(begun, len(self._origins))
        return self

    def add(self, node: ObjectRelation, subjects: Collection[ObjectRef] | None) -> None:
        """Adds a node that is affected for these subjects, None for any, although no origin affects it."""
        known = self._further.setdefault(node, set())
        if subjects is None:
            self._further[node] = None
        elif known is not None:
            known.update(subjects)

    @property
    def nodes(self) -> Iterator[ObjectRelation]:
        return (node for node in dict.fromkeys((*self._reached, *self._further)) if node.id != WILDCARD)

    @property
    def everywhere(self) -> Iterator[Target]:
        both = dict.fromkeys((*self._reached, *self._further))
        return ((node.type, node.relation) for node in both if node.id == WILDCARD)

    def find_subjects(self, node: ObjectRelation, work: Work) -> Concerned:
        """Returns the subjects for whom the relation on this object may be affected."""
        anywhere = node._replace(id=WILDCARD)
        found = [self._find_concerned(self._reach(node).all, work)]
        found += [self._further[one] for one in (node, anywhere) if one in self._further]
        if len(found) == 1:
            return found[0]
        return None if any(one is None for one in found) else frozenset[ObjectRef]().union(*filter(None, found))

    def find_causes(self, change: AccessChange) -> list[Change]:
        """Returns the changes that may have caused this one, each once, in their order."""
        reach = self._reach(change.node)
        causes: dict[int, Change] = {}
        numbers = reach.raising if change.is_raised else reach.lowering
        # A wildcard is also a subject of its own only as long as not all subjects have the relation without it.
        is_either = change.is_raised is None or change.subject_id == WILDCARD
        for number in reach.all if is_either else numbers:
            concerned = self._concerned[number]
            if concerned is None or change.subject in concerned:
                causes.setdefault(id(self._origins[number].change), self._origins[number].change)
        return [*causes.values()]

    def _reach(self, node: ObjectRelation) -> Reach:
        anywhere = self._reached.get(node._replace(id=WILDCARD), NOTHING_REACHED)
        return self._reached.get(node, NOTHING_REACHED).union(anywhere)

    def _find_concerned(self, numbers: FrozenBitMap, work: Work) -> Concerned:
        if numbers not in self._subjects:
            concerned = [self._concerned[number] for number in numbers]
            work.spend(len(concerned))
            self._subjects[numbers] = (
                None if any(one is None for one in concerned) else _unite(filter(None, concerned), work)
            )
        return self._subjects[numbers]


def _unite(sets: Iterable[Set[ObjectRef]], work: Work) -> Set[ObjectRef]:
    united: set[ObjectRef] = set()
    for one in sets:
        united |= one
        work.spend(len(one) // 10)
    return united
