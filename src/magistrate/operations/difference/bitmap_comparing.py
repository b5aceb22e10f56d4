"""Compares all subjects of many relations on objects in two states, with bitmaps of both.

A node of an evaluation has each subject of an object by itself, in each state. Bitmaps are united and subtracted
instead, and what one object leads to, such as a folder or a group, is cached for the others."""

from collections.abc import Collection, Mapping, Sequence

from magistrate.engine.difference.comparing import AccessChange
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.difference.state_adjacency import StateAdjacency, compare_bitmaps
from magistrate.engine.graph.adjacency import Adjacency
from magistrate.engine.graph.subject_adjacency import SubjectAdjacency
from magistrate.engine.query.search import Checkpoints
from magistrate.engine.query.subject_bitmaps import SubjectBitmaps
from magistrate.engine.query.subjects import Root
from magistrate.engine.segments import Capacity
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.evaluating import free_in_steps
from magistrate.operations.difference.search import StateSearch
from magistrate.operations.difference.states import StateComparison

FEW_NODES = 4
"""Sets the number of relations on objects from which on bitmaps are used; fewer have too little in common."""
FIRST_TOGETHER = 8
MOST_TOGETHER = 64
"""Limit the relations on objects that are searched together, at first and at most: a search reads level by level, so
more together take fewer reads. After a search was impossible because of one of them, fewer are searched together."""
MOST_MISSES = 8
"""Limits the searches in a row in which nothing is found with bitmaps; from then on, no more are made."""
MOST_WARRANTS = 200_000
"""Limits the warrants of both states that are cached."""

_NO_BITMAPS: SubjectBitmaps = {}


class BitmapComparer:
    """Compares relations on objects, and keeps the entries of both states for later ones."""

    def __init__(self, before: StateSearch, after: StateSearch, comparison: StateComparison) -> None:
        self._before = before
        self._after = after
        self._existence = comparison.existence
        self._work = before.work
        self._most_together = FIRST_TOGETHER
        self._misses = 0
        capacity = Capacity(MOST_WARRANTS, free_in_steps)
        self._adjacency = Adjacency(capacity)
        entries = SubjectAdjacency(self._adjacency, capacity)
        others = entries if comparison.has_same_warrants else SubjectAdjacency(self._adjacency, capacity)
        self._adjacency_before = StateAdjacency(before.state.model, before.state.at, self._adjacency, entries, capacity)
        self._adjacency_after = StateAdjacency(after.state.model, after.state.at, self._adjacency, others, capacity)

    async def compare(self, nodes: Sequence[ObjectRelation]) -> tuple[list[AccessChange], list[ObjectRelation]]:
        """Returns what was gained and lost, in no particular order, and those of the relations on objects that have to
        be compared without bitmaps."""
        changes: list[AccessChange] = []
        left: list[ObjectRelation] = []
        place = 0
        while len(nodes) >= FEW_NODES and place < len(nodes) and self._misses < MOST_MISSES:
            together = nodes[place : place + self._most_together]
            found = await self._find_both(together)
            if found is None and self._most_together > 1:
                self._most_together = max(self._most_together // 4, 1)
                continue
            place += len(together)
            both = found or {}
            if both:
                self._misses, self._most_together = 0, min(2 * self._most_together, MOST_TOGETHER)
            else:
                self._misses += 1
            left += (node for node in together if node not in both)
            changes += await self._after.run(self._compare_each(both))
        return changes, [*left, *nodes[place:]]

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
        each = zip(nodes, roots, strict=True)
        return {node: (before[root], after[root]) for node, root in each if root in before and root in after}

    async def _find(
        self, search: StateSearch, adjacency: StateAdjacency, roots: Collection[Root], absent: Collection[ObjectRef]
    ) -> Mapping[Root, SubjectBitmaps] | None:
        existing = [root for root in roots if root[0] not in absent and search.defines(root[0].type, root[1])]
        steps = adjacency.find_subjects(search.types, search.build_conditions(), self._work, existing)
        found = await search.run(steps)
        undefined = dict.fromkeys({*roots}.difference(existing), _NO_BITMAPS)
        return None if found.has_given_up else {**undefined, **found.subjects}

    def _compare_each(
        self, both: Mapping[ObjectRelation, tuple[SubjectBitmaps, SubjectBitmaps]]
    ) -> Checkpoints[list[AccessChange]]:
        changes: list[AccessChange] = []
        for node, (before, after) in both.items():
            changes += yield from compare_bitmaps(node, before, after, self._adjacency, self._work)
        return changes

    def discard_entries(self) -> None:
        """Frees everything; nothing can be compared afterwards."""
        for adjacency in (self._adjacency_before, self._adjacency_after):
            adjacency.discard_all()
