"""Evaluates the check of an explanation, also with changes applied."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import DECISION_ALONE, CheckNode, EvaluationScope
from magistrate.engine.evaluation.steps import Steps, WarrantLists, add_check, fetch_warrants
from magistrate.engine.evaluation.work import Work
from magistrate.engine.explanation.changes import NO_CHANGE, ChangeSet, change_context, overlay_changes
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.terms import Subject
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.reader import WarrantRead
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern

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


class Trial:
    """Represents one evaluation of the check, with these changes to what is stored and then with the warrants that the
    request brings, `contextual`. The model has the patterns of all these."""

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        work: Work,
        contextual: Overlay,
        changes: ChangeSet = NO_CHANGE,
        scope: EvaluationScope = DECISION_ALONE,
    ) -> None:
        self.check = replace(check, context=change_context(check.context, changes)) if changes else check
        self.evaluation = Evaluation(model, now, work, scope)
        self._overlays = [overlay_changes(changes, now), contextual] if changes else [contextual]
        self._work = work

    def run(self, known: KnownWarrants) -> Steps[CheckNode]:
        """Returns the decided node of the check. Raises BudgetExceeded."""
        root = yield from add_check(self.evaluation, self.check)
        while (reads := self.evaluation.advance()) != []:
            if reads is None:
                yield None
                continue
            warrants = yield from known.read(reads, self._work)
            for overlay in self._overlays:
                warrants = [overlay.merge(*one) for one in zip(reads, warrants, strict=True)]
            self.evaluation.take(warrants)
        return root

    def release(self) -> Iterator[int]:
        return self.evaluation.release()
