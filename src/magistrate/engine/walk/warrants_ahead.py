"""Finds the entries that a walk needs for one check among the rows read ahead for it (engine/warrants/read_ahead.py).

An Evaluation has the same answer, but raises BudgetExceeded where its budget is too small. So a walk may use the rows
only if they are all that an Evaluation could read, and if no Evaluation could exceed its budget over them: every row
reaches plans whose requests were made on its subject, and `_WarrantReach` counts what an Evaluation could be charged.
Both depend on the names in a row, and are computed once for each outline.

Policies, undefined types, rules that are decided otherwise than from other rules, warrants to every object of a type
and relations that are not compiled are left to the Evaluation.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from magistrate.engine.cache.closures import MembershipClosure
from magistrate.engine.cache.entries import ALL_SUBJECTS, EMPTY, Entry, State, weigh_entry
from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.segments import Capacity, SparseSegment
from magistrate.engine.cache.views import CombinedView
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Branch, Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, TypeName
from magistrate.engine.nesting import fold
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.warrants.read_ahead import MAX_BRANCHES, ReadOutline
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work

_Names = tuple[int, str, str, str]
"""Names the place of a request, and of a warrant that it found the relation, the subject type and relation."""
_NO_ENTRIES = SparseSegment(Capacity(0), weigh_entry, EMPTY)


class AheadView:
    """Represents what a plan reads on an object for the subject of the check, like a PlanView.

    `direct` and `requests` have the places of its requests, each with whether warrants on every object count, too:
    those for warrants to the subject itself, and those for warrants to follow. `targets` has the views to which the
    warrants lead that were met so far.
    """

    __slots__ = ("direct", "has_own", "is_simple", "operations", "plan", "requests", "same", "targets")

    entries = _NO_ENTRIES
    is_closed = False

    def __init__(self, plan: Plan, outline: ReadOutline) -> None:
        def place(places: Iterable[int]) -> Sequence[tuple[int, bool]]:
            return [(place, outline.requests[place].has_object_wildcard) for place in places]

        direct = outline.direct.get(plan)
        self.plan = plan
        self.direct = place(() if direct is None else (direct,))
        self.requests = place(outline.places[request] for request in plan.requests)
        self.has_own = bool(self.direct)
        self.same: tuple[int, ...] = ()
        self.operations: tuple[CombinedView, ...] = ()
        self.is_simple = not plan.branches
        self.targets: dict[_Names, Sequence[int]] = {}


class _WarrantReach(NamedTuple):
    """Holds where a check comes by one warrant, or begins: the places of the requests that it may make on the object,
    and how many nodes and edges, and how many operations, an Evaluation may have there."""

    places: frozenset[int]
    size: int
    operations: int


class _OutlineViews:
    """Holds the views of an outline, and what may be reached by its rows. All is filled on demand; there is no
    reference to the outline or the model, because these are what the views are kept by."""

    __slots__ = ("numbers", "operations", "plans_by_place", "reaches", "resolved", "views")

    def __init__(self, outline: ReadOutline) -> None:
        self.views: list[AheadView] = []
        self.resolved = 0
        """Counts the views whose branches are known."""
        self.numbers: dict[Plan, int] = {}
        self.operations = 0
        self.reaches: dict[Plan | _Names, _WarrantReach | None] = {}
        """Is None where an Evaluation may read more than the outline has, or a walk cannot decide."""
        self.plans_by_place: dict[int, list[Plan]] = defaultdict(list)
        for plan in outline.plans:
            for request in plan.requests:
                place = outline.places.get(request)
                if place is not None:
                    self.plans_by_place[place].append(plan)


_VIEWS: WeakKeyDictionary[ReadOutline, _OutlineViews] = WeakKeyDictionary()


class WarrantsAhead:
    """Implements EntryFinder for a check whose rows are known: all that the reads of `outline.begin_on` find for the
    subject, and all that follows. `now` is in microseconds since 1970 UTC."""

    policies: Mapping[PolicyName, NamedPolicy] = {}

    def __init__(self, model: Model, outline: ReadOutline, now: int) -> None:
        outline_views = _VIEWS.get(outline)
        if outline_views is None:
            outline_views = _VIEWS[outline] = _OutlineViews(outline)
        self._outline_views = outline_views
        self._model = model
        self._outline = outline
        self._now = now
        self._warrants: dict[tuple[int, ObjectId], list[Warrant]] = {}
        self._entries: dict[State, Entry] = {}
        self.views: Sequence[AheadView] = outline_views.views
        self.missing = MissingEntries()

    def take(self, plan: Plan, warrants: Sequence[tuple[int, Warrant]], max_work: int) -> bool:
        """Takes the rows for a check of this plan, each with its place, and returns whether a walk may decide from
        them, given the budget of the check."""
        root = self._find_reach(plan)
        if root is None or not root.places.issubset(self._outline.first):
            return False
        size, operations, by_place = root.size, root.operations, self._warrants
        reaches, now, has_orphaned = self._outline_views.reaches, self._now, bool(self._model.orphaned)
        for place, warrant in warrants:
            if warrant.policy:
                return False
            if (warrant.expires_at or warrant.starts_at) and not warrant.is_in_force(now):
                continue
            if has_orphaned and not self._model.counts(warrant):
                continue
            names = (place, warrant.relation, warrant.subject_type, warrant.subject_relation)
            reach = reaches[names] if names in reaches else self._follow(names, warrant)
            if reach is None or (reach.size and warrant.subject_id == WILDCARD):
                return False
            size, operations = size + reach.size, operations + reach.operations
            key = (place, warrant.object_id)
            if key in by_place:
                by_place[key].append(warrant)
            else:
                by_place[key] = [warrant]
        # An Evaluation makes each node and edge once, and resolves those that depend on each other at most once for
        # each combination.
        return 2 * size * (2 + operations) + len(warrants) <= max_work

    def _follow(self, names: _Names, warrant: Warrant) -> _WarrantReach | None:
        """Returns where a warrant leads. Its names are those of others, too, so they are looked up from then on."""
        reaches, outline_views = self._outline_views.reaches, self._outline_views
        followed = {step.request for step in self._outline.following[names[0]] if step.follows(warrant)}
        size, operations = 0, 0
        for plan in outline_views.plans_by_place[names[0]]:
            for branch in plan.expand(warrant):
                target = self._model.plans.get(branch.target(warrant))
                reach = None if target is None else self._find_reach(target)
                if reach is None or not reach.places <= followed:
                    reaches[names] = None
                    return None
                size, operations = size + 1 + reach.size, operations + reach.operations
        reach = reaches[names] = _WarrantReach(frozenset(), size, operations)
        return reach

    def _find_reach(self, plan: Plan) -> _WarrantReach | None:
        """Returns what an Evaluation may do for a plan on an object, with all of its branches."""
        reaches = self._outline_views.reaches
        if plan not in reaches:
            reaches[plan] = self._examine(plan)
        return reaches[plan]

    def _examine(self, plan: Plan) -> _WarrantReach | None:
        plans: dict[Plan | Operation, None] = {plan: None}
        places, size = set[int](), 0
        for reached in (waiting := [*plans]):  # grows during the loop
            if max(len(plans), len(reached.branches)) > MAX_BRANCHES or not self._is_supported(reached):
                return None
            branches = [self._resolve(reached.type, branch) for branch in reached.branches]
            resolved = [branch for branch in branches if branch is not None]
            if len(resolved) < len(branches):
                return None
            size += 1 + len(branches)
            places.update(self._list_places(reached))
            new = [branch for branch in dict.fromkeys(resolved) if branch not in plans]
            plans.update(dict.fromkeys(new))
            waiting += new
        return _WarrantReach(frozenset(places), size, sum(isinstance(reached, Operation) for reached in plans))

    def _list_places(self, plan: Plan | Operation) -> Iterable[int]:
        """Returns the places of the requests that a plan makes itself."""
        if isinstance(plan, Operation):
            return ()
        direct = self._outline.direct.get(plan)
        places = [self._outline.places[request] for request in plan.requests]
        return places if direct is None else [*places, direct]

    def _is_supported(self, plan: Plan | Operation) -> bool:
        if isinstance(plan, Operation):
            return plan.rule.leaf is None and plan.rule.quantifier is None
        has_requests = all(request in self._outline.places for request in plan.requests)
        return plan.is_defined and plan in self._outline.plans and has_requests

    def _resolve(self, of_type: TypeName, branch: Branch) -> Plan | Operation | None:
        return self._model.plans.get((of_type, branch)) if isinstance(branch, str) else branch

    def find_view(self, check: Check, work: Work) -> int | None:
        if check.object.id == WILDCARD:
            return None
        [number] = self._place_all([self._model.plan(check.object.type, check.relation)])
        return number

    def _place_all(self, plans: Iterable[Plan]) -> Sequence[int]:
        """Returns the numbers of the views of these plans, which are made with those of all their branches."""
        numbers = [self._place(plan) for plan in plans]
        views = self._outline_views.views
        while self._outline_views.resolved < len(views):
            view = views[self._outline_views.resolved]
            self._outline_views.resolved += 1
            branches = [self._place_branch(view.plan.type, branch) for branch in view.plan.branches]
            view.same = tuple(branch for branch in branches if isinstance(branch, int))
            view.operations = tuple(branch for branch in branches if not isinstance(branch, int))
        return numbers

    def _place(self, plan: Plan) -> int:
        """Returns the number of the view of a plan, whose branches are resolved later when it is new."""
        outline_views = self._outline_views
        number = outline_views.numbers.get(plan)
        if number is None:
            number = outline_views.numbers[plan] = len(outline_views.views)
            outline_views.views.append(AheadView(plan, self._outline))
        return number

    def _place_branch(self, of_type: TypeName, branch: Branch) -> int | CombinedView:
        """Returns the view of a branch, or its CombinedView, however deep operations are nested in it."""

        def make_branch(branch: Branch, branches: Sequence[int | CombinedView]) -> int | CombinedView:
            if not isinstance(branch, Operation):
                return self._place(self._model.plan(of_type, branch) if isinstance(branch, str) else branch)
            self._outline_views.operations += 1
            return CombinedView(self._outline_views.operations, branch.type, branch.rule, (*branches,))

        view: int | CombinedView = fold(
            branch, lambda inner: inner.branches if isinstance(inner, Operation) else (), make_branch
        )
        return view

    def find_entry(
        self, number: int, object_id: ObjectId, subject: ObjectId, work: Work, is_bare: bool = False
    ) -> Entry | None:
        entry = self._entries.get((number, object_id))
        if entry is None:
            entry = self._entries[number, object_id] = self._read(self.views[number], object_id)
        return entry

    def _read(self, view: AheadView, object_id: ObjectId) -> Entry:
        direct = [warrant for place in view.direct for warrant in self._list_warrants(place, object_id)]
        if direct:
            relation = view.plan.relation
            is_own = any(warrant.relation == relation for warrant in direct)
            return Entry(direct=ALL_SUBJECTS, own=ALL_SUBJECTS if is_own else "")
        targets: list[State] = []
        for request in view.requests:
            for warrant in self._list_warrants(request, object_id):
                names = (request[0], warrant.relation, warrant.subject_type, warrant.subject_relation)
                numbers = view.targets.get(names)
                if numbers is None:
                    targets_of = [branch.target(warrant) for branch in view.plan.expand(warrant)]
                    numbers = view.targets[names] = self._place_all(self._model.plan(*target) for target in targets_of)
                targets += [(number, warrant.subject_id) for number in numbers]
        return Entry(targets=tuple(targets)) if targets else EMPTY

    def _list_warrants(self, place: tuple[int, bool], object_id: ObjectId) -> Sequence[Warrant]:
        warrants, (number, has_wildcard) = self._warrants, place
        here = warrants.get((number, object_id), ())
        return [*here, *warrants.get((number, WILDCARD), ())] if has_wildcard else here

    def find_closure(self, of_type: TypeName, object_id: ObjectId, work: Work) -> MembershipClosure:
        raise AssertionError("no view is closed")

    def begin_round(self) -> None:
        """Does nothing: no row is missing."""
