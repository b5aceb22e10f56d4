"""Decides checks (docs/compatibility.md#check)."""

from collections.abc import Sequence

from magistrate.engine.decision import DENIED, Decision
from magistrate.engine.evaluation import Evaluation, Question
from magistrate.engine.nodes import CheckNode
from magistrate.engine.plans import Model
from magistrate.engine.truth import MISSING, TRUE
from magistrate.engine.warrant_reader import AnyRead
from magistrate.engine.work import Work
from magistrate.errors import NotFound
from magistrate.operations.checks.evaluating import evaluate_run
from magistrate.operations.checks.graph import CheckBatch, IsLast
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.store.contract import Snapshot

WORK_FOR_A_WARRANT_OF_A_PATH = 10
"""Charges the rendering of one warrant of a path. A warrant is rendered as often as it occurs in the path of a check: a
thousand checks may share a path of a thousand warrants."""


def none_is_last(is_authorized: bool) -> bool:
    """Returns false always, so that every check gets a decision."""
    return False


def stop_at_authorized(is_authorized: bool) -> bool:
    return is_authorized


def stop_at_denied(is_authorized: bool) -> bool:
    return not is_authorized


async def check_all(ctx: Context, questions: Sequence[Question], freshness: Freshness) -> Snapshot[list[Decision]]:
    """Returns one decision per check, in order; raises like `check`. It serves callers that are not check requests
    themselves, so nothing is logged."""
    return await _decide(ctx, questions, none_is_last, freshness, with_path=False)


async def check(
    ctx: Context, questions: Sequence[Question], is_last: IsLast, freshness: Freshness, with_path: bool = False
) -> Snapshot[list[Decision]]:
    """Returns one decision per check, in order, up to the last that is needed. Checks after that raise nothing.

    Raises NotFound for the first that cannot be decided because an object type is not defined, BudgetSpent,
    InvalidParameter if the token is from the future.
    """
    found = await _decide(ctx, questions, is_last, freshness, with_path)
    if ctx.decisions is not None:
        ctx.decisions.note(questions, found.value)
    return found


async def _decide(
    ctx: Context, questions: Sequence[Question], is_last: IsLast, freshness: Freshness, with_path: bool
) -> Snapshot[list[Decision]]:
    found = None
    if not with_path:
        asked = CheckBatch(questions, is_last, ctx.now(), ctx.max_check_work)
        found = await ctx.graph.decide_checks(asked, freshness)
    if found is None:

        def begin(model: Model) -> _Checks:
            return _Checks(Evaluation(model, ctx.now(), Work(ctx.max_check_work)), questions, is_last, with_path)

        found = await evaluate_run(ctx, begin, freshness)
    return found


def check_now(
    ctx: Context, questions: Sequence[Question], is_last: IsLast, freshness: Freshness
) -> Snapshot[list[Decision]] | None:
    """Returns the decisions as `check` does, without paths, or None if they need waiting."""
    found = ctx.graph.decide_now(CheckBatch(questions, is_last, ctx.now(), ctx.max_check_work), freshness)
    if ctx.decisions is not None and found is not None:
        ctx.decisions.note(questions, found.value)
    return found


class _Checks:
    """Implements Run for a list of checks."""

    def __init__(self, evaluation: Evaluation, questions: Sequence[Question], is_last: IsLast, with_path: bool) -> None:
        self._evaluation = evaluation
        self._with_path = with_path
        self._questions = questions
        self._nodes: list[CheckNode] = []
        self._is_last = is_last
        self.model = evaluation.model
        self.work = evaluation.work
        self.take = evaluation.take
        self.release = evaluation.release

    def advance(self) -> Sequence[AnyRead] | None:
        self.work.begin_turn()
        while len(self._nodes) < len(self._questions):
            node = self._evaluation.ask(self._questions[len(self._nodes)])
            self._nodes += [node] if node is not None else []
            if self.work.turn_is_over:
                return None
        return self._evaluation.advance()

    def outcome(self) -> list[Decision] | None:
        """Returns the decisions up to the last that is needed; None if one of them is still open. Raises NotFound,
        BudgetSpent."""
        if len(self._nodes) < len(self._questions):
            return None
        decisions: list[Decision] = []
        for node in self._nodes:
            if node.value is None:
                return None
            if node.value is MISSING:
                raise NotFound("ObjectType", node.missing_type())
            decisions.append(self._decision(node) if node.value is TRUE else DENIED)
            if self._is_last(decisions[-1].is_authorized):
                break
        return decisions

    def _decision(self, node: CheckNode) -> Decision:
        warrant, _ = node.reason
        is_explicit = warrant is not None and warrant.relation == node.relation
        if not self._with_path:
            return Decision(True, not is_explicit)
        self.work.spend(WORK_FOR_A_WARRANT_OF_A_PATH * node.length)
        return Decision(True, not is_explicit, node.path())
