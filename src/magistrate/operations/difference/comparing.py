"""Compares relations on objects in two states, one batch after another."""

from collections.abc import Mapping, Sequence

from magistrate.engine.conditions import ANY_CONTEXT
from magistrate.engine.difference.affected import Affected
from magistrate.engine.difference.comparing import AccessChange, compare_sets, compare_values, types_to_list
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.difference.values import NO_SUBJECTS, SubjectSets, check_subjects
from magistrate.engine.evaluation import Check, Evaluation
from magistrate.engine.query.search import take_steps
from magistrate.engine.query.subjects import Root
from magistrate.engine.sorting import sort_in_steps
from magistrate.engine.terms import ObjectId, ObjectRef, Subject, TypeName
from magistrate.engine.truth import FALSE, Truth
from magistrate.operations.checks.evaluating import complete_checkpoints
from magistrate.operations.difference.bitmap_comparing import BitmapComparer
from magistrate.operations.difference.existing import ExistingObjects
from magistrate.operations.difference.narrowing import Narrowing
from magistrate.operations.difference.search import StateSearch
from magistrate.operations.scheduling import checkpoint, is_time_up

MOST_CHECKED = 100
"""Limits the subjects that are checked one by one on an object; to find all of its subjects then costs less."""
CHANGES_BETWEEN_LOOKS = 100
"""Counts the changes that are selected between two looks at the clock."""


class Comparer:
    """Compares the values of relations on objects in two states."""

    def __init__(
        self,
        before: StateSearch,
        after: StateSearch,
        affected: Affected,
        existing: ExistingObjects,
        narrowing: Narrowing,
        bitmaps: BitmapComparer,
    ) -> None:
        self._before = before
        self._after = after
        self._affected = affected
        self._existing = existing
        self._narrowing = narrowing
        self._work = before.work
        self._bitmaps = bitmaps

    async def compare(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        """Returns what was gained and lost of these relations on objects, as far as it can be selected, in order."""
        few: list[tuple[ObjectRelation, ObjectRef]] = []
        many: list[ObjectRelation] = []
        for node in nodes:
            subjects = self._affected.find_subjects(node, self._work)
            if subjects is None or len(subjects) > MOST_CHECKED:
                many.append(node)
            else:
                few += [(node, subject) for subject in subjects]
        changes = [*await self._compare_few(few), *await self._compare_many(many)]
        selected: list[AccessChange] = []
        for number, change in enumerate(changes):
            if not number % CHANGES_BETWEEN_LOOKS and is_time_up():
                await checkpoint()
            if self._narrowing.covers(change) and not await self._is_about_nothing(change):
                selected.append(change)
        return await complete_checkpoints(take_steps(sort_in_steps(selected, tuple), self._work), self._work)

    async def _is_about_nothing(self, change: AccessChange) -> bool:
        """Returns whether this is what an object has on itself (the rule `self`) that exists in neither state, and that
        the request names in one role alone: it counts as existing in that role."""
        ref, roles = change.subject, (self._narrowing.find_object(), self._narrowing.find_subject())
        if ref != ObjectRef(change.type, change.id) or roles.count(ref) != 1:
            return False
        return not await self._existing.contains(ref)

    async def _compare_few(self, pairs: Sequence[tuple[ObjectRelation, ObjectRef]]) -> list[AccessChange]:
        existence = self._existing.existence
        before, after = await self._check_each(self._before, pairs), await self._check_each(self._after, pairs)
        changes: list[AccessChange] = []
        for (node, subject), *values in zip(pairs, before, after, strict=True):
            had, has = existence.restrict(subject, values[0], values[1])
            changes += compare_values(node, subject, *existence.restrict(ObjectRef(node.type, node.id), had, has))
        return changes

    async def _check_each(
        self, search: StateSearch, pairs: Sequence[tuple[ObjectRelation, ObjectRef]]
    ) -> Sequence[Truth]:
        """Returns the value of each pair; FALSE where the relation is not defined."""
        checks = [
            Check(ObjectRef(node.type, node.id), node.relation, Subject(subject.type, subject.id), ANY_CONTEXT)
            for node, subject in pairs
            if search.defines(node.type, node.relation)
        ]
        values = iter(await search.check(checks))
        return [next(values) if search.defines(node.type, node.relation) else FALSE for node, _ in pairs]

    async def _compare_many(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        changes, left = await self._bitmaps.compare(nodes)
        return [*changes, *await self._compare_evaluated(left)]

    async def _compare_evaluated(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        """Compares all subjects of these relations on objects by evaluating both states."""
        existence = self._existing.existence
        roots = [(ObjectRef(node.type, node.id), node.relation) for node in nodes]
        before = await self._find_sets(self._before, [root for root in roots if root[0] not in existence.created])
        after = await self._find_sets(self._after, [root for root in roots if root[0] not in existence.deleted])
        changes: list[AccessChange] = []
        for node, root in zip(nodes, roots, strict=True):
            had, has = before.get(root, NO_SUBJECTS), after.get(root, NO_SUBJECTS)
            existing = await self._existing.list_types(types_to_list(had, has))
            steps = compare_sets(node, had, has, existence, existing, self._work)
            changes += await self._after.run(steps)
        return changes

    async def _find_sets(self, search: StateSearch, roots: Sequence[Root]) -> Mapping[Root, SubjectSets]:
        """Returns the subjects of those of these relations on objects that are defined."""
        found = await search.find_sets([root for root in roots if search.defines(root[0].type, root[1])])
        return {root: sets or await self._check_all(search, root) for root, sets in found.items()}

    async def _check_all(self, search: StateSearch, root: Root) -> SubjectSets:
        subjects: Mapping[TypeName, Sequence[ObjectId]] = await self._existing.list_types({None})
        subjects = {of_type: () for of_type in search.types} | dict(subjects)
        by_warrants_alone = Evaluation(search.state.model.without_rules(), search.state.now, self._work)
        return await search.run(check_subjects(search.evaluation, by_warrants_alone, root, subjects))
