"""Finds the objects on which one subject has relations, by reverse-expanding from the subject.

Stages for plans and gates take the place of nodes: each has a result set over the objects of its type, which starts
empty and only gains. A stage that gains propagates it: on the same object to the stages that are built from it, and to
other objects through the warrants that name what was gained. These warrants are read level by level, for everything
gained in between.

A combination that is not monotone, such as a noneOf, cannot be computed before everything that it rests on is known.
It waits until no stage gains anything, and then becomes one more stage that gains. Where one rests on itself (groups
can cause that, rules cannot) nothing is computed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.expansion import Operation, Plan
from magistrate.engine.plans import Model
from magistrate.engine.query.listed import Findings, Listed, Reports
from magistrate.engine.query.result_set import EXPLICIT, ListValue, ResultSet, truth_of
from magistrate.engine.query.search import Steps, Turns, fetch_rows
from magistrate.engine.query.stages import IDS_AT_ONCE, Road, Stage, StageEdge, Stages, Target, Told, same_object
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName
from magistrate.engine.truth import FALSE, MISSING, TRUE
from magistrate.engine.warrants import Warrant, creation_order
from magistrate.engine.work import Work

ROWS_AT_ONCE = 500
"""Groups rows that are charged together."""

_ANY_OTHER = ObjectId("")
"""This id stands for every id that is not named: it has the value and the report of the rest."""


def find_objects(
    model: Model, targets: Sequence[Target], subject: ObjectRef, conditions: PolicyEvaluator, work: Work
) -> Steps[Findings]:
    """Returns one Listed for each of these types and relations."""
    stages = Stages(model, subject.type, work)
    yield from stages.connect(targets)
    if stages.negations is None:
        return Findings(None)
    return (yield from _ObjectSearch(stages, stages.negations, subject, conditions, work).steps())


class _ObjectSearch:
    def __init__(
        self,
        stages: Stages,
        negations: Sequence[Sequence[Stage]],
        subject: ObjectRef,
        conditions: PolicyEvaluator,
        work: Work,
    ) -> None:
        self._stages = stages
        self._negations = iter(negations)
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
                rows = yield from fetch_rows(reads)
                for (road, _), found in zip(roads, rows, strict=True):
                    yield from self._take(road, found)
            elif not (yield from self._wake()):
                break
        for stage in self._stages.all:
            stage.release()
        listed: list[Listed] = []
        counted: set[Stage] = set()
        for target, root in self._stages.roots.items():
            listed.append(_build_listed(target, root, (yield from same_object([root], counted, self._work))))
            self._work.spend(1)
            if self._work.turn_is_over:
                yield None
        return Findings(listed, self._conditions.read_clock)

    def _begin(self) -> None:
        self._gain(self._stages.itself, self._subject.id, EXPLICIT)
        self._gain(self._stages.itself, WILDCARD, EXPLICIT)
        for stage in self._stages.all:
            if isinstance(stage.plan, Plan) and not stage.plan.is_defined:
                self._gain_rest(stage, MISSING, {})

    def _hand_on(self) -> Turns[None]:
        """Propagates what was gained until it takes reads to go on."""
        while self._busy:
            stage = next(iter(self._busy))
            ids, stage.gained = stage.gained[:IDS_AT_ONCE], stage.gained[IDS_AT_ONCE:]
            rest, stage.rest_gained = stage.rest_gained, False
            if not stage.gained:
                del self._busy[stage]
            for whole in stage.wholes:
                if not whole.waits_for_part:
                    yield from self._tell(whole, ids, rest)
            for road in stage.roads:
                yield from self._go(road, stage, ids, rest)
            self._work.spend(len(ids))
            if self._work.turn_is_over:
                yield None

    def _tell(self, whole: Stage, ids: Sequence[ObjectId], rest: bool) -> Turns[None]:
        """Propagates to a stage that one of its parts gained on these objects, or on all others."""
        if rest:
            ids = [_ANY_OTHER, *dict.fromkeys(id for part in whole.parts for id in part.named)]
        values = dict(zip(ids, (yield from whole.from_parts(ids, self._work)), strict=True))
        if rest:
            self._gain_rest(whole, values.pop(_ANY_OTHER), values)
        else:
            self._gain_each(whole, values)

    def _go(self, road: Road, origin: Stage, ids: Sequence[ObjectId], rest: bool) -> Turns[None]:
        if rest and road.has_all:
            ids = list(road.rows)
        elif rest:
            road.wants_all = True
        known: list[Warrant] = []
        for id in ids:
            rows = road.rows.get(id)
            if rows is None:
                road.want(id)
            else:
                known += rows
        yield from self._follow(road, known, origin)

    def _take(self, road: Road, rows: Sequence[Warrant]) -> Turns[None]:
        for warrant in rows:
            road.rows.setdefault(warrant.subject_id, []).append(warrant)
        yield from self._follow(road, rows)

    def _follow(self, road: Road, rows: Sequence[Warrant], origin: Stage | None = None) -> Turns[None]:
        """Propagates through these warrants what their subjects have, or only what they have of one origin."""
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            yield from self._conditions.evaluate_each(some)
            for relation, warrants in _by_relation(some).items():
                sources = road.sources[relation]
                for by_origin in sources.values() if origin is None else [sources.get(origin, {})]:
                    for source in by_origin:
                        self._apply(source, warrants)
                        self._work.spend(len(warrants))
                        if self._work.turn_is_over:
                            yield None

    def _apply(self, source: StageEdge, warrants: Sequence[Warrant]) -> None:
        target, values = source.target, self._values(source, warrants)
        named, least = target.named, FALSE if target.is_exact else TRUE
        gained: list[ObjectId] = []
        for warrant, value in zip(warrants, values, strict=True):
            id = warrant.object_id
            if id == WILDCARD:
                self._gain_rest(target, value, {})
            elif value > named.get(id, target.rest) and value >= least:
                named[id] = value
                gained.append(id)
        if gained:
            target.gained += gained
            self._busy[target] = None
        if target.is_asked_anywhere:
            self._gain(target, WILDCARD, max(values))
        if target.found is not None:
            _find(target.found, target.explicit, source.place, zip(warrants, values, strict=True))

    def _values(self, source: StageEdge, warrants: Sequence[Warrant]) -> Sequence[ListValue]:
        """Returns the value that each of the warrants gives."""
        value_of, rest, cap = source.origin.named.get, source.origin.rest, source.cap
        had = [value_of(warrant.subject_id, rest) for warrant in warrants]
        values = [value if value < cap else cap for value in had]
        if not any(warrant.policy for warrant in warrants):
            return values
        worths = [self._conditions.value(warrant) for warrant in warrants]
        return [min(value, EXPLICIT if worth is TRUE else worth) for value, worth in zip(values, worths, strict=True)]

    def _gain(self, stage: Stage, id: ObjectId, value: ListValue) -> None:
        if value > stage.named.get(id, stage.rest) and (value >= TRUE or stage.is_exact):
            stage.named[id] = value
            stage.gained.append(id)
            self._busy[stage] = None

    def _gain_each(self, stage: Stage, values: Mapping[ObjectId, ListValue]) -> None:
        named, rest, least = stage.named, stage.rest, FALSE if stage.is_exact else TRUE
        gained = {id: value for id, value in values.items() if value > named.get(id, rest) and value >= least}
        if gained:
            named.update(gained)
            stage.gained += gained
            self._busy[stage] = None

    def _gain_rest(self, stage: Stage, value: ListValue, named: Mapping[ObjectId, ListValue]) -> None:
        """Adds a value on all objects except the named ones, which gain the values they are named with."""
        if value < TRUE and not stage.is_exact:
            value = FALSE
        if not named:
            if value <= stage.had_by_all:
                return
            stage.had_by_all = value
        others = dict.fromkeys((id for id in stage.named if id not in named), value)
        if value > stage.rest:
            for id in named:
                stage.named.setdefault(id, stage.rest)
            stage.rest, stage.rest_gained = value, True
            self._busy[stage] = None
        self._gain_each(stage, others)
        self._gain_each(stage, named)

    def _wake(self) -> Turns[bool]:
        """Computes the next stages that wait, once no stage gains anything any more; returns false if there is none."""
        ready = next(self._negations, ())
        for stage in ready:
            stage.waits = False
            for one in (stage, *stage.wholes):
                if not one.waits_for_part:
                    yield from self._tell(one, (), rest=True)
        return bool(ready)


def _by_relation(warrants: Iterable[Warrant]) -> Mapping[RelationName, Sequence[Warrant]]:
    found: dict[RelationName, list[Warrant]] = defaultdict(list)
    for warrant in warrants:
        found[warrant.relation].append(warrant)
    return found


def _find(
    found: dict[ObjectId, Told],
    explicit: dict[ObjectId, Told],
    place: int,
    given: Iterable[tuple[Warrant, ListValue]],
) -> None:
    """Keeps for each object the first of all warrants that give it."""
    for warrant, value in given:
        if value >= TRUE:
            id, told = warrant.object_id, (place, warrant)
            first = found.setdefault(id, told)
            if first is not told and _order(told) < _order(first):
                found[id] = told
            if value is EXPLICIT:
                first = explicit.setdefault(id, told)
                if first is not told and _order(told) < _order(first):
                    explicit[id] = told


def _build_listed(target: Target, root: Stage, new: Iterable[Stage]) -> Listed:
    """Returns the Listed of a target. `new` has the stages it is made of on the same object, without those that are
    counted with another target."""
    root.named.pop(WILDCARD, None)
    entries = sum(len(stage.named) + len(stage.found or ()) + len(stage.explicit) for stage in new)
    reports = Reports(partial(_report, root), entries - len(root.named), root.steps)
    return Listed(*target, ResultSet(root.rest, root.named), reports)


def _report(root: Stage, id: ObjectId) -> Warrant | None:
    """Returns the warrant that is reported on an object where the stage holds: the first that a walk through its parts
    reaches. No part is visited twice."""
    if root.value(id) is EXPLICIT:
        told = _first(root.explicit, id)
        return told[1] if told else None
    walked: set[Stage] = set()
    waiting: list[Stage | Warrant] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Warrant):
            return one
        if one not in walked and one.value(id) >= TRUE:
            walked.add(one)
            waiting += reversed(_reasons(one, id))
    return None


def _reasons(stage: Stage, id: ObjectId) -> Sequence[Stage | Warrant]:
    """Returns the parts and warrants that make the stage hold, in order."""
    if isinstance(stage.plan, Operation):
        places = stage.plan.rule.reasons([truth_of(part.value(id)) for part in stage.parts])
        return [stage.parts[place] for place in places]
    assert stage.plan is not None
    told = _first(stage.found or {}, id)
    if told is None:
        return stage.parts
    places = [stage.plan.places[part] for part in stage.plan.parts]
    return [*(part for part, place in zip(stage.parts, places, strict=True) if place < told[0]), told[1]]


def _first(told: Mapping[ObjectId, Told], id: ObjectId) -> Told | None:
    """Returns the first report on this object or on the wildcard."""
    return min([told[where] for where in (id, WILDCARD) if where in told], key=_order, default=None)


def _order(told: Told) -> tuple[int, tuple[int, int]]:
    return told[0], creation_order(told[1])
