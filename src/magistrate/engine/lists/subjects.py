"""Finds the subjects that have relations on one object, by expanding from the object.

First everything that the object expands to is read, level by level, whichever the subject may be: groups, links, parts
on the same object. Then each of these places gets its result set over the subjects of a type, after the places that it
depends on. Places on a cycle are computed in rounds until none gains anything (a fixpoint)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.evaluation.facts import Facts
from magistrate.engine.lists.results import (
    EXPLICIT,
    VALUES_FOR_A_NODE,
    Findings,
    ListValue,
    RelationResult,
    Reports,
    ResultSet,
    Share,
    collect_ids,
    combine_result_sets,
    limit_of,
    restrict_each,
    unite_shares,
    weigh_result_set,
)
from magistrate.engine.model.components import find_components
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Branch, Expansion, Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import Combined
from magistrate.engine.steps import Checkpoints, Steps, discard, fetch_warrants, prepare_plans, take_pieces
from magistrate.engine.subjects import join_subject_type, select_kind, split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, Truth
from magistrate.engine.warrants.reader import WarrantsByObject, build_request
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern, creation_order
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Container, Linked, Work, sort_in_steps

# Holds what an expansion from one object reaches: plans and operations on objects, and the edges between them.


PlaceOrder = tuple[int, tuple[int, int]]


class PlaceEdge(NamedTuple):
    """Represents an edge from one place to another. `order`: its position among the alternatives, and that of its
    warrant there. `report`: the warrant, if it is to be reported for the subjects found there."""

    order: PlaceOrder
    place: "PlanOnObject"
    limit: ListValue
    report: Warrant | None


@dataclass(eq=False, slots=True)
class PlanOnObject(Linked):
    """Represents a plan or an operation on one object; WILDCARD: on any object. `given` has the warrants to subjects
    themselves, by their type. `floor` is the value that a quantifier begins with. `result_set` is over the subjects of
    the type that is currently solved.

    There may be tens of thousands, so `given` and `targets` are filled and emptied, never replaced: containers that are
    made while as many others are freed put off the next garbage collection, which then traverses all of them at once
    (wiring/garbage_collection.py)."""

    plan: Plan | Operation
    id: ObjectId
    given: dict[TypeName, list[Warrant]] = field(default_factory=dict)
    targets: list[PlaceEdge] = field(default_factory=list)
    floor: Truth = FALSE
    result_set: ResultSet = field(default_factory=ResultSet)

    def children(self) -> "Iterator[PlanOnObject]":
        """Returns the places that it has edges to."""
        return map(_place_of, self.targets)

    def unlink(self) -> Sequence[Container]:
        return (self.targets,)


_place_of: Callable[[PlaceEdge], PlanOnObject] = attrgetter("place")


Root = tuple[ObjectRef, RelationName]
"""Names a relation on an object whose subjects are searched."""

SetsByType = Mapping[TypeName | None, Mapping[Root, ResultSet]]


class SubjectSearch:
    """Finds every subject of these types, one RelationResult for each type and relation. With `others` there is also
    one for all other types, which no warrant pattern of the model may have.

    `remains` has what is to be freed afterwards."""

    def __init__(
        self, model: Model, types: Sequence[TypeName], others: bool, conditions: PolicyEvaluator, work: Work
    ) -> None:
        self._model = model
        self._types = types
        self._others = others
        self._type_names = {*types}
        self._given_types: set[TypeName] = set()
        self._object: ObjectRef | None = None
        self._self_objects: set[ObjectRef] = set()
        self._conditions = conditions
        self._work = work
        self._facts = Facts(model.counts)
        self._places: dict[tuple[Plan | Operation, ObjectId], PlanOnObject] = {}
        self._fresh: list[PlanOnObject] = []
        self._requests: dict[Plan, list[tuple[TypeName, WarrantsByObject | None]]] = {}
        self._ordered: list[list[PlanOnObject]] = []
        self.remains: Sequence[Container] = (self._places, self._ordered, *self._facts.containers())

    def steps(self, obj: ObjectRef, relations: Sequence[RelationName]) -> Steps[Findings]:
        self._object = obj
        result_sets = yield from self.find_result_sets([(obj, relation) for relation in relations])
        if result_sets is None:
            return Findings(None, self._conditions.valid_until)
        unnamed = result_sets[None]
        relation_results: list[RelationResult] = []
        for of_type in self._types:
            for root, result_set in result_sets[of_type].items():
                has_wildcard = result_set.default is EXPLICIT or result_set.default >= TRUE > unnamed[root].default
                relation_results.append(
                    RelationResult(of_type, root[1], result_set, _reports(result_set), has_wildcard=has_wildcard)
                )
        if self._others:
            relation_results += [
                RelationResult(None, relation, result_set, _reports(result_set))
                for (_, relation), result_set in unnamed.items()
            ]
        return Findings(relation_results, self._conditions.valid_until, self._self_objects)

    def find_result_sets(self, roots: Sequence[Root]) -> Steps[SetsByType | None]:
        """Returns the result sets of all these relations on objects, by type of the subjects; None stands for any type
        that no warrant names. Returns None in place of them if one of the relations depends on its own negation."""
        places: dict[Root, PlanOnObject] = {}
        for obj, relation in roots:
            yield from prepare_plans(self._model, [(obj.type, relation)], self._work)
            places[obj, relation] = self._place(self._model.plan(obj.type, relation), obj.id)
            yield from self._work.checkpoint()
        yield from self._read()
        ordered = self._ordered
        ordered += yield from find_components(self._places.values(), PlanOnObject.children, self._work)
        if (yield from self._find_negation(ordered)):
            return None
        unnamed = yield from self._solve_components(ordered, places, None)
        sets_by_type: dict[TypeName | None, Mapping[Root, ResultSet]] = {None: unnamed}
        for of_type in self._types:
            sets_by_type[of_type] = unnamed
            if of_type in self._given_types:
                sets_by_type[of_type] = yield from self._solve_components(ordered, places, of_type)
        return sets_by_type

    def _find_negation(self, ordered: Sequence[list[PlanOnObject]]) -> Checkpoints[bool]:
        """Returns whether a place depends on its own negation."""
        plans = (place.plan if len(component) > 1 else None for component in ordered for place in component)
        for number, plan in enumerate(plans, 1):
            if isinstance(plan, Operation) and not plan.rule.is_monotone:
                return True
            if not number % ITEMS_FOR_A_NODE:
                yield from self._work.checkpoint(1)
        return False

    def _solve_components(
        self,
        components: Sequence[list[PlanOnObject]],
        roots: Mapping[Root, PlanOnObject],
        of_type: TypeName | None,
    ) -> Checkpoints[dict[Root, ResultSet]]:
        """Returns by root the result set over the subjects of a type. None stands for any type that no warrant
        names."""
        for component in components:
            yield from self._solve(component, of_type)
            yield from self._work.checkpoint()
        result_sets: dict[Root, ResultSet] = {}
        for root, place in roots.items():
            result_sets[root] = yield from self._solve_root(place, of_type)
        return result_sets

    def _read(self) -> Steps[None]:
        waiting: list[PlanOnObject] = []
        while self._fresh:
            while self._fresh and self._facts.has_capacity:
                place = self._fresh.pop()
                if not (yield from self._expand(place)):
                    waiting.append(place)
                yield from self._work.checkpoint(2)
            if waiting:
                reads = self._facts.missing()
                warrants = yield from fetch_warrants(reads)
                self._work.spend(sum(map(len, warrants)))
                yield from take_pieces(self._facts.take(reads, warrants), self._work)
                self._fresh, waiting = [*self._fresh, *waiting], []

    def _expand(self, place: PlanOnObject) -> Checkpoints[bool]:
        """Finds the edges of a place, if all warrants on its object are read."""
        plan = place.plan
        if isinstance(plan, Operation):
            return (yield from self._expand_operation(place, plan))
        own_warrants = [
            (of_type, self._facts.find(request, place.id)) for of_type, request in self._list_given_requests(plan)
        ]
        warrants = self._facts.find_all(plan.requests, place.id)
        if warrants is None or any(warrants is None for _, warrants in own_warrants):
            return False
        yield from self._model.prepare_expansion(plan, warrants, self._work)
        for of_type, own in own_warrants:
            selected = yield from self._select_given(plan, of_type, own or ())
            if selected:
                place.given[of_type] = selected
        self._given_types |= place.given.keys()
        place.targets[:] = [self._to_branch(branch, place, plan.positions[branch]) for branch in plan.branches]
        for warrant, branch in plan.expand_warrants(warrants):
            yield from self._conditions.evaluate_each((warrant,))
            place.targets.append(self._to_expanded(plan, branch, warrant))
            yield from self._work.checkpoint()
        return True

    def _select_given(
        self, plan: Plan, subject_type: TypeName, warrants: Sequence[Warrant]
    ) -> Checkpoints[list[Warrant]]:
        """Returns those of the warrants that name subjects of this type: the warrants to usersets are read whatever
        these are."""
        of_type, relation = split_subject_type(subject_type)
        if not relation:
            return [*warrants]
        yield from self._work.charge(len(warrants) // ITEMS_AT_ONCE)
        return [
            warrant
            for warrant in warrants
            if (warrant.subject_type, warrant.subject_relation) == (of_type, relation)
            and warrant.relation in plan.relations
        ]

    def _expand_operation(self, place: PlanOnObject, plan: Operation) -> Checkpoints[bool]:
        while not self._model.prepare_following(plan, self._work):
            yield None
        place.targets[:] = [self._to_branch(branch, place, number) for number, branch in enumerate(plan.branches)]
        if plan.rule.leaf is not None:
            self._given_types.add(plan.type)
            ref = ObjectRef(plan.type, place.id)
            self._self_objects |= {ref} if ref == self._object else set()
        quantifier = plan.rule.quantifier
        if quantifier is None:
            return True
        [link] = plan.links
        warrants = self._facts.find_all(link.requests, place.id)
        if warrants is None:
            return False
        selected = link.select(chain.from_iterable(warrants))
        linked = yield from take_pieces(sort_in_steps(selected, creation_order), self._work)
        yield from self._conditions.evaluate_each(linked)
        limits = [self._conditions.value(warrant) for warrant in linked]
        wildcard_limits = [limit for link, limit in zip(linked, limits, strict=True) if link.subject_id == WILDCARD]
        weighed = [quantifier.weigh(limit, quantifier.of_wildcard) for limit in wildcard_limits]
        place.floor = plan.rule.combine([quantifier.begin(limits), *weighed])
        for warrant, limit in zip(linked, limits, strict=True):
            if limit is not FALSE and warrant.subject_id != WILDCARD:
                target = self._place(self._model.plan(*link.target(warrant)), warrant.subject_id)
                place.targets.append(PlaceEdge((0, creation_order(warrant)), target, limit, None))
            yield from self._work.checkpoint()
        return True

    def _to_branch(self, branch: Branch, place: PlanOnObject, number: int) -> PlaceEdge:
        return PlaceEdge(
            (number, (0, 0)), self._place(self._model.branch(place.plan.type, branch), place.id), TRUE, None
        )

    def _to_expanded(self, plan: Plan, branch: Expansion, warrant: Warrant) -> PlaceEdge:
        target = self._place(self._model.plan(*branch.target(warrant)), warrant.subject_id)
        limit = min(limit_of(plan, branch, warrant), self._policy_value(warrant))
        order = (branch.position(plan, warrant), creation_order(warrant))
        return PlaceEdge(order, target, limit, warrant if branch.is_explicit else None)

    def _policy_value(self, warrant: Warrant) -> ListValue:
        value = self._conditions.value(warrant)
        return EXPLICIT if value is TRUE else value

    def _list_given_requests(self, plan: Plan) -> list[tuple[TypeName, WarrantsByObject | None]]:
        if plan not in self._requests:
            patterns: dict[TypeName, list[WarrantPattern]] = defaultdict(list)
            for pattern in self._model.patterns_on(plan.type, plan.relations):
                patterns[join_subject_type(pattern.subject_type, pattern.subject_relation)].append(pattern)
            exceptions = [name for name in patterns if name in self._type_names]
            self._requests[plan] = [
                (name, build_request(plan.type, patterns[name], select_kind(*split_subject_type(name))))
                for name in exceptions
            ]
        return self._requests[plan]

    def _place(self, plan: Plan | Operation, object_id: ObjectId) -> PlanOnObject:
        place = self._places.get((plan, object_id))
        if place is None:
            self._work.spend(1)
            place = self._places[plan, object_id] = PlanOnObject(plan, object_id)
            self._fresh.append(place)
        return place

    def _solve(self, component: list[PlanOnObject], of_type: TypeName | None) -> Checkpoints[None]:
        """Computes the result set of each of the places, after all others that they have edges to."""
        [place, *others] = component
        if not others and place not in place.children():
            place.result_set = yield from self._compute_result(place, of_type)
            return
        for number, place in enumerate(component, 1):
            place.result_set = ResultSet()
            if not number % ITEMS_FOR_A_NODE:
                yield from self._work.checkpoint(1)
        yield from self._gain(component, of_type)
        inside = set(component)

        def find_reported(place: PlanOnObject) -> list[PlanOnObject]:
            return [targets.place for targets in place.targets if targets.report is None and targets.place in inside]

        for circle in (yield from find_components(component, find_reported, self._work)):
            yield from self._report(circle, of_type)

    def _gain(self, circle: list[PlanOnObject], of_type: TypeName | None) -> Checkpoints[None]:
        """Runs rounds until no place gains anything. The report of a subject stays the one that it was first found
        by."""
        targets = yield from _list_origins(circle, self._work)
        affected = circle
        while affected:
            gained: dict[PlanOnObject, ResultSet] = {}
            for place in affected:
                result_set = yield from self._compute_result(place, of_type)
                result_set.reports |= {
                    object_id: report for object_id, report in place.result_set.reports.items() if report
                }
                result_set.default_report = place.result_set.default_report or result_set.default_report
                if result_set != place.result_set:
                    gained[place] = result_set
            for place, result_set in gained.items():
                place.result_set = result_set
            affected = list(dict.fromkeys(parent for place in gained for parent in targets[place]))

    def _report(self, circle: list[PlanOnObject], of_type: TypeName | None) -> Checkpoints[None]:
        """Assigns reports in order, now that the subjects of each place are known, as far as links form no cycle."""
        targets = yield from _list_origins(circle, self._work)
        affected = circle
        for _ in circle:
            changed: dict[PlanOnObject, ResultSet] = {}
            for place in affected:
                result_set = yield from self._compute_result(place, of_type)
                if result_set != place.result_set:
                    changed[place] = result_set
            for place, result_set in changed.items():
                place.result_set = result_set
            affected = list(dict.fromkeys(parent for place in changed for parent in targets[place]))

    def _compute_result(self, place: PlanOnObject, of_type: TypeName | None) -> Checkpoints[ResultSet]:
        self._work.spend(1)
        if isinstance(place.plan, Operation):
            return (yield from self._combine(place, place.plan.rule, of_type))
        shares = yield from self._shares(place, place.plan, of_type)
        return (yield from self._merge(shares))

    def _merge(self, shares: list[Share]) -> Checkpoints[ResultSet]:
        """Returns the maximum of the shares, and frees them."""
        result_set = yield from take_pieces(unite_shares(shares), self._work)
        yield from discard([shares], self._work)
        return result_set

    def _combine(self, place: PlanOnObject, rule: Combined, of_type: TypeName | None) -> Checkpoints[ResultSet]:
        if rule.leaf is not None:
            yield from self._conditions.evaluate_each(self._conditions.list_placeholders(rule.leaf.policy))
            default, exceptions = rule.leaf.list_subjects(place.plan.type, place.id, of_type, self._conditions)
            return ResultSet(default, {**exceptions})
        result_sets = [target.place.result_set for target in place.targets]
        if rule.quantifier is not None:
            limits = [target.limit for target in place.targets]
            weighed = (weigh_result_set(rule.quantifier, *pair) for pair in zip(limits, result_sets, strict=True))
            result_sets = [ResultSet(place.floor), *weighed]
        ids = yield from take_pieces(collect_ids(result_sets), self._work)
        self._work.spend(len(ids) * (1 + 2 * len(result_sets) // VALUES_FOR_A_NODE))
        return (yield from take_pieces(combine_result_sets(rule, result_sets, ids), self._work))

    def _shares(self, place: PlanOnObject, plan: Plan, of_type: TypeName | None) -> Checkpoints[list[Share]]:
        """Returns every alternative, in order. Subjects that are named one after another share one result set."""
        own = place.given.get(of_type, ()) if of_type else ()
        yield from self._conditions.evaluate_each(own)
        written: Iterable[Warrant | PlaceEdge] = chain(place.targets, own)

        def order(entry: Warrant | PlaceEdge) -> PlaceOrder:
            return entry.order if isinstance(entry, PlaceEdge) else _order(plan, entry)

        entries = yield from take_pieces(sort_in_steps(written, order), self._work)
        shares: list[Share] = []
        exceptions: ResultSet | None = None
        for number, entry in enumerate(entries):
            if number % ITEMS_AT_ONCE == 0:
                yield from self._work.charge(min(ITEMS_AT_ONCE, len(entries) - number))
            if isinstance(entry, PlaceEdge):
                self._work.spend(len(entry.place.result_set.exceptions) // ITEMS_FOR_A_NODE)
                shares.append(Share(entry.place.result_set, entry.limit, entry.report))
                exceptions = None
                continue
            value = min(limit_of(plan, None, entry), self._policy_value(entry))
            if entry.subject_id == WILDCARD:
                shares.append(Share(ResultSet(value), EXPLICIT, entry))
                exceptions = None
                continue
            if exceptions is None:
                exceptions = ResultSet()
                shares.append(Share(exceptions, EXPLICIT, None))
            exceptions.exceptions[entry.subject_id] = max(value, exceptions.value(entry.subject_id))
            if value >= TRUE:
                exceptions.reports.setdefault(entry.subject_id, entry)
        if not plan.is_defined:
            shares.append(Share(ResultSet(UNDEFINED), TRUE, None))
        return shares

    def _solve_root(self, root: PlanOnObject, of_type: TypeName | None) -> Checkpoints[ResultSet]:
        """Returns the result set on the object of the query: a subject that has the relation explicitly is reported
        with the first warrant that says so, whatever comes before it."""
        assert isinstance(root.plan, Plan)
        shares = yield from self._shares(root, root.plan, of_type)
        explicit = yield from take_pieces(restrict_each(shares), self._work)
        explicit += shares
        shares.clear()
        return (yield from self._merge(explicit))


def _reports(result_set: ResultSet) -> Reports:
    return Reports(result_set.report, remains=(result_set.reports,))


def _list_origins(
    places: Sequence[PlanOnObject], work: Work
) -> Checkpoints[Mapping[PlanOnObject, Sequence[PlanOnObject]]]:
    """Returns for each place the places that have an edge to it. Yields when its time slice is over."""
    origins: dict[PlanOnObject, list[PlanOnObject]] = defaultdict(list)
    for place in places:
        for child in place.children():
            origins[child].append(place)
        yield from work.checkpoint(1 + len(place.targets) // ITEMS_FOR_A_NODE)
    return origins


def _order(plan: Plan, warrant: Warrant) -> PlaceOrder:
    return plan.positions[warrant.relation], creation_order(warrant)
