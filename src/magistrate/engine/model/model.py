"""Compiles what a check has to read, once for each relation instead of at every check.

A relation holds on an object when a warrant grants it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened: if viewer inherits editor and editor inherits owner, then *viewer* is one plan that has the
warrants of all three. What is left are links to other objects, combinations that must be decided as a whole, and
relations that are too large to be inlined (see `_Flattening`).

Compilation is done in steps, so that it can be charged like other work and interrupted: see `Model.prepare`.

Two kinds of branches are left out because they add nothing: those that match no warrant pattern, and a link whose
subjects another link includes. If every editor is a viewer, the editors of a folder need not be read where its viewers
are.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from magistrate.engine.model.object_types import ObjectType, allows_subject
from magistrate.engine.model.plans import ArrowExpansion, Branch, Expansion, Operation, Plan, UsersetExpansion
from magistrate.engine.names import PolicyName, RelationName, Revision, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.rules.rule import Combined, LinkNames, Rule
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.reader import WarrantsByObject, build_request
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, WarrantPattern
from magistrate.engine.work import WARRANTS_BETWEEN_CHECKPOINTS, WARRANTS_FOR_A_NODE, Work, complete

T = TypeVar("T")

MAX_WRITTEN_OUT = 32
"""Limits the inlined rules of other relations, nested ones included. Models written by people stay below it."""

Compiling = Generator[int, None, T]
"""Yields the work done since the last yield: 1 for examining a rule or a name."""


FlatBranch = RelationName | LinkNames | Combined
"""Represents how a rule can hold: by a relation or combination on the same object, or by a relation on a linked one."""


class FlatBranches(NamedTuple):
    """Holds the branches of a relation in written order, each once.

    `whole` has those relations among them whose rules are not inlined although they have some.
    """

    flat_branches: list[FlatBranch]
    whole: Set[RelationName]


class _CollectedBranches:
    """Collects the alternatives that one rule adds."""

    __slots__ = ("flat_branches", "rules")

    def __init__(self) -> None:
        self.flat_branches: list[FlatBranch] = []
        self.rules: list[Rule] = []

    def add_relation(self, relation: RelationName) -> None:
        self.flat_branches.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.flat_branches.append(LinkNames(with_relation, of_type, relation))

    def add_operation(self, rule: Combined) -> None:
        self.flat_branches.append(rule)

    def add_rules(self, rules: Sequence[Rule]) -> None:
        self.rules += rules


class _Flattening:
    """Holds the ways found so far, and the rules and names that remain to be examined.

    Names that have `rules` are inlined while there is `capacity`.
    """

    def __init__(self, rules: Mapping[RelationName, Rule], capacity: int) -> None:
        self._rules = rules
        self._capacity = capacity
        self.flat_branches: dict[FlatBranch, None] = {}
        self.whole: set[RelationName] = set()
        self.waiting: list[RelationName | Rule] = []

    def steps(self) -> Compiling[None]:
        while self.waiting:
            name_or_rule = self.waiting.pop()
            if not isinstance(name_or_rule, str):
                self._add_rule(name_or_rule)
            elif name_or_rule not in self.flat_branches:
                self._add_name(name_or_rule)
            yield 1

    def _add_name(self, name: RelationName) -> None:
        self.flat_branches[name] = None
        rule = self._rules.get(name)
        if rule is None:
            return
        if rule.size > self._capacity:
            self.whole.add(name)
        else:
            self._capacity -= rule.size
            self.waiting.append(rule)

    def _add_rule(self, rule: Rule) -> None:
        collected = _CollectedBranches()
        rule.join(collected)
        for flat_branch in collected.flat_branches:
            if isinstance(flat_branch, str):
                self.waiting.append(flat_branch)
            else:
                self.flat_branches[flat_branch] = None
        self.waiting += reversed(collected.rules)


def flatten_relation(relation: RelationName, rules: Mapping[RelationName, Rule]) -> Compiling[FlatBranches]:
    """Returns the branches of a relation of a type with these rules.

    The relation itself comes first; its own rule is inlined whatever its length.
    """
    flattening = _Flattening(rules, MAX_WRITTEN_OUT)
    flattening.flat_branches[relation] = None
    if relation in rules:
        flattening.waiting.append(rules[relation])
    yield from flattening.steps()
    return FlatBranches([*flattening.flat_branches], flattening.whole)


def flatten_rule(rule: Rule) -> Compiling[list[FlatBranch]]:
    """Returns the ways in which one rule can hold; the relations it names are not inlined."""
    flattening = _Flattening({}, 0)
    flattening.waiting.append(rule)
    yield from flattening.steps()
    return [*flattening.flat_branches]


STEPS_FOR_A_NODE = 2
"""Counts the rules or names whose compilation takes as long as one node."""
STEPS_FOR_A_PLAN = 12
"""Counts the steps that creating a plan or an operation takes once its contents are known."""

MAX_UNUSED_PLANS = 1_000
"""Limits the cached plans of relations that are neither defined nor used by any warrant."""
MAX_EXTENDED_MODELS = 16
"""Limits the models with further patterns that are kept for one model."""


class Model:
    """Holds all object types as of one revision, and every warrant pattern that occurred; immutable.

    `revision` is the last one that changed any of these. `patterns` are those that the types allow; warrants of the
    others, `orphaned`, do not count. With `has_all_arrows`, plans keep the links that another link includes.
    """

    def __init__(
        self,
        types: Mapping[TypeName, ObjectType],
        revision: Revision,
        patterns: Set[WarrantPattern],
        has_all_arrows: bool = False,
        policies: Mapping[PolicyName, NamedPolicy] = MappingProxyType({}),
    ) -> None:
        self.types = types
        self.policies = policies
        self.has_all_arrows = has_all_arrows
        self.revision = revision
        self.orphaned = frozenset(pattern for pattern in patterns if not allows_subject(types, pattern))
        self.patterns = patterns - self.orphaned if self.orphaned else patterns
        self._patterns: dict[tuple[str, str], list[WarrantPattern]] = defaultdict(list)
        for pattern in sorted(self.patterns):
            self._patterns[pattern.object_type, pattern.relation].append(pattern)
        self.plans: dict[tuple[str, str], Plan] = {}
        self._unused_plans: OrderedDict[tuple[str, str], Plan] = OrderedDict()
        self._compiling: dict[tuple[str, str], Compiling[Plan]] = {}
        """Holds compilations that were interrupted at the end of a time slice; only of relations that are known."""
        self._followed: set[Plan | Operation] = set()
        """Holds the plans and operations that are compiled with all they reach, except by groups."""
        self._included: dict[tuple[str, str], Set[str]] = {}
        self._origin: Model | None = None
        """Is the model that shares its plans, which lives as long as this one."""
        self._without_rules: Model | None = None
        self._with_all_arrows: Model | None = None
        self._extended: dict[Set[WarrantPattern], Model] = {}

    @cached_property
    def actions(self) -> Mapping[tuple[TypeName, str], RelationName]:
        """Returns the relations that names of actions stand for, by type and name."""
        return {
            (of_type.name, name): relation
            for of_type in self.types.values()
            for name, relation in of_type.actions.items()
        }

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Returns the plan of a relation, compiling it when it is first needed.

        For a relation that is defined or that a warrant had, this is always the same plan. The plans of other relations
        lead nowhere and are cached up to a limit only, because callers may name any number of them.
        """
        key = (of_type, relation)
        plan = self.plans.get(key) or self._find_unused_plan(key)
        if plan is None:
            plan = complete(self._compiling.get(key) or self._compile(of_type, relation))
            self._compiling.pop(key, None)
        return plan

    def _find_unused_plan(self, key: tuple[TypeName, RelationName]) -> Plan | None:
        plan = self._unused_plans.get(key)
        if plan is not None:
            self._unused_plans.move_to_end(key)
        return plan

    def prepare(self, of_type: TypeName, relation: RelationName, work: Work) -> bool:
        """Compiles a plan until the time slice is over, continuing where it stopped, and returns whether it is
        complete. `plan` takes no time afterwards. Raises BudgetExceeded."""
        key = (of_type, relation)
        if key in self.plans or not self.knows(of_type, relation):
            return True
        compiling = self._compiling.setdefault(key, self._compile(of_type, relation))
        steps = 0
        for more in compiling:
            steps += more
            if steps >= STEPS_FOR_A_NODE:
                work.spend(steps // STEPS_FOR_A_NODE)
                steps %= STEPS_FOR_A_NODE
                if work.needs_checkpoint:
                    return False
        del self._compiling[key]
        return True

    def prepare_following(self, plan: Plan | Operation, work: Work) -> bool:
        """Compiles all plans that this one reaches without a group, like `prepare`. Raises BudgetExceeded."""
        if plan in self._followed:
            return True
        named = [(plan.type, branch) for branch in plan.branches if isinstance(branch, str)]
        named += [(link.of_type, link.relation) for link in plan.links]
        if not all(self.prepare(of_type, relation, work) for of_type, relation in named):
            return False
        if plan.branches or named:  # a plan that leads nowhere may be of an undefined relation
            self._followed.add(plan)
        return True

    def prepare_expansion(self, plan: Plan, warrants: Sequence[Sequence[Warrant]], work: Work) -> Iterator[None]:
        """Compiles all plans that this one and `warrants`, the warrants of its patterns, reach; yields when the time
        slice is over. Raises BudgetExceeded."""
        while not self.prepare_following(plan, work):
            yield None
        groups = warrants[0] if plan.usersets.requests else ()  # the request for these comes first
        for start in range(0, len(groups), WARRANTS_BETWEEN_CHECKPOINTS):
            for names in plan.usersets.targets(groups[start : start + WARRANTS_BETWEEN_CHECKPOINTS]):
                while not self.prepare(*names, work):
                    yield None
            if start:
                yield from work.checkpoint(WARRANTS_BETWEEN_CHECKPOINTS // WARRANTS_FOR_A_NODE)

    def expand_patterns(self, plan: Plan) -> Iterator[tuple[WarrantPattern, Expansion]]:
        """Yields each pattern of warrants that a branch of the plan follows, with each such branch."""
        relations = dict.fromkeys((*plan.usersets.relations, *(link.with_relation for link in plan.links)))
        for pattern in self.patterns_on(plan.type, relations):
            for branch in plan.expand(pattern):
                yield pattern, branch

    def patterns_to_subjects(self, plan: Plan) -> list[WarrantPattern]:
        """Returns the patterns of warrants that grant the relation of the plan to the one subject that they name."""
        return [pattern for pattern in self.patterns_on(plan.type, plan.relations) if plan.names_subject(pattern)]

    def branch(self, of_type: TypeName, branch: "Branch") -> Plan | Operation:
        """Returns what a branch on an object of this type stands for."""
        return self.plan(of_type, branch) if isinstance(branch, str) else branch

    def knows(self, of_type: TypeName, relation: RelationName) -> bool:
        """Returns whether the relation is defined, or a warrant had it."""
        defined = self.types.get(of_type)
        return (defined is not None and relation in defined.relations) or (of_type, relation) in self._patterns

    def without_rules(self) -> "Model":
        """Returns a model with the same types and relations, in which only warrants grant a relation."""
        if self._without_rules is None:
            self._without_rules = self._derive({name: of_type.without_rules() for name, of_type in self.types.items()})
        return self._without_rules

    def at_revision(self, revision: Revision) -> "Model":
        """Returns a model with the same types and patterns that another store, or the same one, has had since a
        revision. It shares the plans, whichever of the models compiles them."""
        if revision == self.revision:
            return self
        shared = copy(self)
        shared.revision, shared._origin = revision, self
        shared._without_rules = shared._with_all_arrows = None
        shared._extended = {}
        return shared

    def with_all_arrows(self) -> "Model":
        """Returns the same model with `has_all_arrows`, for the paths of checks: what grants a relation first may be a
        link that another one includes."""
        if self._with_all_arrows is None:
            self._with_all_arrows = self._derive(self.types, has_all_arrows=True)
        return self._with_all_arrows

    def _derive(self, types: Mapping[TypeName, ObjectType], has_all_arrows: bool = False) -> "Model":
        """Returns a model with the same patterns, without sorting them again. The types must allow the same
        subjects."""
        derived = Model(types, self.revision, frozenset(), has_all_arrows, policies=self.policies)
        derived.orphaned, derived.patterns, derived._patterns = self.orphaned, self.patterns, self._patterns
        return derived

    def with_patterns(self, patterns: Set[WarrantPattern]) -> "Model":
        """Returns a model that also has these patterns; the same one if it has them already. The most recently used of
        such models are kept, with what they have compiled."""
        new = frozenset(patterns - self.patterns)
        if not new:
            return self
        extended = self._extended.pop(new, None) or self._extend(new)
        self._extended[new] = extended
        if len(self._extended) > MAX_EXTENDED_MODELS:
            del self._extended[next(iter(self._extended))]
        return extended

    def _extend(self, new: Iterable[WarrantPattern]) -> "Model":
        extended = self._derive(self.types)
        extended.patterns = self.patterns | {*new}
        extended._patterns = self._patterns.copy()
        for pattern in new:
            names = (pattern.object_type, pattern.relation)
            extended._patterns[names] = sorted([*extended._patterns[names], pattern])
        return extended

    def counts(self, warrant: Warrant) -> bool:
        """Returns whether the types allow a stored warrant, so that it grants what it says."""
        return not self.orphaned or warrant.pattern() not in self.orphaned

    def select_counting(self, warrants: Sequence[Warrant]) -> Sequence[Warrant]:
        return [warrant for warrant in warrants if self.counts(warrant)] if self.orphaned else warrants

    def allows(self, names: WarrantNames) -> bool:
        """Returns whether a warrant with these names could be written."""
        defined = self.types.get(names.object_type)
        return defined is not None and names.relation in defined.relations and allows_subject(self.types, names)

    def patterns_on(self, of_type: TypeName, relations: Iterable[str]) -> list[WarrantPattern]:
        """Returns the patterns of warrants of these relations."""
        return [pattern for relation in relations for pattern in self._patterns.get((of_type, relation), ())]

    def request(
        self, of_type: TypeName, relations: Sequence[RelationName], subjects: Subject | TypeName | None
    ) -> WarrantsByObject | None:
        """Returns the request for such warrants, or None when none can exist; see `build_request`."""
        return build_request(of_type, self.patterns_on(of_type, relations), subjects)

    def _compile(self, of_type: TypeName, relation: RelationName) -> Compiling[Plan]:
        plan = yield from _Compilation(self, of_type).steps(relation)
        key = (of_type, relation)
        if self.knows(of_type, relation):
            self.plans[key] = plan
        else:
            if len(self._unused_plans) >= MAX_UNUSED_PLANS:
                self._unused_plans.popitem(last=False)
            self._unused_plans[key] = plan
        return plan

    def relations_within(self, of_type: TypeName, relation: RelationName) -> Compiling[Set[str]]:
        """Returns relations on an object that grant this one there, itself included; the set is incomplete when
        there are many."""
        key = (of_type, relation)
        if key not in self._included:
            defined = self.types.get(of_type)
            flat_branches, _ = yield from flatten_relation(relation, defined.relations if defined is not None else {})
            self._included[key] = {flat_branch for flat_branch in flat_branches if isinstance(flat_branch, str)}
        return self._included[key]


class _OperationDraft:
    """Holds an operation that is to be created; `branches` are filled in when they are known."""

    def __init__(self, rule: Combined) -> None:
        self.rule = rule
        self.branches: list[RelationName | _Draft] = []
        self.made: Operation


class _PlanDraft:
    """Holds a plan that is to be created from `flat_branches`.

    `relations` and `group_relations` are those of the plan; `operations` maps rules to the drafts of their operations.
    """

    def __init__(
        self,
        relation: RelationName | None,
        flat_branches: Sequence[FlatBranch],
        relations: tuple[RelationName, ...] = (),
        group_relations: tuple[RelationName, ...] = (),
    ) -> None:
        self.relation = relation
        self.flat_branches = flat_branches
        self.relations = relations
        self.group_relations = group_relations
        self.operations: dict[Combined, _OperationDraft] = {}
        self.made: Plan


_Draft = _PlanDraft | _OperationDraft


class _Compilation:
    """Compiles plans for one type: first drafts of all plans and operations, the outer before the inner ones, then
    these themselves, from the last draft to the first."""

    def __init__(self, model: Model, of_type: TypeName) -> None:
        self._model = model
        self._type = of_type

    def steps(self, relation: RelationName) -> Compiling[Plan]:
        defined = self._model.types.get(self._type)
        if defined is None:
            positions: Mapping[RelationName | ArrowExpansion | Branch, int] = {relation: 0}
            nothing = UsersetExpansion(frozenset(), ())
            return Plan(
                self._type, relation, (relation,), nothing, links=(), branches=(), positions=positions, is_defined=False
            )
        flat_branches, whole = yield from flatten_relation(relation, defined.relations)
        relations = tuple(
            flat_branch for flat_branch in flat_branches if isinstance(flat_branch, str) and flat_branch not in whole
        )
        # A relation that was deleted still counts where a warrant names the subject itself.
        with_groups = tuple(name for name in relations if name in defined.relations)
        whole_plan = _PlanDraft(relation, flat_branches, relations, with_groups)
        drafts: list[_Draft] = [whole_plan]
        for draft in drafts:  # grows during the loop
            drafts += yield from self._draft_inner(draft)
        for draft in reversed(drafts):
            if isinstance(draft, _PlanDraft):
                draft.made = yield from self._make_plan(draft)
            else:
                branches = tuple(branch if isinstance(branch, str) else branch.made for branch in draft.branches)
                draft.made = Operation(self._type, draft.rule, branches, self._find_operation_links(draft.rule))
            yield STEPS_FOR_A_PLAN
        return whole_plan.made

    def _draft_inner(self, draft: _Draft) -> Compiling[Sequence[_Draft]]:
        if isinstance(draft, _PlanDraft):
            draft.operations = {
                flat_branch: _OperationDraft(flat_branch)
                for flat_branch in draft.flat_branches
                if not isinstance(flat_branch, str | LinkNames)
            }
            return [*draft.operations.values()]
        for branch in draft.rule.rules:
            flat_branches = yield from flatten_rule(branch)
            draft.branches.append(_draft_branch(flat_branches))
            yield 1
        return [branch for branch in draft.branches if not isinstance(branch, str)]

    def _find_operation_links(self, rule: Combined) -> tuple[ArrowExpansion, ...]:
        """Returns the arrow to the objects that a quantifier examines; nothing for another rule."""
        if rule.quantifier is None:
            return ()
        link = rule.quantifier.link
        patterns = self._model.patterns_on(self._type, [link.with_relation])
        patterns = [pattern for pattern in patterns if pattern.subject_type == link.of_type]
        requests = (build_request(self._type, patterns, link.of_type), build_request(self._type, patterns, None))
        return (ArrowExpansion(*link, _without_none(*requests)),)

    def _make_plan(self, draft: _PlanDraft) -> Compiling[Plan]:
        named = [flat_branch for flat_branch in draft.flat_branches if isinstance(flat_branch, LinkNames)]
        needed = yield from self._links(named)
        with_groups = dict.fromkeys((*draft.group_relations, *(link.with_relation for link in named if link in needed)))
        groups = self._model.request(self._type, tuple(with_groups), None)
        links = {link: ArrowExpansion(*link, _without_none(request, groups)) for link, request in needed.items()}
        written: list[RelationName | ArrowExpansion | Branch] = []
        for flat_branch in draft.flat_branches:
            if isinstance(flat_branch, str):
                written.append(flat_branch)
            elif not isinstance(flat_branch, LinkNames):
                written.append(draft.operations[flat_branch].made)
            elif flat_branch in links:
                written.append(links[flat_branch])
        among = {*draft.relations}
        branches = tuple(branch for branch in written if not isinstance(branch, ArrowExpansion) and branch not in among)
        positions = {branch: position for position, branch in enumerate(written)}
        usersets = UsersetExpansion(frozenset(draft.group_relations), _without_none(groups))
        arrows = tuple(branch for branch in written if isinstance(branch, ArrowExpansion))
        return Plan(
            self._type, draft.relation, draft.relations, usersets, links=arrows, branches=branches, positions=positions
        )

    def _links(self, named: Sequence[LinkNames]) -> Compiling[Mapping[LinkNames, WarrantsByObject | None]]:
        """Returns the links, without those that match no warrant and those that another one includes. With each comes
        the request for the warrants to such objects themselves, None when all warrants are to usersets on them."""
        patterns: dict[tuple[RelationName, TypeName], list[WarrantPattern]] = defaultdict(list)
        for pattern in self._model.patterns_on(self._type, {link.with_relation for link in named}):
            patterns[pattern.relation, pattern.subject_type].append(pattern)
        needed: dict[tuple[RelationName, TypeName], dict[RelationName, LinkNames]] = defaultdict(dict)
        covered: dict[tuple[RelationName, TypeName], set[str]] = defaultdict(set)
        for link in named:
            target = (link.with_relation, link.of_type)
            if target in patterns and link.relation not in covered[target]:
                within: Set[str] = set()
                if not self._model.has_all_arrows:
                    within = yield from self._model.relations_within(link.of_type, link.relation)
                for relation in within & needed[target].keys():
                    del needed[target][RelationName(relation)]
                needed[target][link.relation] = link
                covered[target] |= within
            yield 1
        requests = {target: build_request(self._type, patterns[target], target[1]) for target in needed}
        yield STEPS_FOR_A_PLAN * len(requests)
        return {link: requests[target] for target, kept in needed.items() for link in kept.values()}


def _without_none(*requests: WarrantsByObject | None) -> tuple[WarrantsByObject, ...]:
    return tuple(request for request in requests if request is not None)


def _draft_branch(flat_branches: Sequence[FlatBranch]) -> RelationName | _Draft:
    """Returns the draft of a rule within a combination.

    The relations that it names are not inlined, so that each is decided once, wherever it is used.
    """
    if len(flat_branches) != 1 or isinstance(flat_branches[0], LinkNames):
        return _PlanDraft(None, flat_branches)
    return flat_branches[0] if isinstance(flat_branches[0], str) else _OperationDraft(flat_branches[0])
