"""Answering checks (contract section 5): drives an evaluation through the reads it asks for, all at one revision."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from magistrate.engine.evaluation import Evaluation, Question
from magistrate.engine.nodes import Node
from magistrate.engine.truth import MISSING, TRUE
from magistrate.engine.warrants import Warrant
from magistrate.errors import NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.store.contract import Snapshot


@dataclass(frozen=True, slots=True)
class Decision:
    """`path`: the warrants that grant it, from the subject to the object; empty if denied, or if it holds because
    others do not. `is_implicit`: it rests on more than one warrant of the asked relation to the subject itself."""

    is_authorized: bool
    is_implicit: bool
    path: Sequence[Warrant]


DENIED = Decision(False, False, ())


async def check_all(ctx: Context, questions: Sequence[Question], freshness: Freshness) -> Snapshot[list[Decision]]:
    """One decision for each question, in order.

    Raises NotFound for the first that cannot be decided because an object type is not defined, BudgetSpent,
    InvalidParameter if the token is from the future.
    """
    return await _check(ctx, questions, freshness, lambda decision: False)


async def check_any(ctx: Context, questions: Sequence[Question], freshness: Freshness) -> Snapshot[list[Decision]]:
    """Decisions in order, up to the first that is authorized. What comes later raises nothing."""
    return await _check(ctx, questions, freshness, lambda decision: decision.is_authorized)


async def check_every(ctx: Context, questions: Sequence[Question], freshness: Freshness) -> Snapshot[list[Decision]]:
    """Decisions in order, up to the first that is denied. What comes later raises nothing."""
    return await _check(ctx, questions, freshness, lambda decision: not decision.is_authorized)


async def _check(
    ctx: Context, questions: Sequence[Question], freshness: Freshness, is_last: Callable[[Decision], bool]
) -> Snapshot[list[Decision]]:
    evaluation = Evaluation(await ctx.models.known(), ctx.now(), ctx.max_check_work)
    nodes = [evaluation.ask(question) for question in questions]
    while not (reads := evaluation.advance()):
        await _give_way()
    reading = await ctx.store.read_warrants(reads, None, evaluation.left + 1)
    revision = reading.revision
    freshness.demand(revision)
    model = await ctx.models.at(revision, reading.model_revision)
    if model is evaluation.model:
        evaluation.take(reads, reading.rows)
    else:
        evaluation = Evaluation(model, ctx.now(), ctx.max_check_work)
        nodes = [evaluation.ask(question) for question in questions]
    while (decisions := _decided(nodes, is_last)) is None:
        reads = evaluation.advance()
        if reads:
            reading = await ctx.store.read_warrants(reads, revision, evaluation.left + 1)
            evaluation.take(reads, reading.rows)
        await _give_way()
    return Snapshot(revision, decisions)


async def _give_way() -> None:
    """Whoever else has work gets a turn."""
    await asyncio.sleep(0)


def _decided(nodes: Sequence[Node], is_last: Callable[[Decision], bool]) -> list[Decision] | None:
    """The decisions up to the last that is needed; None if one of them is still open."""
    decisions: list[Decision] = []
    for node in nodes:
        if node.value is None:
            return None
        if node.value == MISSING:
            raise NotFound("ObjectType", node.missing_type())
        decisions.append(_decision(node) if node.value == TRUE else DENIED)
        if is_last(decisions[-1]):
            break
    return decisions


def _decision(node: Node) -> Decision:
    warrant, _ = node.reason
    is_explicit = warrant is not None and warrant.relation == node.relation
    return Decision(True, not is_explicit, node.path())
