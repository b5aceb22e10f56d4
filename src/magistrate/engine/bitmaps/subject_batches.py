"""Finds the subjects of many relations on objects with bitmaps, where these share most of what they reach.

Each relation on a group or linked object has a union of its own, which is solved once and kept: the viewers of a folder
are found once for all of its documents. For a single object, one union for all that it reaches takes less time
(subject_sets.py).

It finds access without a condition. Where a policy has no value, because it reads the context or fails, nothing is
computed: such access is conditional."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice

from pyroaring import BitMap

from magistrate.engine.bitmaps.subject_nodes import (
    LeafNode,
    Node,
    NodeOnObject,
    PlanEdges,
    SubjectEdge,
    SubjectSet,
    UnionNode,
)
from magistrate.engine.bitmaps.subject_sets import SubjectSetSearch
from magistrate.engine.cache.adjacency_reads import SubjectFetch
from magistrate.engine.cache.ids import WILDCARD_NUMBER
from magistrate.engine.cache.subject_adjacency import SubjectIndex
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.subjects import Root
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import TypeName
from magistrate.engine.rules.rule import LeafRule
from magistrate.engine.steps import Checkpoints, Steps, discard
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import UNKNOWN, Truth
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_FOR_A_NODE, Container, Work

MAX_NODES = 20_000
"""Limits the unions and combinations that are kept."""
MAX_NUMBERS = 5_000_000
"""Limits the numbers in the sets that are kept: they take 10 to 20 MB."""
COMPONENTS_AT_ONCE = 100
"""Counts the groups of nodes that are solved before their numbers are added up."""
MAX_UNITED = 5_000
"""Limits the unions that one union has the subjects of."""

SubjectBitmaps = Mapping[TypeName, BitMap]
"""Holds the subjects of a relation by their type: those that warrants name, and the object itself if a rule names it
(`self`)."""


class SubjectBitmapSearch(SubjectSetSearch):
    """Finds the subjects of one batch of relations on objects after another, all at one revision. After one that
    cannot be computed, or exceeds the budget, it must not be used again."""

    _max_nodes = MAX_NODES

    def __init__(
        self,
        model: Model,
        known_edges: dict[Plan, PlanEdges],
        fetch: SubjectFetch,
        types: Sequence[TypeName],
        conditions: PolicyEvaluator,
        work: Work,
    ) -> None:
        super().__init__(model, known_edges, fetch, types, conditions=conditions, work=work)
        self._solved: dict[TypeName | None, dict[Node, SubjectSet]] = {None: {}}
        """Has the set of each node by type. A node without one has the same set as under None."""
        self._numbers = 0
        self._solved_unions = self._solved_operations = 0

    @property
    def is_half_full(self) -> bool:
        """Returns whether the nodes and sets that are kept have reached half of their limits."""
        return 2 * len(self._solved[None]) > self._max_nodes or 2 * self._numbers > MAX_NUMBERS

    def find_each(self, roots: Sequence[Root]) -> Steps[Mapping[Root, SubjectBitmaps] | None]:
        """Returns the subjects of each of these relations on objects, except of those that give access to subjects
        which no warrant names, by a warrant to `*` or an exclusion. Returns None if one of them cannot be computed.
        Raises BudgetExceeded."""
        unions: dict[Root, UnionNode] = {}
        for root in roots:
            _, unions[root] = yield from self._begin(*root)
        yield from self._reach_all()
        yield from self._discard_entries()
        if self._is_computable:
            yield from self._solve_new()
        if not self._is_computable:
            return None
        bitmaps: dict[Root, SubjectBitmaps] = {}
        for root, union in unions.items():
            sets = {of_type: solved[union] for of_type, solved in self._solved.items() if union in solved}
            if not any(subject_set.is_complement for subject_set in sets.values()):
                bitmaps[root] = {
                    of_type: subject_set.numbers for of_type, subject_set in sets.items() if of_type is not None
                }
        return bitmaps

    @property
    def remains(self) -> Sequence[Container]:
        """Returns what holds everything that was found, to be freed when the search is not used any more."""
        return [self._unions, self._operations, *self._solved.values()]

    def _follow(self, union: UnionNode, edge: SubjectEdge, numbers: BitMap) -> Checkpoints[None]:
        if len(numbers) == 1 and not edge.names_any_object:
            entries = self._fetch.subject_adjacency.index(edge.key).entries
            if numbers.min() in entries.absent.young:  # like most of them
                yield from self._work.charge(1)
                return
        yield from super()._follow(union, edge, numbers)

    def _reach(self, union: UnionNode, target: Plan, numbers: BitMap) -> Checkpoints[None]:
        if WILDCARD_NUMBER in numbers or len(union.unions) + len(numbers) > MAX_UNITED:
            self._is_computable = False
            return
        self._work.spend(len(numbers) // ITEMS_FOR_A_NODE)
        for number in numbers:
            union.unions[self._union(target, number, union.unknown_as)] = None
            yield from self._work.checkpoint()
            if not self._is_computable:
                return

    def _evaluate(self, union: UnionNode, index: SubjectIndex, warrants: Sequence[Warrant]) -> Checkpoints[BitMap]:
        numbers = yield from super()._evaluate(union, index, warrants)
        if any(self._conditions.value(warrant) is UNKNOWN for warrant in warrants):
            self._is_computable = False
        return numbers

    def _find_leaf_set(
        self, leaf: LeafRule, obj: ObjectRef, includes: Callable[[Truth], bool], of_type: TypeName | None
    ) -> SubjectSet:
        default, _ = leaf.list_subjects(obj.type, obj.id, of_type, self._conditions)
        if default is UNKNOWN:
            self._is_computable = False
        return super()._find_leaf_set(leaf, obj, includes, of_type)

    def _discard_entries(self) -> Checkpoints[None]:
        """Frees the entries that were looked up; later batches find them in the cache, as far as its capacity
        allows."""
        entries, self._known = self._known, defaultdict(dict)
        yield from discard([*entries.values()], self._work)

    def _solve_new(self) -> Checkpoints[None]:
        """Computes the sets of the nodes that were added since the last batch."""
        unions = [*islice(self._unions.values(), self._solved_unions, None)]
        operations = [*islice(self._operations.values(), self._solved_operations, None)]
        self._solved_unions, self._solved_operations = len(self._unions), len(self._operations)
        unnamed = self._solved[None]

        def list_new(node: Node) -> Sequence[Node]:
            self._work.hasten_checkpoint(node.count_dependencies() // ITEMS_FOR_A_NODE)
            return [dependency for dependency in node.dependencies() if dependency not in unnamed]

        components = yield from self._find_components([*unions, *operations], list_new)
        if components is None:
            self._is_computable = False
            return
        earlier = yield from self._list_known(components)
        for of_type in (None, *self._list_types(unions, operations)):
            solved = self._solved.setdefault(of_type, {})
            for node in earlier:
                node.set = solved.get(node) or unnamed[node]
                yield from self._work.checkpoint()
            for start in range(0, len(components), COMPONENTS_AT_ONCE):
                some = components[start : start + COMPONENTS_AT_ONCE]
                yield from self._solve_components(some, of_type)
                if not self._is_computable:
                    return
                for node in chain.from_iterable(some):
                    solved[node] = node.set
                    self._numbers += len(node.set.numbers)
                self._is_computable = self._numbers <= MAX_NUMBERS

    def _list_known(self, components: Iterable[Sequence[Node]]) -> Checkpoints[Iterable[Node]]:
        """Returns the nodes of earlier batches on which nodes of these components depend."""
        earlier: dict[Node, None] = {}
        for node in chain.from_iterable(components):
            needed = node.dependencies()
            earlier.update((dependency, None) for dependency in needed if dependency in self._solved[None])
            yield from self._work.checkpoint(1 + len(needed) // ITEMS_FOR_A_NODE)
        return earlier

    def _list_types(self, unions: Sequence[UnionNode], operations: Sequence[NodeOnObject]) -> Sequence[TypeName]:
        """Returns the types that have to be solved by themselves: the others have the sets of subjects that no warrant
        names."""
        if any(isinstance(node, LeafNode) for node in operations):
            return self._types
        direct = {of_type for union in unions for of_type in union.direct}
        return [of_type for of_type in self._types if of_type in direct or of_type in self._solved]
