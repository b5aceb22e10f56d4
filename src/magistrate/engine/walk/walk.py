"""Decides checks by walking from entry to entry.

A walk starts at the object and expands every branch that alone grants the relation, until a warrant names the subject
or a group that the subject is in. Combinations are decided from their parts, each with a walk of its own, and their
values are combined by the code that an Evaluation uses (engine/rules/). Entries come from a finder: the graph cache
(cached_entries.py), or the rows that were read ahead for one check (warrants_ahead.py).

A walk works with true and false only. A check is IMPOSSIBLE for it when a value that matters is unknown (a policy
fails, a type is not defined) or depends on itself, and when the walk becomes too long; an Evaluation then decides it.

While the membership closure of the subject is incomplete, the walk also expands groups from the object's side, as an
Evaluation does. It therefore never needs more rounds of reads than an Evaluation, whichever side is longer.

A quantifier is decided from an entry with all linked objects, each with a walk of its own.

A walk that lacks something is kept, and continues in the next round, when that has been read, from where it stopped:
what it has expanded is the same at the same revision.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from magistrate.engine.cache.closures import MembershipClosure
from magistrate.engine.cache.decision_cache import DecisionCache
from magistrate.engine.cache.entries import EMPTY, Conditioned, Entry, State, parse_state, state_name, subject_name
from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import UNREACHABLE, CheckpointNeeded
from magistrate.engine.cache.views import CombinedView, PlanView
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.rules.rule import CheckedNames, LeafRule
from magistrate.engine.subjects import Subject
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.walk.findings import BEING_DECIDED, InProgress, OpenWalk, WalkFindings
from magistrate.engine.walk.warrants_ahead import AheadView
from magistrate.engine.work import Work

MAX_STEPS = 10_000
"""Limits the steps of one check, each from one state to another; this many take some milliseconds."""
STEPS_FOR_A_NODE = 8
"""Counts the steps that take as long as one unit of work; starting a check costs two units."""
MAX_NESTING = 40
"""Limits the nesting of combinations on different objects."""


class Undecided(Enum):
    """Says why there is no decision: entries are MISSING and have to be read, the walk is PAUSED because its time slice
    is over, and continues when the same check is made again, or the decision is IMPOSSIBLE for a walk."""

    MISSING = 0
    PAUSED = 1
    IMPOSSIBLE = 2


View = PlanView | AheadView


class EntryFinder(Protocol):
    """Finds the entries that walks need, all at one revision, and collects those that are missing."""

    @property
    def views(self) -> Mapping[int, PlanView] | Sequence[AheadView]: ...

    @property
    def missing(self) -> MissingEntries:
        """Collects what has to be read."""
        ...

    @property
    def policies(self) -> Mapping[PolicyName, NamedPolicy]: ...

    def find_view(self, check: Check, work: Work) -> int | None:
        """Returns the number of the view that a check starts from; UNREACHABLE if it is denied without one, and None if
        a walk cannot decide it. Raises CheckpointNeeded, BudgetExceeded."""
        ...

    def find_entry(
        self, number: int, object_id: ObjectId, subject: ObjectId, work: Work, is_bare: bool = False
    ) -> Entry | None:
        """Returns the entry of an object in a view, or None when it is missing. Raises CheckpointNeeded.

        When the subjects of the object are too many to be cached, or are not wanted (`is_bare`), `direct` holds this
        subject alone, if it is among them. `direct` is None when the entry is unreadable.
        """
        ...

    def find_closure(self, of_type: TypeName, object_id: ObjectId, work: Work) -> MembershipClosure:
        """Returns the membership closure of a subject, grown as far as is possible now. Raises CheckpointNeeded when it
        can be continued in the next time slice, and BudgetExceeded."""
        ...

    def begin_round(self) -> None:
        """Discards what was missing."""
        ...


class Walk:
    """Decides checks one after the other from the entries of one finder, at one revision.

    `now` is in microseconds since 1970 UTC. With `shares`, checks with the same subject and context reuse the results
    of earlier ones; from the second round on they always do. Decisions that depend neither on the time nor on a context
    are looked up and kept in `decisions`, as long as everything that the walk may have read stays cached.
    """

    _closure: MembershipClosure | None
    """Is None until it is needed."""
    _decided: dict[tuple[int, ObjectId], Truth | InProgress | None]
    _name: str
    _subject_id: ObjectId

    def __init__(
        self,
        entries: EntryFinder,
        now: int,
        work: Work,
        *,
        shares: bool = False,
        decisions: DecisionCache | None = None,
    ) -> None:
        self.work = work
        self._entries = entries
        self._views = entries.views
        self._now = now
        self._shares = shares
        self._decisions = decisions
        self._evictions = 0 if decisions is None else decisions.evictions
        self._round = 1
        self._results: dict[Subject, WalkFindings] = {}
        self._shared: WalkFindings | None = None
        self._check: Check | None = None
        self._conditions: PolicyEvaluator | None = None
        self._blocker: OpenWalk | None = None
        self._left_open: dict[State, OpenWalk] = {}
        """Holds the open walks, by the state they start from, of a check that does not share them."""

    @property
    def missing(self) -> MissingEntries:
        """Returns what has to be read for the checks of this round."""
        return self._entries.missing

    @property
    def blocker(self) -> OpenWalk | None:
        """Returns the walk that alone keeps the check open that was MISSING something last, if it is that of another
        check. As long as that stays open, there is no need to make the check again."""
        return self._blocker

    def is_open(self, walk: OpenWalk) -> bool:
        """Returns whether this walk went as far as it can in this round, and still lacks something."""
        return walk.round == self._round

    def resume_checks(self) -> None:
        """Begins the next round, after what was missing has been read as of the revision of the finder; checks that
        were not decided then continue. The finder must still be at that revision, and have the same model."""
        self._entries.begin_round()
        self._round += 1
        if not self._shares and self._check is not None:
            findings = self._results[self._check.subject] = WalkFindings(self._check.context, self._round)
            findings.conditions, findings.open = self._conditions, self._left_open
        self._shares = True

    def decide(self, check: Check) -> Decision | Undecided:
        """Returns the decision, or why there is none. Raises BudgetExceeded."""
        decisions = self._decisions
        if decisions is not None and self._round == 1:  # what was cached before was found then
            cached = decisions.find((check,))
            if cached is not None:
                self.work.spend(1)
                return cached[0]
        return self.decide_anew(check)

    def decide_anew(self, check: Check) -> Decision | Undecided:
        """Does what `decide` does, for a check whose decision is known not to be cached."""
        decisions = self._decisions
        try:
            decision = self._decide(check)
        except CheckpointNeeded:
            return Undecided.PAUSED
        if decisions is None or isinstance(decision, Undecided):
            return decision
        if self._conditions is None and decisions.evictions == self._evictions:
            decisions.keep(check, decision)
        return decision

    def _decide(self, check: Check) -> Decision | Undecided:
        number = self._entries.find_view(check, self.work)
        if number is None:
            return Undecided.IMPOSSIBLE
        if number == UNREACHABLE:
            self.work.spend(2)
            return DENIED
        self._begin(check)
        view, object_id = self._views[number], check.object.id
        own = self._has_own(view, number, object_id) if view.has_own else FALSE
        if own is TRUE:
            return EXPLICIT
        value = self._value((number, object_id)) if own is not UNKNOWN else UNKNOWN
        if value is UNKNOWN:
            return Undecided.IMPOSSIBLE
        self.work.spend(2 + (MAX_STEPS - self._steps_left) // STEPS_FOR_A_NODE)
        if own is None or value is None:
            self._blocker = self._find_blocker((number, object_id)) if own is not None else None
            if self._closure is None:
                self._grow_closure()  # it may be needed next, and can be read in the same round now
            return Undecided.MISSING
        return IMPLICIT if value is TRUE else DENIED

    def _begin(self, check: Check) -> None:
        self._subject_id = check.subject.id
        self._name = subject_name(check.subject.id)
        self._steps_left = MAX_STEPS
        self._nesting = 0
        self._closure, former = None, self._check
        if not self._shares:
            if check is not former:  # a check that is made again keeps the values of its policies
                self._check, self._conditions = check, None
                self._left_open.clear()
            self._values = _NO_VALUES
            self._decided = {}
            return
        self._check = check
        findings = self._shared if former is not None and former.subject == check.subject else None
        if findings is not None and findings.round == self._round and findings.context == check.context:
            self._closure = findings.closure
            return  # all else is as the check before left it
        findings = self._results.get(check.subject)
        if findings is None or findings.context != check.context:
            findings = self._results[check.subject] = WalkFindings(check.context, self._round)
        elif findings.round != self._round:
            findings.begin_round(self._round)
        self._shared, self._closure = findings, findings.closure
        self._conditions, self._values, self._decided = findings.conditions, findings.values, findings.decided

    def _find_blocker(self, start: State) -> OpenWalk | None:
        walk = self._shared.open.get(start) if self._shared is not None else None
        if walk is None or walk.operations or len(walk.waiting) != 1:
            return None
        value = self._values.get(walk.waiting[0])
        return value if isinstance(value, OpenWalk) and value is not walk and value.round == self._round else None

    def _has_own(self, view: View, number: int, object_id: ObjectId) -> Truth | None:
        """Returns whether a warrant of the view's own relation names the subject; None when that is not known, and
        UNKNOWN when a walk cannot decide."""
        entry = self._entries.find_entry(number, object_id, self._subject_id, self.work)
        if entry is None:
            return None
        if entry.direct is None:
            return UNKNOWN
        has_own = self._name in entry.own or any(
            self._evaluate_condition(conditioned) is TRUE
            for conditioned in entry.conditioned
            if conditioned.warrant.relation == view.plan.relation and not conditioned.states
        )
        return TRUE if has_own else FALSE

    # This is one long function because a call costs as much as a step. With groups followed in methods and an OpenWalk
    # made before something is missing, a check of who may read a document in a folder takes 11 microseconds, not 9.
    def _value(self, start: State) -> Truth | None:  # noqa: C901, PLR0915
        """Returns whether the subject has what a view grants; None if it is not known, UNKNOWN if no walk decides."""
        views, values, name, shared = self._views, self._values, self._name, self._shared
        opened = shared.resume(start) if shared is not None and shared.open else None
        if opened is None:
            waiting, seen, is_certain = [start], {start: start}, True  # as `seen` of an OpenWalk
            operations: list[tuple[CombinedView, State]] = []
        else:
            waiting, seen, operations, is_certain = opened.waiting, opened.seen, opened.operations, opened.is_certain
            start = opened.start
        lacking: list[State] = []
        steps, state = 1, start
        try:
            while waiting:
                state = waiting.pop()
                if values and (value := values.get(state)) is not None:
                    if value is TRUE:
                        return self._remember_path(seen, state, steps)
                    if value is FALSE:
                        continue
                    if isinstance(value, OpenWalk) and value.round == self._round:
                        lacking.append(state)
                        continue
                number, object_id = state
                view = views[number]
                is_bare = view.is_closed and state is not start
                if is_bare:
                    closure = self._closure or self._grow_closure()
                    if state_name(state) in closure.names:
                        return self._remember_path(seen, state, steps)
                    if closure.is_complete:
                        continue
                entry = view.entries.young.get(object_id) or (EMPTY if object_id in view.entries.absent.young else None)
                if entry is None or entry.direct is None:
                    entry = self._entries.find_entry(number, object_id, self._subject_id, self.work, is_bare)
                    if entry is None:
                        lacking.append(state)
                        continue
                    if entry.direct is None:
                        return UNKNOWN
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
                    targets += tuple((other, object_id) for other in view.same)
                    operations += [(operation, state) for operation in view.operations]
                    is_certain = is_certain and view.plan.is_defined
                if targets:
                    steps += len(targets)
                    if steps > self._steps_left:
                        return UNKNOWN
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

    def _follow_policies(self, entry: Entry) -> tuple[tuple[State, ...] | None, bool]:
        """Returns the states that an entry reaches by warrants whose policies hold, and whether all policies had a
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

    def _conclude(self, walk: OpenWalk, lacking: list[State], is_certain: bool) -> Truth | None:
        """Returns the value when no warrant on the states grants the relation: the combinations on them decide. It is
        UNKNOWN when nothing is missing and yet not everything is certain."""
        unknown: list[tuple[CombinedView, State]] = []
        try:
            for operation, state in walk.operations:
                value = self._decide_operation(operation, state[1])
                if value is TRUE:
                    return self._remember_path(walk.seen, state, 0)
                if value is UNKNOWN:
                    return UNKNOWN
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
            return UNKNOWN
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

    def _decide_operation(self, operation: CombinedView, object_id: ObjectId) -> Truth | None:
        """Returns the value of a combination on an object; None when that is not known, and UNKNOWN when a walk cannot
        decide, as when it may depend on itself."""
        decided = self._decided
        key = (operation.number, object_id)
        if key in decided:
            value = decided[key]
            return UNKNOWN if value is BEING_DECIDED else value
        if self._nesting > MAX_NESTING:
            return UNKNOWN
        decided[key] = BEING_DECIDED
        self._nesting += 1
        try:
            value = self._combine_branches(operation, object_id)
        except CheckpointNeeded:
            del decided[key]
            raise
        decided[key] = value
        if value is None and self._shared is not None:
            self._shared.undecided.append(key)
        self._nesting -= 1
        return value

    def _combine_branches(self, operation: CombinedView, object_id: ObjectId) -> Truth | None:
        rule, is_known = operation.rule, True
        if rule.quantifier is not None:
            return self._weigh_links(operation, object_id)
        if rule.leaf is not None:
            return self._decide_leaf(rule.leaf, operation.type, object_id)
        values: list[Truth] = []
        for branch in operation.branches:
            value = (
                self._value((branch, object_id))
                if isinstance(branch, int)
                else self._decide_operation(branch, object_id)
            )
            if value is UNKNOWN:
                return UNKNOWN
            is_known = is_known and value is not None
            values.append(UNKNOWN if value is None else value)
            if value is rule.decisive:
                early = rule.combine(values + [UNKNOWN] * (len(operation.branches) - len(values)))
                if early is TRUE or early is FALSE:
                    return early
        return rule.combine(values) if is_known else None

    def _weigh_links(self, operation: CombinedView, object_id: ObjectId) -> Truth | None:
        """Returns the value of a quantifier on an object; None when that is not known, and UNKNOWN when a walk cannot
        decide."""
        rule, number = operation.rule, next(iter(operation.branches), None)
        if rule.quantifier is None or not isinstance(number, int):
            return UNKNOWN
        entry = self._entries.find_entry(number, object_id, self._subject_id, self.work)
        if entry is None:
            return None
        if entry.direct is None:
            return UNKNOWN
        links = [(TRUE, state) for state in (*entry.targets, *map(parse_state, entry.closed))]
        for conditioned in entry.conditioned:
            links += [(self._evaluate_condition(conditioned), state) for state in conditioned.states]
        link_values: list[Truth | None] = []
        for _, state in links:
            link_values.append(self._value(state))
            if link_values[-1] is UNKNOWN:
                return UNKNOWN
        values = [rule.quantifier.begin(limit for limit, _ in links)]
        for (limit, _), link_value in zip(links, link_values, strict=True):
            values.append(rule.quantifier.weigh(limit, UNKNOWN if link_value is None else link_value))
        value = rule.combine(values)
        return None if value is UNKNOWN and None in link_values else value

    def _decide_leaf(self, leaf: LeafRule, of_type: TypeName, object_id: ObjectId) -> Truth:
        conditions = self._find_conditions()
        for warrant in conditions.list_placeholders(leaf.policy):
            if not conditions.is_known(warrant) and (self.work.needs_checkpoint or not conditions.attempt(warrant)):
                raise CheckpointNeeded
        assert self._check is not None
        names = CheckedNames(of_type, object_id, self._check.subject.type, self._subject_id, "")
        value = leaf.decide(names, conditions)
        return value if value is TRUE or value is FALSE else UNKNOWN

    def _grow_closure(self) -> MembershipClosure:
        """Returns the subject's membership closure, like `find_closure` of the finder."""
        assert self._check is not None
        closure = self._closure = self._entries.find_closure(self._check.subject.type, self._subject_id, self.work)
        if self._shared is not None:
            self._shared.closure = closure
        return closure

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
            self._conditions = PolicyEvaluator(self._check.context, self._now, self.work, self._entries.policies)
            if self._shared is not None:
                self._shared.conditions = self._conditions
        return self._conditions


_NO_VALUES: dict[State, Truth | OpenWalk] = {}
