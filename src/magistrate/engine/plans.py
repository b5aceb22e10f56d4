"""What a check has to look at, worked out once for each relation instead of at every check.

A relation holds on an object if a warrant gives it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened away: if viewer inherits editor and editor owner, then *viewer* is one plan whose warrants are
those of all three. What is left are links to other objects, combinations that must be decided as a whole, and relations
that are too much to be written out (see flattening.py).

Compiling is done in steps, so that it can be charged like other work, and interrupted: see `Model.prepare`.

Two things are left out because they add nothing: what no warrant has the form of, and a link to those who have a
relation if there is the same link to those who have another relation that includes it. The editors of a folder need
not be looked for where its viewers are, if every editor is a viewer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from magistrate.engine.flattening import Compiling, LinkNames, Way, flatten_relation, flatten_rule
from magistrate.engine.model import ObjectType
from magistrate.engine.rules.rule import Combined
from magistrate.engine.terms import WILDCARD, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_reader import WarrantsByObject
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.engine.work import Work

STEPS_FOR_A_NODE = 2
"""Rules or names that are looked at: so many take as long as a node."""
STEPS_FOR_A_PLAN = 12
"""As much work as so many steps, to make a plan or a gate when all that is in it is known."""

MOST_STRANGE_PLANS = 1_000
"""Of relations that nobody has defined and no warrant has had."""


@dataclass(frozen=True, slots=True)
class ArrowBranch:
    """Whoever has `relation` on an object of type `of_type` that a warrant of `with_relation` names has the relation
    of the plan here. `shape`: such warrants, but for those that name a group on such an object; None if all do."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName
    shape: WarrantsByObject | None

    def follows(self, warrant: Warrant | WarrantPattern) -> bool:
        """Whether a warrant leads on. One to a group does as if it named the object (docs/compatibility.md#rules)."""
        return warrant.relation == self.with_relation and warrant.subject_type == self.of_type


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Alternatives: any of them gives the relation. `relation` is None for alternatives within a combination.

    - `relations`: a warrant of one of these to the subject; the plan's own relation comes first;
    - `group_relations`: a warrant of one of these to a group the subject is in;
    - `links`, `parts`.

    `groups`: all warrants to groups that matter, those of links among them; None if there is none.

    `places` has all of these by the order they are written in, beginning with the plan's own relation.

    `is_defined` is false if the object type does not exist: then it is not known what else might give the relation.
    """

    type: TypeName
    relation: RelationName | None
    relations: tuple[RelationName, ...]
    group_relations: frozenset[RelationName]
    groups: WarrantsByObject | None
    links: tuple[ArrowBranch, ...]
    parts: "tuple[Branch, ...]"
    places: "Mapping[RelationName | ArrowBranch | Branch, int]"
    is_defined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """A combination on an object of `type`, decided from its parts on the same object."""

    type: TypeName
    rule: Combined
    parts: "tuple[Branch, ...]"


Branch = Plan | Operation | RelationName
"""A name stands for the plan of that relation, which may lead back to where it stands."""


class Model:
    """All object types as of one revision, and every form that warrants had; immutable. `revision` is the one that
    last changed any of it."""

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
        """Begun, and not done when the turn of who needed them was over. Only relations that are known."""
        self._followed: set[Plan | Operation] = set()
        """What is compiled with all that it leads to, but for groups."""
        self._included: dict[tuple[str, str], Set[str]] = {}
        self._without_rules: Model | None = None

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Compiled when it is first asked for. Always the same for the same names, if they are those of a relation that
        is defined or that a warrant had; others lead nowhere, and anyone may ask for any number of them."""
        key = (of_type, relation)
        plan = self._plans.get(key) or self._strange_plans.get(key)
        if plan is None:
            plan = _last(self._compiling.get(key) or self._compile(of_type, relation))
            self._compiling.pop(key, None)
        return plan

    def prepare(self, of_type: TypeName, relation: RelationName, work: Work) -> bool:
        """Compiles a plan as long as the turn lasts, from where it was left; returns whether it is done, so that `plan`
        takes no time.

        Raises BudgetSpent."""
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
        """The same for all plans that this one leads to without a group. Raises BudgetSpent."""
        if plan in self._followed:
            return True
        named = [(plan.type, part) for part in plan.parts if isinstance(part, str)]
        named += [(link.of_type, link.relation) for link in plan.links] if isinstance(plan, Plan) else []
        if not all(self.prepare(of_type, relation, work) for of_type, relation in named):
            return False
        if plan.parts or named:  # what leads nowhere may be of a relation that nobody has defined
            self._followed.add(plan)
        return True

    def knows(self, of_type: TypeName, relation: RelationName) -> bool:
        """Whether it is defined, or a warrant had it."""
        defined = self.types.get(of_type)
        return (defined is not None and relation in defined.relations) or (of_type, relation) in self._forms

    def without_rules(self) -> "Model":
        """The same types and relations, which only warrants give."""
        if self._without_rules is None:
            types = {name: one.without_rules() for name, one in self.types.items()}
            self._without_rules = Model(types, self.revision, self.forms)
        return self._without_rules

    def forms_on(self, of_type: TypeName, relations: Iterable[str]) -> list[WarrantPattern]:
        """Those of warrants of these relations."""
        return [form for relation in relations for form in self._forms.get((of_type, relation), ())]

    def shape(
        self, of_type: TypeName, relations: Sequence[RelationName], subjects: Subject | TypeName | None
    ) -> WarrantsByObject | None:
        """See `shape_of`; None if there is no such warrant."""
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
        """Returns relations on an object that give this one there, itself among them; not all, if they are many."""
        key = (of_type, relation)
        if key not in self._included:
            defined = self.types.get(of_type)
            ways, _ = yield from flatten_relation(relation, defined.relations if defined is not None else {})
            self._included[key] = {way for way in ways if isinstance(way, str)}
        return self._included[key]


class _GateDraft:
    """A gate to be made; `parts` are its own when they are known."""

    def __init__(self, rule: Combined) -> None:
        self.rule = rule
        self.parts: list[RelationName | _Draft] = []
        self.made: Operation


class _PlanDraft:
    """A plan to be made of `ways`. `relations` and `group_relations` as in the plan, `gates` by their rules."""

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
    """Makes plans for one type: first a draft of each plan and gate in the whole, the outer before the inner ones; then
    these themselves, from the last draft to the first."""

    def __init__(self, model: Model, of_type: TypeName) -> None:
        self._model = model
        self._type = of_type

    def steps(self, relation: RelationName) -> Compiling[Plan]:
        defined = self._model.types.get(self._type)
        if defined is None:
            places: Mapping[RelationName | ArrowBranch | Branch, int] = {relation: 0}
            return Plan(self._type, relation, (relation,), frozenset(), None, (), (), places, is_defined=False)
        ways, whole = yield from flatten_relation(relation, defined.relations)
        relations = tuple(way for way in ways if isinstance(way, str) and way not in whole)
        # One that was dropped still counts where a warrant names the subject itself.
        with_groups = tuple(name for name in relations if name in defined.relations)
        whole_plan = _PlanDraft(relation, ways, relations, with_groups)
        drafts: list[_Draft] = [whole_plan]
        for draft in drafts:  # which becomes longer meanwhile
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
        needed = yield from self._links([way for way in draft.ways if isinstance(way, LinkNames)])
        written: list[RelationName | ArrowBranch | Branch] = []
        for way in draft.ways:
            if isinstance(way, str):
                written.append(way)
            elif not isinstance(way, LinkNames):
                written.append(draft.gates[way].made)
            elif way in needed:
                written.append(needed[way])
        links = tuple(one for one in written if isinstance(one, ArrowBranch))
        among = {*draft.relations}
        parts = tuple(one for one in written if not isinstance(one, ArrowBranch) and one not in among)
        with_groups = dict.fromkeys((*draft.group_relations, *(link.with_relation for link in links)))
        groups = self._model.shape(self._type, tuple(with_groups), None)
        places = {one: place for place, one in enumerate(written)}
        group_relations = frozenset(draft.group_relations)
        return Plan(self._type, draft.relation, draft.relations, group_relations, groups, links, parts, places)

    def _links(self, named: Sequence[LinkNames]) -> Compiling[Mapping[LinkNames, ArrowBranch]]:
        """Without those that no warrant makes, and those that another one includes."""
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
        links = [(link, target) for target, kept in needed.items() for link in kept.values()]
        return {link: ArrowBranch(*link, shapes[target]) for link, target in links}


def _draft_part(ways: Sequence[Way]) -> RelationName | _Draft:
    """Of a rule within a combination. The relations it names stay whole: they are decided once, wherever they are."""
    if len(ways) != 1 or isinstance(ways[0], LinkNames):
        return _PlanDraft(None, ways)
    return ways[0] if isinstance(ways[0], str) else _GateDraft(ways[0])


def _last(compiling: Compiling[Plan]) -> Plan:
    """What comes out when all steps are made at once."""
    while True:
        try:
            next(compiling)
        except StopIteration as done:
            plan: Plan = done.value
            return plan


def shape_of(
    of_type: TypeName, forms: Iterable[WarrantPattern], subjects: Subject | TypeName | None
) -> WarrantsByObject | None:
    """One that looks for no relation and for no `*` that no warrant of these forms has; None if none of them is to such
    subjects."""
    found = [form for form in forms if _is_among(form, subjects)]
    if not found:
        return None
    named = tuple(dict.fromkeys(form.relation for form in found))
    on_all, to_all = (any(form.object_id for form in found), any(form.subject_id for form in found))
    return WarrantsByObject(of_type, named, subjects, on_all, to_all)


def _is_among(form: WarrantPattern, subjects: Subject | TypeName | None) -> bool:
    """Whether a warrant of the form can have the subjects of a Shape."""
    if subjects is None:
        return form.subject_relation != ""
    if not isinstance(subjects, Subject):
        return (form.subject_type, form.subject_relation) == (subjects, "")
    same_kind = (form.subject_type, form.subject_relation) == (subjects.type, subjects.relation or "")
    return same_kind and (subjects.id != WILDCARD or form.subject_id == WILDCARD)
