"""The groups that subjects are in, found from the subject's side.

Of groups that are made of nothing but warrants, a subject's *closure* says it all: every group it is in, by however
many others. What it has on an object is then a matter of one look at the groups named there, however they nest."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence

from magistrate.engine.graph.entries import State, state_name, together
from magistrate.engine.graph.kept import Room, Shelf
from magistrate.engine.graph.touch import Touch
from magistrate.engine.plans import Model, Plan
from magistrate.engine.terms import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.warrant_source import ReverseRead, ReverseShape
from magistrate.engine.warrants import Warrant

Groups = tuple[State, ...]
"""Those that a subject, or a group, is in by its own warrants."""

MOST_GROUPS_ALTOGETHER = 5_000
"""In a closure that is used."""

UNUSABLE: Groups = ((-1, WILDCARD),)
"""Too many, or of a warrant with a policy: then the objects are asked, instead of the subject."""


class Kind:
    """Subjects of one type, or of one relation on objects of a type: `views` has, by type and relation of a warrant to
    them, those it makes them members of."""

    def __init__(self, number: int, room: Room) -> None:
        self.number = number
        self.views: dict[tuple[TypeName, RelationName], list[int]] = defaultdict(list)
        self.shapes: Sequence[ReverseShape] = ()
        self.groups: Shelf[Groups] = Shelf(room, len_or_one)

    def reads(self, ids: Iterable[ObjectId]) -> list[ReverseRead]:
        return [ReverseRead(shape, tuple(ids)) for shape in self.shapes]

    def keep(self, id: ObjectId, warrants: Sequence[Warrant]) -> None:
        if any(warrant.policy for warrant in warrants):
            self.groups.keep(id, UNUSABLE)
            return
        states = (
            (number, warrant.object_id)
            for warrant in warrants
            for number in self.views[warrant.object_type, warrant.relation]
        )
        self.groups.keep(id, tuple(dict.fromkeys(states)))


def len_or_one(states: Sequence[object]) -> int:
    return len(states) or 1


class Memberships:
    """Of the subjects of one type. `number_of` tells the view of a plan for them."""

    def __init__(
        self, model: Model, closed: Iterable[Plan], subject_type: TypeName, number_of: Callable[[Plan], int], room: Room
    ) -> None:
        self.kinds: list[Kind] = []
        self._subjects = Kind(0, room)
        self._kinds_by_names: dict[tuple[str, str], Kind] = {(subject_type, ""): self._subjects}
        self._kinds_by_view: dict[int, Kind] = {}
        self._closures: Shelf[tuple[int, Container[str], int]] = Shelf(room, lambda kept: kept[2])
        self._changes = 0
        self.kinds.append(self._subjects)
        numbers = {plan: number_of(plan) for plan in closed}
        for plan in closed:
            self._add(model, plan, numbers[plan], subject_type, room)
        for plan, number in numbers.items():
            kind = self._kinds_by_names.get((plan.type, plan.relation or ""))
            if kind is not None:
                self._kinds_by_view[number] = kind
        for (kind_type, relation), kind in self._kinds_by_names.items():
            kind.shapes = _shapes(kind.views, TypeName(kind_type), relation)
        to_subjects = (form for form in model.forms if (form.subject_type, form.subject_relation) == (subject_type, ""))
        self._to_all = any(form.subject_id == WILDCARD for form in to_subjects)

    def _add(self, model: Model, plan: Plan, number: int, subject_type: TypeName, room: Room) -> None:
        for form in model.forms_on(plan.type, plan.relations):
            names = (form.subject_type, form.subject_relation)
            if not form.subject_relation and form.subject_type != subject_type:
                continue
            if form.subject_relation and form.relation not in plan.group_relations:
                continue
            if names not in self._kinds_by_names:
                self._kinds_by_names[names] = Kind(len(self.kinds), room)
                self.kinds.append(self._kinds_by_names[names])
            views = self._kinds_by_names[names].views[form.object_type, form.relation]
            if number not in views:
                views.append(number)

    def known_closure(self, id: ObjectId) -> Container[str] | None:
        """All groups a subject is in, each as `state_name` has it, if that was found out and has not changed since."""
        kept = self._closures.lately.get(id) or self._closures.find(id)
        return kept[1] if kept is not None and kept[0] == self._changes else None

    def closure(self, id: ObjectId, missing: dict[tuple[int, ObjectId], None]) -> Container[str] | None:
        """The same, found out; None if that is not known. What has to be read first is put into `missing`, which is
        empty before, by kind."""
        found = self._groups(id, missing)
        if found is None or missing:
            return None
        closure = together([state_name(state) for state in found])
        self._closures.keep(id, (self._changes, closure, 1 + len(found)))
        return closure

    def _groups(self, id: ObjectId, missing: dict[tuple[int, ObjectId], None]) -> dict[State, None] | None:
        """As far as they are known; None if they cannot be used."""
        found: dict[State, None] = {}
        waiting = [(self._subjects, id), *([(self._subjects, WILDCARD)] if self._to_all else [])]
        while waiting:
            kind, member = waiting.pop()
            groups = kind.groups.lately.get(member)
            if groups is None:
                groups = kind.groups.find(member)
            if groups is None:
                missing[kind.number, member] = None
            elif groups is UNUSABLE or len(found) > MOST_GROUPS_ALTOGETHER:
                return None
            else:
                new = [state for state in groups if state not in found]
                found.update(dict.fromkeys(new))
                kinds = ((self._kinds_by_view.get(number), group) for number, group in new)
                waiting += [(kind, group) for kind, group in kinds if kind is not None]
        return found

    def drop(self, touch: Touch) -> None:
        kind = self._kinds_by_names.get((touch.subject_type, touch.subject_relation))
        if kind is not None and (touch.object_type, touch.relation) in kind.views:
            kind.groups.drop(touch.subject_id)
            self._changes += 1


def _shapes(
    views: Iterable[tuple[TypeName, RelationName]], subject_type: TypeName, subject_relation: str
) -> Sequence[ReverseShape]:
    relations: dict[TypeName, list[RelationName]] = defaultdict(list)
    for of_type, relation in views:
        relations[of_type].append(relation)
    return [ReverseShape(of_type, tuple(names), subject_type, subject_relation) for of_type, names in relations.items()]
