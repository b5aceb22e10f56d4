"""Compares relations on objects in two states, one batch after another."""

from collections.abc import Collection, Mapping, Sequence

from magistrate.engine.bitmaps.subject_batches import SubjectBitmaps
from magistrate.engine.cache.adjacency import Adjacency
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.cache.subject_adjacency import SubjectAdjacency
from magistrate.engine.difference.bitmap_comparison import StateAdjacency, compare_bitmaps
from magistrate.engine.difference.comparison import (
    NO_SUBJECTS,
    AccessChange,
    Affected,
    SubjectSets,
    check_subjects,
    compare_sets,
    types_to_list,
)
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.lists.subjects import Root
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, take_pieces
from magistrate.engine.terms import ObjectRef
from magistrate.engine.work import sort_in_steps
from magistrate.operations.difference.affected_access import AffectedSearch, StateSearch
from magistrate.operations.difference.checked_access import CheckedComparer, ConcernedNode
from magistrate.operations.difference.states import ExistingObjects, StateComparison
from magistrate.operations.runs import complete_checkpoints, free_in_steps
from magistrate.operations.scheduling import checkpoint, is_time_up

MIN_BITMAP_NODES = 4
"""Sets the number of relations on objects from which on bitmaps are used; fewer have too little in common."""
FIRST_TOGETHER = 8
MAX_TOGETHER = 64
"""Limit the relations on objects that are searched together, at first and at most: a search reads level by level, so
more together take fewer reads. After a search was impossible because of one of them, fewer are searched together."""
MAX_MISSES = 8
"""Limits the searches in a row in which nothing is found with bitmaps; from then on, no more are made."""
MAX_BYTES = 33_554_432
"""Limits what the cached warrants of both states take (32 MiB)."""

_NO_BITMAPS: SubjectBitmaps = {}


class BitmapComparer:
    """Compares relations on objects, and keeps the entries of both states for later ones."""

    def __init__(self, before: StateSearch, after: StateSearch, comparison: StateComparison) -> None:
        self._before = before
        self._after = after
        self._existence = comparison.existence
        self._work = before.work
        self._max_together = FIRST_TOGETHER
        self._misses = 0
        capacity = Capacity(MAX_BYTES, free_in_steps)
        self._adjacency = Adjacency(capacity)
        entries = SubjectAdjacency(self._adjacency, capacity)
        others = entries if comparison.has_same_warrants else SubjectAdjacency(self._adjacency, capacity)
        self._adjacency_before = StateAdjacency(
            model=before.state.model,
            revision=before.state.at,
            adjacency=self._adjacency,
            subject_adjacency=entries,
            capacity=capacity,
        )
        self._adjacency_after = StateAdjacency(
            model=after.state.model,
            revision=after.state.at,
            adjacency=self._adjacency,
            subject_adjacency=others,
            capacity=capacity,
        )

    async def compare(self, nodes: Sequence[ObjectRelation]) -> tuple[list[AccessChange], list[ObjectRelation]]:
        """Returns what was gained and lost, in no particular order, and those of the relations on objects that have to
        be compared without bitmaps."""
        changes: list[AccessChange] = []
        undecided: list[ObjectRelation] = []
        place = 0
        while len(nodes) >= MIN_BITMAP_NODES and place < len(nodes) and self._misses < MAX_MISSES:
            together = nodes[place : place + self._max_together]
            sets_by_node = await self._find_both(together)
            if sets_by_node is None and self._max_together > 1:
                self._max_together = max(self._max_together // 4, 1)
                continue
            place += len(together)
            both = sets_by_node or {}
            if both:
                self._misses, self._max_together = 0, min(2 * self._max_together, MAX_TOGETHER)
            else:
                self._misses += 1
            undecided += (node for node in together if node not in both)
            changes += await self._after.run(self._compare_each(both))
        return changes, [*undecided, *nodes[place:]]

    async def _find_both(
        self, nodes: Sequence[ObjectRelation]
    ) -> Mapping[ObjectRelation, tuple[SubjectBitmaps, SubjectBitmaps]] | None:
        """Returns the subjects in both states, where bitmaps are enough; None if fewer should be searched together."""
        roots = [(ObjectRef(node.type, node.id), node.relation) for node in nodes]
        before = await self._find(self._before, self._adjacency_before, roots, self._existence.created)
        if before is None:
            return None
        after = await self._find(self._after, self._adjacency_after, roots, self._existence.deleted)
        if after is None:
            return None
        pairs = zip(nodes, roots, strict=True)
        return {node: (before[root], after[root]) for node, root in pairs if root in before and root in after}

    async def _find(
        self, search: StateSearch, adjacency: StateAdjacency, roots: Collection[Root], absent: Collection[ObjectRef]
    ) -> Mapping[Root, SubjectBitmaps] | None:
        existing = [root for root in roots if root[0] not in absent and search.defines(root[0].type, root[1])]
        steps = adjacency.find_subjects(search.types, search.build_conditions(), self._work, existing)
        findings = await search.run(steps)
        undefined = dict.fromkeys({*roots}.difference(existing), _NO_BITMAPS)
        return None if findings.has_given_up else {**undefined, **findings.subjects}

    def _compare_each(
        self, both: Mapping[ObjectRelation, tuple[SubjectBitmaps, SubjectBitmaps]]
    ) -> Checkpoints[list[AccessChange]]:
        changes: list[AccessChange] = []
        for node, (before, after) in both.items():
            changes += yield from compare_bitmaps(node, before, after, self._adjacency, work=self._work)
        return changes

    def discard_entries(self) -> None:
        """Frees everything; nothing can be compared afterwards."""
        for adjacency in (self._adjacency_before, self._adjacency_after):
            adjacency.discard_all()


MAX_CHECKED = 100
"""Limits the subjects that are checked one by one on an object; to find all of its subjects then costs less."""
CHANGES_BETWEEN_LOOKS = 100
"""Counts the changes that are selected between two looks at the clock."""


class Comparer:
    """Compares the values of relations on objects in two states."""

    def __init__(
        self,
        search: AffectedSearch,
        affected: Affected,
        existing: ExistingObjects,
        checked: CheckedComparer,
        bitmaps: BitmapComparer,
    ) -> None:
        self.affected = affected
        self.existing = existing
        self.narrowing = search.narrowing
        self._before = search.before
        self._after = search.after
        self._work = search.before.work
        self._checked = checked
        self._bitmaps = bitmaps
        self._covered: dict[tuple[TypeName, RelationName, TypeName], bool] = {}
        """Says which names are selected of those that changes have had."""

    async def compare(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        """Returns what was gained and lost of these relations on objects, as far as it can be selected, in order."""
        few: list[ConcernedNode] = []
        many: list[ObjectRelation] = []
        for node in nodes:
            subjects = self.affected.find_subjects(node, self._work)
            if subjects is None or len(subjects) > MAX_CHECKED:
                many.append(node)
            else:
                few.append(ConcernedNode(node, subjects))
        checked = await self._select(await self._checked.compare_each(few))
        if not many:
            return checked
        changes = [*checked, *await self._select(await self._compare_many(many))]
        return await complete_checkpoints(take_pieces(sort_in_steps(changes, tuple), self._work), self._work)

    async def _select(self, changes: Sequence[AccessChange]) -> list[AccessChange]:
        """Returns the changes that are selected, in their order."""
        covered, selects_ids = self._covered, self.narrowing.selects_ids
        selected: list[AccessChange] = []
        for start in range(0, len(changes), CHANGES_BETWEEN_LOOKS):
            for change in changes[start : start + CHANGES_BETWEEN_LOOKS]:
                names = change.type, change.relation, change.subject_type
                is_covered = covered.get(names)
                if is_covered is None:
                    is_covered = covered[names] = self.narrowing.covers_names(*names)
                if is_covered and (not selects_ids or await self._is_selected(change)):
                    selected.append(change)
            if is_time_up():
                await checkpoint()
        return selected

    async def _is_selected(self, change: AccessChange) -> bool:
        return self.narrowing.covers_ids(change) and not await self._is_about_nothing(change)

    async def _is_about_nothing(self, change: AccessChange) -> bool:
        """Returns whether this is what an object has on itself (the rule `self`) that exists in neither state, and that
        the request names in one role alone: it counts as existing in that role."""
        ref, roles = change.subject, (self.narrowing.find_object(), self.narrowing.find_subject())
        if ref != ObjectRef(change.type, change.id) or roles.count(ref) != 1:
            return False
        return not await self.existing.contains(ref)

    async def _compare_many(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        changes, undecided = await self._bitmaps.compare(nodes)
        return [*changes, *await self._compare_evaluated(undecided)]

    async def _compare_evaluated(self, nodes: Sequence[ObjectRelation]) -> list[AccessChange]:
        """Compares all subjects of these relations on objects by evaluating both states."""
        existence = self.existing.existence
        roots = [(ObjectRef(node.type, node.id), node.relation) for node in nodes]
        before = await self._find_sets(self._before, [root for root in roots if root[0] not in existence.created])
        after = await self._find_sets(self._after, [root for root in roots if root[0] not in existence.deleted])
        changes: list[AccessChange] = []
        for node, root in zip(nodes, roots, strict=True):
            had, has = before.get(root, NO_SUBJECTS), after.get(root, NO_SUBJECTS)
            existing = await self.existing.list_types(types_to_list(had, has))
            steps = compare_sets(node, had, has, existence=existence, existing=existing, work=self._work)
            changes += await self._after.run(steps)
        return changes

    async def _find_sets(self, search: StateSearch, roots: Sequence[Root]) -> Mapping[Root, SubjectSets]:
        """Returns the subjects of those of these relations on objects that are defined."""
        sets_by_root = await search.find_sets([root for root in roots if search.defines(root[0].type, root[1])])
        return {root: sets or await self._check_all(search, root) for root, sets in sets_by_root.items()}

    async def _check_all(self, search: StateSearch, root: Root) -> SubjectSets:
        subjects: Mapping[TypeName, Sequence[ObjectId]] = await self.existing.list_types({None})
        subjects = {of_type: () for of_type in search.types} | dict(subjects)
        by_warrants_alone = Evaluation(search.state.model.without_rules(), search.state.now, self._work)
        return await search.run(check_subjects(search.evaluation, by_warrants_alone, root, subjects))
