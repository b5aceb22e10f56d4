"""Searches for changes that would allow a denied check.

Sets of changes are tried from the smallest on: each is applied and the check evaluated. One that suffices is a
suggestion if no smaller set of its changes suffices, which is tried, too. One that does not may still help: what was
left out of the graph of the denial, such as a second warrant that excludes the subject, is in that of the trial, and
the set is tried again together with what that graph suggests.

Sets that delete a link are suggested only if no others were found, and sets that create one only after that.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import combinations, islice
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.evaluation.nodes import DECISION_ALONE, WITH_ALL_RULES, CheckNode, EvaluationScope
from magistrate.engine.evaluation.steps import Run, Steps, WarrantLists
from magistrate.engine.evaluation.truth import TRUE
from magistrate.engine.evaluation.work import Work
from magistrate.engine.explanation.changes import (
    MOST_CHANGES,
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
from magistrate.engine.explanation.hypothetical_checks import KnownWarrants, Trial
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
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName, WarrantNames
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.warrant import WarrantPattern, warrant_pattern
from magistrate.errors import BudgetExceeded

MOST_CANDIDATES = 20
"""Limits the suggestions that are found, of which half are shown: it is known only later which of them take access from
others."""
MOST_TRIALS = 200
"""Limits how many sets of changes are tried."""


_TIERS = (ChangeKind.OVERRIDE, ChangeKind.DELETE_LINK, ChangeKind.CREATE_LINK)
"""Lists the last kinds of sets that are suggested together: all that touch no link, that delete one, and others."""


class SuggestionSearch:
    """Searches for the suggestions for one check, which was denied; `contextual` are the warrants that came with it.

    `is_complete` is false if the search was ended by a limit, so that there may be others.
    """

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        known: KnownWarrants,
        work: Work,
        contextual: Overlay,
        links: FollowedLinks,
        linkable: Linkable = NO_LINKS,
        patterns: Set[WarrantPattern] = frozenset(),
    ) -> None:
        self._links = links
        self._linkable = linkable
        self._patterns = contextual.patterns | patterns
        self._model = model
        self._contextual = contextual
        self._check = check
        self._now = now
        self._known = known
        self._work = work
        self._order = ChangeOrder()
        self._waiting: list[tuple[Order, int, ChangeSet]] = []
        self._seen: set[ChangeSet] = set()
        self._sufficient: dict[ChangeSet, bool] = {NO_CHANGE: False}
        self._suggested: dict[ChangeKind, list[ChangeSet]] = {kind: [] for kind in _TIERS}
        self.is_complete = True

    def run(self, denied: Trial, root: CheckNode) -> Steps[None]:
        """Finds the suggestions, given the evaluation of the denial with all rules. Raises BudgetExceeded; what was
        found until then remains."""
        yield from self._links.prepare(self._check.object.type, self._work)
        yield from self._try_warrant_itself(denied, root)
        yield from self._add_repairs(denied, root, NO_CHANGE)
        while self._waiting and len(self._suggested[ChangeKind.OVERRIDE]) < MOST_CANDIDATES:
            _, _, changes = heappop(self._waiting)
            if any(found <= changes for tier in self._suggested.values() for found in tier):
                continue
            if len(self._sufficient) > MOST_TRIALS:
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
        """Returns what was found, the smallest first; there may be more than MOST_SUGGESTIONS."""
        tier = next(filter(None, self._suggested.values()), ())
        found = sorted(tier, key=self._order.key)
        return [self._render(self._order.sort(changes)) for changes in found[:MOST_CANDIDATES]]

    def _try_warrant_itself(self, denied: Trial, root: CheckNode) -> Steps[None]:
        """Tries the checked relation as a warrant, which takes little work, so that this is found in any case."""
        for warrant, _ in denied.evaluation.find_direct(root):
            if not warrant.is_in_force(self._now):
                kind = ChangeKind.CREATE_LINK if self._links.follows(warrant.names) else ChangeKind.RENEW
                self._order.note_renewal(warrant, kind)
        object, relation, subject = self._check.object, self._check.relation, self._check.subject
        names = WarrantNames(
            object.type, object.id, relation, subject.type, subject.id, RelationName(subject.relation or "")
        )
        if self._model.allows(names):
            kind = ChangeKind.OVERRIDE if overrides(root.plan, relation) else ChangeKind.CREATE
            if self._links.follows(names):
                kind = ChangeKind.CREATE_LINK
            changes = frozenset((self._order.note(Change(names), kind),))
            self._seen.add(changes)
            if (yield from self._suffices(changes)):
                self._suggest(changes)

    def _add_repairs(self, trial: Trial, root: CheckNode, changes: ChangeSet) -> Steps[None]:
        """Adds the sets that the graph of a trial with these changes suggests to those that are to be tried."""
        collector = RepairCollector(
            self._model, trial.check, self._now, trial.evaluation, self._order, self._links, self._linkable
        )
        for more in (yield from collector.collect(root, self._work)):
            union = changes | more
            if len(union) > MOST_CHANGES:
                self.is_complete = False
            elif union not in self._seen and is_consistent(union):
                self._seen.add(union)
                heappush(self._waiting, (self._order.key(union), len(self._seen), union))
        self.is_complete = self.is_complete and not collector.is_cut

    def _extend(self, changes: ChangeSet) -> Steps[None]:
        """Adds the sets that contain these changes, which do not suffice, and others."""
        if len(changes) == MOST_CHANGES:
            self.is_complete = False
            return
        trial = self._trial(changes, WITH_ALL_RULES)
        try:
            root = yield from trial.run(self._known)
            yield from self._add_repairs(trial, root, changes)
        finally:
            _release(trial)

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
            trial = self._trial(changes)
            try:
                root = yield from trial.run(self._known)
                self._sufficient[changes] = root.value is TRUE
            finally:
                _release(trial)
        return self._sufficient[changes]

    def _trial(self, changes: ChangeSet, scope: EvaluationScope = DECISION_ALONE) -> Trial:
        patterns = {*self._patterns}
        if any(change.names is not None for change in changes):
            created = (change.names for change in self._order.changes if change.names is not None)
            patterns |= {warrant_pattern(names) for names in created}
        model = self._model.with_patterns(patterns)
        return Trial(model, self._check, self._now, self._work, self._contextual, changes, scope)

    def _render(self, changes: Sequence[Change]) -> Suggestion:
        context = self._check.context
        example: Mapping[str, Any] = {change.variable: change.read_value() for change in changes if change.variable}
        return Suggestion(
            create=[(change.names, change.policy) for change in changes if change.names is not None],
            delete=[change.warrant for change in changes if change.warrant is not None],
            missing=[name for name in example if name not in context],
            different=[name for name in example if name in context],
            example=example,
            note=describe_changes(self._check, changes, self._order, self._now),
        )


def _release(trial: Trial) -> None:
    """Frees what a trial holds; it is small, because trials are charged to a small budget."""
    steps: Iterator[int] = trial.release()
    for _ in steps:
        pass


MOST_GRANTING = 6
"""Limits the objects that grant what a rule asks for, of each relation."""
MOST_OTHERS = 3
"""Limits the other objects that a link is tried to, of each type."""


class LinkSearch(Run[Sequence[Suggestion]]):
    """Returns suggestions that create links. `links` must have prepared every type that links lead to, and
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
        self.model = model
        self._suggestions: Sequence[Suggestion] = ()
        self.is_complete = True
        self._check = check
        self._now = now
        self._contextual = contextual
        self._links = links
        self._existing = existing
        self._trials: list[Trial] = []
        super().__init__(work, self._complete())

    def release(self) -> Iterator[int]:
        yield from super().release()
        for trial in self._trials:
            yield from trial.release()

    def _complete(self) -> Steps[Sequence[Suggestion]]:
        try:
            yield from self._search()
        except BudgetExceeded:
            self.is_complete = False
        return self._suggestions

    def _search(self) -> Steps[None]:
        check, now, contextual = self._check, self._now, self._contextual
        patterns = self._links.list_patterns()
        model = contextual.extend_model(self.model).with_patterns(patterns)
        known = KnownWarrants(self.model)
        denied = Trial(model, check, now, self.work, contextual, scope=WITH_ALL_RULES)
        self._trials.append(denied)
        root = yield from denied.run(known)
        linkable = yield from self._find_linkable()
        search = SuggestionSearch(self.model, check, now, known, self.work, contextual, self._links, linkable, patterns)
        try:
            yield from search.run(denied, root)
        finally:
            self._suggestions, self.is_complete = search.suggestions, search.is_complete

    def _find_linkable(self) -> Steps[Linkable]:
        """Returns the objects that a link may lead to, those that grant what is asked for first."""
        targets = self._links.list_targets()
        granting = yield from self._find_granting(targets)
        linkable: dict[LinkTarget, Sequence[ObjectId]] = {}
        for target in targets:
            others = self._existing.get(target[0], ())
            linkable[target] = [*dict.fromkeys((*granting.get(target, ()), *others[:MOST_OTHERS]))]
        return linkable

    def _find_granting(self, targets: Sequence[LinkTarget]) -> Steps[Linkable]:
        """Returns the first objects on which the subject has each of these relations, as far as they can be listed."""
        subject = self._check.subject
        if subject.relation or not targets:
            return {}
        model = self._contextual.extend_model(self.model)
        conditions = PolicyEvaluator(self._check.context, self._now, self.work, model.policies)
        graph = ReverseGraph(model, subject.type, self.work)
        finding = find_objects(graph, targets, ObjectRef(subject.type, subject.id), conditions, self.work)
        findings = yield from _overlay_steps(finding, self._contextual)
        granting: dict[LinkTarget, Sequence[ObjectId]] = {}
        for result in findings.relation_results or ():
            assert result.type is not None
            values = result.result_set.exceptions
            self.work.spend(len(values) // 10)
            ids = sorted(id for id, value in values.items() if value is TRUE and id != WILDCARD)
            if result.result_set.default is TRUE:
                ids += (id for id in self._existing.get(result.type, ()) if id not in values)
            granting[result.type, result.relation] = [*islice(ids, MOST_GRANTING)]
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
            warrants = [overlay.merge(*one) for one in zip(reads, warrants, strict=True)]
