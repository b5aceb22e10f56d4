"""On which objects one subject has relations: backwards, from the subject to whatever leads to it.

Plans and gates take the place of nodes: each has a spread over the objects of its type, which starts from nothing and
only gains. Whoever gains hands it on: to what is made of it on the same object, and, through the warrants that name
what was gained, to other objects. These warrants are read level by level, for all that was gained in between.

A noneOf cannot be worked out before all that it rests on is known. It waits until nobody else gains anything, and then
is one more that gains. Where a noneOf rests on itself (groups can tie that, rules cannot) nothing is worked out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from magistrate.engine.conditions import Conditions
from magistrate.engine.plans import Gate, Model, Part, Plan
from magistrate.engine.query.listed import Findings, Listed
from magistrate.engine.query.search import Steps, Turns, fetched
from magistrate.engine.query.spread import EXPLICIT, Spread, combined_values
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.truth import FALSE, MISSING, TRUE, Truth
from magistrate.engine.warrant_source import ReverseRead, ReverseShape
from magistrate.engine.warrants import Warrant, WarrantForm
from magistrate.engine.work import Work

Target = tuple[TypeName, RelationName]

IDS_AT_ONCE = 4_000
"""Subjects whose warrants are read together; as many are handed on without a break."""

_ANY_OTHER = ObjectId("")
"""No id: has the value and the report of the rest."""


_Told = tuple[int, int, Warrant]
"""A warrant to be reported, behind its place among the alternatives and its number."""


class _Source(NamedTuple):
    """Warrants give `target` what `origin` has at their subject, at most as strongly as `cap`. `place`: where that
    stands among the alternatives of the target."""

    origin: "_Stage"
    target: "_Stage"
    place: int
    cap: Truth


class _Road:
    """Warrants between objects of one type and subjects of one kind: who gains by them, by relation, and as far as
    they have been read, the warrants by subject."""

    def __init__(self, form: WarrantForm) -> None:
        self._form = form
        self.sources: dict[RelationName, list[_Source]] = defaultdict(list)
        self.rows: dict[ObjectId, list[Warrant]] = {}
        self.wanted: dict[ObjectId, None] = {}
        self.wants_all = False
        self.has_all = False
        self.names_wildcard = False

    def want(self, id: ObjectId) -> None:
        if not self.has_all and (id != WILDCARD or self.names_wildcard):
            self.wanted[id] = None

    def read(self) -> ReverseRead | None:
        """The next one that is wanted."""
        form = self._form
        shape = ReverseShape(form.object_type, tuple(self.sources), form.subject_type, form.subject_relation)
        if self.wants_all:
            self.wants_all, self.has_all = False, True
            self.wanted, self.rows = {}, {}
            return ReverseRead(shape, None)
        ids = tuple(islice(self.wanted, IDS_AT_ONCE))
        for id in ids:
            del self.wanted[id]
            self.rows[id] = []
        return ReverseRead(shape, ids) if ids else None


class _Stage:
    """The spread of a plan or a gate; of neither: the subject itself.

    `gained` has the ids that others have not been told of yet. `is_exact`: below a noneOf, where values short of TRUE
    matter. `is_asked_anywhere`: a warrant to `type:*#relation` asks for it on any object, which is kept at WILDCARD.
    `found` has for each object (WILDCARD: for every one) the first warrant that gives it, with its place and number;
    `explicit` likewise, of those that give it EXPLICIT. Both are None where nobody is going to ask."""

    def __init__(self, plan: Plan | Gate | None) -> None:
        self.plan = plan
        self.named: dict[ObjectId, Truth] = {}
        self.rest = FALSE
        self.gained: list[ObjectId] = []
        self.rest_gained = False
        self.parts: list[_Stage] = []
        self.wholes: list[_Stage] = []
        self.origins: list[_Stage] = []
        self.roads: list[_Road] = []
        self.waits = isinstance(plan, Gate) and plan.rule.negates
        self.is_exact = False
        self.is_asked_anywhere = False
        self.found: dict[ObjectId, _Told] | None = None
        self.explicit: dict[ObjectId, _Told] = {}

    def value(self, id: ObjectId) -> Truth:
        return self.named.get(id, self.rest)

    def from_parts(self, ids: Sequence[ObjectId]) -> Iterable[Truth]:
        """What the parts make of it, for each of these ids."""
        return combined_values(self.plan.rule.combined if isinstance(self.plan, Gate) else max, self.parts, ids)

    @property
    def waits_for_part(self) -> bool:
        return self.waits or (isinstance(self.plan, Gate) and any(part.waits for part in self.parts))

    def rests_on(self) -> "list[_Stage]":
        """Everything that it is made of."""
        found: dict[_Stage, None] = dict.fromkeys([*self.parts, *self.origins])
        waiting = list(found)
        while waiting:
            stage = waiting.pop()
            further = [one for one in (*stage.parts, *stage.origins) if one not in found]
            found.update(dict.fromkeys(further))
            waiting += further
        return list(found)


def find_objects(
    model: Model, targets: Sequence[Target], subject: ObjectRef, conditions: Conditions, work: Work
) -> Steps[Findings]:
    """One Listed for each of these types and relations."""
    return _Search(model, subject, conditions, work).steps(targets)


class _Search:
    def __init__(self, model: Model, subject: ObjectRef, conditions: Conditions, work: Work) -> None:
        self._model = model
        self._subject = subject
        self._conditions = conditions
        self._work = work
        self._itself = _Stage(None)
        self._stages: dict[Plan | Gate, _Stage] = {}
        self._fresh: list[_Stage] = []
        self._roads: dict[tuple[str, str, str], _Road] = {}
        self._busy: dict[_Stage, None] = {}

    def steps(self, targets: Sequence[Target]) -> Steps[Findings]:
        roots = {target: self._stage(self._model.plan(*target)) for target in targets}
        while self._fresh:
            self._connect(self._fresh.pop())
        if any(stage.waits and stage in stage.rests_on() for stage in self._stages.values()):
            return Findings(None)
        self._mark(roots.values())
        self._begin()
        while True:
            yield from self._hand_on()
            roads = [(road, read) for road in self._roads.values() if (read := road.read())]
            if roads:
                reads = [read for _, read in roads]
                rows = yield from fetched(reads)
                for (road, _), found in zip(roads, rows, strict=True):
                    yield from self._take(road, found)
            elif not self._wake():
                break
        listed = [self._listed(target, root) for target, root in roots.items()]
        return Findings(listed, self._conditions.read_clock)

    def _listed(self, target: Target, root: _Stage) -> Listed:
        named = {id: value for id, value in root.named.items() if id != WILDCARD}
        return Listed(*target, Spread(root.rest, named), partial(self._report, root))

    def _stage(self, plan: Plan | Gate) -> _Stage:
        stage = self._stages.get(plan)
        if stage is None:
            self._work.spend(1)
            stage = self._stages[plan] = _Stage(plan)
            self._fresh.append(stage)
        return stage

    def _connect(self, stage: _Stage) -> None:
        """With all that it is made of."""
        plan = stage.plan
        assert plan is not None
        stage.parts = [self._part(plan.type, part) for part in plan.parts]
        for part in stage.parts:
            part.wholes.append(stage)
        if isinstance(plan, Gate):
            return
        for form in self._model.forms_on(
            plan.type, dict.fromkeys([*plan.relations, *(link.with_relation for link in plan.links)])
        ):
            if form.relation in plan.relations and (form.subject_type, form.subject_relation) == (
                self._subject.type,
                "",
            ):
                self._join(form, self._itself, stage, plan.places[form.relation], _cap(plan, form))
            if form.subject_relation and form.relation in plan.group_relations:
                group = self._model.plan(form.subject_type, RelationName(form.subject_relation))
                self._join(form, self._stage(group), stage, plan.places[form.relation], _cap(plan, form))
            for link in plan.links:
                if link.follows(form):
                    linked = self._stage(self._model.plan(link.of_type, link.relation))
                    self._join(form, linked, stage, plan.places[link], TRUE)

    def _part(self, of_type: TypeName, part: Part) -> _Stage:
        return self._stage(part if isinstance(part, Plan | Gate) else self._model.plan(of_type, part))

    def _join(self, form: WarrantForm, origin: _Stage, target: _Stage, place: int, cap: Truth) -> None:
        names = (form.object_type, form.subject_type, form.subject_relation)
        road = self._roads.get(names)
        if road is None:
            road = self._roads[names] = _Road(form)
        source = _Source(origin, target, place, cap)
        if source not in road.sources[form.relation]:
            road.sources[form.relation].append(source)
            target.origins.append(origin)
        if road not in origin.roads:
            origin.roads.append(road)
        if form.subject_id == WILDCARD:
            road.names_wildcard = origin.is_asked_anywhere = True

    def _mark(self, roots: Iterable[_Stage]) -> None:
        """What is going to be asked of which stage."""
        for stage in self._stages.values():
            if stage.waits:
                for below in stage.rests_on():
                    below.is_exact = True
            if stage.is_asked_anywhere:
                for part in _same_object([stage]):
                    part.is_asked_anywhere = True
        for stage in _same_object(roots):
            stage.found = {}

    def _begin(self) -> None:
        self._gain(self._itself, self._subject.id, EXPLICIT)
        self._gain(self._itself, WILDCARD, EXPLICIT)
        for stage in self._stages.values():
            if isinstance(stage.plan, Plan) and not stage.plan.is_defined:
                self._gain_rest(stage, MISSING, {})

    def _hand_on(self) -> Turns[None]:
        """Whatever was gained, until it takes reads to go on."""
        while self._busy:
            stage = next(iter(self._busy))
            ids, stage.gained = stage.gained[:IDS_AT_ONCE], stage.gained[IDS_AT_ONCE:]
            rest, stage.rest_gained = stage.rest_gained, False
            if not stage.gained:
                del self._busy[stage]
            for whole in stage.wholes:
                if not whole.waits_for_part:
                    self._tell(whole, ids, rest)
            for road in stage.roads:
                self._go(road, stage, ids, rest)
            self._work.spend(len(ids))
            if self._work.turn_is_over:
                yield None

    def _tell(self, whole: _Stage, ids: Sequence[ObjectId], rest: bool) -> None:
        """That one of its parts gained on these objects, or on all others."""
        if rest:
            named = list(dict.fromkeys(id for part in whole.parts for id in part.named))
            [rest_value] = whole.from_parts([_ANY_OTHER])
            self._gain_rest(whole, rest_value, dict(zip(named, whole.from_parts(named), strict=True)))
        else:
            self._gain_each(whole, dict(zip(ids, whole.from_parts(ids), strict=True)))

    def _go(self, road: _Road, origin: _Stage, ids: Sequence[ObjectId], rest: bool) -> None:
        if rest and road.has_all:
            ids = list(road.rows)
        elif rest:
            road.wants_all = True
        for id in ids:
            rows = road.rows.get(id)
            if rows is None:
                road.want(id)
                continue
            for warrant in rows:
                for source in road.sources[warrant.relation]:
                    if source.origin is origin:
                        self._apply(source, warrant)

    def _take(self, road: _Road, rows: Sequence[Warrant]) -> Turns[None]:
        for warrant in rows:
            road.rows.setdefault(warrant.subject_id, []).append(warrant)
            for source in road.sources[warrant.relation]:
                self._apply(source, warrant)
            self._work.spend(1)
            if self._work.turn_is_over:
                yield None

    def _apply(self, source: _Source, warrant: Warrant) -> None:
        value = source.origin.named.get(warrant.subject_id, source.origin.rest)
        if value > source.cap:
            value = source.cap
        if warrant.policy:
            worth = self._conditions.value(warrant)
            value = min(value, worth) if worth != TRUE else value
        target, id = source.target, warrant.object_id
        if id == WILDCARD:
            self._gain_rest(target, value, {})
        else:
            self._gain(target, id, value)
        if target.is_asked_anywhere:
            self._gain(target, WILDCARD, value)
        if target.found is not None and value >= TRUE:
            told = (source.place, warrant.number, warrant)
            if id not in target.found or told < target.found[id]:
                target.found[id] = told
            if value == EXPLICIT and (id not in target.explicit or told < target.explicit[id]):
                target.explicit[id] = told

    def _gain(self, stage: _Stage, id: ObjectId, value: Truth) -> None:
        if value > stage.named.get(id, stage.rest) and (value >= TRUE or stage.is_exact):
            stage.named[id] = value
            stage.gained.append(id)
            self._busy[stage] = None

    def _gain_each(self, stage: _Stage, values: Mapping[ObjectId, Truth]) -> None:
        named, rest, least = stage.named, stage.rest, FALSE if stage.is_exact else TRUE
        gained = {id: value for id, value in values.items() if value > named.get(id, rest) and value >= least}
        if gained:
            named.update(gained)
            stage.gained += gained
            self._busy[stage] = None

    def _gain_rest(self, stage: _Stage, value: Truth, named: Mapping[ObjectId, Truth]) -> None:
        """That all objects gain this, but for the named ones, which gain what they are named with."""
        if value < TRUE and not stage.is_exact:
            value = FALSE
        if value > stage.rest:
            for id in named:
                stage.named.setdefault(id, stage.rest)
            self._gain_each(stage, dict.fromkeys((id for id in stage.named if id not in named), value))
            stage.rest, stage.rest_gained = value, True
            self._busy[stage] = None
        self._gain_each(stage, named)

    def _wake(self) -> bool:
        """A noneOf that waited for others, now that nobody gains anything any more; false if there is none."""
        waiting = [stage for stage in self._stages.values() if stage.waits]
        ready = [stage for stage in waiting if not any(below.waits for below in stage.rests_on())]
        for stage in ready:
            stage.waits = False
            self._tell(stage, (), rest=True)
            for whole in stage.wholes:
                if not whole.waits_for_part:
                    self._tell(whole, (), rest=True)
        return bool(ready)

    def _report(self, stage: _Stage, id: ObjectId, above: Sequence[_Stage] = ()) -> Warrant | None:
        """The warrant that a stage is reported for on an object where it holds; `above` are those it is asked for."""
        if stage in above:
            return None
        if not above and stage.value(id) == EXPLICIT:
            told = _first(stage.explicit, id)
            return told[2] if told else None
        holding = (*above, stage)
        reports = [self._report(part, id, holding) if part.value(id) >= TRUE else None for part in stage.parts]
        if isinstance(stage.plan, Gate):
            witness = stage.plan.rule.witness([0 if report is None else 1 for report in reports])
            return None if witness is None else reports[witness]
        assert stage.plan is not None
        places = [stage.plan.places[part] for part in stage.plan.parts]
        found = [(place, 0, report) for place, report in zip(places, reports, strict=True) if report is not None]
        itself = _first(stage.found or {}, id)
        told = min([*found, itself] if itself else found, key=_order, default=None)
        return told[2] if told else None


def _cap(plan: Plan, form: WarrantForm) -> Truth:
    return EXPLICIT if form.relation == plan.relation else TRUE


def _first(told: Mapping[ObjectId, _Told], id: ObjectId) -> _Told | None:
    """The first on this object or on every one."""
    return min([told[where] for where in (id, WILDCARD) if where in told], key=_order, default=None)


def _order(told: _Told) -> tuple[int, int]:
    return told[:2]


def _same_object(stages: Iterable[_Stage]) -> list[_Stage]:
    """These and all that they are made of on the same object."""
    found: dict[_Stage, None] = dict.fromkeys(stages)
    waiting = list(found)
    while waiting:
        parts = [part for part in waiting.pop().parts if part not in found]
        found.update(dict.fromkeys(parts))
        waiting += parts
    return list(found)
