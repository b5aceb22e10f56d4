"""Explains one check, at one revision: evaluates it, builds the tree, and finds the path or the suggestions."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.nodes import WITH_ALL_RULES, CheckNode
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.evaluation.steps import Run, Steps
from magistrate.engine.evaluation.truth import TRUE
from magistrate.engine.evaluation.work import Work
from magistrate.engine.explanation.changes import Suggestion
from magistrate.engine.explanation.hypothetical_checks import KnownWarrants, Trial
from magistrate.engine.explanation.repairs import FollowedLinks
from magistrate.engine.explanation.suggestions import SuggestionSearch
from magistrate.engine.explanation.tree import (
    FOR_PEOPLE,
    WHOLE,
    ExplanationNode,
    TreeBuilder,
    TreeLimits,
    find_supports,
    follow_path,
)
from magistrate.engine.model.model import Model
from magistrate.engine.warrants.overlay import NO_CHANGES, Overlay
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import BudgetExceeded

WORK_FOR_SUGGESTIONS = 20_000
"""Limits the work of the search for suggestions to some tenths of a second; the budget of the check applies, too."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Holds why a check is allowed or denied.

    `path` has the warrants of an allowed check, from the subject to the object. `suggestions` say what would allow a
    denied one; `is_complete` is false if the search for them was ended by a limit.
    """

    is_allowed: bool
    tree: ExplanationNode
    path: Sequence[Warrant] = ()
    suggestions: Sequence[Suggestion] = ()
    is_complete: bool = True


class ExplanationSearch(Run[Explanation]):
    """Explains a check at `now`, in microseconds since 1970 UTC, with the warrants that the request brings
    (`contextual`). Raises BudgetExceeded when the decision or the tree needs more work; a search for suggestions that
    does is ended. `is_for_people` is false for a tree that is as whole as possible, without suggestions."""

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        work: Work,
        contextual: Overlay = NO_CHANGES,
        is_for_people: bool = True,
    ) -> None:
        self.model = model
        self._trials: list[Trial] = []
        self._contextual = contextual
        self._is_for_people = is_for_people
        super().__init__(work, self._explain(check, now))

    def release(self) -> Iterator[int]:
        yield from super().release()
        for trial in self._trials:
            yield from trial.release()

    def _explain(self, check: Check, now: int) -> Steps[Explanation]:
        known, contextual = KnownWarrants(self.model), self._contextual
        model = contextual.extend_model(self.model)
        trial = Trial(model, check, now, self.work, contextual, scope=WITH_ALL_RULES._replace(with_paths=True))
        self._trials.append(trial)
        root = yield from trial.run(known)
        if root.value is TRUE:
            return (yield from _explain_allowed(trial, root, now, self.work))
        # Without paths, an arrow that another one includes is left out; people need not read both.
        trial = Trial(model, check, now, self.work, contextual, scope=WITH_ALL_RULES)
        self._trials.append(trial)
        root = yield from trial.run(known)
        limits = FOR_PEOPLE if self._is_for_people else WHOLE
        tree = yield from _build_tree(trial, root, now, self.work, limits)
        if not self._is_for_people:
            return Explanation(False, tree)
        own_work = self.work.split(WORK_FOR_SUGGESTIONS)
        links = FollowedLinks(self.model)
        search = SuggestionSearch(self.model, check, now, known, own_work, contextual, links)
        is_complete = yield from _complete_within(search.run(trial, root), own_work)
        return Explanation(False, tree, (), search.suggestions, is_complete and search.is_complete)


def _explain_allowed(trial: Trial, root: CheckNode, now: int, work: Work) -> Steps[Explanation]:
    search = PathSearch(trial.evaluation.model, [root], work)
    yield from search.prepare()
    path = yield from search.find(root)
    supports = yield from find_supports(root, work)
    yield from follow_path(root, path, search, supports, work)
    tree = yield from TreeBuilder(trial.check, trial.evaluation, supports, now, work).build(root)
    return Explanation(True, tree, path)


def _build_tree(trial: Trial, root: CheckNode, now: int, work: Work, limits: TreeLimits) -> Steps[ExplanationNode]:
    supports = yield from find_supports(root, work)
    return (yield from TreeBuilder(trial.check, trial.evaluation, supports, now, work, limits).build(root))


def _complete_within(steps: Generator[Any, Any, None], work: Work) -> Steps[bool]:
    """Takes steps that have a budget of their own, and returns whether it was enough for them."""
    warrants = None
    try:
        while True:
            work.pass_checkpoint()
            warrants = yield steps.send(warrants)
    except StopIteration:
        return True
    except BudgetExceeded:
        return False
