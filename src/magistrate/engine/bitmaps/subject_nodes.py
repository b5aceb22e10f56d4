"""Holds what a search for subjects with bitmaps computes (see subject_sets.py): unions, combinations and their sets."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import UnknownAs
from magistrate.engine.cache.adjacency import AdjacencyKey, read_key
from magistrate.engine.cache.ids import WILDCARD_NUMBER, IdTable
from magistrate.engine.cache.subject_adjacency import AdjacentSubjects
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.steps import Checkpoints, prepare_plans
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.work import ITEMS_FOR_A_NODE, Container, Linked, Work


class SubjectEdge(NamedTuple):
    """Represents that warrants of this key on an object give the subjects they name what the plan grants there, or with
    a `target` those that have it on the named objects.

    `position` is that among the alternatives of the plan. With `is_reported`, the warrant itself is reported for them;
    of an arrow it is what the target reports. `is_explicit`: see Explicit.
    """

    key: AdjacencyKey
    target: Plan | None
    position: int
    is_reported: bool
    is_explicit: bool
    names_any_object: bool


@dataclass(frozen=True, slots=True, eq=False)
class PlanEdges:
    """Holds what one plan expands to. `direct` has the edges without a target; `same` the plans and operations on the
    same object, each with its position."""

    direct: Sequence[SubjectEdge]
    followed: Sequence[SubjectEdge]
    same: Sequence[tuple[int, Plan | Operation]]


def list_edges(model: Model, plan: Plan, work: Work) -> Checkpoints[PlanEdges]:
    """Returns what a plan of the model expands to, with all following plans compiled."""
    while not model.prepare_following(plan, work):
        yield None
    direct: dict[tuple[AdjacencyKey, int], SubjectEdge] = {}
    followed: dict[tuple[AdjacencyKey, Plan, int], SubjectEdge] = {}
    for pattern in model.patterns_to_subjects(plan):
        key, position = read_key(pattern), plan.positions[pattern.relation]
        former = direct.get((key, position))
        any_object = pattern.object_id == WILDCARD or (former is not None and former.names_any_object)
        is_own = pattern.relation == plan.relation
        direct[key, position] = SubjectEdge(key, None, position, True, is_explicit=is_own, names_any_object=any_object)
    for pattern, branch in model.expand_patterns(plan):
        yield from prepare_plans(model, [branch.target(pattern)], work)
        key, position, target = read_key(pattern), branch.position(plan, pattern), model.plan(*branch.target(pattern))
        edge = followed.get((key, target, position))
        any_object = pattern.object_id == WILDCARD or (edge is not None and edge.names_any_object)
        is_own = branch.is_explicit and pattern.relation == plan.relation
        followed[key, target, position] = SubjectEdge(
            key, target, position, branch.is_explicit, is_explicit=is_own, names_any_object=any_object
        )
        yield from work.charge(1)
    same = [(plan.positions[branch], model.branch(plan.type, branch)) for branch in plan.branches]
    return PlanEdges([*direct.values()], [*followed.values()], same)


def list_dependents(edges: Mapping[Plan, PlanEdges], work: Work) -> Checkpoints[Mapping[Plan, Sequence[Plan]]]:
    """Returns the plans that each plan gives its subjects to. With them, a change is propagated without looking at all
    plans, which would take quadratic time in a chain."""
    dependents: dict[Plan, list[Plan]] = defaultdict(list)
    for plan, plan_edges in edges.items():
        targets = [edge.target for edge in plan_edges.followed] + [branch for _, branch in plan_edges.same]
        for target in targets:
            if isinstance(target, Plan):
                dependents[target].append(plan)
        yield from work.charge(1 + len(targets) // ITEMS_FOR_A_NODE)
    return dependents


@dataclass(slots=True)
class SubjectSet:
    """Holds subjects of one type: those of `numbers`, or all others if it `is_complement`."""

    numbers: BitMap
    is_complement: bool = False

    def __contains__(self, number: int) -> bool:
        return (number in self.numbers) != self.is_complement

    def restrict(self, within: BitMap) -> BitMap:
        """Returns those of these subjects that it has."""
        return within - self.numbers if self.is_complement else within & self.numbers


_REPORTED_FIRST = (UnknownAs.FALSE, UnknownAs.NOTHING, UnknownAs.TRUE)
"""Has the kinds of nodes in the order in which one is taken for a report: nothing is reported below an exclusion."""


class UnionNode(Linked):
    """Has what a plan on an object, and all that it reaches by alternatives, gives to subjects.

    `reached` has the numbers of the objects by plan, `direct` the subjects that warrants on these name, by their type:
    WILDCARD_NUMBER stands for all. `unions` are others whose subjects it has as well. `unknown_as` is that of its
    set (see connected_graph.py), and `set` that of the type being solved."""

    __slots__ = ("direct", "operations", "pending", "reached", "set", "unions", "unknown_as")

    def __init__(self, unknown_as: UnknownAs) -> None:
        self.unknown_as = unknown_as
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
        names = BitMap.union(direct, *(operand.numbers for operand in sets if not operand.is_complement))
        lacking = [operand.numbers for operand in sets if operand.is_complement]
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
        within = BitMap.union(BitMap(), *(operand.numbers for operand in sets))
        holding = self.rule.combine_sets([operand.restrict(within) for operand in sets], within)
        others = self.rule.combine([TRUE if operand.is_complement else FALSE for operand in sets])
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
    unions: Mapping[tuple[Plan, int, UnknownAs], UnionNode]
    operations: Mapping[tuple[Operation, int, UnknownAs], NodeOnObject]
    edges: Mapping[Plan, PlanEdges]
    entries: Mapping[AdjacencyKey, Mapping[int, AdjacentSubjects]]
    tables: Mapping[TypeName, IdTable]
    condition_values: Mapping[int, Truth]
    valid_until: int
    results: dict[tuple[TypeName, RelationName], SubjectSet] = field(default_factory=dict)
    solved: dict[TypeName, dict[NodeOnObject, SubjectSet]] = field(default_factory=dict)
    itself: ObjectRef | None = None

    def list_complements(self) -> Sequence[TypeName]:
        """Returns the types of which all existing objects may be rows."""
        return [*dict.fromkeys(of_type for (of_type, _), result in self.results.items() if result.is_complement)]

    def find_operation(self, operation: Operation, number: int) -> NodeOnObject:
        """Returns the node of a combination on an object that was reached."""
        keys = ((operation, number, unknown_as) for unknown_as in _REPORTED_FIRST)
        return next(self.operations[key] for key in keys if key in self.operations)
