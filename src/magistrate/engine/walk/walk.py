"""Decides checks from the graph cache.

A walk starts at the object and expands every branch that alone grants the relation, until a warrant names the subject
or a group that the subject is in. Combinations are decided from their parts, each with a walk of its own, and their
values are combined by the code that an Evaluation uses (engine/rules/). A walk works with true and false only: it
raises GivenUp when a value that matters is unknown (a policy fails, a type is not defined) or depends on itself, and
when the walk becomes too long. An Evaluation then decides the check.

While the membership closure of the subject is incomplete, the walk also expands groups from the object's side, as an
Evaluation does. It therefore never needs more rounds of reads than an Evaluation, whichever side is longer.

A quantifier is decided from an entry with all linked objects, each with a walk of its own.

A walk that lacks something is kept, and continues in the next round, when that has been read, from where it stopped:
what it has expanded is the same at the same revision.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Protocol

from magistrate.engine.cache.closures import MembershipClosure
from magistrate.engine.cache.entries import EMPTY, Conditioned, Entry, State, parse_state, state_name, subject_name
from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import UNREACHABLE, CheckpointNeeded, Graph
from magistrate.engine.cache.views import CombinedView, PlanView
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.evaluation.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.evaluation.work import Work
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.rules.rule import CheckedNames, Leaf
from magistrate.engine.terms import Subject
from magistrate.engine.walk.findings import BEING_DECIDED, InProgress, OpenWalk, WalkFindings

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


MOST_STEPS = 10_000
"""Limits the steps of one check, each from one state to another; this many take some milliseconds."""
STEPS_FOR_A_NODE = 8
"""Counts the steps that take as long as one unit of work; starting a check costs two units."""
MOST_NESTING = 40
"""Limits the nesting of combinations on different objects."""


class Walk(WalkReads):
    """Decides checks one after the other from one graph, at one revision.

    `now` is in microseconds since 1970 UTC. With `shares`, checks with the same subject and context reuse the results
    of earlier ones; from the second round on they always do.
    """

    __slots__ = (
        "_blocker",
        "_decided",
        "_left_open",
        "_nesting",
        "_results",
        "_round",
        "_shares",
        "_steps_left",
        "_values",
    )

    def __init__(self, graph: Graph, now: int, work: Work, shares: bool = False) -> None:
        super().__init__(graph, now, work)
        self._shares = shares
        self._round = 1
        self._results: dict[Subject, WalkFindings] = {}
        self._blocker: OpenWalk | None = None
        self._left_open: dict[State, OpenWalk] = {}
        """Holds the open walks, by the state they start from, of a check that does not share them."""

    @property
    def blocker(self) -> OpenWalk | None:
        """Returns the walk that alone keeps the check open for which None was returned last, if it is that of another
        check. As long as that stays open, there is no need to make the check again."""
        return self._blocker

    def is_open(self, walk: OpenWalk) -> bool:
        """Returns whether this walk went as far as it can in this round, and still lacks something."""
        return walk.round == self._round

    def resume_checks(self) -> None:
        """Forgets what was missing, after it has been read as of the revision of the graph; checks that were not
        decided then continue. The graph must still be at that revision, and have the same model."""
        self.missing = MissingEntries()
        self._round += 1
        if not self._shares and self._check is not None:
            findings = self._results[self._check.subject] = WalkFindings(self._check.context, self._round)
            findings.conditions, findings.open = self._conditions, self._left_open
        self._shares = True

    def decide(self, check: Check) -> Decision | None:
        """Returns the decision, or None when something has to be read first.

        Raises GivenUp, CheckpointNeeded when the caller must yield, and BudgetExceeded.
        """
        subject, object = check.subject, check.object
        if subject.relation is not None or subject.id == WILDCARD or object.id == WILDCARD:
            raise GivenUp
        number = self._graph.find_view(object.type, check.relation, subject.type, self.work)
        if number is None or number == UNREACHABLE or self._graph.view_evictions != self._view_evictions:
            return self._decide_without_view(number)
        self._begin(check)
        view = self._views[number]
        own = self._has_own(view, object.id) if view.has_own else False
        if own:
            return EXPLICIT
        value = self._value((number, object.id))
        self.work.spend(2 + (MOST_STEPS - self._steps_left) // STEPS_FOR_A_NODE)
        if own is None or value is None:
            self._blocker = self._find_blocker((number, object.id)) if own is not None else None
            if self._closure is None:
                self._grow_closure()  # it may be needed next, and can be read in the same round now
            return None
        return IMPLICIT if value is TRUE else DENIED

    def _decide_without_view(self, number: int | None) -> Decision:
        if number != UNREACHABLE:
            raise GivenUp
        self.work.spend(2)
        return DENIED

    def _begin(self, check: Check) -> None:
        self._subject_type, self._subject_id = check.subject.type, check.subject.id
        self._name = subject_name(check.subject.id)
        self._steps_left = MOST_STEPS
        self._nesting = 0
        self._closure, former = None, self._check
        if not self._shares:
            if check is not former:  # a check that is made again keeps the values of its policies
                self._check, self._conditions = check, None
                self._left_open.clear()
            self._values = _NO_VALUES
            self._decided: dict[tuple[int, ObjectId], Truth | InProgress | None] = {}
            return
        self._check = check
        found = self._shared if former is not None and former.subject == check.subject else None
        if found is not None and found.round == self._round and found.context == check.context:
            self._closure = found.closure
            return  # all else is as the check before left it
        found = self._results.get(check.subject)
        if found is None or found.context != check.context:
            found = self._results[check.subject] = WalkFindings(check.context, self._round)
        elif found.round != self._round:
            found.begin_round(self._round)
        self._shared, self._closure = found, found.closure
        self._conditions, self._values, self._decided = found.conditions, found.values, found.decided

    def _find_blocker(self, start: State) -> OpenWalk | None:
        walk = self._shared.open.get(start) if self._shared is not None else None
        if walk is None or walk.operations or len(walk.waiting) != 1:
            return None
        value = self._values.get(walk.waiting[0])
        return value if isinstance(value, OpenWalk) and value is not walk and value.round == self._round else None

    # This is one long function because a call costs as much as a step.
    def _value(self, start: State) -> Truth | None:  # noqa: C901, PLR0915
        """Returns whether the subject has what the view grants; None when that is not known."""
        views, values, name, shared = self._views, self._values, self._name, self._shared
        opened = shared.resume(start) if shared is not None and shared.open else None
        if opened is None:
            waiting, seen = [start], {start: start}  # `seen` maps each state to the one it was reached from
            operations: list[tuple[CombinedView, State]] = []
            is_certain = True
        else:
            waiting, seen, operations, is_certain = opened.waiting, opened.seen, opened.operations, opened.is_certain
            start = opened.start
        lacking: list[State] = []
        steps, steps_left = 1, self._steps_left
        try:
            while waiting:
                state = waiting.pop()
                if values and state in values:
                    value = values[state]
                    if value is TRUE:
                        return self._remember_path(seen, state, steps)
                    if value is FALSE:
                        continue
                    if value.round == self._round:  # type: ignore[union-attr]  # no walk has the value UNKNOWN
                        lacking.append(state)
                        continue
                number, id = state
                view = views[number]
                if view.is_closed and state is not start:
                    closure = self._closure or self._grow_closure()
                    if state_name(state) in closure.names:
                        return self._remember_path(seen, state, steps)
                    if closure.is_complete:
                        continue
                entry = view.entries.young.get(id) or (EMPTY if id in view.entries.absent.young else None)
                if entry is None or entry.direct is None:
                    entry = self._entry(view, id, is_bare=view.is_closed and state is not start)
                    if entry is None or entry.direct is None:
                        lacking.append(state)
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
        except CheckpointNeeded:
            self._keep_open(opened or OpenWalk(seen, operations), [*lacking, *waiting, state], is_certain)
            raise
        self._steps_left -= steps
        if opened is None and lacking and lacking[0] is start and start not in values:
            return None  # nothing was expanded, so there is nothing to continue
        if lacking or operations or not is_certain:
            return self._conclude(opened or OpenWalk(seen, operations), lacking, is_certain)
        if shared is not None:
            shared.close(seen)
        return FALSE

    def _conclude(self, walk: OpenWalk, lacking: list[State], is_certain: bool) -> Truth | None:
        """Returns the value when no warrant on the states grants the relation: the combinations on them decide.

        Raises GivenUp when nothing is missing and yet not everything is certain.
        """
        unknown: list[tuple[CombinedView, State]] = []
        try:
            for operation, state in walk.operations:
                value = self._decide_operation(operation, state[1])
                if value is TRUE:
                    return self._remember_path(walk.seen, state, 0)
                if value is None:
                    unknown.append((operation, state))
        except CheckpointNeeded:
            self._keep_open(walk, lacking, is_certain)
            raise
        if lacking or unknown:
            walk.operations = unknown
            self._keep_open(walk, lacking, is_certain)
            if self._shared is not None:
                walk.register(self._shared.values, self._round)
            return None
        if not is_certain:
            raise GivenUp
        if self._shared is not None:
            self._shared.close(walk.seen)
        return FALSE

    def _keep_open(self, walk: OpenWalk, waiting: list[State], is_certain: bool) -> None:
        """Keeps a walk, to continue it from these states."""
        walk.waiting, walk.is_certain = waiting, is_certain
        kept = self._left_open if self._shared is None else self._shared.open
        kept[walk.start] = walk

    def _remember_path(self, seen: Mapping[State, State], state: State, steps: int) -> Truth:
        """Records that `state`, and every state on the path to it, grants the subject the relation."""
        self._steps_left -= steps
        if self._shared is not None:
            self._values[state] = TRUE
            while (origin := seen[state]) != state:
                self._values[origin] = TRUE
                state = origin
        return TRUE

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
        if value is None and self._shared is not None:
            self._shared.undecided.append(key)
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


_NO_VALUES: dict[State, Truth | OpenWalk] = {}


class CachedWalk(Walk):
    """Decides checks like a walk, and caches the decisions that depend neither on the time nor on a context, as long as
    everything that the walk may have read stays cached."""

    __slots__ = ("_cached", "_evictions")

    def __init__(self, graph: Graph, now: int, work: Work, shares: bool = False) -> None:
        super().__init__(graph, now, work, shares)
        self._cached = graph.decisions
        self._evictions = graph.decisions.evictions

    def decide(self, check: Check) -> Decision | None:
        if self._round == 1:  # what was cached before was found then
            known = self._cached.find((check,))
            if known is not None:
                self.work.spend(1)
                return known[0]
        decision = super().decide(check)
        if decision is not None and self._conditions is None and self._cached.evictions == self._evictions:
            self._cached.keep(check, decision)
        return decision
