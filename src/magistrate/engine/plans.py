"""Compiles what a check has to read, once for each relation instead of at every check.

A relation holds on an object when a warrant grants it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened: if viewer inherits editor and editor inherits owner, then *viewer* is one plan that has the
warrants of all three. What is left are links to other objects, combinations that must be decided as a whole, and
relations that are too large to be inlined (see flattening.py).

Compilation is done in steps, so that it can be charged like other work and interrupted: see `Model.prepare`.

Two kinds of branches are left out because they add nothing: those that match no warrant pattern, and a link whose
subjects another link includes. If every editor is a viewer, the editors of a folder need not be read where its viewers
are.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from magistrate.engine.expansion import ArrowBranch, Branch, Expansion, Operation, Plan, UsersetBranch
from magistrate.engine.flattening import Compiling, LinkNames, Way, flatten_relation, flatten_rule
from magistrate.engine.model import ObjectType
from magistrate.engine.rules.rule import Combined
from magistrate.engine.terms import WILDCARD, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_reader import WarrantsByObject
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.engine.work import Work

STEPS_FOR_A_NODE = 2
"""Counts the rules or names whose compilation takes as long as one node."""
STEPS_FOR_A_PLAN = 12
"""Counts the steps that creating a plan or an operation takes once its contents are known."""

MOST_STRANGE_PLANS = 1_000
"""Limits the cached plans of relations that are neither defined nor used by any warrant."""


class Model:
    """Holds all object types as of one revision, and every warrant pattern that occurred; immutable.

    `revision` is the last one that changed any of these.
    """

    def __init__(self, types: Mapping[TypeName, ObjectType], revision: Revision, forms: Set[WarrantPattern]) -> None:
        self.types = types
        self.revision = revision
        self.forms = forms
        self._forms: dict[tuple[str, str], list[WarrantPattern]] = defaultdict(list)
        for form in sorted(forms):
            self._forms[form.object_type, form.relation].append(form)
        self._plans: dict[tuple[str, str], Plan] = {}
        self._strange_plans: dict[tuple[str, str], Plan] = {}
        self._compiling: dict[tuple[str, str], Compiling[Plan]] = {}
        """Holds compilations that were interrupted at the end of a turn; only of relations that are known."""
        self._followed: set[Plan | Operation] = set()
        """Holds the plans and operations that are compiled with all they lead to, except by groups."""
        self._included: dict[tuple[str, str], Set[str]] = {}
        self._without_rules: Model | None = None

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Returns the plan of a relation, compiling it when it is first needed.

        For a relation that is defined or that a warrant had, this is always the same plan. The plans of other relations
        lead nowhere and are cached up to a limit only, because callers may name any number of them.
        """
        key = (of_type, relation)
        plan = self._plans.get(key) or self._strange_plans.get(key)
        if plan is None:
            plan = _last(self._compiling.get(key) or self._compile(of_type, relation))
            self._compiling.pop(key, None)
        return plan

    def prepare(self, of_type: TypeName, relation: RelationName, work: Work) -> bool:
        """Compiles a plan until the turn is over, continuing where it stopped, and returns whether it is complete.

        `plan` takes no time afterwards. Raises BudgetSpent.
        """
        key = (of_type, relation)
        if key in self._plans or not self.knows(of_type, relation):
            return True
        compiling = self._compiling.setdefault(key, self._compile(of_type, relation))
        steps = 0
        for more in compiling:
            steps += more
            if steps >= STEPS_FOR_A_NODE:
                work.spend(steps // STEPS_FOR_A_NODE)
                steps %= STEPS_FOR_A_NODE
                if work.turn_is_over:
                    return False
        del self._compiling[key]
        return True

    def prepare_following(self, plan: Plan | Operation, work: Work) -> bool:
        """Compiles all plans that this one leads to without a group, like `prepare`. Raises BudgetSpent."""
        if plan in self._followed:
            return True
        named = [(plan.type, part) for part in plan.parts if isinstance(part, str)]
        named += [(link.of_type, link.relation) for link in plan.links] if isinstance(plan, Plan) else []
        if not all(self.prepare(of_type, relation, work) for of_type, relation in named):
            return False
        if plan.parts or named:  # a plan that leads nowhere may be of an undefined relation
            self._followed.add(plan)
        return True

    def prepare_expansion(self, plan: Plan, rows: Sequence[Sequence[Warrant]], work: Work) -> Iterator[None]:
        """Compiles all plans that this one and `rows`, the warrants of its shapes, lead to; yields when the turn is
        over. Raises BudgetSpent."""
        while not self.prepare_following(plan, work):
            yield None
        groups = rows[0] if plan.usersets.shapes else ()  # the request for these comes first
        for names in plan.usersets.targets(groups) if groups else ():
            while not self.prepare(*names, work):
                yield None

    def expand_patterns(self, plan: Plan) -> Iterator[tuple[WarrantPattern, Expansion]]:
        """Yields each pattern of warrants that a branch of the plan follows, with each such branch."""
        relations = dict.fromkeys((*plan.usersets.relations, *(link.with_relation for link in plan.links)))
        for form in self.forms_on(plan.type, relations):
            for branch in plan.expand(form):
                yield form, branch

    def patterns_to_subjects(self, plan: Plan) -> list[WarrantPattern]:
        """Returns the patterns of warrants that grant the relation of the plan to the one subject that they name."""
        return [form for form in self.forms_on(plan.type, plan.relations) if plan.names_subject(form)]

    def part(self, of_type: TypeName, part: "Branch") -> Plan | Operation:
        """Returns what a branch on an object of this type stands for."""
        return self.plan(of_type, part) if isinstance(part, str) else part

    def knows(self, of_type: TypeName, relation: RelationName) -> bool:
        """Returns whether the relation is defined, or a warrant had it."""
        defined = self.types.get(of_type)
        return (defined is not None and relation in defined.relations) or (of_type, relation) in self._forms

    def without_rules(self) -> "Model":
        """Returns a model with the same types and relations, in which only warrants grant a relation."""
        if self._without_rules is None:
            types = {name: one.without_rules() for name, one in self.types.items()}
            self._without_rules = Model(types, self.revision, self.forms)
        return self._without_rules

    def forms_on(self, of_type: TypeName, relations: Iterable[str]) -> list[WarrantPattern]:
        """Returns the patterns of warrants of these relations."""
        return [form for relation in relations for form in self._forms.get((of_type, relation), ())]

    def shape(
        self, of_type: TypeName, relations: Sequence[RelationName], subjects: Subject | TypeName | None
    ) -> WarrantsByObject | None:
        """Returns the request for such warrants, or None when none can exist; see `shape_of`."""
        return shape_of(of_type, self.forms_on(of_type, relations), subjects)

    def _compile(self, of_type: TypeName, relation: RelationName) -> Compiling[Plan]:
        plan = yield from _Compilation(self, of_type).steps(relation)
        key = (of_type, relation)
        if self.knows(of_type, relation):
            self._plans[key] = plan
        else:
            if len(self._strange_plans) >= MOST_STRANGE_PLANS:
                self._strange_plans.clear()
            self._strange_plans[key] = plan
        return plan

    def relations_within(self, of_type: TypeName, relation: RelationName) -> Compiling[Set[str]]:
        """Returns relations on an object that grant this one there, itself included; the set is incomplete when
        there are many."""
        key = (of_type, relation)
        if key not in self._included:
            defined = self.types.get(of_type)
            ways, _ = yield from flatten_relation(relation, defined.relations if defined is not None else {})
            self._included[key] = {way for way in ways if isinstance(way, str)}
        return self._included[key]


class _GateDraft:
    """Holds an operation that is to be created; `parts` are filled in when they are known."""

    def __init__(self, rule: Combined) -> None:
        self.rule = rule
        self.parts: list[RelationName | _Draft] = []
        self.made: Operation


class _PlanDraft:
    """Holds a plan that is to be created from `ways`.

    `relations` and `group_relations` are those of the plan; `gates` maps rules to the drafts of their operations.
    """

    def __init__(
        self,
        relation: RelationName | None,
        ways: Sequence[Way],
        relations: tuple[RelationName, ...] = (),
        group_relations: tuple[RelationName, ...] = (),
    ) -> None:
        self.relation = relation
        self.ways = ways
        self.relations = relations
        self.group_relations = group_relations
        self.gates: dict[Combined, _GateDraft] = {}
        self.made: Plan


_Draft = _PlanDraft | _GateDraft


class _Compilation:
    """Compiles plans for one type: first drafts of all plans and operations, the outer before the inner ones, then
    these themselves, from the last draft to the first."""

    def __init__(self, model: Model, of_type: TypeName) -> None:
        self._model = model
        self._type = of_type

    def steps(self, relation: RelationName) -> Compiling[Plan]:
        defined = self._model.types.get(self._type)
        if defined is None:
            places: Mapping[RelationName | ArrowBranch | Branch, int] = {relation: 0}
            nothing = UsersetBranch(frozenset(), ())
            return Plan(self._type, relation, (relation,), nothing, (), (), places, is_defined=False)
        ways, whole = yield from flatten_relation(relation, defined.relations)
        relations = tuple(way for way in ways if isinstance(way, str) and way not in whole)
        # A relation that was deleted still counts where a warrant names the subject itself.
        with_groups = tuple(name for name in relations if name in defined.relations)
        whole_plan = _PlanDraft(relation, ways, relations, with_groups)
        drafts: list[_Draft] = [whole_plan]
        for draft in drafts:  # grows during the loop
            drafts += yield from self._draft_inner(draft)
        for draft in reversed(drafts):
            if isinstance(draft, _PlanDraft):
                draft.made = yield from self._make_plan(draft)
            else:
                parts = tuple(part if isinstance(part, str) else part.made for part in draft.parts)
                draft.made = Operation(self._type, draft.rule, parts)
            yield STEPS_FOR_A_PLAN
        return whole_plan.made

    def _draft_inner(self, draft: _Draft) -> Compiling[Sequence[_Draft]]:
        if isinstance(draft, _PlanDraft):
            draft.gates = {way: _GateDraft(way) for way in draft.ways if not isinstance(way, str | LinkNames)}
            return [*draft.gates.values()]
        for branch in draft.rule.rules:
            ways = yield from flatten_rule(branch)
            draft.parts.append(_draft_part(ways))
            yield 1
        return [part for part in draft.parts if not isinstance(part, str)]

    def _make_plan(self, draft: _PlanDraft) -> Compiling[Plan]:
        named = [way for way in draft.ways if isinstance(way, LinkNames)]
        needed = yield from self._links(named)
        with_groups = dict.fromkeys((*draft.group_relations, *(link.with_relation for link in named if link in needed)))
        groups = self._model.shape(self._type, tuple(with_groups), None)
        links = {link: ArrowBranch(*link, _without_none(shape, groups)) for link, shape in needed.items()}
        written: list[RelationName | ArrowBranch | Branch] = []
        for way in draft.ways:
            if isinstance(way, str):
                written.append(way)
            elif not isinstance(way, LinkNames):
                written.append(draft.gates[way].made)
            elif way in links:
                written.append(links[way])
        among = {*draft.relations}
        parts = tuple(one for one in written if not isinstance(one, ArrowBranch) and one not in among)
        places = {one: place for place, one in enumerate(written)}
        usersets = UsersetBranch(frozenset(draft.group_relations), _without_none(groups))
        arrows = tuple(one for one in written if isinstance(one, ArrowBranch))
        return Plan(self._type, draft.relation, draft.relations, usersets, arrows, parts, places)

    def _links(self, named: Sequence[LinkNames]) -> Compiling[Mapping[LinkNames, WarrantsByObject | None]]:
        """Returns the links, without those that match no warrant and those that another one includes. With each comes
        the request for the warrants to such objects themselves, None when all warrants are to usersets on them."""
        forms: dict[tuple[RelationName, TypeName], list[WarrantPattern]] = defaultdict(list)
        for form in self._model.forms_on(self._type, {link.with_relation for link in named}):
            forms[form.relation, form.subject_type].append(form)
        needed: dict[tuple[RelationName, TypeName], dict[RelationName, LinkNames]] = defaultdict(dict)
        covered: dict[tuple[RelationName, TypeName], set[str]] = defaultdict(set)
        for link in named:
            target = (link.with_relation, link.of_type)
            if target in forms and link.relation not in covered[target]:
                within = yield from self._model.relations_within(link.of_type, link.relation)
                for relation in within & needed[target].keys():
                    del needed[target][RelationName(relation)]
                needed[target][link.relation] = link
                covered[target] |= within
            yield 1
        shapes = {target: shape_of(self._type, forms[target], target[1]) for target in needed}
        yield STEPS_FOR_A_PLAN * len(shapes)
        return {link: shapes[target] for target, kept in needed.items() for link in kept.values()}


def _without_none(*shapes: WarrantsByObject | None) -> tuple[WarrantsByObject, ...]:
    return tuple(shape for shape in shapes if shape is not None)


def _draft_part(ways: Sequence[Way]) -> RelationName | _Draft:
    """Returns the draft of a rule within a combination.

    The relations that it names are not inlined, so that each is decided once, wherever it is used.
    """
    if len(ways) != 1 or isinstance(ways[0], LinkNames):
        return _PlanDraft(None, ways)
    return ways[0] if isinstance(ways[0], str) else _GateDraft(ways[0])


def _last(compiling: Compiling[Plan]) -> Plan:
    """Returns the result of a compilation, after running all of its steps at once."""
    while True:
        try:
            next(compiling)
        except StopIteration as done:
            plan: Plan = done.value
            return plan


def shape_of(
    of_type: TypeName, forms: Iterable[WarrantPattern], subjects: Subject | TypeName | None
) -> WarrantsByObject | None:
    """Returns the request for warrants to such subjects, or None when no pattern is to such subjects.

    It names no relation and no `*` that does not occur in these patterns.
    """
    found = [form for form in forms if _is_among(form, subjects)]
    if not found:
        return None
    named = tuple(dict.fromkeys(form.relation for form in found))
    on_all, to_all = (any(form.object_id for form in found), any(form.subject_id for form in found))
    return WarrantsByObject(of_type, named, subjects, on_all, to_all)


def _is_among(form: WarrantPattern, subjects: Subject | TypeName | None) -> bool:
    """Returns whether a warrant of this pattern can be given to the subjects of a WarrantsByObject."""
    if subjects is None:
        return form.subject_relation != ""
    if not isinstance(subjects, Subject):
        return (form.subject_type, form.subject_relation) == (subjects, "")
    same_kind = (form.subject_type, form.subject_relation) == (subjects.type, subjects.relation or "")
    return same_kind and (subjects.id != WILDCARD or form.subject_id == WILDCARD)
