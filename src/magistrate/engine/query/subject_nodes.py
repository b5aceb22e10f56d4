"""Holds what a search for subjects with bitmaps computes (see subject_sets.py): unions, combinations and their sets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap

from magistrate.engine.dismantling import Container, Linked
from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.graph.adjacency import AdjacencyKey
from magistrate.engine.graph.id_table import WILDCARD_NUMBER, IdTable
from magistrate.engine.graph.subject_adjacency import AdjacentSubjects
from magistrate.engine.query.plan_edges import PlanEdges
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.terms import ObjectRef, RelationName, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth


class SubjectSet:
    """Holds subjects of one type: those of `numbers`, or all others if it `is_complement`."""

    __slots__ = ("is_complement", "numbers")

    def __init__(self, numbers: BitMap, is_complement: bool = False) -> None:
        self.numbers = numbers
        self.is_complement = is_complement

    def __eq__(self, other: object) -> bool:
        mine = (self.is_complement, self.numbers)
        return isinstance(other, SubjectSet) and mine == (other.is_complement, other.numbers)

    __hash__ = None  # type: ignore[assignment]  # it is mutable, as bitmaps are

    def __contains__(self, number: int) -> bool:
        return (number in self.numbers) != self.is_complement

    def restrict(self, within: BitMap) -> BitMap:
        """Returns those of these subjects that it has."""
        return within - self.numbers if self.is_complement else within & self.numbers


class UnionNode(Linked):
    """Has what a plan on an object, and all that it leads to by alternatives, gives to subjects.

    `reached` has the numbers of the objects by plan, `direct` the subjects that warrants on these name, by their type:
    WILDCARD_NUMBER stands for all. `unions` are others whose subjects it has as well. With `counts_unknown` it has
    all subjects for which the plan is not FALSE, else those for which it is TRUE (see connected_graph.py). `set` is
    that of the type being solved."""

    __slots__ = ("counts_unknown", "direct", "operations", "pending", "reached", "set", "unions")

    def __init__(self, counts_unknown: bool) -> None:
        self.counts_unknown = counts_unknown
        self.reached: dict[Plan, BitMap] = {}
        self.pending: dict[Plan, BitMap] = {}
        self.direct: dict[TypeName, BitMap] = {}
        self.operations: dict[NodeOnObject, None] = {}
        self.unions: dict[UnionNode, None] = {}
        self.set = SubjectSet(BitMap())

    def dependencies(self) -> "Sequence[Node]":
        return [*self.operations, *self.unions]

    def count_dependencies(self) -> int:
        return len(self.operations) + len(self.unions)

    def unlink(self) -> Sequence[Container]:
        links: Sequence[Container] = (self.operations, self.unions, self.direct)
        self.operations, self.unions, self.direct = {}, {}, {}
        return links

    def compute(self, of_type: TypeName | None) -> SubjectSet:
        """Returns the subjects of a type, or of any type that no warrant names, from those of its parts."""
        direct = BitMap() if of_type is None else self.direct.get(of_type, BitMap())
        if WILDCARD_NUMBER in direct:
            return SubjectSet(BitMap(), is_complement=True)
        sets = [node.set for node in self.dependencies()]
        names = BitMap.union(direct, *(one.numbers for one in sets if not one.is_complement))
        lacking = [one.numbers for one in sets if one.is_complement]
        return SubjectSet(BitMap.intersection(*lacking) - names, True) if lacking else SubjectSet(names)


class OperationNode(Linked):
    """Has what a combination on an object gives to subjects. `plans` are its branches, in order, `branches` their
    nodes."""

    __slots__ = ("branches", "plans", "rule", "set")

    def __init__(self, rule: RuleOperator, plans: Sequence[Plan | Operation]) -> None:
        self.rule = rule
        self.plans = plans
        self.branches: list[Node] = []
        self.set = SubjectSet(BitMap())

    def dependencies(self) -> "Sequence[Node]":
        return self.branches

    def count_dependencies(self) -> int:
        return len(self.branches)

    def unlink(self) -> Sequence[Container]:
        branches, self.branches = self.branches, []
        return [branches]

    def compute(self, of_type: TypeName | None) -> SubjectSet:
        sets = [branch.set for branch in self.branches]
        within = BitMap.union(BitMap(), *(one.numbers for one in sets))
        holding = self.rule.combine_sets([one.restrict(within) for one in sets], within)
        others = self.rule.combine([TRUE if one.is_complement else FALSE for one in sets])
        return SubjectSet(within - holding, True) if others is TRUE else SubjectSet(holding)


class LeafNode:
    """Has what a leaf rule on an object gives to subjects; `find_set` returns them by their type."""

    __slots__ = ("_find_set", "plans", "set")

    def __init__(self, find_set: Callable[[TypeName | None], SubjectSet]) -> None:
        self._find_set = find_set
        self.plans: Sequence[Plan | Operation] = ()
        self.set = SubjectSet(BitMap())

    def dependencies(self) -> "Sequence[Node]":
        return ()

    def count_dependencies(self) -> int:
        return 0

    def compute(self, of_type: TypeName | None) -> SubjectSet:
        return self._find_set(of_type)


NodeOnObject = OperationNode | LeafNode
"""Represents an operation on one object."""

Node = UnionNode | NodeOnObject


@dataclass(slots=True)
class SolvedSubjects:
    """Holds the result of a search for the subjects that have `roots` on `object`, at one revision.

    `results` has the subjects of the roots, and `solved` those of combinations, by their type. Of results, a complement
    includes `*`. `entries` has all that was used of the adjacency by the number of the object, `condition_values` the
    values of all conditional warrants that were met, by number. Rows may differ from `valid_until` on. `itself` is the
    object if a rule made a row of it (`self`): unlike all other rows, it need not exist."""

    object: ObjectRef
    number: int
    roots: Mapping[RelationName, Plan]
    unions: Mapping[tuple[Plan, int, bool], UnionNode]
    operations: Mapping[tuple[Operation, int, bool], NodeOnObject]
    edges: Mapping[Plan, PlanEdges]
    entries: Mapping[AdjacencyKey, Mapping[int, AdjacentSubjects]]
    tables: Mapping[TypeName, IdTable]
    condition_values: Mapping[int, Truth]
    valid_until: int
    results: dict[tuple[TypeName, RelationName], SubjectSet] = field(default_factory=dict)
    solved: dict[TypeName, dict[NodeOnObject, SubjectSet]] = field(default_factory=dict)
    itself: ObjectRef | None = None

    def find_operation(self, operation: Operation, number: int) -> NodeOnObject:
        """Returns the node of a combination on an object that was reached."""
        key = (operation, number)
        return self.operations.get((*key, False)) or self.operations[*key, True]
