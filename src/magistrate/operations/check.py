"""Answering checks (contract section 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from magistrate.engine.evaluation import Evaluation, Question
from magistrate.engine.graph import Found
from magistrate.engine.nodes import Node
from magistrate.engine.plans import Model
from magistrate.engine.truth import MISSING, TRUE
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work
from magistrate.errors import NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.evaluating import evaluated
from magistrate.store.contract import Snapshot


@dataclass(frozen=True, slots=True)
class Decision:
    """`path`, where it is wanted: the warrants that grant it, from the subject to the object; empty if denied, or if it
    holds because others do not. `is_implicit`: it rests on more than one warrant of the asked relation to the subject
    itself."""

    is_authorized: bool
    is_implicit: bool
    path: Sequence[Warrant]


DENIED = Decision(False, False, ())
WITHOUT_PATH = {
    Found(False, False): DENIED,
    Found(True, False): Decision(True, False, ()),
    Found(True, True): Decision(True, True, ()),
}

IsLast = Callable[[bool], bool]
"""Whether what comes after a decision is not needed, given whether that authorizes."""


async def check_all(
    ctx: Context, questions: Sequence[Question], freshness: Freshness, with_path: bool = False
) -> Snapshot[list[Decision]]:
    """One decision for each question, in order.

    Raises NotFound for the first that cannot be decided because an object type is not defined, BudgetSpent,
    InvalidParameter if the token is from the future.
    """
    return await _check(ctx, questions, freshness, with_path, lambda is_authorized: False)


async def check_any(
    ctx: Context, questions: Sequence[Question], freshness: Freshness, with_path: bool = False
) -> Snapshot[list[Decision]]:
    """Decisions in order, up to the first that is authorized. What comes later raises nothing."""
    return await _check(ctx, questions, freshness, with_path, lambda is_authorized: is_authorized)


async def check_every(
    ctx: Context, questions: Sequence[Question], freshness: Freshness, with_path: bool = False
) -> Snapshot[list[Decision]]:
    """Decisions in order, up to the first that is denied. What comes later raises nothing."""
    return await _check(ctx, questions, freshness, with_path, lambda is_authorized: not is_authorized)


async def _check(
    ctx: Context, questions: Sequence[Question], freshness: Freshness, with_path: bool, is_last: IsLast
) -> Snapshot[list[Decision]]:
    if not with_path:
        found = await ctx.graph.decided(questions, freshness, is_last, ctx.now(), ctx.max_check_work)
        if found is not None:
            return Snapshot(found.revision, [WITHOUT_PATH[one] for one in found.value])

    def begin(model: Model) -> _Checks:
        return _Checks(Evaluation(model, ctx.now(), Work(ctx.max_check_work)), questions, is_last)

    return await evaluated(ctx, begin, freshness)


class _Checks:
    """A Run."""

    def __init__(self, evaluation: Evaluation, questions: Sequence[Question], is_last: IsLast) -> None:
        self._nodes = [evaluation.ask(question) for question in questions]
        self._is_last = is_last
        self.model = evaluation.model
        self.work = evaluation.work
        self.advance = evaluation.advance
        self.take = evaluation.take

    def outcome(self) -> list[Decision] | None:
        return _decided(self._nodes, self._is_last)


def _decided(nodes: Sequence[Node], is_last: IsLast) -> list[Decision] | None:
    """The decisions up to the last that is needed; None if one of them is still open."""
    decisions: list[Decision] = []
    for node in nodes:
        if node.value is None:
            return None
        if node.value == MISSING:
            raise NotFound("ObjectType", node.missing_type())
        decisions.append(_decision(node) if node.value == TRUE else DENIED)
        if is_last(decisions[-1].is_authorized):
            break
    return decisions


def _decision(node: Node) -> Decision:
    warrant, _ = node.reason
    is_explicit = warrant is not None and warrant.relation == node.relation
    return Decision(True, not is_explicit, node.path())
