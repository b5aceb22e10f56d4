"""Compares relations on objects for few subjects by checks in both states, once for all objects that are alike."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from magistrate.engine.difference.alike_objects import AlikeObjects, Signature
from magistrate.engine.difference.comparison import AccessChange, compare_values
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import ANY_CONTEXT
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.steps import Run
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, Truth
from magistrate.errors import BudgetExceeded
from magistrate.operations.difference.affected_access import AffectedSearch, StateSearch
from magistrate.operations.difference.states import StateComparison
from magistrate.operations.runs import complete_run
from magistrate.operations.scheduling import checkpoint, is_time_up

MIN_ALIKE = 8
"""Sets the number of objects from which on it is found out which are alike: it takes a read."""
WARRANTS_FOR_A_PAIR = 10
"""Limits the warrants that are read to find that out, for each pair of an object and a subject: with more, the checks
that it saves take less time."""
MAX_KEPT = 1_000
"""Limits the outcomes that are kept for objects that are alike to those of former calls."""
PAIRS_AT_ONCE = 500
"""Counts the checks that are made between two looks at the clock."""


class ConcernedNode(NamedTuple):
    """Has a relation on an object, and the subjects for whom it may differ."""

    node: ObjectRelation
    subjects: frozenset[ObjectRef]


class Outcome(NamedTuple):
    """Holds what a subject gained or lost, whatever the object is; see AccessChange."""

    subject_type: TypeName
    subject_id: ObjectId
    is_conditional: bool
    is_gained: bool
    is_raised: bool | None


class CheckedComparer:
    """Compares relations on objects for those subjects whom they concern."""

    def __init__(self, search: AffectedSearch, comparison: StateComparison) -> None:
        selection = search.selection
        existence = comparison.existence
        self._search = search
        self._existence = existence
        self._after = comparison.after
        self._work = search.before.work
        self._alike = AlikeObjects(
            selection.influences,
            selection.models,
            selection.is_concerned,
            comparison.warrants,
            differing={*existence.created, *existence.deleted},
        )
        self._is_worthwhile = True
        self._outcomes: dict[Hashable, Sequence[Outcome]] = {}

    async def compare_each(self, concerned: Sequence[ConcernedNode]) -> list[AccessChange]:
        """Returns what was gained and lost, in order."""
        concerned = sorted(concerned, key=itemgetter(0))
        names = await self._name_each(concerned)
        fresh = {name: each for name, each in zip(names, concerned, strict=True) if name not in self._outcomes}
        outcomes = self._outcomes | await self._check_all(fresh)
        self._keep(outcomes)
        changes: list[AccessChange] = []
        for name, (node, _) in zip(names, concerned, strict=True):
            changes += [
                AccessChange(*node, of_type, subject_id, is_conditional, is_gained, is_raised)
                for of_type, subject_id, is_conditional, is_gained, is_raised in outcomes[name]
            ]
            if is_time_up():
                await checkpoint()
        return changes

    def _keep(self, outcomes: dict[Hashable, Sequence[Outcome]]) -> None:
        kept = {name: some for name, some in outcomes.items() if not isinstance(name, ObjectRelation)}
        self._outcomes = kept if len(kept) <= MAX_KEPT else {}

    async def _name_each(self, concerned: Sequence[ConcernedNode]) -> Sequence[Hashable]:
        """Returns what is equal for those that have the same outcome; the relation on the object itself where it is
        not known which have."""
        groups: dict[tuple[Target, frozenset[ObjectRef]], list[int]] = defaultdict(list)
        names: list[Hashable] = []
        for place, (node, subjects) in enumerate(concerned):
            groups[(node.type, node.relation), subjects].append(place)
            names.append(node)
        for (target, subjects), places in groups.items():
            ids = [concerned[place].node.id for place in places]
            signatures = await self._find_signatures(target[0], ids, subjects)
            for place, object_id in zip(places, ids, strict=True) if signatures else ():
                names[place] = target, subjects, signatures[object_id]
        return names

    async def _find_signatures(
        self, of_type: TypeName, ids: Sequence[ObjectId], subjects: frozenset[ObjectRef]
    ) -> Mapping[ObjectId, Signature]:
        """Returns the signatures of these objects, nothing if they are few or have too many warrants."""
        if len(ids) < MIN_ALIKE or not self._is_worthwhile:
            return {}
        work = self._work.split(WARRANTS_FOR_A_PAIR * len(ids) * len(subjects))
        steps = self._alike.find_signatures(of_type, ids, subjects, work)
        try:
            return await complete_run(self._after.reader, Run(work, steps), self._after.at)
        except BudgetExceeded:
            self._is_worthwhile = False
            return {}
        finally:
            self._work.spend(work.cost)

    async def _check_all(self, fresh: Mapping[Hashable, ConcernedNode]) -> dict[Hashable, Sequence[Outcome]]:
        pairs = [(node, subject) for node, subjects in fresh.values() for subject in sorted(subjects)]
        before = await self._check_each(self._search.before, pairs)
        after = await self._check_each(self._search.after, pairs)
        outcomes: dict[Hashable, Sequence[Outcome]] = {}
        values = zip(pairs, before, after, strict=True)
        for name, (node, subjects) in fresh.items():
            some: list[Outcome] = []
            for (_, subject), had, has in islice(values, len(subjects)):
                some += self._compare_values(node, subject, had, has)
            outcomes[name] = some
            if is_time_up():
                await checkpoint()
        return outcomes

    def _compare_values(
        self, node: ObjectRelation, subject: ObjectRef, before: Truth, after: Truth
    ) -> Iterator[Outcome]:
        before, after = self._existence.restrict(subject, before, after)
        before, after = self._existence.restrict(ObjectRef(node.type, node.id), before, after)
        for change in compare_values(node, subject, before, after):
            yield Outcome(*change[3:])

    async def _check_each(
        self, search: StateSearch, pairs: Sequence[tuple[ObjectRelation, ObjectRef]]
    ) -> Sequence[Truth]:
        """Returns the value of each pair; FALSE where the relation is not defined."""
        checks: list[Check] = []
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            checks += (
                Check(ObjectRef(node.type, node.id), node.relation, Subject(subject.type, subject.id), ANY_CONTEXT)
                for node, subject in pairs[start : start + PAIRS_AT_ONCE]
                if search.defines(node.type, node.relation)
            )
            if is_time_up():
                await checkpoint()
        values = await search.check(checks)
        if len(values) == len(pairs):
            return values
        decided = iter(values)
        return [next(decided) if search.defines(node.type, node.relation) else FALSE for node, _ in pairs]
