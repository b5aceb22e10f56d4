"""Finds the subjects that have relations on one object, by expanding from the object.

First everything that the object expands to is read, level by level, whichever the subject may be: groups, links, parts
on the same object. Then each of these places gets its result set over the subjects of a type, after the places that it
rests on. Places on a cycle are computed in rounds until none gains anything (a fixpoint)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from magistrate.engine.components import components
from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.dismantling import Container, Linked
from magistrate.engine.expansion import Branch, Expansion, Operation, Plan
from magistrate.engine.facts import Facts
from magistrate.engine.plans import Model, shape_of
from magistrate.engine.query.listed import Findings, Listed, Reports
from magistrate.engine.query.result_set import (
    EXPLICIT,
    ListValue,
    ResultSet,
    Share,
    combine_result_sets,
    explicit_parts,
    highest,
    limit_of,
)
from magistrate.engine.query.search import Steps, Turns, fetch_rows, gather_items, prepare_plans, take_turns
from magistrate.engine.sorting import sort_in_parts
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.truth import MISSING, TRUE
from magistrate.engine.warrant_reader import WarrantsByObject
from magistrate.engine.warrants import Warrant, WarrantPattern, creation_order
from magistrate.engine.work import Work

ENTRIES_AT_ONCE = 500
"""Groups warrants and edges that are charged together."""


_Order = tuple[int, tuple[int, int]]


class _Onward(NamedTuple):
    """Represents an edge from one place to another. `order`: its position among the alternatives, and that of its
    warrant there. `report`: the warrant, if it is to be reported for the subjects found there."""

    order: _Order
    place: "_PlanOnObject"
    cap: ListValue
    report: Warrant | None


class _PlanOnObject(Linked):
    """Represents a plan or a gate on one object; WILDCARD: on any object. `given` has the warrants to subjects
    themselves, by their type. `spread` is over the subjects of the type that is currently solved."""

    __slots__ = ("given", "id", "onward", "plan", "spread")

    def __init__(self, plan: Plan | Operation, id: ObjectId) -> None:
        self.plan = plan
        self.id = id
        self.given: dict[TypeName, list[Warrant]] = {}
        self.onward: list[_Onward] = []
        self.spread = ResultSet()

    def children(self) -> "list[_PlanOnObject]":
        return [onward.place for onward in self.onward]

    def unlink(self) -> Sequence[Container]:
        onward, self.onward = self.onward, []
        return (onward,)


class SubjectSearch:
    """Finds every subject of these types, one Listed for each type and relation. With `others` there is also one for
    all other types, which no warrant pattern of the model may have.

    `remains` has what is to be dismantled afterwards."""

    def __init__(
        self, model: Model, types: Sequence[TypeName], others: bool, conditions: PolicyEvaluator, work: Work
    ) -> None:
        self._model = model
        self._types = types
        self._others = others
        self._type_names = {*types}
        self._conditions = conditions
        self._work = work
        self._facts = Facts()
        self._places: dict[tuple[Plan | Operation, ObjectId], _PlanOnObject] = {}
        self._fresh: list[_PlanOnObject] = []
        self._shapes: dict[Plan, list[tuple[TypeName, WarrantsByObject | None]]] = {}
        self._ordered: list[list[_PlanOnObject]] = []
        self.remains: Sequence[Container] = (self._places, self._ordered, *self._facts.containers())

    def steps(self, object: ObjectRef, relations: Sequence[RelationName]) -> Steps[Findings]:
        roots: dict[RelationName, _PlanOnObject] = {}
        for relation in relations:
            yield from prepare_plans(self._model, [(object.type, relation)], self._work)
            roots[relation] = self._place(self._model.plan(object.type, relation), object.id)
            if self._work.turn_is_over:
                yield None
        yield from self._read()
        ordered = self._ordered
        ordered += yield from gather_items(components(self._places.values(), _PlanOnObject.children), self._work)
        if any(map(_rests_on_its_negation, ordered)):
            return Findings(None, self._conditions.read_clock)
        listed: list[Listed] = []
        unnamed = yield from self._solve_components(ordered, roots, None)
        named = {of_type for place in self._places.values() for of_type in place.given}
        for of_type in self._types:
            spreads = (yield from self._solve_components(ordered, roots, of_type)) if of_type in named else unnamed
            for relation, spread in spreads.items():
                is_for_everyone = spread.rest is EXPLICIT or spread.rest >= TRUE > unnamed[relation].rest
                listed.append(Listed(of_type, relation, spread, _reports(spread), is_for_everyone))
        if self._others:
            listed += [Listed(None, relation, spread, _reports(spread)) for relation, spread in unnamed.items()]
        return Findings(listed, self._conditions.read_clock)

    def _solve_components(
        self,
        components: Sequence[list[_PlanOnObject]],
        roots: Mapping[RelationName, _PlanOnObject],
        of_type: TypeName | None,
    ) -> Turns[dict[RelationName, ResultSet]]:
        """Returns by relation the result set over the subjects of a type. None stands for any type that no warrant
        names."""
        for component in components:
            yield from self._solve(component, of_type)
            if self._work.turn_is_over:
                yield None
        spreads: dict[RelationName, ResultSet] = {}
        for relation, root in roots.items():
            spreads[relation] = yield from self._collect_found(root, of_type)
        return spreads

    def _read(self) -> Steps[None]:
        waiting: list[_PlanOnObject] = []
        while self._fresh:
            while self._fresh and self._facts.has_room:
                place = self._fresh.pop()
                if not (yield from self._expand(place)):
                    waiting.append(place)
                self._work.shorten_turn(2)
                if self._work.turn_is_over:
                    yield None
            if waiting:
                reads = self._facts.missing()
                rows = yield from fetch_rows(reads)
                self._work.spend(sum(map(len, rows)))
                yield from take_turns(self._facts.take(reads, rows), self._work)
                self._fresh, waiting = [*self._fresh, *waiting], []

    def _expand(self, place: _PlanOnObject) -> Turns[bool]:
        """Finds the edges of a place, if all warrants on its object are read."""
        plan = place.plan
        if isinstance(plan, Operation):
            while not self._model.prepare_following(plan, self._work):
                yield None
            place.onward = [self._to_part(part, place, number) for number, part in enumerate(plan.parts)]
            return True
        given = [(of_type, self._facts.find(shape, place.id)) for of_type, shape in self._list_given_shapes(plan)]
        rows = self._facts.find_all(plan.shapes, place.id)
        if rows is None or any(warrants is None for _, warrants in given):
            return False
        yield from self._model.prepare_expansion(plan, rows, self._work)
        place.given = {of_type: warrants for of_type, warrants in given if warrants}
        place.onward = [self._to_part(part, place, plan.places[part]) for part in plan.parts]
        for warrant, branch in plan.expand_rows(rows):
            place.onward.append(self._to_expanded(plan, branch, warrant))
            if self._work.turn_is_over:
                yield None
        return True

    def _to_part(self, part: Branch, place: _PlanOnObject, number: int) -> _Onward:
        return _Onward((number, (0, 0)), self._place(self._model.part(place.plan.type, part), place.id), TRUE, None)

    def _to_expanded(self, plan: Plan, branch: Expansion, warrant: Warrant) -> _Onward:
        target = self._place(self._model.plan(*branch.target(warrant)), warrant.subject_id)
        cap = min(limit_of(plan, branch, warrant), self._worth(warrant))
        order = (branch.place(plan, warrant), creation_order(warrant))
        return _Onward(order, target, cap, warrant if branch.is_grant else None)

    def _worth(self, warrant: Warrant) -> ListValue:
        value = self._conditions.value(warrant)
        return EXPLICIT if value is TRUE else value

    def _list_given_shapes(self, plan: Plan) -> list[tuple[TypeName, WarrantsByObject | None]]:
        if plan not in self._shapes:
            forms: dict[TypeName, list[WarrantPattern]] = defaultdict(list)
            for form in self._model.patterns_to_subjects(plan):
                forms[form.subject_type].append(form)
            named = (name for name in forms if name in self._type_names)
            self._shapes[plan] = [(name, shape_of(plan.type, forms[name], name)) for name in named]
        return self._shapes[plan]

    def _place(self, plan: Plan | Operation, id: ObjectId) -> _PlanOnObject:
        place = self._places.get((plan, id))
        if place is None:
            self._work.spend(1)
            place = self._places[plan, id] = _PlanOnObject(plan, id)
            self._fresh.append(place)
        return place

    def _solve(self, component: list[_PlanOnObject], of_type: TypeName | None) -> Turns[None]:
        """Computes the result set of each of the places, after all others that they have edges to."""
        [place, *others] = component
        if not others and place not in place.children():
            place.spread = yield from self._spread(place, of_type)
            return
        for place in component:
            place.spread = ResultSet()
        yield from self._gain(component, of_type)
        inside = set(component)

        def find_reported(place: _PlanOnObject) -> list[_PlanOnObject]:
            return [onward.place for onward in place.onward if onward.report is None and onward.place in inside]

        for circle in components(component, find_reported):
            yield from self._report(circle, of_type)

    def _gain(self, circle: list[_PlanOnObject], of_type: TypeName | None) -> Turns[None]:
        """Runs rounds until no place gains anything. The report of a subject stays the one that it was first found
        by."""
        leading = _leading(circle)
        affected = circle
        while affected:
            gained: dict[_PlanOnObject, ResultSet] = {}
            for place in affected:
                spread = yield from self._spread(place, of_type)
                spread.reports |= {id: report for id, report in place.spread.reports.items() if report}
                spread.rest_report = place.spread.rest_report or spread.rest_report
                if spread != place.spread:
                    gained[place] = spread
            for place, spread in gained.items():
                place.spread = spread
            affected = list(dict.fromkeys(parent for place in gained for parent in leading[place]))

    def _report(self, circle: list[_PlanOnObject], of_type: TypeName | None) -> Turns[None]:
        """Assigns reports in order, now that the subjects of each place are known, as far as links form no cycle."""
        leading = _leading(circle)
        affected = circle
        for _ in circle:
            changed: dict[_PlanOnObject, ResultSet] = {}
            for place in affected:
                spread = yield from self._spread(place, of_type)
                if spread != place.spread:
                    changed[place] = spread
            for place, spread in changed.items():
                place.spread = spread
            affected = list(dict.fromkeys(parent for place in changed for parent in leading[place]))

    def _spread(self, place: _PlanOnObject, of_type: TypeName | None) -> Turns[ResultSet]:
        self._work.spend(1)
        if isinstance(place.plan, Operation):
            return (
                yield from combine_result_sets(
                    place.plan.rule, [child.spread for child in place.children()], self._work
                )
            )
        return (yield from highest((yield from self._shares(place, place.plan, of_type)), self._work))

    def _shares(self, place: _PlanOnObject, plan: Plan, of_type: TypeName | None) -> Turns[list[Share]]:
        """Returns every alternative, in order. Subjects that are named one after another share one result set."""
        given = place.given.get(of_type, ()) if of_type else ()
        yield from self._conditions.evaluate_each(given)
        entries: list[Warrant | _Onward] = [*place.onward, *given]

        def order(entry: Warrant | _Onward) -> _Order:
            return entry.order if isinstance(entry, _Onward) else _order(plan, entry)

        entries = yield from take_turns(sort_in_parts(entries, order), self._work)
        shares: list[Share] = []
        named: ResultSet | None = None
        for number, entry in enumerate(entries):
            if number % ENTRIES_AT_ONCE == 0:
                self._work.spend(min(ENTRIES_AT_ONCE, len(entries) - number))
                if self._work.turn_is_over:
                    yield None
            if isinstance(entry, _Onward):
                shares.append(Share(entry.place.spread, entry.cap, entry.report))
                named = None
                continue
            value = min(limit_of(plan, None, entry), self._worth(entry))
            if entry.subject_id == WILDCARD:
                shares.append(Share(ResultSet(value), EXPLICIT, entry))
                named = None
                continue
            if named is None:
                named = ResultSet()
                shares.append(Share(named, EXPLICIT, None))
            named.named[entry.subject_id] = max(value, named.value(entry.subject_id))
            if value >= TRUE:
                named.reports.setdefault(entry.subject_id, entry)
        if not plan.is_defined:
            shares.append(Share(ResultSet(MISSING), TRUE, None))
        return shares

    def _collect_found(self, root: _PlanOnObject, of_type: TypeName | None) -> Turns[ResultSet]:
        """Returns the result set on the object of the query: a subject that has the relation explicitly is reported
        with the first warrant that says so, whatever comes before it."""
        assert isinstance(root.plan, Plan)
        shares = yield from self._shares(root, root.plan, of_type)
        explicit = yield from explicit_parts(shares, self._work)
        return (yield from highest([*explicit, *shares], self._work))


def _reports(spread: ResultSet) -> Reports:
    return Reports(spread.report, len(spread.reports))


def _leading(places: Sequence[_PlanOnObject]) -> Mapping[_PlanOnObject, Sequence[_PlanOnObject]]:
    """Returns for each place the places that have an edge to it."""
    leading: dict[_PlanOnObject, list[_PlanOnObject]] = defaultdict(list)
    for place in places:
        for child in place.children():
            leading[child].append(place)
    return leading


def _order(plan: Plan, warrant: Warrant) -> _Order:
    return plan.places[warrant.relation], creation_order(warrant)


def _rests_on_its_negation(component: list[_PlanOnObject]) -> bool:
    return len(component) > 1 and any(
        isinstance(place.plan, Operation) and not place.plan.rule.is_monotone for place in component
    )
