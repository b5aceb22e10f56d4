"""Keeps the warrants that were read for an explanation, so that every further evaluation of it reads only what none
before it has read.

The plans of two models request the same warrants in different requests. What is kept is therefore found by relation, by
kind of subject and by object.
"""

from collections.abc import Mapping, Sequence

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Steps, WarrantLists, fetch_warrants
from magistrate.engine.terms import WILDCARD, Subject
from magistrate.engine.warrant_reader import WarrantRead
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.engine.work import Work

WARRANTS_FOR_A_NODE = 10
"""Counts the warrants that take as long to keep or to find as one unit of work."""

_Key = tuple[TypeName, RelationName, Subject | TypeName | None]
_NONE: list[Warrant] = []


class KnownWarrants:
    """Holds the warrants that reads returned, all at one revision. `model` is that of the revision: what has none of
    its patterns is not read at all."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._warrants: dict[_Key, dict[ObjectId | None, list[Warrant]]] = {}
        self._possible: dict[tuple[_Key, bool | None], bool] = {}

    def read(self, reads: Sequence[WarrantRead], work: Work) -> Steps[WarrantLists]:
        """Returns the warrants of the reads, of which only those that are not known yet are read. Raises
        BudgetExceeded."""
        unknown = [read for read in reads if self._find(read) is None]
        if unknown:
            fetched = yield from fetch_warrants(unknown)
            if (count := sum(map(len, fetched))) > work.left:
                work.spend(count)  # raises BudgetExceeded: the reader stopped here, and some may be missing
            for read, stored in zip(unknown, fetched, strict=True):
                self._keep(read, stored)
                work.hasten_checkpoint(len(stored) // WARRANTS_FOR_A_NODE)
        known = [self._find(read) for read in reads]
        return [stored if stored is not None else _NONE for stored in known]

    def _find(self, read: WarrantRead) -> list[Warrant] | None:
        """Returns the warrants of the read, or None if some of them are not known."""
        request = read.request
        found: list[Warrant] = []
        for relation in request.relations:
            known = self._warrants.get((request.type, relation, request.subjects))
            for id in (None,) if read.ids is None else read.ids:
                if known is not None and id in known:
                    found += known[id]
                elif self._may_exist((request.type, relation, request.subjects), id):
                    return None
        return found

    def _keep(self, read: WarrantRead, stored: Sequence[Warrant]) -> None:
        request = read.request
        by_relation: Mapping[str, dict[ObjectId | None, list[Warrant]]] = {
            relation: self._warrants.setdefault((request.type, relation, request.subjects), {})
            for relation in request.relations
        }
        for by_object in by_relation.values():
            by_object.update({id: [] for id in ((None,) if read.ids is None else read.ids)})
        for warrant in stored:
            by_relation[warrant.relation][None if read.ids is None else warrant.object_id].append(warrant)

    def _may_exist(self, key: _Key, id: ObjectId | None) -> bool:
        is_wildcard = None if id is None else id == WILDCARD
        possible = self._possible.get((key, is_wildcard))
        if possible is None:
            of_type, relation, subjects = key
            patterns = self._model.patterns_on(of_type, [relation])
            possible = any(_is_possible(pattern, subjects, is_wildcard) for pattern in patterns)
            self._possible[key, is_wildcard] = possible
        return possible


def _is_possible(pattern: WarrantPattern, subjects: Subject | TypeName | None, is_wildcard: bool | None) -> bool:
    """Returns whether a warrant of this pattern can be to such subjects and on the wildcard, on another object, or on
    either."""
    if is_wildcard is not None and (pattern.object_id == WILDCARD) != is_wildcard:
        return False
    if subjects is None:
        return pattern.subject_relation != ""
    if isinstance(subjects, Subject):
        return (pattern.subject_type, pattern.subject_relation) == (subjects.type, subjects.relation or "")
    return (pattern.subject_type, pattern.subject_relation) == (subjects, "")
