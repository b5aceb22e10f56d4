"""The warrants that checks have needed, kept in memory: who has what on an object, and where it leads on.

A graph belongs to one model, and to one revision at a time: when it is told what has changed since, it drops what that
touches, exactly, and is of the later revision from then on. Nothing is dropped because of its age, and nothing that
depends on the context of a request is kept."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from magistrate.engine.graph.entries import Entry, weight
from magistrate.engine.graph.kept import Room, Shelf
from magistrate.engine.graph.memberships import Kind, Memberships
from magistrate.engine.graph.reaching import closed_plans, leading_plans
from magistrate.engine.graph.touch import Touch
from magistrate.engine.plans import Gate, Model, Part, Plan
from magistrate.engine.rules.rule import Combined
from magistrate.engine.terms import WILDCARD, RelationName, Revision, TypeName
from magistrate.engine.warrant_source import Shape
from magistrate.engine.warrants import Warrant

MOST_EACH = 500
"""About a millisecond to read, and as long as others wait. A larger number of subjects is looked up one by one."""


_PlanNames = tuple[TypeName, RelationName] | Plan


def _names(plan: Plan) -> _PlanNames:
    """A plan that nobody has defined may be compiled again, and is another one then."""
    return plan if plan.relation is None else (plan.type, plan.relation)


class Choice(NamedTuple):
    """A combination on an object; `parts` are views of the same object, by number, and other combinations on it.
    `number` tells it from others."""

    number: int
    rule: Combined
    parts: "tuple[int | Choice, ...]"


class View:
    """What a plan looks at on an object, for subjects of one type. `same`: other views of the object that give the
    relation; `choices`: combinations that do; `is_simple` if there is neither, and the type is defined. `is_closed`:
    memberships tell the same. `is_empty` if no warrant can say anything, and `has_own` if one of the plan's own
    relation can name a subject."""

    def __init__(self, number: int, plan: Plan, subject_type: TypeName, model: Model, room: Room) -> None:
        self.number = number
        self.plan = plan
        self.subject_type = subject_type
        self.direct = model.shape(plan.type, plan.relations, subject_type)
        self.leading = [shape for shape in (plan.groups, *(link.shape for link in plan.links)) if shape is not None]
        self.entries: Shelf[Entry] = Shelf(room, weight)
        self.points: Shelf[Entry] = Shelf(room, weight)
        """By object and subject, where the entry of the object has no subjects."""
        self.same: tuple[int, ...] = ()
        self.choices: tuple[Choice, ...] = ()
        self.is_closed = False
        self.is_empty = not self.shapes
        self.has_own = plan.relation is not None and model.shape(plan.type, (plan.relation,), subject_type) is not None
        self.is_simple = plan.is_defined and not plan.parts

    @property
    def shapes(self) -> list[Shape]:
        return [self.direct, *self.leading] if self.direct is not None else self.leading

    def drop(self, touch: Touch) -> None:
        if touch.object_id == WILDCARD:
            self.entries.drop_all()
            self.points.drop_all()
            return
        if touch.subject_id == WILDCARD:
            self.points.drop_all()
        self.points.drop((touch.object_id, touch.subject_id))
        entry = self.entries.lately.get(touch.object_id) or self.entries.find(touch.object_id)
        if entry is not None and (entry.direct is not None or self._leads(touch)):
            self.entries.drop(touch.object_id)

    def _leads(self, touch: Touch) -> bool:
        return touch.subject_relation != "" or any(
            (link.with_relation, link.of_type) == (touch.relation, touch.subject_type) for link in self.plan.links
        )


class Graph:
    """`revision`: what is kept is as of this one. `most`: how many warrants are kept at the most; `most_each`: how many
    of a single object, or of the groups that a single subject is in by its own warrants."""

    def __init__(self, model: Model, revision: Revision, most: int, most_each: int = MOST_EACH) -> None:
        self.model = model
        self.revision = revision
        self.most_each = most_each
        self.views: list[View] = []
        self._room = Room(most)
        self._choices = 0
        self._views: dict[tuple[_PlanNames, TypeName], int] = {}
        self._asked_views: dict[tuple[TypeName, RelationName, TypeName], int] = {}
        self._subject_types = {form.subject_type for form in model.forms}
        self._views_by_relation: dict[tuple[str, str], list[View]] = defaultdict(list)
        self._closed = closed_plans(model)
        self._leading: dict[tuple[_PlanNames, TypeName], bool] = {}
        self._memberships: dict[TypeName, Memberships] = {}

    @property
    def rows(self) -> int:
        """About how many warrants are kept: what says that there is none counts as one."""
        return self._room.taken

    def apply(self, touches: Iterable[Touch], revision: Revision) -> None:
        """Is from now on as of this revision, up to which only these warrants have come or gone."""
        self.forget(touches)
        self.revision = revision

    def forget(self, touches: Iterable[Touch]) -> None:
        """Whatever these warrants are in."""
        for touch in touches:
            for view in self._views_by_relation.get((touch.object_type, touch.relation), ()):
                view.drop(touch)
            for memberships in self._memberships.values():
                memberships.drop(touch)

    def clear(self, revision: Revision) -> None:
        """Is from now on as of this revision, whatever has changed."""
        self._room.clear()
        self.revision = revision

    def asked_view(self, object_type: TypeName, relation: RelationName, subject_type: TypeName) -> int | None:
        """The number of the view that a question is about; None if it has names that nobody has defined and no warrant
        has had: those are not kept, however many are asked for."""
        names = (object_type, relation, subject_type)
        number = self._asked_views.get(names)
        is_known = number is not None or (
            object_type in self.model.types
            and self.model.knows(object_type, relation)
            and (subject_type in self.model.types or subject_type in self._subject_types)
        )
        if number is None and is_known:
            number = self.view(self.model.plan(object_type, relation), subject_type)
            self._asked_views[names] = number
        return number

    def view(self, plan: Plan, subject_type: TypeName) -> int:
        """Its number in `views`. The plan must be one of the model."""
        number = self._views.get((_names(plan), subject_type))
        return self._made(plan, subject_type) if number is None else number

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
        """The number of the view, None if it never leads to a subject of this type."""
        key = (_names(plan), subject_type)
        leads = self._leading.get(key)
        if leads is None:
            leads = self._leading[key] = plan in leading_plans(self.model, plan, subject_type)
        return self.view(plan, subject_type) if leads else None

    def led_to(self, warrant: Warrant, plan: Plan) -> Iterable[Plan]:
        """The plans of whatever a warrant leads to, on the subject that it names."""
        if warrant.subject_relation and warrant.relation in plan.group_relations:
            yield self.model.plan(warrant.subject_type, RelationName(warrant.subject_relation))
        for link in plan.links:
            if link.follows(warrant):
                yield self.model.plan(link.of_type, link.relation)

    def _made(self, plan: Plan, subject_type: TypeName) -> int:
        number = self._views[_names(plan), subject_type] = len(self.views)
        view = View(number, plan, subject_type, self.model, self._room)
        self.views.append(view)
        for names in {(shape.type, relation) for shape in view.shapes for relation in shape.relations}:
            self._views_by_relation[names].append(view)
        view.is_closed = plan in self._closed
        parts = [self._part(part, plan.type, subject_type) for part in plan.parts]
        view.same = tuple(part for part in parts if isinstance(part, int))
        view.choices = tuple(part for part in parts if not isinstance(part, int))
        return number

    def _part(self, part: Part, of_type: TypeName, subject_type: TypeName) -> "int | Choice":
        if not isinstance(part, Gate):
            return self.view(part if isinstance(part, Plan) else self.model.plan(of_type, part), subject_type)
        self._choices += 1
        number = self._choices
        return Choice(number, part.rule, tuple(self._part(one, of_type, subject_type) for one in part.parts))
