"""Looks up what walks of the graph cache need: entries, the membership closure of the subject, and the values of
policies. What is missing is collected for the next round of reads."""

from itertools import islice
from typing import Protocol

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.evaluation import Check
from magistrate.engine.graph.checkpoint import CheckpointNeeded
from magistrate.engine.graph.closures import MembershipClosure
from magistrate.engine.graph.entries import EMPTY, Conditioned, Entry
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.missing import MissingEntries
from magistrate.engine.graph.views import PlanView
from magistrate.engine.graph.walk_findings import WalkFindings
from magistrate.engine.terms import WILDCARD, ObjectId, TypeName
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.work import Work

MOST_MEMBERS = 100
"""Limits the members of a closure whose groups are read in one round with what else is missing; later rounds read
the rest."""


class ViewsByNumber(Protocol):
    def __getitem__(self, number: int, /) -> PlanView: ...


class GivenUp(Exception):
    """Signals that a walk cannot decide the check and an Evaluation must."""


class WalkReads:
    """Reads the graph cache for one check after the other, all at one revision; see Walk."""

    __slots__ = (
        "_check",
        "_closure",
        "_conditions",
        "_graph",
        "_name",
        "_now",
        "_shared",
        "_subject_id",
        "_subject_type",
        "_view_evictions",
        "_views",
        "missing",
        "work",
    )

    _closure: MembershipClosure | None
    """Is None until it is needed."""
    _name: str
    _subject_type: TypeName
    _subject_id: ObjectId

    def __init__(self, graph: Graph, now: int, work: Work) -> None:
        self.missing = MissingEntries()
        self.work = work
        self._graph = graph
        self._views: ViewsByNumber = graph.views
        self._view_evictions = graph.view_evictions
        self._now = now
        self._shared: WalkFindings | None = None
        self._check: Check | None = None
        self._conditions: PolicyEvaluator | None = None

    def _has_own(self, view: PlanView, id: ObjectId) -> bool | None:
        """Returns whether a warrant of the view's own relation names the subject; None when that is not known."""
        entry = self._entry(view, id)
        if entry is None:
            return None
        return self._name in entry.own or any(
            self._evaluate_condition(conditioned) is TRUE
            for conditioned in entry.conditioned
            if conditioned.warrant.relation == view.plan.relation and not conditioned.states
        )

    def _grow_closure(self) -> MembershipClosure:
        """Returns the subject's membership closure, grown as far as is possible now.

        Raises CheckpointNeeded when it can be continued in the next time slice, and BudgetExceeded.
        """
        of_type = self._subject_type
        closure = self._find_closure()
        if closure.is_open:
            if closure.is_interrupted:
                raise CheckpointNeeded
            missing = islice(closure.missing, MOST_MEMBERS)
            self.missing.groups.update({(of_type, kind.number, id): None for kind, id in missing})
        self._closure = closure
        if self._shared is not None:
            self._shared.closure = closure
        return closure

    def _find_closure(self) -> MembershipClosure:
        return self._graph.memberships(self._subject_type).closure(self._subject_id, self.work)

    def _evaluate_condition(self, conditioned: Conditioned) -> Truth:
        """Returns the value of a warrant's policy, FALSE when the warrant is to another subject."""
        warrant = conditioned.warrant
        if not conditioned.states and warrant.subject_id not in (self._subject_id, WILDCARD):
            return FALSE
        conditions = self._find_conditions()
        if not conditions.is_known(warrant) and (self.work.needs_checkpoint or not conditions.attempt(warrant)):
            raise CheckpointNeeded
        return conditions.value(warrant)

    def _find_conditions(self) -> PolicyEvaluator:
        if self._conditions is None:
            assert self._check is not None
            policies = self._graph.model.policies
            self._conditions = PolicyEvaluator(self._check.context, self._now, self.work, policies)
            if self._shared is not None:
                self._shared.conditions = self._conditions
        return self._conditions

    def _entry(self, view: PlanView, id: ObjectId, is_bare: bool = False) -> Entry | None:
        """Returns the entry of an object, or None when it is missing.

        When the subjects of the object are too many to be cached, or are not wanted (`is_bare`), `direct` holds the
        subject of the check alone, if it is among them. Raises GivenUp when the entry is unusable.
        """
        if view.is_empty:
            return EMPTY
        entry = view.entries.young.get(id) or view.entries.find(id)
        if entry is None and not is_bare:
            self.missing.entries[view.number, id] = None
            return None
        if entry is None:
            self.missing.bare[view.number, id] = None
        elif entry.direct is not None:
            return entry
        elif not entry.is_readable:
            raise GivenUp
        key = (id, self._subject_id)
        point = view.points.young.get(key) or view.points.find(key)
        if point is None:
            self.missing.points[view.number, id, self._subject_id] = None
        if entry is None or point is None:
            return None
        if not point.is_readable:
            raise GivenUp
        return entry.with_subject(point)
