"""Explains one check, at one revision: evaluates it, builds the tree, and finds the path or the suggestions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.nodes import WITH_ALL_RULES
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.explanation.changes import Suggestion
from magistrate.engine.explanation.hypothetical_checks import HypotheticalCheck, HypotheticalChecks
from magistrate.engine.explanation.repairs import FollowedLinks
from magistrate.engine.explanation.suggestions import SuggestionSearch
from magistrate.engine.explanation.tree import (
    FOR_PEOPLE,
    WHOLE,
    ExplanationNode,
    TreeBuilder,
    find_supports,
    follow_path,
)
from magistrate.engine.model.model import Model
from magistrate.engine.steps import Run, Steps
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.overlay import NO_CHANGES, Overlay
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work

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
        self._checks = HypotheticalChecks(model, check, now, contextual)
        self._is_for_people = is_for_people
        super().__init__(work, self._explain())

    def release(self) -> Iterator[int]:
        yield from super().release()
        yield from self._checks.release()

    def _explain(self) -> Steps[Explanation]:
        decided = yield from self._checks.decide(self.work, WITH_ALL_RULES._replace(with_paths=True))
        if decided.root.value is TRUE:
            return (yield from _explain_allowed(decided, self.work))
        # Without paths, an arrow that another one includes is left out; people need not read both.
        decided = yield from self._checks.decide(self.work, WITH_ALL_RULES)
        supports = yield from find_supports(decided.root, self.work)
        limits = FOR_PEOPLE if self._is_for_people else WHOLE
        tree = yield from TreeBuilder(decided, supports, self.work, limits).build()
        if not self._is_for_people:
            return Explanation(False, tree)
        self.work = self.work.split(WORK_FOR_SUGGESTIONS)
        search = SuggestionSearch(self._checks, self.work, FollowedLinks(self._checks.model))
        yield from search.run(decided)
        return Explanation(False, tree, suggestions=search.suggestions, is_complete=search.is_complete)


def _explain_allowed(decided: HypotheticalCheck, work: Work) -> Steps[Explanation]:
    root = decided.root
    search = PathSearch(decided.evaluation.model, [root], work)
    yield from search.prepare()
    path = yield from search.find(root)
    supports = yield from find_supports(root, work)
    yield from follow_path(root, path, search, supports)
    tree = yield from TreeBuilder(decided, supports, work).build()
    return Explanation(True, tree, path)
