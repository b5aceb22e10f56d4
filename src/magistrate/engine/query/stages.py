"""Builds the stages of a reverse expansion from one subject, and the roads between them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from magistrate.engine.components import components
from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.plans import Model
from magistrate.engine.query.result_set import ListValue, combine_by_id, limit_of
from magistrate.engine.query.search import Turns, gather_items, prepare_plans
from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.truth import FALSE, Truth
from magistrate.engine.warrant_reader import ReverseWarrantRead, WarrantsBySubject
from magistrate.engine.warrants import Warrant, WarrantPattern
from magistrate.engine.work import Work

Target = tuple[TypeName, RelationName]

IDS_AT_ONCE = 4_000
"""Limits the subjects whose warrants are read together; as many are propagated without a yield."""

Told = tuple[int, Warrant]
"""Holds a warrant to be reported, after its position among the alternatives."""


class StageEdge(NamedTuple):
    """Connects two stages: warrants give `target` the value that `origin` has at their subject, limited to `cap`.
    `place` is the edge's position among the alternatives of the target."""

    origin: "Stage"
    target: "Stage"
    place: int
    cap: ListValue


class Road:
    """Holds the warrants between objects of one type and subjects of one kind: which stages gain by them, by relation,
    and, as far as they have been read, the warrants by subject."""

    def __init__(self, form: WarrantPattern) -> None:
        self._form = form
        self.sources: dict[RelationName, dict[Stage, dict[StageEdge, None]]] = defaultdict(dict)
        """Maps the relation of the warrants, then the origin, to the edges; each edge occurs once."""
        self.rows: dict[ObjectId, list[Warrant]] = {}
        self.wanted: dict[ObjectId, None] = {}
        self.wants_all = False
        self.has_all = False
        self.names_wildcard = False

    def want(self, id: ObjectId) -> None:
        if not self.has_all and (id != WILDCARD or self.names_wildcard):
            self.wanted[id] = None

    def read(self) -> ReverseWarrantRead | None:
        """Returns the next read that is needed."""
        form = self._form
        shape = WarrantsBySubject(form.object_type, tuple(self.sources), form.subject_type, form.subject_relation)
        if self.wants_all:
            self.wants_all, self.has_all = False, True
            self.wanted, self.rows = {}, {}
            return ReverseWarrantRead(shape, None)
        ids = tuple(islice(self.wanted, IDS_AT_ONCE))
        for id in ids:
            del self.wanted[id]
            self.rows[id] = []
        return ReverseWarrantRead(shape, ids) if ids else None


class Stage:
    """Holds the result set of a plan or a gate; with neither, of the subject itself.

    All objects have `had_by_all`, the named ones too. `gained` has the ids that have not been propagated yet.
    `is_exact`: the stage is below one that waits, where values short of TRUE matter. `is_asked_anywhere`: a warrant to
    `type:*#relation` needs the value on any object, which is kept at WILDCARD. `found` has for each object (WILDCARD:
    for all) the first warrant that gives it, with its place and number; `explicit` likewise, of those that give it
    EXPLICIT. `found` is None where no report is needed. `steps`: at least as many as the stages that it is made of on
    one object."""

    __slots__ = (
        "explicit",
        "found",
        "gained",
        "had_by_all",
        "is_asked_anywhere",
        "is_exact",
        "named",
        "origins",
        "parts",
        "plan",
        "rest",
        "rest_gained",
        "roads",
        "steps",
        "waits",
        "wholes",
    )

    def __init__(self, plan: Plan | Operation | None) -> None:
        self.plan = plan
        self.named: dict[ObjectId, ListValue] = {}
        self.rest: ListValue = FALSE
        self.had_by_all: ListValue = FALSE
        self.gained: list[ObjectId] = []
        self.rest_gained = False
        self.parts: list[Stage] = []
        self.wholes: list[Stage] = []
        self.origins: list[Stage] = []
        self.roads: dict[Road, None] = {}
        self.steps = 1
        self.waits = isinstance(plan, Operation) and not plan.rule.is_monotone
        self.is_exact = False
        self.is_asked_anywhere = False
        self.found: dict[ObjectId, Told] | None = None
        self.explicit: dict[ObjectId, Told] = {}

    def value(self, id: ObjectId) -> ListValue:
        return self.named.get(id, self.rest)

    def from_parts(self, ids: Sequence[ObjectId], work: Work) -> Turns[list[Truth]]:
        """Returns the combined value of the parts for each of these ids."""
        combine = self.plan.rule.combine if isinstance(self.plan, Operation) else max
        return combine_by_id(combine, self.parts, ids, work)

    @property
    def waits_for_part(self) -> bool:
        return self.waits or (isinstance(self.plan, Operation) and any(part.waits for part in self.parts))

    def rests_on(self) -> "Sequence[Stage]":
        """Returns the stages that it is made of, on this object and on others."""
        return (*self.parts, *self.origins)

    def release(self) -> None:
        """Frees what is needed only as long as a stage may gain."""
        self.wholes, self.origins, self.roads, self.gained = [], [], {}, []


class Stages:
    """Holds all stages that one subject can reach on the way to the targets. `itself` is the start.

    After connecting, `negations` are the stages that wait, not being monotone: first those that rest on no other, then
    those that rest on these only, and so on; None if one rests on itself, so that there is no order in which to compute
    the stages."""

    def __init__(self, model: Model, subject_type: TypeName, work: Work) -> None:
        self._model = model
        self._subject_type = subject_type
        self._work = work
        self._by_plan: dict[Plan | Operation, Stage] = {}
        self._fresh: list[Stage] = []
        self._roads: dict[tuple[str, str, str], Road] = {}
        self.itself = Stage(None)
        self.roots: dict[Target, Stage] = {}
        self.negations: list[list[Stage]] | None = None

    def connect(self, targets: Iterable[Target]) -> Turns[None]:
        for target in targets:
            yield from prepare_plans(self._model, [target], self._work)
            self.roots[target] = self._stage(self._model.plan(*target))
            if self._work.turn_is_over:
                yield None
        while self._fresh:
            yield from self._connect(self._fresh.pop())
            if self._work.turn_is_over:
                yield None
        ordered = yield from gather_items(components(self.all, Stage.rests_on), self._work)
        yield from self._mark(ordered)
        self.negations = yield from _by_depth(ordered, self._work)

    @property
    def all(self) -> Iterable[Stage]:
        return self._by_plan.values()

    @property
    def roads(self) -> Iterable[Road]:
        return self._roads.values()

    def _stage(self, plan: Plan | Operation) -> Stage:
        stage = self._by_plan.get(plan)
        if stage is None:
            self._work.spend(1 + (len(plan.places) if isinstance(plan, Plan) else 0))
            stage = self._by_plan[plan] = Stage(plan)
            self._fresh.append(stage)
        return stage

    def _connect(self, stage: Stage) -> Turns[None]:
        """Connects a stage with all that it is made of."""
        plan = stage.plan
        assert plan is not None
        while not self._model.prepare_following(plan, self._work):
            yield None
        stage.parts = [self._stage(self._model.part(plan.type, part)) for part in plan.parts]
        for part in stage.parts:
            part.wholes.append(stage)
        if isinstance(plan, Plan):
            yield from self._join_forms(stage, plan)

    def _join_forms(self, stage: Stage, plan: Plan) -> Turns[None]:
        for form in self._model.patterns_to_subjects(plan):
            if form.subject_type == self._subject_type:
                self._join(form, self.itself, stage, plan.places[form.relation], limit_of(plan, None, form))
        for form, branch in self._model.expand_patterns(plan):
            origin = yield from self._find_stage(*branch.target(form))
            self._join(form, origin, stage, branch.place(plan, form), limit_of(plan, branch, form))

    def _find_stage(self, of_type: TypeName, relation: RelationName) -> Turns[Stage]:
        yield from prepare_plans(self._model, [(of_type, relation)], self._work)
        return self._stage(self._model.plan(of_type, relation))

    def _join(self, form: WarrantPattern, origin: Stage, target: Stage, place: int, cap: ListValue) -> None:
        names = (form.object_type, form.subject_type, form.subject_relation)
        road = self._roads.get(names)
        if road is None:
            road = self._roads[names] = Road(form)
        source = StageEdge(origin, target, place, cap)
        self._work.spend(1)
        known = road.sources[form.relation].setdefault(origin, {})
        if source not in known:
            known[source] = None
            target.origins.append(origin)
        origin.roads[road] = None
        if form.subject_id == WILDCARD:
            road.names_wildcard = origin.is_asked_anywhere = True

    def _mark(self, ordered: Sequence[Sequence[Stage]]) -> Turns[None]:
        """Marks which values each stage must provide, and how many steps it has."""
        yield from _count_steps(ordered, len(self._by_plan), self._work)
        for component in reversed(ordered):
            if self._work.turn_is_over:
                yield None
            is_exact = any(stage.is_exact for stage in component)
            for stage in component:
                self._work.spend(1)
                stage.is_exact = is_exact
                if is_exact or stage.waits:
                    for below in stage.rests_on():
                        below.is_exact = True
        anywhere = [stage for stage in self.all if stage.is_asked_anywhere]
        for stage in (yield from same_object(anywhere, set(), self._work)):
            stage.is_asked_anywhere = True
        for stage in (yield from same_object(self.roots.values(), set(), self._work)):
            stage.found = {}


def _count_steps(ordered: Sequence[Sequence[Stage]], most: int, work: Work) -> Turns[None]:
    """Counts the steps of each stage. A stage is counted again wherever two paths to it meet, which is quick; but never
    beyond `most`."""
    for component in ordered:
        inside = set(component)
        outer = (part.steps for stage in component for part in stage.parts if part not in inside)
        steps = min(len(component) + sum(outer), most)
        for stage in component:
            stage.steps = steps
        work.spend(len(component))
        if work.turn_is_over:
            yield None


def _by_depth(ordered: Sequence[Sequence[Stage]], work: Work) -> Turns[list[list[Stage]] | None]:
    """Returns the stages that wait by depth (see Stages.negations). `ordered` has the components, each after those that
    it rests on."""
    depths: dict[Stage, int] = {}
    negations: list[list[Stage]] = []
    for component in ordered:
        work.spend(len(component))
        if work.turn_is_over:
            yield None
        waiting = [stage for stage in component if stage.waits]
        if waiting and (len(component) > 1 or component[0] in component[0].rests_on()):
            return None
        below = {one for stage in component for one in stage.rests_on()}.difference(component)
        depth = max((depths[one] + one.waits for one in below), default=0)
        depths.update(dict.fromkeys(component, depth))
        if waiting:
            negations += [[] for _ in range(len(negations), depth + 1)]
            negations[depth] += waiting
    return negations


def same_object(stages: Iterable[Stage], seen: set[Stage], work: Work) -> Turns[list[Stage]]:
    """Returns these stages and all that they are made of on the same object, without those in `seen`."""
    found: list[Stage] = []
    waiting = [*stages]
    while waiting:
        stage = waiting.pop()
        if stage not in seen:
            seen.add(stage)
            found.append(stage)
            waiting += stage.parts
            work.spend(1)
            if work.turn_is_over:
                yield None
    return found
