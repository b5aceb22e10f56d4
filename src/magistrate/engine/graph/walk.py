"""Decides checks from the graph cache.

A walk starts at the object and expands every branch that alone grants the relation, until a warrant names the subject
or a group that the subject is in. Combinations are decided from their parts, each with a walk of its own, and their
values are combined by the code that an Evaluation uses (engine/rules/). A walk works with true and false only: it
raises GivenUp when a value that matters is unknown (a policy fails, a type is not defined) or depends on itself, and
when the walk becomes too long. An Evaluation then decides the check.

While the membership closure of the subject is incomplete, the walk also expands groups from the object's side, as an
Evaluation does. It therefore never needs more rounds of reads than an Evaluation, whichever side is longer.

A quantifier is decided from an entry with all linked objects, each with a walk of its own.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Protocol

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.decision import DENIED, EXPLICIT, IMPLICIT, Decision
from magistrate.engine.evaluation import Check
from magistrate.engine.graph.checkpoint import CheckpointNeeded
from magistrate.engine.graph.closures import MembershipClosure
from magistrate.engine.graph.entries import EMPTY, Conditioned, Entry, State, parse_state, state_name, subject_name
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.missing import MissingEntries
from magistrate.engine.graph.views import CombinedView, PlanView
from magistrate.engine.graph.walk_findings import BEING_DECIDED, WalkFindings
from magistrate.engine.rules.rule import CheckedNames, Leaf
from magistrate.engine.terms import WILDCARD, ObjectId, Subject, TypeName
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.work import Work

MOST_STEPS = 10_000
"""Limits the steps of one check, each from one state to another; this many take some milliseconds."""
STEPS_FOR_A_NODE = 8
"""Counts the steps that take as long as one unit of work; starting a check costs two units."""
MOST_MEMBERS = 100
"""Limits the members of a closure whose groups are read in one round with what else is missing; later rounds read
the rest."""
MOST_NESTING = 40
"""Limits the nesting of combinations on different objects."""


class ViewsByNumber(Protocol):
    def __getitem__(self, number: int, /) -> PlanView: ...


class GivenUp(Exception):
    """Signals that a walk cannot decide the check and an Evaluation must."""


class Walk:
    """Decides checks one after the other from one graph, at one revision.

    `now` is in microseconds since 1970 UTC. With `shares`, checks with the same subject and context reuse the results
    of earlier ones.
    """

    __slots__ = (
        "_check",
        "_closure",
        "_conditions",
        "_decided",
        "_graph",
        "_name",
        "_nesting",
        "_now",
        "_results",
        "_shared",
        "_shares",
        "_steps_left",
        "_subject_id",
        "_subject_type",
        "_values",
        "_views",
        "missing",
        "work",
    )

    def __init__(self, graph: Graph, now: int, work: Work, shares: bool = False) -> None:
        self.missing = MissingEntries()
        self.work = work
        self._graph = graph
        self._views: ViewsByNumber = graph.views
        self._now = now
        self._shares = shares
        self._results: dict[Subject, WalkFindings] = {}
        self._shared: WalkFindings | None = None
        self._check: Check | None = None
        self._conditions: PolicyEvaluator | None = None

    def decide(self, check: Check) -> Decision | None:
        """Returns the decision, or None when something has to be read first.

        Raises GivenUp, CheckpointNeeded when the caller must yield, and BudgetExceeded.
        """
        subject, object = check.subject, check.object
        if subject.relation is not None or subject.id == WILDCARD or object.id == WILDCARD:
            raise GivenUp
        number = self._graph.find_view(object.type, check.relation, subject.type, self.work)
        if number is None:
            raise GivenUp
        self._begin(check)
        view = self._views[number]
        own = self._has_own(view, object.id) if view.has_own else False
        if own:
            return EXPLICIT
        value = self._value((number, object.id))
        self.work.spend(2 + (MOST_STEPS - self._steps_left) // STEPS_FOR_A_NODE)
        if own is None or value is None:
            if self._closure is None:
                self._grow_closure()  # it may be needed next, and can be read in the same round now
            return None
        return IMPLICIT if value is TRUE else DENIED

    def _begin(self, check: Check) -> None:
        self._subject_type, self._subject_id = check.subject.type, check.subject.id
        self._name = subject_name(check.subject.id)
        self._steps_left = MOST_STEPS
        self._nesting = 0
        self._closure: MembershipClosure | None = None
        """Stays None until it is needed."""
        if not self._shares:
            if check is not self._check:  # a check that is made again keeps the values of its policies
                self._check, self._conditions = check, None
            self._values, self._decided = _NO_VALUES, {}
            return
        self._check = check
        found = self._results.get(check.subject)
        if found is None or found.context != check.context:
            found = self._results[check.subject] = WalkFindings(check.context)
        self._shared, self._closure = found, found.closure
        self._conditions, self._values, self._decided = found.conditions, found.values, found.decided

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

    # This is one long function because a call costs as much as a step.
    def _value(self, start: State) -> Truth | None:  # noqa: C901
        """Returns whether the subject has what the view grants; None when that is not known."""
        views, values, name = self._views, self._values, self._name
        waiting, seen = [start], {start: start}  # `seen` maps each state to the one it was reached from
        operations: list[tuple[CombinedView, State]] = []
        is_known, is_certain, steps, steps_left = True, True, 1, self._steps_left
        while waiting:
            state = waiting.pop()
            if values and state in values:
                value = values[state]
                if value is TRUE:
                    return self._remember_path(seen, state, steps)
                is_known = is_known and value is not None
                continue
            number, id = state
            view = views[number]
            if view.is_closed and state is not start:
                closure = self._closure or self._grow_closure()
                if state_name(state) in closure.names:
                    return self._remember_path(seen, state, steps)
                if closure.is_complete:
                    continue
            entry = view.entries.young.get(id)
            if entry is None or entry.direct is None:
                entry = self._entry(view, id, is_bare=view.is_closed and state is not start)
                if entry is None or entry.direct is None:
                    is_known = False
                    continue
            if name in entry.direct:
                return self._remember_path(seen, state, steps)
            targets = entry.targets
            if entry.closed:
                closure = self._closure or self._grow_closure()
                for group in entry.closed:
                    if group in closure.names:
                        return self._remember_path(seen, state, steps)
                if not closure.is_complete:
                    targets += tuple(map(parse_state, entry.closed))
            if entry.conditioned:
                more, is_sure = self._follow_policies(entry)
                if more is None:
                    return self._remember_path(seen, state, steps)
                targets, is_certain = targets + more, is_certain and is_sure
            if not view.is_simple:
                targets += tuple((other, id) for other in view.same)
                operations += [(operation, state) for operation in view.operations]
                is_certain = is_certain and view.plan.is_defined
            if targets:
                steps += len(targets)
                if steps > steps_left:
                    raise GivenUp
                for following in targets:
                    if following not in seen:
                        seen[following] = state
                        waiting.append(following)
        self._steps_left -= steps
        return self._conclude(seen, operations, is_known, is_certain)

    def _conclude(
        self,
        seen: Mapping[State, State],
        operations: Iterable[tuple[CombinedView, State]],
        is_known: bool,
        is_certain: bool,
    ) -> Truth | None:
        """Returns the value when no warrant on the states grants the relation: the combinations on them decide.

        Raises GivenUp when nothing is missing and yet not everything is certain.
        """
        for operation, state in operations:
            value = self._decide_operation(operation, state[1])
            if value is TRUE:
                return self._remember_path(seen, state, 0)
            is_known = is_known and value is not None
        if is_known and not is_certain:
            raise GivenUp
        value = FALSE if is_known else None
        if self._shares:
            self._remember(seen, value)
        return value

    def _remember_path(self, seen: Mapping[State, State], state: State, steps: int) -> Truth:
        """Records that `state`, and every state on the path to it, grants the subject the relation."""
        self._steps_left -= steps
        if self._shares:
            self._values[state] = TRUE
            while (origin := seen[state]) != state:
                self._values[origin] = TRUE
                state = origin
        return TRUE

    def _remember(self, seen: Iterable[State], value: Truth | None) -> None:
        """Records a value for states that lead neither to the subject nor to any state but these and those that are
        missing."""
        for state in seen:
            self._values.setdefault(state, value)

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

    def _follow_policies(self, entry: Entry) -> tuple[tuple[State, ...] | None, bool]:
        """Returns the states that an entry leads to by warrants whose policies hold, and whether all policies had a
        value; the states are None when a warrant whose policy holds names the subject."""
        states: tuple[State, ...] = ()
        is_certain = True
        for conditioned in entry.conditioned:
            policy_value = self._evaluate_condition(conditioned)
            if policy_value is TRUE and not conditioned.states:
                return None, True
            if policy_value is TRUE:
                states += conditioned.states
            is_certain = is_certain and policy_value in (TRUE, FALSE)
        return states, is_certain

    def _decide_operation(self, operation: CombinedView, id: ObjectId) -> Truth | None:
        """Returns the value of a combination on an object; None when that is not known.

        Raises GivenUp when it may depend on itself.
        """
        decided = self._decided
        key = (operation.number, id)
        if key in decided:
            value = decided[key]
            if value is BEING_DECIDED:
                raise GivenUp
            return value
        if self._nesting > MOST_NESTING:
            raise GivenUp
        decided[key] = BEING_DECIDED
        self._nesting += 1
        try:
            value = self._combine_branches(operation, id)
        except CheckpointNeeded:
            del decided[key]
            raise
        decided[key] = value
        self._nesting -= 1
        return value

    def _combine_branches(self, operation: CombinedView, id: ObjectId) -> Truth | None:
        rule, is_known = operation.rule, True
        if rule.quantifier is not None:
            return self._weigh_links(operation, id)
        if rule.leaf is not None:
            return self._decide_leaf(rule.leaf, operation.type, id)
        values: list[Truth] = []
        for branch in operation.branches:
            found = self._value((branch, id)) if isinstance(branch, int) else self._decide_operation(branch, id)
            is_known = is_known and found is not None
            values.append(UNKNOWN if found is None else found)
            if found is rule.decisive:
                early = rule.combine(values + [UNKNOWN] * (len(operation.branches) - len(values)))
                if early is TRUE or early is FALSE:
                    return early
        return rule.combine(values) if is_known else None

    def _weigh_links(self, operation: CombinedView, id: ObjectId) -> Truth | None:
        """Returns the value of a quantifier on an object; None when that is not known."""
        rule, number = operation.rule, next(iter(operation.branches), None)
        if rule.quantifier is None or not isinstance(number, int):
            raise GivenUp
        entry = self._entry(self._views[number], id)
        if entry is None:
            return None
        links = [(TRUE, state) for state in (*entry.targets, *map(parse_state, entry.closed))]
        links += [(self._evaluate_condition(one), state) for one in entry.conditioned for state in one.states]
        found = [self._value(state) for _, state in links]
        values = [rule.quantifier.begin(limit for limit, _ in links)]
        for (limit, _), one in zip(links, found, strict=True):
            values.append(rule.quantifier.weigh(limit, UNKNOWN if one is None else one))
        value = rule.combine(values)
        if value is UNKNOWN and None not in found:
            raise GivenUp
        return None if value is UNKNOWN else value

    def _evaluate_condition(self, conditioned: Conditioned) -> Truth:
        """Returns the value of a warrant's policy, FALSE when the warrant is to another subject."""
        warrant = conditioned.warrant
        if not conditioned.states and warrant.subject_id not in (self._subject_id, WILDCARD):
            return FALSE
        conditions = self._find_conditions()
        if not conditions.is_known(warrant) and (self.work.needs_checkpoint or not conditions.attempt(warrant)):
            raise CheckpointNeeded
        return conditions.value(warrant)

    def _decide_leaf(self, leaf: Leaf, of_type: TypeName, id: ObjectId) -> Truth:
        conditions = self._find_conditions()
        for warrant in conditions.list_stand_ins(leaf.policy):
            if not conditions.is_known(warrant) and (self.work.needs_checkpoint or not conditions.attempt(warrant)):
                raise CheckpointNeeded
        names = CheckedNames(of_type, id, self._subject_type, self._subject_id, "")
        value = leaf.decide(names, conditions)
        if value is TRUE or value is FALSE:
            return value
        raise GivenUp

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


_NO_VALUES: dict[State, Truth | None] = {}
