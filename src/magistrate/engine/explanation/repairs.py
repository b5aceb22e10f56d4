"""Collects which changes could give a node of a decided graph another value.

The changes are candidates only: a node may also hold for reasons that were never evaluated, and it is not known what a
new warrant expands to. So suggestions.py tries them. Every single change that could suffice is among them.

Each node gets a list of the smallest sets of changes that may suffice, computed from the lists of its children. In a
cycle, the lists are computed again until they no longer change; where a node has to be false, its children in the cycle
count as false until their lists are known.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from magistrate.engine.difference.influences import list_references
from magistrate.engine.evaluation.loops import EDGES_FOR_A_NODE
from magistrate.engine.evaluation.nodes import CheckEdge, CheckNode
from magistrate.engine.explanation.changes import (
    FIRST_CREATED,
    MAX_CHANGES,
    NO_CHANGE,
    Change,
    ChangeKind,
    ChangeOrder,
    ChangeSet,
    is_consistent,
)
from magistrate.engine.explanation.hypothetical_checks import HypotheticalCheck
from magistrate.engine.explanation.policy_values import find_assignments
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.rules.rule import Requirement
from magistrate.engine.steps import Checkpoints
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import NO_WARRANT, Warrant, WarrantNames, WarrantPattern
from magistrate.engine.work import Work

LinkKind = tuple[RelationName, TypeName]
"""Holds the relation of links on objects of one type, and the type of the objects that they reach."""
LinkTarget = tuple[TypeName, RelationName]
"""Holds that type, and the relation that a rule requires there."""

MAX_TARGETS = 50
"""Limits the targets to which new links are tried."""

Linkable = Mapping[LinkTarget, Sequence[ObjectId]]
"""Maps targets to the objects that a new link may reach."""
NO_LINKS: Linkable = {}


class FollowedLinks:
    """Holds the links of the object types that have been prepared."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._by_type: dict[TypeName, dict[LinkKind, dict[RelationName, None]]] = {}

    def prepare(self, of_type: TypeName, work: Work) -> Checkpoints[None]:
        """Reads the rules of a type, unless that was done before. Yields when the time slice is over."""
        if of_type in self._by_type:
            return
        kinds = self._by_type[of_type] = {}
        defined = self._model.types.get(of_type)
        waiting = [] if defined is None else [*defined.relations.values()]
        for rule in waiting:  # grows during the loop
            references = list_references(rule)
            for with_relation, target, relation in (*references.links, *references.quantified):
                kinds.setdefault((with_relation, target), {})[relation] = None
            waiting += rule.rules
            yield from work.checkpoint(1)

    def prepare_linked(self, of_type: TypeName, work: Work) -> Checkpoints[Set[TypeName]]:
        """Prepares a type with all that links and usersets reach from it, and returns those that links reach."""
        waiting, linked = [of_type], dict[TypeName, None]()
        for name in waiting:  # grows during the loop
            yield from self.prepare(name, work)
            linked.update((target, None) for _, target in self._by_type[name])
            defined = self._model.types.get(name)
            patterns = self._model.patterns_on(name, () if defined is None else defined.relations)
            work.hasten_checkpoint(len(patterns))
            reached = [pattern.subject_type for pattern in patterns if pattern.subject_relation]
            waiting += dict.fromkeys(name for name in (*linked, *reached) if name not in {*self._by_type, *waiting})
        return linked.keys()

    def follows(self, names: WarrantNames) -> bool:
        """Returns whether a rule follows warrants with these names. Their object type must have been prepared."""
        return (names.relation, names.subject_type) in self._by_type[names.object_type]

    def kind(self, names: WarrantNames, other: ChangeKind) -> ChangeKind:
        """Returns the kind of a change that creates a warrant with these names, which is another one for links."""
        return ChangeKind.CREATE_LINK if self.follows(names) else other

    def list_patterns(self) -> Set[WarrantPattern]:
        """Returns the patterns of the links that could be written on objects of the prepared types."""
        return {
            WarrantPattern(names)
            for of_type, kinds in self._by_type.items()
            for relation, target in kinds
            if self._model.allows(
                names := WarrantNames(
                    of_type, ObjectId(""), relation, target, subject_id=ObjectId(""), subject_relation=""
                )
            )
        }

    def list_targets(self) -> Sequence[LinkTarget]:
        """Returns the first relations that links from the prepared types reach, each once."""
        targets: dict[LinkTarget, None] = {}
        for kinds in self._by_type.values():
            for (_, target), relations in kinds.items():
                targets.update(((target, relation), None) for relation in relations)
        return [*targets][:MAX_TARGETS]


MAX_SETS = 12
"""Limits the sets that are kept for a node: somewhat more than are shown, because some turn out not to do."""
MAX_ROUNDS = 10
"""Limits how often all lists are made, for cycles that do not resolve."""
MAX_GOALS = 500
"""Limits the nodes that are examined, the nearest to the object first. Changes of others are seldom of use."""
Sets = list[ChangeSet]
Collecting = Generator[None, Any, Sets]


class _Goal(NamedTuple):
    """Represents that a node is to hold, or not to hold."""

    node: CheckNode
    holds: bool


class RepairCollector:
    """Collects the changes for the graph of one evaluation, which has one check and all rules. `is_cut` is set when
    more depends on the check than was examined."""

    def __init__(
        self,
        model: Model,
        decided: HypotheticalCheck,
        order: ChangeOrder,
        links: FollowedLinks,
        linkable: Linkable = NO_LINKS,
    ) -> None:
        self._links = links
        self._linkable = linkable
        self._model = model
        self._decided = decided
        self._now = decided.now
        self._evaluation = decided.evaluation
        self._order = order
        self._work = decided.evaluation.work
        self._sets: dict[_Goal, Sets] = {}
        self._of_policies: dict[tuple[int, bool], Sets] = {}
        self._usersets: set[CheckNode] = set()
        self._numbers: dict[PolicyName, int] = {}
        self.is_cut = False

    def collect(self, work: Work) -> Collecting:
        """Returns the smallest sets of changes that could make the root hold. Yields when the time slice is over.
        Raises BudgetExceeded."""
        self._work = work
        goals = yield from self._list_goals(_Goal(self._decided.root, True))
        for of_type in {goal.node.plan.type: None for goal in goals}:
            yield from self._links.prepare(of_type, work)
        yield from self._note_changes(goals)
        for _ in range(MAX_ROUNDS):
            is_stable = True
            for goal in reversed(goals):
                sets = self._combine(goal)
                is_stable = is_stable and sets == self._sets[goal]
                self._sets[goal] = sets
                yield from self._work.charge(1 + len(goal.node.edges) // EDGES_FOR_A_NODE)
            if is_stable:
                break
        return self._sets[goals[0]]

    def _list_goals(self, first: _Goal) -> Generator[None, Any, list[_Goal]]:
        """Returns what the first goal depends on, the nearest first."""
        goals = [first]
        self._sets[first] = []
        for goal in goals:  # grows during the loop
            for edge in goal.node.edges:
                if edge.warrant is not None and edge.warrant.subject_relation == edge.child.relation:
                    self._usersets.add(edge.child)
                for child in self._child_goals(goal, edge):
                    if child in self._sets:
                        continue
                    if len(goals) == MAX_GOALS:
                        self.is_cut = True
                    else:
                        self._sets[child] = [] if child.holds else [NO_CHANGE]
                        goals.append(child)
            yield from self._work.charge(1 + len(goal.node.edges) // EDGES_FOR_A_NODE)
        return goals

    def _child_goals(self, goal: _Goal, edge: CheckEdge) -> Sequence[_Goal]:
        """Returns what a goal may need of a child."""
        if _is_met(goal):
            return ()
        plan = goal.node.plan
        if isinstance(plan, Operation) and plan.links:
            return [_Goal(edge.child, goal.holds)]
        if isinstance(plan, Operation):
            requirements = plan.rule.require(goal.holds, len(goal.node.edges))
            needed = {
                True: any(requirement.holding for requirement in requirements),
                False: any(requirement.failing for requirement in requirements),
            }
            return [_Goal(edge.child, holds) for holds, is_needed in needed.items() if is_needed]
        if not goal.holds and (edge.limit is FALSE or edge.child.value in (FALSE, None)):
            return ()
        return [_Goal(edge.child, goal.holds)]

    def _note_changes(self, goals: Iterable[_Goal]) -> Generator[None, Any, None]:
        """Fixes the order of all changes, the nearest goals first."""
        for goal in goals:
            plan = goal.node.plan
            condition = None if _is_met(goal) else self._find_condition(plan)
            if condition is not None:
                yield from self._note_values(condition, goal.holds)
            if _is_met(goal) or (isinstance(plan, Operation) and not plan.links):
                continue
            value = TRUE if goal.holds else FALSE
            edges = [(edge.warrant, edge.limit) for edge in goal.node.edges if edge.warrant is not None]
            warrants = [*self._evaluation.find_direct(goal.node), *edges]
            if goal.holds:
                self._note_renewals(warrant for warrant, _ in warrants)
                self._note_creations(goal.node)
            ends_links = isinstance(plan, Operation)
            for warrant, limit in warrants:
                if (ends_links or not goal.holds) and limit is not FALSE:
                    kind = ChangeKind.DELETE_LINK if self._links.follows(warrant.names) else ChangeKind.DELETE
                    self._order.note(Change.delete(warrant), kind)
                if warrant.policy and value not in (limit, self._evaluation.policy_value(warrant)):
                    yield from self._note_values(warrant, goal.holds)
                if ends_links and warrant.policy and limit is not (FALSE if goal.holds else TRUE):
                    yield from self._note_values(warrant, not goal.holds)
            yield from self._work.charge(1)

    def _note_creations(self, node: CheckNode) -> None:
        for relation in self._creatable(node, node.plan) if isinstance(node.plan, Plan) else ():
            self._order.note(self._create(node, relation), self._kind(node, relation))
        for link in self._list_new_links(node):
            self._order.note(link, ChangeKind.CREATE_LINK)

    def _note_renewals(self, warrants: Iterable[Warrant]) -> None:
        for warrant in warrants:
            if self._is_renewable(warrant):
                self._note_renewal(warrant)

    def _note_renewal(self, warrant: Warrant) -> Change:
        return self._order.note_renewal(warrant, self._links.kind(warrant.names, ChangeKind.RENEW))

    def _is_renewable(self, warrant: Warrant) -> bool:
        """Returns whether a warrant does not count because of its time limits, and could be created again."""
        return not warrant.is_in_force(self._now) and self._model.allows(warrant.names)

    def _note_values(self, warrant: Warrant, holds: bool) -> Generator[None, Any, None]:
        """Finds the values of variables with which the policy of a warrant holds, or does not."""
        key = (warrant.number, holds)
        if key not in self._of_policies:
            context = self._decided.check.context
            assignments = yield from find_assignments(
                warrant, context, self._now, holds, work=self._work, named=self._model.policies
            )
            self._of_policies[key] = [
                frozenset(
                    self._order.note(Change.set_variable(*variable), ChangeKind.SET_VARIABLE)
                    for variable in assignment.items()
                )
                for assignment in assignments
            ]

    def _creatable(self, node: CheckNode, plan: Plan) -> list[RelationName]:
        """Returns the relations that a warrant may have to grant that of the plan, its own first."""
        return [relation for relation in plan.relations if self._model.allows(self._names(node, relation))]

    def _names(self, node: CheckNode, relation: RelationName) -> WarrantNames:
        return self._decided.names_on(node, relation)

    def _create(self, node: CheckNode, relation: RelationName) -> Change:
        """Returns the change that gives the relation to the subject itself."""
        return Change(self._names(node, relation))

    def _kind(self, node: CheckNode, relation: RelationName) -> ChangeKind:
        other = ChangeKind.ADD_TO_USERSET if node in self._usersets else ChangeKind.CREATE
        if overrides(node.plan, relation):
            other = ChangeKind.OVERRIDE
        return self._links.kind(self._names(node, relation), other)

    def _list_new_links(self, node: CheckNode) -> Iterator[Change]:
        """Yields the changes that link the object of a node to another one, so that an arrow or a quantifier leads
        there."""
        for link in node.plan.links if node.id != WILDCARD else ():
            for target_id in self._linkable.get((link.of_type, link.relation), ()):
                names = WarrantNames(
                    node.plan.type, node.id, link.with_relation, link.of_type, subject_id=target_id, subject_relation=""
                )
                if self._model.allows(names):
                    yield Change(names)

    def _combine(self, goal: _Goal) -> Sets:
        """Returns the sets for a goal, given those of what it needs."""
        if _is_met(goal):
            return [NO_CHANGE]
        node, plan = goal.node, goal.node.plan
        if isinstance(plan, Operation) and plan.links:
            return self._quantify(node, goal.holds)
        condition = self._find_condition(plan)
        if condition is not None:
            return self._of_policies.get((condition.number, goal.holds), [])
        if isinstance(plan, Operation):
            each = [self._meet(requirement, node) for requirement in plan.rule.require(goal.holds, len(node.edges))]
            return each[0] if len(each) == 1 else self._keep_smallest(chain.from_iterable(each))
        return self._allow(node, plan) if goal.holds else self._exclude(node, plan)

    def _find_condition(self, plan: Plan | Operation) -> Warrant | None:
        """Returns the named policy of a rule as a warrant with this policy, or None."""
        leaf = plan.rule.leaf if isinstance(plan, Operation) else None
        named = None if leaf is None or leaf.policy is None else self._model.policies.get(leaf.policy)
        if named is None:
            return None
        number = self._numbers.setdefault(named.name, -1 - len(self._numbers))
        return replace(NO_WARRANT, policy=named.expression, number=number)

    def _quantify(self, node: CheckNode, holds: bool) -> Sets:
        """Returns the sets for a quantifier: it holds if every link reaches where the relation holds, or ends. It does
        not if one leads elsewhere, or all end."""
        sets, ended, excluded = [NO_CHANGE] if node.edges else [], [NO_CHANGE], Sets()
        for edge in node.edges:
            assert edge.warrant is not None
            ending = self._ending(edge.warrant, edge.limit)
            granting = self._find(edge.child, True)
            sets = self._both(sets, self._keep_smallest([*granting, *ending]))
            certain = self._policy_sets(edge.warrant, edge.limit, TRUE)
            excluded += self._both(self._find(edge.child, False), certain)
            ended = self._both(ended, ending)
        if not holds:
            return self._keep_smallest([*excluded, *ended])
        linked: Sets = [] if node.edges else [frozenset((link,)) for link in self._list_new_links(node)]
        return self._keep_smallest([*sets, *linked]) if linked else sets

    def _find(self, node: CheckNode, holds: bool) -> Sets:
        """Returns the sets for a goal; none for one that is not examined, and perhaps was never evaluated."""
        goal = _Goal(node, holds)
        return [NO_CHANGE] if _is_met(goal) else self._sets.get(goal, [])

    def _allow(self, node: CheckNode, plan: Plan) -> Sets:
        """Returns the sets that make a relation hold: any of its branches is enough."""
        sets: Sets = [frozenset((self._create(node, relation),)) for relation in self._creatable(node, plan)]
        sets += [frozenset((link,)) for link in self._list_new_links(node)]
        for warrant, value in self._evaluation.find_direct(node):
            sets += self._counting(warrant, value)
        for edge in node.edges:
            inner = self._find(edge.child, True)
            if inner and edge.limit is not TRUE and edge.warrant is not None:
                inner = self._both(inner, self._counting(edge.warrant, edge.limit))
            sets += inner
        return self._keep_smallest(sets)

    def _exclude(self, node: CheckNode, plan: Plan) -> Sets:
        """Returns the sets that make a relation not hold: every branch that may hold has to end."""
        if not plan.is_defined:
            return []
        sets: Sets = [NO_CHANGE]
        for warrant, value in self._evaluation.find_direct(node):
            if value is not FALSE:
                sets = self._both(sets, self._ending(warrant, value))
        for edge in node.edges:
            if edge.limit is FALSE or edge.child.value in (FALSE, None):
                continue
            inner = self._find(edge.child, False)
            if edge.warrant is not None:
                inner = self._keep_smallest([*self._ending(edge.warrant, edge.limit), *inner])
            sets = self._both(sets, inner)
        return sets

    def _counting(self, warrant: Warrant, value: Truth) -> Sets:
        """Returns the sets after which a warrant counts."""
        if warrant.is_in_force(self._now):
            return self._policy_sets(warrant, value, TRUE)
        if not self._is_renewable(warrant):
            return []
        renewed: Sets = [frozenset((self._note_renewal(warrant),))]
        return self._both(renewed, self._policy_sets(warrant, self._evaluation.policy_value(warrant), TRUE))

    def _ending(self, warrant: Warrant, value: Truth) -> Sets:
        """Returns the sets after which a warrant does not count."""
        deleted = [frozenset((Change.delete(warrant),))] if warrant.number < FIRST_CREATED else []
        return [*deleted, *self._policy_sets(warrant, value, FALSE)]

    def _policy_sets(self, warrant: Warrant, value: Truth, result: Truth) -> Sets:
        if value is result:
            return [NO_CHANGE]
        return self._of_policies.get((warrant.number, result is TRUE), [])

    def _meet(self, requirement: Requirement, node: CheckNode) -> Sets:
        """Returns the sets after which as many children hold, and as many others do not, as the requirement says."""
        by_count: dict[Requirement, Sets] = {Requirement(0, 0): [NO_CHANGE]}
        for place, edge in enumerate(node.edges):
            holding = self._find(edge.child, True) if requirement.holding else []
            failing = self._find(edge.child, False) if requirement.failing else []
            for met in _count_met(requirement, place + 1, len(node.edges)):
                sets = [*by_count.get(met, ())]
                if met.holding:
                    sets += self._both(by_count.get(met._replace(holding=met.holding - 1), []), holding)
                if met.failing:
                    sets += self._both(by_count.get(met._replace(failing=met.failing - 1), []), failing)
                by_count[met] = self._keep_smallest(sets)
        return by_count.get(requirement, [])

    def _both(self, sets: Sets, other: Sets) -> Sets:
        if other == [NO_CHANGE]:
            return sets
        unions = (first | second for first in sets for second in other)
        return self._keep_smallest(union for union in unions if is_consistent(union))

    def _keep_smallest(self, sets: Iterable[ChangeSet]) -> Sets:
        """Returns the first sets in order, without those that contain another one."""
        distinct = {changes for changes in sets if len(changes) <= MAX_CHANGES}
        self._work.spend(len(distinct))
        kept: Sets = []
        for changes in sorted(distinct, key=self._order.key):
            if not any(smaller <= changes for smaller in kept):
                kept.append(changes)
            if len(kept) == MAX_SETS:
                break
        return kept


def overrides(plan: Plan | Operation, relation: RelationName) -> bool:
    """Returns whether a warrant of a relation grants that of the plan past a combination."""
    return (
        isinstance(plan, Plan)
        and relation == plan.relation
        and any(isinstance(branch, Operation) for branch in plan.branches)
    )


def _count_met(requirement: Requirement, examined: int, count: int) -> Iterator[Requirement]:
    """Yields what may have been met by the last of so many examined children, of `count`, the most first: the others
    can still meet the rest."""
    least = requirement.holding + requirement.failing - (count - examined)
    for holding in range(min(requirement.holding, examined), -1, -1):
        for failing in range(min(requirement.failing, examined - holding), -1, -1):
            if holding + failing >= max(1, least):
                yield Requirement(holding, failing)


def _is_met(goal: _Goal) -> bool:
    return goal.node.value is (TRUE if goal.holds else FALSE)
