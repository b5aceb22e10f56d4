"""On which objects one subject has relations: backwards, from the subject to whatever leads to it.

Plans and gates take the place of nodes: each has a spread over the objects of its type, which starts from nothing and
only gains. Whoever gains hands it on: to what is made of it on the same object, and, through the warrants that name
what was gained, to other objects. These warrants are read level by level, for all that was gained in between.

A noneOf cannot be worked out before all that it rests on is known. It waits until nobody else gains anything, and then
is one more that gains. Where a noneOf rests on itself (groups can tie that, rules cannot) nothing is worked out."""

from collections.abc import Mapping, Sequence
from functools import partial

from magistrate.engine.conditions import Conditions
from magistrate.engine.plans import Gate, Model, Plan
from magistrate.engine.query.listed import Findings, Listed
from magistrate.engine.query.search import Steps, Turns, fetched
from magistrate.engine.query.spread import EXPLICIT, Spread
from magistrate.engine.query.stages import IDS_AT_ONCE, Road, Source, Stage, Stages, Target, Told
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef
from magistrate.engine.truth import FALSE, MISSING, TRUE, Truth
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

_ANY_OTHER = ObjectId("")
"""No id: has the value and the report of the rest."""


def find_objects(
    model: Model, targets: Sequence[Target], subject: ObjectRef, conditions: Conditions, work: Work
) -> Steps[Findings]:
    """One Listed for each of these types and relations."""
    stages = Stages(model, targets, subject.type, work)
    if stages.rest_on_their_negation:
        return Findings(None)
    return (yield from _Search(stages, subject, conditions, work).steps())


class _Search:
    def __init__(self, stages: Stages, subject: ObjectRef, conditions: Conditions, work: Work) -> None:
        self._stages = stages
        self._subject = subject
        self._conditions = conditions
        self._work = work
        self._busy: dict[Stage, None] = {}

    def steps(self) -> Steps[Findings]:
        self._begin()
        while True:
            yield from self._hand_on()
            roads = [(road, read) for road in self._stages.roads if (read := road.read())]
            if roads:
                reads = [read for _, read in roads]
                rows = yield from fetched(reads)
                for (road, _), found in zip(roads, rows, strict=True):
                    yield from self._take(road, found)
            elif not self._wake():
                break
        listed = [self._listed(target, root) for target, root in self._stages.roots.items()]
        return Findings(listed, self._conditions.read_clock)

    def _listed(self, target: Target, root: Stage) -> Listed:
        named = {id: value for id, value in root.named.items() if id != WILDCARD}
        return Listed(*target, Spread(root.rest, named), partial(self._report, root))

    def _begin(self) -> None:
        self._gain(self._stages.itself, self._subject.id, EXPLICIT)
        self._gain(self._stages.itself, WILDCARD, EXPLICIT)
        for stage in self._stages.all:
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

    def _tell(self, whole: Stage, ids: Sequence[ObjectId], rest: bool) -> None:
        """That one of its parts gained on these objects, or on all others."""
        if rest:
            named = list(dict.fromkeys(id for part in whole.parts for id in part.named))
            [rest_value] = whole.from_parts([_ANY_OTHER])
            self._gain_rest(whole, rest_value, dict(zip(named, whole.from_parts(named), strict=True)))
        else:
            self._gain_each(whole, dict(zip(ids, whole.from_parts(ids), strict=True)))

    def _go(self, road: Road, origin: Stage, ids: Sequence[ObjectId], rest: bool) -> None:
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

    def _take(self, road: Road, rows: Sequence[Warrant]) -> Turns[None]:
        for warrant in rows:
            road.rows.setdefault(warrant.subject_id, []).append(warrant)
            for source in road.sources[warrant.relation]:
                self._apply(source, warrant)
            self._work.spend(1)
            if self._work.turn_is_over:
                yield None

    def _apply(self, source: Source, warrant: Warrant) -> None:
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

    def _gain(self, stage: Stage, id: ObjectId, value: Truth) -> None:
        if value > stage.named.get(id, stage.rest) and (value >= TRUE or stage.is_exact):
            stage.named[id] = value
            stage.gained.append(id)
            self._busy[stage] = None

    def _gain_each(self, stage: Stage, values: Mapping[ObjectId, Truth]) -> None:
        named, rest, least = stage.named, stage.rest, FALSE if stage.is_exact else TRUE
        gained = {id: value for id, value in values.items() if value > named.get(id, rest) and value >= least}
        if gained:
            named.update(gained)
            stage.gained += gained
            self._busy[stage] = None

    def _gain_rest(self, stage: Stage, value: Truth, named: Mapping[ObjectId, Truth]) -> None:
        """That all objects gain this, but for the named ones, which gain what they are named with."""
        if value < TRUE and not stage.is_exact:
            value = FALSE
        others = dict.fromkeys((id for id in stage.named if id not in named), value)
        if value > stage.rest:
            for id in named:
                stage.named.setdefault(id, stage.rest)
            stage.rest, stage.rest_gained = value, True
            self._busy[stage] = None
        self._gain_each(stage, others)
        self._gain_each(stage, named)

    def _wake(self) -> bool:
        """A noneOf that waited for others, now that nobody gains anything any more; false if there is none."""
        waiting = [stage for stage in self._stages.all if stage.waits]
        ready = [stage for stage in waiting if not any(below.waits for below in stage.rests_on())]
        for stage in ready:
            stage.waits = False
            self._tell(stage, (), rest=True)
            for whole in stage.wholes:
                if not whole.waits_for_part:
                    self._tell(whole, (), rest=True)
        return bool(ready)

    def _report(self, stage: Stage, id: ObjectId, above: Sequence[Stage] = ()) -> Warrant | None:
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


def _first(told: Mapping[ObjectId, Told], id: ObjectId) -> Told | None:
    """The first on this object or on every one."""
    return min([told[where] for where in (id, WILDCARD) if where in told], key=_order, default=None)


def _order(told: Told) -> tuple[int, int]:
    return told[:2]
