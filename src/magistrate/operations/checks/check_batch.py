"""Defines the checks of one request, and decides them by an evaluation, with reads that the caller makes."""

from collections.abc import Iterator, Sequence

import msgspec

from magistrate.engine.evaluation.check import DENIED, UNDECIDED, Check, Decision
from magistrate.engine.evaluation.evaluation import Evaluation, add_check
from magistrate.engine.evaluation.nodes import CheckNode, EvaluationScope
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.model.model import Model
from magistrate.engine.steps import Checkpoints, Run, Steps
from magistrate.engine.truth import TRUE, UNDEFINED, UNKNOWN
from magistrate.engine.warrants.read_ahead import ReadsAhead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.operations.readers.contextual_warrants import ContextualWarrants
from magistrate.operations.scheduling import limit_work
from magistrate.store.contract.lists import Snapshot

Decisions = Snapshot[list[Decision]]
"""Holds one decision per check, in order, up to the last that is needed, all computed at one revision."""

StopAt = bool | None
"""Says which decision makes those after it unnecessary: the first that authorizes (True), the first that denies
(False), or none."""
ALL_NEEDED: StopAt = None
UNTIL_AUTHORIZED: StopAt = True
UNTIL_DENIED: StopAt = False

NO_TYPES: frozenset[str] = frozenset()
"""Are the visible types of checks that are denied if any object type is not defined."""


class CheckBatch(msgspec.Struct, frozen=True):
    """Holds checks to be decided in order, up to the last that is needed, at one time (`now`, in microseconds since
    1970 UTC) and with at most `max_work` units of work. With `with_path`, decisions carry the warrants they depend
    on. `contextual` counts as if it were written. A check that cannot be decided because an object type is not defined
    is an error if the type is among the `visible_types`, None being all, and otherwise denied: the caller may not know
    whether there is such a type."""

    checks: Sequence[Check]
    stop_at: StopAt
    now: int
    max_work: int
    with_path: bool = False
    contextual: ContextualWarrants | None = None
    visible_types: frozenset[str] | None = None

    def shows(self, object_type: str) -> bool:
        return self.visible_types is None or object_type in self.visible_types


WORK_FOR_A_WARRANT_OF_A_PATH = 10
"""Charges the rendering of one warrant of a path. A warrant is rendered as often as it occurs in the path of a check: a
thousand checks may share a path of a thousand warrants."""


class CheckRun(Run[list[Decision]]):
    """Decides a batch of checks with one model. Its outcome has the decisions up to the last that is needed. Raises
    NotFound, BudgetExceeded."""

    def __init__(self, model: Model, batch: CheckBatch) -> None:
        scope = EvaluationScope(with_paths=batch.with_path)
        evaluation = Evaluation(model, batch.now, limit_work(batch.max_work), scope)
        self._evaluation = evaluation
        self._batch = batch
        self._nodes: list[CheckNode] = []
        self._decisions: list[Decision] = []
        """Holds those before the first check that is open: a check is looked at again only while it is the first."""
        self._paths: dict[CheckNode, Sequence[Warrant]] = {}
        super().__init__(evaluation.work, self._decide())
        if batch.contextual is not None:
            self.work.spend(batch.contextual.overlay.size)

    @property
    def ahead(self) -> ReadsAhead | None:
        return self._evaluation.ahead

    def release(self) -> Iterator[int]:
        yield from super().release()
        yield from self._evaluation.release()

    def _decide(self) -> Steps[list[Decision]]:
        """Requests reads at least once, perhaps none: a caller may have to read first which revision is the newest."""
        evaluation, with_path = self._evaluation, self._batch.with_path
        for check in self._batch.checks:
            self._nodes.append((yield from add_check(evaluation, check)))
        is_decided = False
        while not is_decided:
            reads = evaluation.advance()
            warrants = yield reads
            if reads and warrants is not None:
                evaluation.take(warrants)
            is_decided = reads == [] if with_path else self._are_decided()
        if with_path:
            yield from self._find_paths()
            self._are_decided()
        return self._decisions

    def _are_decided(self) -> bool:
        """Adds the decisions that are known now, up to the last that is needed, and returns whether these are all."""
        nodes, decisions = self._nodes, self._decisions
        while len(decisions) < len(nodes) and not self._has_enough():
            node = nodes[len(decisions)]
            if node.value is None:
                return False
            if node.value is UNDEFINED and self._batch.shows(node.missing_type()):
                raise NotFound("ObjectType", node.missing_type())
            decisions.append(self._decision(node))
        return True

    def _has_enough(self) -> bool:
        """Returns whether the decisions so far make the others unnecessary."""
        return bool(self._decisions) and self._decisions[-1].is_authorized is self._batch.stop_at

    def _decision(self, node: CheckNode) -> Decision:
        if node.value is not TRUE:
            return UNDECIDED if node.value is UNKNOWN else DENIED
        is_explicit = node.direct is not None and node.direct.relation == node.relation
        return Decision(True, not is_explicit, self._paths.get(node, ()))

    def _find_paths(self) -> Checkpoints[None]:
        holding = [node for node in dict.fromkeys(self._nodes) if node.value is TRUE]
        search = PathSearch(self._evaluation.model, holding, self.work)
        yield from search.prepare()
        for node in holding:
            self._paths[node] = yield from search.find(node)
        for node in self._nodes:
            self.work.spend(WORK_FOR_A_WARRANT_OF_A_PATH * len(self._paths.get(node, ())))
