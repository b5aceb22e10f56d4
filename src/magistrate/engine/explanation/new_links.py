"""Searches for new links between existing objects that would allow a denied check, where nothing else would.

A link may be created wherever the check comes to an object whose type has rules that follow links: to an object on
which the subject has the relation that such a rule asks for, or to another one, together with more changes there."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from magistrate.engine.check import Check
from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.explanation.changes import Suggestion
from magistrate.engine.explanation.known_warrants import KnownWarrants
from magistrate.engine.explanation.links import FollowedLinks, Linkable, LinkTarget
from magistrate.engine.explanation.suggesting import SuggestionSearch
from magistrate.engine.explanation.trial import Trial
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.nodes import WITH_ALL_RULES
from magistrate.engine.overlay import Overlay
from magistrate.engine.plans import Model
from magistrate.engine.query.objects import find_objects
from magistrate.engine.query.reverse_graph import ReverseGraph
from magistrate.engine.query.rows import Findings
from magistrate.engine.query.search import Search, Steps, WarrantLists
from magistrate.engine.terms import WILDCARD, ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded

MOST_GRANTING = 6
"""Limits the objects that grant what a rule asks for, of each relation."""
MOST_OTHERS = 3
"""Limits the other objects that a link is tried to, of each type."""


class LinkSearch(Search[Sequence[Suggestion]]):
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
        self._suggestions: Sequence[Suggestion] = ()
        self.is_complete = True
        self._check = check
        self._now = now
        self._contextual = contextual
        self._links = links
        self._existing = existing
        self._trials: list[Trial] = []
        super().__init__(model, work, self._complete())

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
