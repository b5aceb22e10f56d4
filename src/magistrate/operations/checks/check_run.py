"""Decides a batch of checks by an evaluation of the engine, with reads that the caller makes."""

from collections.abc import Iterator, Sequence

from magistrate.engine.evaluation.check import DENIED, Decision
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.nodes import CheckNode, EvaluationScope
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.evaluation.truth import TRUE, UNDEFINED
from magistrate.engine.model.model import Model
from magistrate.engine.warrants.read_ahead import ReadsAhead
from magistrate.engine.warrants.reader import AnyRead
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.operations.checks.check_batch import CheckBatch
from magistrate.operations.scheduling import limit_work

WORK_FOR_A_WARRANT_OF_A_PATH = 10
"""Charges the rendering of one warrant of a path. A warrant is rendered as often as it occurs in the path of a check: a
thousand checks may share a path of a thousand warrants."""


class CheckRun:
    """Implements Run for a batch of checks."""

    def __init__(self, model: Model, batch: CheckBatch) -> None:
        scope = EvaluationScope(with_paths=batch.with_path)
        evaluation = Evaluation(model, batch.now, limit_work(batch.most_work), scope)
        self._evaluation = evaluation
        self._batch = batch
        self._nodes: list[CheckNode] = []
        self._decisions: list[Decision] = []
        """Holds those before the first check that is open: a check is looked at again only while it is the first."""
        self._finding: Iterator[None] | None = None
        self._paths: dict[CheckNode, Sequence[Warrant]] = {}
        self._has_paths = not batch.with_path
        self.model = model
        self.work = evaluation.work
        self.take = evaluation.take
        self.release = evaluation.release
        if batch.contextual is not None:
            self.work.spend(batch.contextual.overlay.size)

    @property
    def ahead(self) -> ReadsAhead | None:
        return self._evaluation.ahead

    def advance(self) -> Sequence[AnyRead] | None:
        checks, nodes = self._batch.checks, self._nodes
        self.work.pass_checkpoint()
        while len(nodes) < len(checks):
            node = self._evaluation.add_check(checks[len(nodes)])
            nodes += [node] if node is not None else []
            if self.work.needs_checkpoint:
                return None
        reads = self._evaluation.advance()
        return self._advance_paths() if reads == [] and not self._has_paths else reads

    def outcome(self) -> list[Decision] | None:
        """Returns the decisions up to the last that is needed; None if one of them is still open. Raises NotFound,
        BudgetExceeded."""
        if len(self._nodes) < len(self._batch.checks) or not self._has_paths:
            return None
        nodes, decisions = self._nodes, self._decisions
        while len(decisions) < len(nodes) and not self._has_enough():
            node = nodes[len(decisions)]
            if node.value is None:
                return None
            if node.value is UNDEFINED and self._batch.shows(node.missing_type()):
                raise NotFound("ObjectType", node.missing_type())
            decisions.append(self._decision(node) if node.value is TRUE else DENIED)
        return decisions

    def _has_enough(self) -> bool:
        """Returns whether the decisions so far make the others unnecessary."""
        return bool(self._decisions) and self._decisions[-1].is_authorized is self._batch.stop_at

    def _decision(self, node: CheckNode) -> Decision:
        warrant, _ = node.reason
        is_explicit = warrant is not None and warrant.relation == node.relation
        return Decision(True, not is_explicit, self._paths.get(node, ()))

    def _advance_paths(self) -> Sequence[AnyRead] | None:
        """Finds the paths of the checks that hold, until the time slice is over."""
        self._finding = self._finding or self._find_paths()
        for _ in self._finding:
            return None
        self._has_paths = True
        return []

    def _find_paths(self) -> Iterator[None]:
        holding = [node for node in dict.fromkeys(self._nodes) if node.value is TRUE]
        search = PathSearch(self._evaluation.model, holding, self.work)
        yield from search.prepare()
        for node in holding:
            self._paths[node] = yield from search.find(node)
        for node in self._nodes:
            self.work.spend(WORK_FOR_A_WARRANT_OF_A_PATH * len(self._paths.get(node, ())))
