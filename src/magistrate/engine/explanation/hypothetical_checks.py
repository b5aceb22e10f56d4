"""Decides the check of an explanation, also as it would be with changes."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation, add_check
from magistrate.engine.evaluation.nodes import DECISION_ALONE, CheckNode, EvaluationScope
from magistrate.engine.explanation.changes import NO_CHANGE, ChangeSet, change_context, overlay_changes
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Steps, WarrantLists, fetch_warrants
from magistrate.engine.subjects import Subject, selects
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.reader import WarrantRead
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, WarrantPattern
from magistrate.engine.work import WARRANTS_FOR_A_NODE, Work

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
        return [self._find(read) or _NONE for read in reads]

    def _find(self, read: WarrantRead) -> list[Warrant] | None:
        """Returns the warrants of the read, or None if some of them are not known."""
        request = read.request
        warrants: list[Warrant] = []
        for relation in request.relations:
            by_object = self._warrants.get((request.type, relation, request.subjects))
            for object_id in (None,) if read.ids is None else read.ids:
                if by_object is not None and object_id in by_object:
                    warrants += by_object[object_id]
                elif self._may_exist((request.type, relation, request.subjects), object_id):
                    return None
        return warrants

    def _keep(self, read: WarrantRead, stored: Sequence[Warrant]) -> None:
        request = read.request
        by_relation: Mapping[str, dict[ObjectId | None, list[Warrant]]] = {
            relation: self._warrants.setdefault((request.type, relation, request.subjects), {})
            for relation in request.relations
        }
        for by_object in by_relation.values():
            by_object.update({object_id: [] for object_id in ((None,) if read.ids is None else read.ids)})
        for warrant in stored:
            by_relation[warrant.relation][None if read.ids is None else warrant.object_id].append(warrant)

    def _may_exist(self, key: _Key, object_id: ObjectId | None) -> bool:
        is_wildcard = None if object_id is None else object_id == WILDCARD
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
    return is_wildcard in (None, pattern.object_id == WILDCARD) and selects(subjects, *pattern[3:])


class HypotheticalCheck(NamedTuple):
    """Holds the check as it was decided at `now`, perhaps with changes, and the evaluation that decided it."""

    check: Check
    now: int
    evaluation: Evaluation
    root: CheckNode

    def names_on(self, node: CheckNode, relation: RelationName) -> WarrantNames:
        """Returns the names of a warrant of the subject of the check on the object of a node."""
        return self.check.names._replace(object_type=node.plan.type, object_id=node.id, relation=relation)


class HypotheticalChecks:
    """Decides one check at `now`, also with changes to what is stored. Each warrant is read once, all at the revision
    of `model`, and those that the request brings, `contextual`, are added."""

    def __init__(self, model: Model, check: Check, now: int, contextual: Overlay) -> None:
        self.model = model
        self.check = check
        self.now = now
        self.contextual = contextual
        self._warrants = KnownWarrants(model)
        self._evaluations: list[Evaluation] = []

    def decide(
        self,
        work: Work,
        scope: EvaluationScope = DECISION_ALONE,
        changes: ChangeSet = NO_CHANGE,
        patterns: Set[WarrantPattern] = frozenset(),
    ) -> Steps[HypotheticalCheck]:
        """Returns the check, decided with these changes; `patterns` are those of warrants that they may create. What
        that takes is kept until it is freed. Raises BudgetExceeded."""
        check, overlays = self.check, [self.contextual]
        if changes:
            check = replace(check, context=change_context(check.context, changes))
            overlays.insert(0, overlay_changes(changes, self.now))
        evaluation = Evaluation(self.model.with_patterns(self.contextual.patterns | patterns), self.now, work, scope)
        self._evaluations.append(evaluation)
        root = yield from add_check(evaluation, check)
        while (reads := evaluation.advance()) != []:
            if reads is None:
                yield None
                continue
            warrants = yield from self._warrants.read(reads, work)
            for overlay in overlays:
                warrants = [overlay.merge(read, stored) for read, stored in zip(reads, warrants, strict=True)]
            evaluation.take(warrants)
        return HypotheticalCheck(check, self.now, evaluation, root)

    def free(self, decided: HypotheticalCheck) -> None:
        """Frees what one decision took, at once: it must have had a small budget."""
        self._evaluations.remove(decided.evaluation)
        for _ in decided.evaluation.release():
            pass

    def release(self) -> Iterator[int]:
        """Frees what the decisions took, in steps."""
        for evaluation in self._evaluations:
            yield from evaluation.release()
