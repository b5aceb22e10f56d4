"""Evaluates the check of an explanation, also with changes applied."""

from collections.abc import Iterator

from msgspec.structs import replace

from magistrate.engine.evaluation import Check, Evaluation
from magistrate.engine.explanation.changed_warrants import ChangedWarrants
from magistrate.engine.explanation.changes import NO_CHANGE, ChangeSet, change_context
from magistrate.engine.explanation.known_warrants import KnownWarrants
from magistrate.engine.nodes import CheckNode
from magistrate.engine.plans import Model
from magistrate.engine.query.search import Steps
from magistrate.engine.warrants import WarrantPattern, warrant_pattern
from magistrate.engine.work import Work


class Trial:
    """Represents one evaluation of the check, with these changes. `model` is that of the revision; `patterns` are those
    of the warrants that changes may create."""

    def __init__(
        self,
        model: Model,
        check: Check,
        now: int,
        work: Work,
        changes: ChangeSet = NO_CHANGE,
        with_paths: bool = False,
        with_all_rules: bool = False,
    ) -> None:
        self.check = replace(check, context=change_context(check.context, changes)) if changes else check
        self.evaluation = Evaluation(model, now, work, with_paths, with_all_rules)
        self._changed = ChangedWarrants(changes, now) if changes else None
        self._work = work

    def run(self, known: KnownWarrants) -> Steps[CheckNode]:
        """Returns the decided node of the check. Raises BudgetExceeded."""
        while (root := self.evaluation.add_check(self.check)) is None:
            yield None
        while (reads := self.evaluation.advance()) != []:
            if reads is None:
                yield None
                continue
            stored = yield from known.read(reads, self._work)
            if self._changed is not None:
                stored = [self._changed.merge(*one) for one in zip(reads, stored, strict=True)]
            self.evaluation.take(stored)
        return root

    def release(self) -> Iterator[int]:
        return self.evaluation.release()


def add_patterns(model: Model, changes: ChangeSet) -> Model:
    """Returns a model that also has the patterns of the warrants that these changes create; the same one if it has them
    already."""
    new: set[WarrantPattern] = {warrant_pattern(change.names) for change in changes if change.names is not None}
    if new <= model.patterns:
        return model
    patterns = model.patterns | model.stranded | new
    return Model(model.types, model.revision, patterns, policies=model.policies)
