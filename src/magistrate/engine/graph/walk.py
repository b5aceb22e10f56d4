"""Deciding a check from what a graph keeps.

A walk goes from the object on, over everything that alone gives the relation, until a warrant names the subject, or a
group that the subject is in. Combinations are decided from their parts, each with a walk of its own, by the same few
lines that combine values in an Evaluation (engine/rules/). It works with what holds and what does not: as soon as
something is not known (a policy that fails, a type that is not defined) or depends on itself, and matters, the walk
gives up, and an Evaluation has to decide. So it does where the walk would be long."""

from magistrate.engine.conditions import Conditions
from magistrate.engine.decision import DENIED, EXPLICIT, IMPLICIT, Decision
from magistrate.engine.evaluation import Question
from magistrate.engine.graph.entries import EMPTY, Conditioned, Entry, State, named_state, state_name, subject_name
from magistrate.engine.graph.graph import Choice, Graph, View
from magistrate.engine.terms import WILDCARD, ObjectId, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.work import Work

MOST_STATES = 5_000
"""For one question: some milliseconds."""
MOST_NESTING = 40
"""Of combinations on different objects in each other."""


class Missing:
    """What has to be read, each once: entries by state; points by view, object and subject; groups by type of the
    subjects, kind and id."""

    __slots__ = ("entries", "groups", "points")

    def __init__(self) -> None:
        self.entries: dict[State, None] = {}
        self.points: dict[tuple[int, ObjectId, ObjectId], None] = {}
        self.groups: dict[tuple[TypeName, int, ObjectId], None] = {}

    def things(self) -> frozenset[object]:
        return frozenset((*self.entries, *self.points, *self.groups))

    def __bool__(self) -> bool:
        return bool(self.entries or self.points or self.groups)


class GivenUp(Exception):
    """An Evaluation has to decide."""


class Walk:
    """Over one graph, at one revision; one question after the other. `now`: in microseconds since 1970 UTC."""

    __slots__ = (
        "_awaits_closure",
        "_chosen",
        "_closure",
        "_conditions",
        "_graph",
        "_name",
        "_nesting",
        "_now",
        "_question",
        "_states_left",
        "_subject_id",
        "_views",
        "missing",
        "work",
    )

    def __init__(self, graph: Graph, now: int, work: Work) -> None:
        self.missing = Missing()
        self.work = work
        self._graph = graph
        self._views = graph.views
        self._now = now

    def decide(self, question: Question) -> Decision | None:
        """None if something is missing. Raises GivenUp, BudgetSpent."""
        subject, object = question.subject, question.object
        if subject.relation is not None or subject.id == WILDCARD or object.id == WILDCARD:
            raise GivenUp
        number = self._graph.asked_view(object.type, question.relation, subject.type)
        if number is None:
            raise GivenUp
        self._begin(question)
        view = self._views[number]
        own = self._has_own(view, object.id) if view.has_own else False
        if own:
            return EXPLICIT
        value = self._value((number, object.id))
        self.work.spend(MOST_STATES - self._states_left)
        if own is None or value is None:
            return None
        return IMPLICIT if value == TRUE else DENIED

    def _begin(self, question: Question) -> None:
        self._question = question
        self._subject_id = question.subject.id
        self._name = subject_name(question.subject.id)
        self._states_left = MOST_STATES
        self._nesting = 0
        self._chosen: dict[tuple[int, ObjectId], Truth | None] | None = None
        self._conditions: Conditions | None = None
        memberships = self._graph.memberships(question.subject.type)
        self._awaits_closure = False
        self._closure = memberships.known_closure(question.subject.id)
        """None: not to be used."""
        if self._closure is None:
            missing: dict[tuple[int, ObjectId], None] = {}
            self._closure = memberships.closure(question.subject.id, missing)
            if missing:
                self._awaits_closure, self._closure = True, ""
                self.missing.groups.update({(question.subject.type, kind, id): None for kind, id in missing})

    def _has_own(self, view: View, id: ObjectId) -> bool | None:
        """Whether a warrant of the view's own relation names the subject; None if that is not known."""
        entry = self._entry(view, id)
        if entry is None:
            return None
        return self._name in entry.own or any(
            self._granted(conditioned) == TRUE
            for conditioned in entry.conditioned
            if conditioned.warrant.relation == view.plan.relation and not conditioned.states
        )

    # One long function: a call costs as much as a step here.
    def _value(self, start: State) -> Truth | None:  # noqa: C901
        """Whether the subject has what the view gives; None if that is not known."""
        views, closure, name = self._views, self._closure, self._name
        waiting, seen = [start], {start}
        choices: list[tuple[Choice, ObjectId]] = []
        is_known, is_certain = not self._awaits_closure, True
        while waiting:
            state = waiting.pop()
            number, id = state
            view = views[number]
            if view.is_closed and closure is not None and state is not start:
                if state_name(state) in closure:
                    return TRUE
                continue
            entry = view.entries.lately.get(id)
            if entry is None or entry.direct is None:
                entry = self._entry(view, id)
                if entry is None or entry.direct is None:
                    is_known = False
                    continue
            if name in entry.direct:
                return TRUE
            if entry.closed and closure is not None:
                for group in entry.closed:
                    if group in closure:
                        return TRUE
            leading = entry.onward
            if entry.conditioned or (entry.closed and closure is None):
                more, is_sure = self._leading(entry)
                if more is None:
                    return TRUE
                leading, is_certain = leading + more, is_certain and is_sure
            if not view.is_simple:
                leading += tuple((other, id) for other in view.same)
                choices += [(choice, id) for choice in view.choices]
                is_certain = is_certain and view.plan.is_defined
            for following in leading:
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
            if len(seen) > self._states_left:
                raise GivenUp
        self._states_left -= len(seen)
        for choice, id in choices:
            value = self._choose(choice, id)
            if value == TRUE:
                return TRUE
            is_known = is_known and value is not None
        if is_known and not is_certain:
            raise GivenUp
        return FALSE if is_known else None

    def _leading(self, entry: Entry) -> tuple[tuple[State, ...] | None, bool]:
        """Where an entry leads by policies, and to groups that have to be asked; None if a warrant with a policy names
        the subject. And whether all policies could be told."""
        states = tuple(map(named_state, entry.closed)) if self._closure is None else ()
        is_certain = True
        for conditioned in entry.conditioned:
            granted = self._granted(conditioned)
            if granted == TRUE and not conditioned.states:
                return None, True
            if granted == TRUE:
                states += conditioned.states
            is_certain = is_certain and granted in (TRUE, FALSE)
        return states, is_certain

    def _choose(self, choice: Choice, id: ObjectId) -> Truth | None:
        """Raises GivenUp if it may depend on itself."""
        chosen = self._chosen
        if chosen is None:
            chosen = self._chosen = {}
        key = (choice.number, id)
        if key in chosen:
            value = chosen[key]
            if value == _BEING_CHOSEN:
                raise GivenUp
            return value
        if self._nesting > MOST_NESTING:
            raise GivenUp
        chosen[key] = _BEING_CHOSEN
        self._nesting += 1
        value = chosen[key] = self._combined(choice, id)
        self._nesting -= 1
        return value

    def _combined(self, choice: Choice, id: ObjectId) -> Truth | None:
        values: list[Truth] = []
        for part in choice.parts:
            value = self._value((part, id)) if isinstance(part, int) else self._choose(part, id)
            if value == choice.rule.decisive:
                return choice.rule.combined((value,))
            if value is not None:
                values.append(value)
        return choice.rule.combined(values) if len(values) == len(choice.parts) else None

    def _granted(self, conditioned: Conditioned) -> Truth:
        """What a policy is worth; FALSE if the warrant is to another subject."""
        warrant = conditioned.warrant
        if not conditioned.states and warrant.subject_id not in (self._subject_id, WILDCARD):
            return FALSE
        if self.work.turn_is_over:
            raise GivenUp
        if self._conditions is None:
            self._conditions = Conditions(self._question.context, self._now, self.work)
        return self._conditions.value(warrant)

    def _entry(self, view: View, id: ObjectId) -> Entry | None:
        """None if it is missing. With the subject in `direct`, if it belongs there, where there are too many to be
        kept. Raises GivenUp if the entry tells nothing."""
        if view.is_empty:
            return EMPTY
        entry = view.entries.lately.get(id) or view.entries.find(id)
        if entry is None:
            self.missing.entries[view.number, id] = None
            return None
        if entry.direct is not None:
            return entry
        if not entry.is_readable:
            raise GivenUp
        key = (id, self._subject_id)
        point = view.points.lately.get(key) or view.points.find(key)
        if point is None:
            self.missing.points[view.number, id, self._subject_id] = None
            return None
        if not point.is_readable:
            raise GivenUp
        return entry.with_subject(point)


_BEING_CHOSEN = Truth(-1)
