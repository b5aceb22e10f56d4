"""Deciding a check from what a graph keeps.

A walk goes from the object on, over everything that alone gives the relation, until a warrant names the subject, or a
group that the subject is in. Combinations are decided from their parts, each with a walk of its own, by the same few
lines that combine values in an Evaluation (engine/rules/). It works with what holds and what does not: as soon as
something is not known (a policy that fails, a type that is not defined) or depends on itself, and matters, the walk
gives up, and an Evaluation has to decide. So it does where the walk would be long."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from magistrate.engine.conditions import Conditions
from magistrate.engine.evaluation import Question
from magistrate.engine.graph.entries import Conditioned, Entry, State
from magistrate.engine.graph.graph import Choice, Graph, View
from magistrate.engine.terms import WILDCARD, ObjectId, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.work import Work

MOST_STATES = 5_000
"""In one walk: some milliseconds."""
MOST_NESTING = 40
"""Of combinations on different objects in each other."""


class Found(NamedTuple):
    """`is_implicit`: no warrant of the asked relation to the subject itself says so."""

    holds: bool
    is_implicit: bool


@dataclass(slots=True)
class Missing:
    """What has to be read, each once: entries by state; points by view, object and subject; groups by type of the
    subjects, kind and id."""

    entries: dict[State, None] = field(default_factory=dict)
    points: dict[tuple[int, ObjectId, ObjectId], None] = field(default_factory=dict)
    groups: dict[tuple[TypeName, int, ObjectId], None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entries or self.points or self.groups)


class GivenUp(Exception):
    """An Evaluation has to decide."""


class Walk:
    """Over one graph, at one revision."""

    def __init__(self, graph: Graph, work: Work) -> None:
        self.missing = Missing()
        self.work = work
        self._graph = graph

    def decide(self, question: Question, conditions: Conditions) -> Found | None:
        """None if something is missing. Raises GivenUp, BudgetSpent."""
        subject, object = question.subject, question.object
        if subject.relation is not None or subject.id == WILDCARD or object.id == WILDCARD:
            raise GivenUp
        root = (self._graph.view(self._graph.model.plan(object.type, question.relation), subject.type), object.id)
        asking = _Asking(self, self._graph, subject.type, subject.id, conditions)
        own = asking.has_own(root)
        if own:
            return Found(True, is_implicit=False)
        value = asking.value(root)
        return None if own is None or value is None else Found(value == TRUE, is_implicit=value == TRUE)


class _Asking:
    """One subject, with one context."""

    def __init__(
        self, walk: Walk, graph: Graph, subject_type: TypeName, subject_id: ObjectId, conditions: Conditions
    ) -> None:
        self.views = graph.views
        self.subject_id = subject_id
        self._work = walk.work
        self._missing = walk.missing
        self._conditions = conditions
        self._chosen: dict[tuple[int, ObjectId], Truth | None] = {}
        self._choosing: set[tuple[int, ObjectId]] = set()
        self.states_left = MOST_STATES
        missing: dict[tuple[int, ObjectId], None] = {}
        self.closure = graph.memberships(subject_type).closure(subject_id, missing)
        """None: not to be used."""
        self.awaits_closure = bool(missing)
        if missing:
            self.closure = frozenset()
            self._missing.groups.update({(subject_type, kind, id): None for kind, id in missing})

    def has_own(self, state: State) -> bool | None:
        """Whether a warrant of the view's own relation names the subject; None if that is not known."""
        view = self.views[state[0]]
        entry = self.entry(view, state[1])
        if entry is None:
            return None
        if self.subject_id in entry.own:
            return True
        return any(
            self.granted(conditioned) == TRUE
            for conditioned in entry.conditioned
            if conditioned.warrant.relation == view.plan.relation and not conditioned.states
        )

    def value(self, start: State) -> Truth | None:
        """Whether the subject has what the view gives; None if that is not known."""
        region = _Region(self, start)
        try:
            return region.value()
        finally:
            self.states_left -= len(region.seen)
            self._work.spend(len(region.seen))

    def choose(self, choice: Choice, id: ObjectId) -> Truth | None:
        key = (choice.number, id)
        if key in self._chosen:
            return self._chosen[key]
        if key in self._choosing or len(self._choosing) > MOST_NESTING:
            raise GivenUp  # it may depend on itself
        self._choosing.add(key)
        value = self._chosen[key] = self._combined(choice, id)
        self._choosing.remove(key)
        return value

    def granted(self, conditioned: Conditioned) -> Truth:
        """What a policy is worth; FALSE if the warrant is to another subject."""
        warrant = conditioned.warrant
        if not conditioned.states and warrant.subject_id not in (self.subject_id, WILDCARD):
            return FALSE
        if self._work.turn_is_over:
            raise GivenUp
        return self._conditions.value(warrant)

    def entry(self, view: View, id: ObjectId) -> Entry | None:
        """None if it is missing. With the subject in `direct`, if it belongs there, where there are too many to be
        kept. Raises GivenUp if the entry tells nothing."""
        entry = view.entries.lately.get(id) or view.entries.find(id)
        if entry is None:
            self._missing.entries[view.number, id] = None
            return None
        if not entry.is_readable:
            raise GivenUp
        if entry.direct is not None:
            return entry
        point = view.points.lately.get((id, self.subject_id)) or view.points.find((id, self.subject_id))
        if point is None:
            self._missing.points[view.number, id, self.subject_id] = None
            return None
        if not point.is_readable:
            raise GivenUp
        return entry.with_subject(point)

    def _combined(self, choice: Choice, id: ObjectId) -> Truth | None:
        values: list[Truth] = []
        for part in choice.parts:
            value = self.value((part, id)) if isinstance(part, int) else self.choose(part, id)
            if value == choice.rule.decisive:
                return choice.rule.combined([value])
            if value is not None:
                values.append(value)
        return choice.rule.combined(values) if len(values) == len(choice.parts) else None


class _Region:
    """Everything that alone gives what `start` gives. `seen`: the states in it, as far as they are found."""

    def __init__(self, asking: _Asking, start: State) -> None:
        self.seen = {start}
        self._asking = asking
        self._start = start
        self._waiting = [start]
        self._choices: list[tuple[Choice, ObjectId]] = []
        self._is_known = not asking.awaits_closure
        self._is_certain = True

    def value(self) -> Truth | None:
        if self._names_subject():
            return TRUE
        for choice, id in self._choices:
            value = self._asking.choose(choice, id)
            if value == TRUE:
                return TRUE
            self._is_known = self._is_known and value is not None
        if not self._is_known:
            return None
        if not self._is_certain:
            raise GivenUp
        return FALSE

    def _names_subject(self) -> bool:  # noqa: C901  # the hottest loop: to call something costs as much as a step of it
        """Whether any warrant in the region does, or one of a group that the subject is in."""
        asking, seen, waiting, start = self._asking, self.seen, self._waiting, self._start
        views, closure, subject_id = asking.views, asking.closure, asking.subject_id
        while waiting:
            if len(seen) > asking.states_left:
                raise GivenUp
            state = waiting.pop()
            number, id = state
            view = views[number]
            if view.is_closed and closure is not None and state is not start:
                if state in closure:
                    return True
                continue
            entry = view.entries.lately.get(id)
            if entry is None or entry.direct is None:
                entry = asking.entry(view, id)
            if entry is None or entry.direct is None:
                self._is_known = False
                continue
            if subject_id in entry.direct:
                return True
            if entry.closed and self._is_in_any(entry.closed):
                return True
            if entry.conditioned and self._is_granted(entry.conditioned):
                return True
            for following in entry.onward:
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
            if not view.is_simple:
                self._add_parts(view, id)
        return False

    def _is_in_any(self, groups: Iterable[State]) -> bool:
        closure = self._asking.closure
        if closure is None:
            self._add(groups)
            return False
        return not closure.isdisjoint(groups)

    def _is_granted(self, conditioned: Iterable[Conditioned]) -> bool:
        for one in conditioned:
            granted = self._asking.granted(one)
            if granted == TRUE and not one.states:
                return True
            if granted == TRUE:
                self._add(one.states)
            self._is_certain = self._is_certain and granted in (TRUE, FALSE)
        return False

    def _add_parts(self, view: View, id: ObjectId) -> None:
        self._add((number, id) for number in view.same)
        self._choices += [(choice, id) for choice in view.choices]
        self._is_certain = self._is_certain and view.plan.is_defined

    def _add(self, states: Iterable[State]) -> None:
        for state in states:
            if state not in self.seen:
                self.seen.add(state)
                self._waiting.append(state)
