"""Searches for changes that would allow a denied check.

Sets of changes are tried from the smallest on: each is applied and the check evaluated. One that suffices is a
suggestion if no smaller set of its changes suffices, which is tried, too. One that does not may still help: what was
left out of the graph of the denial, such as a second warrant that excludes the subject, is in that of the attempt, and
the set is tried again together with what that graph suggests.

Sets that delete a link are suggested only if no others were found, and sets that create one only after that.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import combinations, islice
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.evaluation.nodes import DECISION_ALONE, WITH_ALL_RULES, EvaluationScope
from magistrate.engine.explanation.changes import (
    MAX_CHANGES,
    NO_CHANGE,
    Change,
    ChangeKind,
    ChangeOrder,
    ChangeSet,
    Order,
    Suggestion,
    describe_changes,
    is_consistent,
)
from magistrate.engine.explanation.hypothetical_checks import HypotheticalCheck, HypotheticalChecks
from magistrate.engine.explanation.repairs import (
    NO_LINKS,
    FollowedLinks,
    Linkable,
    LinkTarget,
    RepairCollector,
    overrides,
)
from magistrate.engine.lists.objects import find_objects
from magistrate.engine.lists.results import Findings
from magistrate.engine.lists.reverse_graph import ReverseGraph
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.steps import Run, Steps, WarrantLists
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.warrant import WarrantPattern, warrant_pattern
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded

MAX_CANDIDATES = 20
"""Limits the suggestions that are found, of which half are shown: it is known only later which of them take access from
others."""
MAX_SETS_TRIED = 200
"""Limits how many sets of changes are tried."""


_TIERS = (ChangeKind.OVERRIDE, ChangeKind.DELETE_LINK, ChangeKind.CREATE_LINK)
"""Lists the last kinds of sets that are suggested together: all that change no link, that delete one, and others."""


class SuggestionSearch:
    """Searches for the suggestions for one check, which was denied.

    `is_complete` is false if the search was ended by a limit, so that there may be others.
    """

    def __init__(
        self,
        checks: HypotheticalChecks,
        work: Work,
        links: FollowedLinks,
        linkable: Linkable = NO_LINKS,
        patterns: Set[WarrantPattern] = frozenset(),
    ) -> None:
        self._links = links
        self._linkable = linkable
        self._patterns = patterns
        self._checks = checks
        self._work = work
        self._order = ChangeOrder()
        self._waiting: list[tuple[Order, int, ChangeSet]] = []
        self._seen: set[ChangeSet] = set()
        self._sufficient: dict[ChangeSet, bool] = {NO_CHANGE: False}
        self._suggested: dict[ChangeKind, list[ChangeSet]] = {kind: [] for kind in _TIERS}
        self.is_complete = True

    def run(self, denied: HypotheticalCheck) -> Steps[None]:
        """Finds the suggestions, given the denial with all rules. When the budget is used up, what was found until then
        remains."""
        try:
            yield from self._search(denied)
        except BudgetExceeded:
            self.is_complete = False

    def _search(self, denied: HypotheticalCheck) -> Steps[None]:
        yield from self._links.prepare(denied.check.object.type, self._work)
        yield from self._try_warrant_itself(denied)
        yield from self._add_repairs(denied, NO_CHANGE)
        while self._waiting and len(self._suggested[ChangeKind.OVERRIDE]) < MAX_CANDIDATES:
            _, _, changes = heappop(self._waiting)
            if any(smaller <= changes for tier in self._suggested.values() for smaller in tier):
                continue
            if len(self._sufficient) > MAX_SETS_TRIED:
                self.is_complete = False
                return
            if not (yield from self._suffices(changes)):
                yield from self._extend(changes)
            elif (yield from self._is_minimal(changes)):
                self._suggest(changes)

    def _suggest(self, changes: ChangeSet) -> None:
        self._suggested[max(self._order.last_kind(changes), ChangeKind.OVERRIDE)].append(changes)

    @property
    def suggestions(self) -> list[Suggestion]:
        """Returns what was found, the smallest first; there may be more than MAX_SUGGESTIONS."""
        tier = next(filter(None, self._suggested.values()), ())
        ordered = sorted(tier, key=self._order.key)
        return [self._render(self._order.sort(changes)) for changes in ordered[:MAX_CANDIDATES]]

    def _try_warrant_itself(self, denied: HypotheticalCheck) -> Steps[None]:
        """Tries the checked relation as a warrant, which takes little work, so that this is found in any case."""
        for warrant, _ in denied.evaluation.find_direct(denied.root):
            if not warrant.is_in_force(denied.now):
                self._order.note_renewal(warrant, self._links.kind(warrant.names, ChangeKind.RENEW))
        names = denied.check.names
        if self._checks.model.allows(names):
            other = ChangeKind.OVERRIDE if overrides(denied.root.plan, names.relation) else ChangeKind.CREATE
            changes = frozenset((self._order.note(Change(names), self._links.kind(names, other)),))
            self._seen.add(changes)
            if (yield from self._suffices(changes)):
                self._suggest(changes)

    def _add_repairs(self, decided: HypotheticalCheck, changes: ChangeSet) -> Steps[None]:
        """Adds the sets that the graph of the check with these changes suggests to those that are to be tried."""
        collector = RepairCollector(self._checks.model, decided, self._order, self._links, linkable=self._linkable)
        for more in (yield from collector.collect(self._work)):
            union = changes | more
            if len(union) > MAX_CHANGES:
                self.is_complete = False
            elif union not in self._seen and is_consistent(union):
                self._seen.add(union)
                heappush(self._waiting, (self._order.key(union), len(self._seen), union))
        self.is_complete = self.is_complete and not collector.is_cut

    def _extend(self, changes: ChangeSet) -> Steps[None]:
        """Adds the sets that contain these changes, which do not suffice, and others."""
        if len(changes) == MAX_CHANGES:
            self.is_complete = False
            return
        decided = yield from self._decide(changes, WITH_ALL_RULES)
        yield from self._add_repairs(decided, changes)
        self._checks.free(decided)

    def _is_minimal(self, changes: ChangeSet) -> Steps[bool]:
        """Returns whether no smaller set of these changes suffices. One that does is tried by itself."""
        for count in range(1, len(changes)):
            for some in map(frozenset, combinations(self._order.sort(changes), count)):
                if (yield from self._suffices(some)):
                    if some not in self._seen:
                        self._seen.add(some)
                        heappush(self._waiting, (self._order.key(some), len(self._seen), some))
                    return False
        return True

    def _suffices(self, changes: ChangeSet) -> Steps[bool]:
        if changes not in self._sufficient:
            decided = yield from self._decide(changes, DECISION_ALONE)
            self._sufficient[changes] = decided.root.value is TRUE
            self._checks.free(decided)
        return self._sufficient[changes]

    def _decide(self, changes: ChangeSet, scope: EvaluationScope) -> Steps[HypotheticalCheck]:
        patterns = {*self._patterns}
        if any(change.names is not None for change in changes):
            created = (change.names for change in self._order.changes if change.names is not None)
            patterns |= {warrant_pattern(names) for names in created}
        return (yield from self._checks.decide(self._work, scope, changes, patterns))

    def _render(self, changes: Sequence[Change]) -> Suggestion:
        context = self._checks.check.context
        example: Mapping[str, Any] = {change.variable: change.read_value() for change in changes if change.variable}
        return Suggestion(
            create=[(change.names, change.policy) for change in changes if change.names is not None],
            delete=[change.warrant for change in changes if change.warrant is not None],
            missing=[name for name in example if name not in context],
            different=[name for name in example if name in context],
            example=example,
            note=describe_changes(self._checks.check, changes, self._order, self._checks.now),
        )


MAX_GRANTING = 6
"""Limits the objects that grant what a rule requires, of each relation."""
MAX_OTHERS = 3
"""Limits the other objects that a link is tried to, of each type."""


class LinkSearch(Run[Sequence[Suggestion]]):
    """Returns suggestions that create links. `links` must have prepared every type that links reach, and
    `existing` has the first objects of these types.

    `is_complete` is false if the search was ended by a limit."""

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        work: Work,
        contextual: Overlay,
        links: FollowedLinks,
        existing: Mapping[TypeName, Sequence[ObjectId]],
    ) -> None:
        self.is_complete = True
        self._checks = HypotheticalChecks(model, check, now, contextual)
        self._links = links
        self._existing = existing
        super().__init__(work, self._complete())

    def release(self) -> Iterator[int]:
        yield from super().release()
        yield from self._checks.release()

    def _complete(self) -> Steps[Sequence[Suggestion]]:
        patterns = self._links.list_patterns()
        try:
            denied = yield from self._checks.decide(self.work, WITH_ALL_RULES, patterns=patterns)
            linkable = yield from self._find_linkable()
        except BudgetExceeded:
            self.is_complete = False
            return ()
        search = SuggestionSearch(self._checks, self.work, self._links, linkable, patterns=patterns)
        yield from search.run(denied)
        self.is_complete = search.is_complete
        return search.suggestions

    def _find_linkable(self) -> Steps[Linkable]:
        """Returns the objects that a link may reach, those that grant what is missing first."""
        targets = self._links.list_targets()
        granting = yield from self._find_granting(targets)
        linkable: dict[LinkTarget, Sequence[ObjectId]] = {}
        for target in targets:
            others = self._existing.get(target[0], ())
            linkable[target] = [*dict.fromkeys((*granting.get(target, ()), *others[:MAX_OTHERS]))]
        return linkable

    def _find_granting(self, targets: Sequence[LinkTarget]) -> Steps[Linkable]:
        """Returns the first objects on which the subject has each of these relations, as far as they can be listed."""
        check, contextual = self._checks.check, self._checks.contextual
        subject = check.subject
        if subject.relation or not targets:
            return {}
        model = contextual.extend_model(self._checks.model)
        conditions = PolicyEvaluator(check.context, self._checks.now, self.work, model.policies)
        graph = ReverseGraph(model, subject.type, self.work)
        finding = find_objects(graph, targets, ObjectRef(subject.type, subject.id), conditions, work=self.work)
        findings = yield from _overlay_steps(finding, contextual)
        granting: dict[LinkTarget, Sequence[ObjectId]] = {}
        for result in findings.relation_results or ():
            assert result.type is not None
            values = result.result_set.exceptions
            self.work.spend(len(values) // 10)
            ids = sorted(object_id for object_id, value in values.items() if value is TRUE and object_id != WILDCARD)
            if result.result_set.default is TRUE:
                ids += (object_id for object_id in self._existing.get(result.type, ()) if object_id not in values)
            granting[result.type, result.relation] = [*islice(ids, MAX_GRANTING)]
        return granting


def _overlay_steps(steps: Steps[Findings], overlay: Overlay) -> Steps[Findings]:
    """Takes steps as if the warrants of the overlay were stored."""
    warrants: WarrantLists | None = None
    while True:
        try:
            reads = steps.send(warrants)
        except StopIteration as stop:
            findings: Findings = stop.value
            return findings
        warrants = yield reads
        if reads and warrants is not None:
            warrants = [overlay.merge(read, stored) for read, stored in zip(reads, warrants, strict=True)]
