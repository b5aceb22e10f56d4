"""Caches the warrants that checks have read: who has what on an object, and what it leads to.

A graph belongs to one model, and to one revision at a time. When changes are applied it evicts exactly the entries that
they affect, and from then on is as of the later revision. When the model changes it keeps the entries of every view
that means the same in both models. Nothing is evicted because of its age, and nothing that depends on the context of a
request is cached.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence

from magistrate.engine.expansion import Branch, Operation, Plan
from magistrate.engine.graph.kinds import Kind
from magistrate.engine.graph.memberships import Memberships
from magistrate.engine.graph.reaching import LeadingSearch, PlanKey, find_closed_plans
from magistrate.engine.graph.segments import Capacity
from magistrate.engine.graph.turns import TurnIsOver
from magistrate.engine.graph.views import CombinedView, PlanView, ViewKey
from magistrate.engine.names import WarrantNames
from magistrate.engine.nesting import fold
from magistrate.engine.plans import Model
from magistrate.engine.terms import RelationName, Revision, TypeName
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

MOST_EACH = 500
"""Limits the subjects that are cached for one object; above it, subjects are looked up one by one. This many rows
take about a millisecond to read, during which other requests wait."""
MOST_OUTDATED = 10_000
"""Limits the views. When more than half of this many have not been used with the present model, all are evicted."""
WORK_FOR_A_VIEW = 5

_Place = tuple[Branch, tuple[int, ...]]


class Graph:
    """Holds the cached entries as of `revision`.

    `most` limits the warrants that are cached in total; `most_each` limits those of a single object, and the groups
    that a single subject is in by its own warrants.
    """

    def __init__(self, model: Model, revision: Revision, most: int, most_each: int = MOST_EACH) -> None:
        self.revision = revision
        self.most_each = most_each
        self.views: list[PlanView] = []
        self._room = Capacity(most)
        self._numbers: dict[ViewKey, int] = {}
        self._outdated: set[int] = set()
        self._views_by_relation: dict[tuple[str, str], dict[PlanView, None]] = defaultdict(dict)
        self._memberships: dict[TypeName, Memberships] = {}
        self._use(model)

    def _use(self, model: Model) -> None:
        self.model = model
        self._choices = 0
        self._asked_views: dict[tuple[TypeName, RelationName, TypeName], int] = {}
        self._subject_types = {form.subject_type for form in model.forms}
        self._closed = find_closed_plans(model)
        self._leading: dict[TypeName, dict[PlanKey, bool]] = defaultdict(dict)
        self._preparing: dict[tuple[TypeName, RelationName, TypeName], LeadingSearch] = {}
        self._unresolved: list[PlanView] = []

    @property
    def rows(self) -> int:
        """Returns about how many warrants are cached; an entry without any counts as one."""
        return self._room.size

    def apply(self, touches: Iterable[WarrantNames], revision: Revision) -> None:
        """Applies the only changes up to this revision, and is as of it from then on."""
        self.invalidate(touches)
        self.revision = revision

    def invalidate(self, touches: Iterable[WarrantNames]) -> None:
        """Evicts the entries that contain these warrants."""
        for touch in touches:
            for view in self._views_by_relation.get((touch.object_type, touch.relation), ()):
                view.invalidate(touch)
            for memberships in self._memberships.values():
                memberships.invalidate(touch)

    def change_model(self, model: Model, revision: Revision) -> None:
        """Replaces the model by that of this revision, up to which no warrant was written or deleted.

        Entries that mean the same in both models are kept; for each view this is determined when it is next used.
        """
        self._use(model)
        self.revision = revision
        self._evict_unused_views()
        self._outdated = {view.number for view in self.views}
        former, self._memberships = self._memberships, {}
        for subject_type, memberships in former.items():
            self._memberships[subject_type] = self.memberships(subject_type).adopt(memberships)

    def clear(self, revision: Revision) -> None:
        """Evicts all entries, and is as of this revision from then on."""
        self._room.clear()
        self.revision = revision

    def find_view(
        self, object_type: TypeName, relation: RelationName, subject_type: TypeName, work: Work
    ) -> int | None:
        """Returns the number of the view that a check starts from.

        Returns None for names that are neither defined nor used by any warrant; these are not cached, so that callers
        cannot fill the memory with them. Raises TurnIsOver when the turn ends before all views it leads to are ready,
        and BudgetSpent.
        """
        names = (object_type, relation, subject_type)
        number = self._asked_views.get(names)
        if number is not None and not self._unresolved:
            return number
        is_known = (
            object_type in self.model.types
            and self.model.knows(object_type, relation)
            and (subject_type in self.model.types or subject_type in self._subject_types)
        )
        if not is_known:
            return None
        self._prepare(names, work)
        number = self._place_named(self.model.plan(object_type, relation), subject_type)
        while self._unresolved:
            self._resolve(self._unresolved.pop())
            work.spend(WORK_FOR_A_VIEW)
            if work.turn_is_over and self._unresolved:
                raise TurnIsOver
        self._asked_views[names] = number
        return number

    def _prepare(self, names: tuple[TypeName, RelationName, TypeName], work: Work) -> None:
        """Compiles the plans that a check may need. Raises TurnIsOver and BudgetSpent."""
        object_type, relation, subject_type = names
        if names not in self._preparing:
            known = self._leading[subject_type]
            self._preparing[names] = LeadingSearch(self.model, (object_type, relation), subject_type, known)
        if not self._preparing[names].go_on(work):
            raise TurnIsOver
        del self._preparing[names]

    def view(self, plan: Plan, subject_type: TypeName) -> int:
        """Returns the number in `views` of the view of this plan, which must be one of the model's and have a name."""
        number = self._place_named(plan, subject_type)
        while self._unresolved:
            self._resolve(self._unresolved.pop())
        return number

    def _place_named(self, plan: Plan, subject_type: TypeName) -> int:
        return self._place(ViewKey(plan.type, plan.relation, (), subject_type), plan)

    def memberships(self, subject_type: TypeName) -> Memberships:
        if subject_type not in self._memberships:
            self._memberships[subject_type] = Memberships(
                self.model, self._closed, subject_type, lambda plan: self.view(plan, subject_type), self._room
            )
        return self._memberships[subject_type]

    def kind(self, subject_type: TypeName, number: int) -> Kind:
        return self.memberships(subject_type).kinds[number]

    def is_closed(self, number: int) -> bool:
        return self.views[number].is_closed

    def following(self, plan: Plan, subject_type: TypeName) -> int | None:
        """Returns the number of the plan's view, or None when it never leads to a subject of this type."""
        return self.view(plan, subject_type) if self._leads(plan, subject_type) else None

    def _leads(self, plan: Plan, subject_type: TypeName) -> bool:
        """Returns whether a plan that has a name can lead to subjects of this type."""
        names = (plan.type, plan.relation or RelationName(""))
        known = self._leading[subject_type]
        if names not in known:
            search, work = LeadingSearch(self.model, names, subject_type, known), Work(sys.maxsize)
            while not search.go_on(work):
                work.begin_turn()
        return known[names]

    def expand_warrant(self, warrant: Warrant, plan: Plan) -> Iterable[Plan]:
        """Returns the plans that a warrant leads to on the subject it names."""
        for branch in plan.expand(warrant):
            yield self.model.plan(*branch.target(warrant))

    def _place(self, key: ViewKey, plan: Plan) -> int:
        """Returns the number of a view. Its targets are resolved later when it is new, or was last used with another
        model."""
        number = self._numbers.get(key)
        if number is not None and number not in self._outdated:
            return number
        is_closed = plan in self._closed
        if number is None:
            number = self._numbers[key] = len(self.views)
            view = PlanView(number, key, self._room, plan, self.model, is_closed)
            self.views.append(view)
        else:
            self._outdated.remove(number)
            view = self.views[number]
            for names in view.relations():
                del self._views_by_relation[names][view]
            view.look_at(plan, self.model, is_closed)
        for names in view.relations():
            self._views_by_relation[names][view] = None
        self._unresolved.append(view)
        return number

    def _resolve(self, view: PlanView) -> None:
        parts = [self._part(part, view.key, (place,)) for place, part in enumerate(view.plan.parts)]
        view.same = tuple(part for part in parts if isinstance(part, int))
        view.choices = tuple(part for part in parts if not isinstance(part, int))
        targets = self._targets(view)
        if view.sign({names: (leads, is_closed) for names, (_, leads, is_closed) in targets.items()}):
            for target, leads, _ in targets.values():
                if leads:  # an entry may have its number
                    self._place_named(target, view.subject_type)

    def _targets(self, view: PlanView) -> dict[tuple[str, str], tuple[Plan, bool, bool]]:
        """Returns the plans that warrants in the entries can lead to, by type and relation.

        With each plan comes whether it leads to subjects of the view's type, and whether it is closed.
        """
        targets: dict[tuple[str, str], tuple[Plan, bool, bool]] = {}
        for name in {branch.target(form) for form, branch in self.model.expand_patterns(view.plan)}:
            target = self.model.plan(*name)
            targets[name] = (target, self._leads(target, view.subject_type), target in self._closed)
        return targets

    def _part(self, part: Branch, owner: ViewKey, path: tuple[int, ...]) -> int | CombinedView:
        """Returns the view of a branch, or its CombinedView, however deep combinations are nested in it."""

        def parts_of(place: _Place) -> Sequence[_Place]:
            part, path = place
            return [(one, (*path, at)) for at, one in enumerate(part.parts)] if isinstance(part, Operation) else ()

        def make_part(place: _Place, parts: Sequence[int | CombinedView]) -> int | CombinedView:
            part, path = place
            if isinstance(part, Plan):
                return self._place(owner._replace(path=owner.path + path), part)
            if not isinstance(part, Operation):
                return self._place(owner._replace(relation=part, path=()), self.model.plan(owner.type, part))
            self._choices += 1
            return CombinedView(self._choices, part.rule, tuple(parts))

        found: int | CombinedView = fold((part, path), parts_of, make_part)
        return found

    def _evict_unused_views(self) -> None:
        """Evicts all views when far more exist than are used, because relations may be renamed any number of times."""
        if len(self.views) > MOST_OUTDATED and 2 * len(self._outdated) > len(self.views):
            self.clear(self.revision)
            for view in self.views:
                self._room.remove(view.entries)
                self._room.remove(view.points)
            for memberships in self._memberships.values():
                memberships.release()
            self.views, self._numbers, self._memberships = [], {}, {}
            self._views_by_relation.clear()
