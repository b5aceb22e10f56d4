"""Finds in one state the subjects of relations on many objects with bitmaps, and compares those of two states.

The states number ids alike: their bitmaps can be compared, and only the ids of subjects that differ are looked up. If
no warrant differs, they share their entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.subject_batches import SubjectBitmaps, SubjectBitmapSearch
from magistrate.engine.bitmaps.subject_nodes import PlanEdges
from magistrate.engine.cache.adjacency import Adjacency
from magistrate.engine.cache.adjacency_reads import SubjectFetch
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.cache.subject_adjacency import SubjectAdjacency
from magistrate.engine.difference.comparison import AccessChange
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.subjects import Root
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.steps import Checkpoints, Steps
from magistrate.engine.work import Work

CHANGES_AT_ONCE = 1_000
"""Limits the changes that are made before the time slice may end; about a millisecond."""

_NO_NUMBERS = BitMap()


class BitmapResult(NamedTuple):
    """Holds the subjects of those relations on objects for which bitmaps are enough. `has_given_up`: one of them makes
    the search impossible, for instance a policy that reads the context; without it, others may be possible."""

    subjects: Mapping[Root, SubjectBitmaps]
    has_given_up: bool


@dataclass(eq=False)
class StateAdjacency:
    """Implements HasAdjacency with the entries of one state, and keeps what was solved for later calls."""

    model: Model
    revision: Revision
    adjacency: Adjacency
    subject_adjacency: SubjectAdjacency
    capacity: Capacity
    _edges: dict[Plan, PlanEdges] = field(default_factory=dict, init=False)
    _search: SubjectBitmapSearch | None = field(default=None, init=False)

    def find_subjects(
        self, types: Sequence[TypeName], conditions: PolicyEvaluator, work: Work, roots: Sequence[Root]
    ) -> Steps[BitmapResult]:
        """Returns the subjects of these relations on objects. The types are the same in each call; `conditions`, with
        ANY_CONTEXT, are evaluated for all until they cannot be computed."""
        if self._search is not None and self._search.is_half_full:
            self._end_search()
        if self._search is None:
            fetch = SubjectFetch(self)
            self._search = SubjectBitmapSearch(self.model, self._edges, fetch, types, conditions, work)
        subjects = yield from self._search.find_each(roots)
        if subjects is None:
            self._end_search()
            return BitmapResult({}, has_given_up=True)
        return BitmapResult(subjects, has_given_up=False)

    def _end_search(self) -> None:
        search, self._search = self._search, None
        for container in search.remains if search is not None else ():
            self.capacity.discard(container)

    def discard_all(self) -> None:
        """Frees everything; nothing can be found afterwards."""
        self._end_search()
        self.subject_adjacency.release()


def compare_bitmaps(
    node: ObjectRelation, before: SubjectBitmaps, after: SubjectBitmaps, adjacency: Adjacency, work: Work
) -> Checkpoints[list[AccessChange]]:
    """Returns what the subjects gained and lost, in no particular order. All of them exist in the state that has them:
    warrants name them there, or they are the object itself (the rule `self`)."""
    changes: list[AccessChange] = []
    for of_type in dict.fromkeys((*before, *after)):
        had, has = before.get(of_type, _NO_NUMBERS), after.get(of_type, _NO_NUMBERS)
        for numbers, is_gained in ((had - has, False), (has - had, True)):
            waiting = iter(numbers)
            while some := [*islice(waiting, CHANGES_AT_ONCE)]:
                ids = yield from adjacency.table(of_type).find_ids(some, work)
                changes += (AccessChange(*node, of_type, subject_id, False, is_gained, is_gained) for subject_id in ids)
                yield from work.charge(len(ids))
    return changes
