"""Evaluates the check of an explanation, also with changes applied."""

from collections.abc import Iterator

from msgspec.structs import replace

from magistrate.engine.evaluation import Check, Evaluation
from magistrate.engine.explanation.changes import NO_CHANGE, ChangeSet, change_context, overlay_changes
from magistrate.engine.explanation.known_warrants import KnownWarrants
from magistrate.engine.nodes import DECISION_ALONE, CheckNode, EvaluationScope
from magistrate.engine.overlay import Overlay
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Steps
from magistrate.engine.work import Work


class Trial:
    """Represents one evaluation of the check, with these changes to what is stored and then with the warrants that the
    request brings, `contextual`. The model has the patterns of all these."""

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        work: Work,
        contextual: Overlay,
        changes: ChangeSet = NO_CHANGE,
        scope: EvaluationScope = DECISION_ALONE,
    ) -> None:
        self.check = replace(check, context=change_context(check.context, changes)) if changes else check
        self.evaluation = Evaluation(model, now, work, scope)
        self._overlays = [overlay_changes(changes, now), contextual] if changes else [contextual]
        self._work = work

    def run(self, known: KnownWarrants) -> Steps[CheckNode]:
        """Returns the decided node of the check. Raises BudgetExceeded."""
        while (root := self.evaluation.add_check(self.check)) is None:
            yield None
        while (reads := self.evaluation.advance()) != []:
            if reads is None:
                yield None
                continue
            warrants = yield from known.read(reads, self._work)
            for overlay in self._overlays:
                warrants = [overlay.merge(*one) for one in zip(reads, warrants, strict=True)]
            self.evaluation.take(warrants)
        return root

    def release(self) -> Iterator[int]:
        return self.evaluation.release()
