"""Explanations of warrants that are outside their time limits: which they are, and that renewing them allows the
check."""

import pytest
from msgspec import structs

from magistrate.engine.explanation.explanation import Explanation
from magistrate.operations.checks.explain import explain_check
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.history.points_in_time import AsOf
from magistrate.operations.writes.retention import end_expired
from magistrate.store.contract.new_rows import NewWarrant
from tests.operations.limited_warrants import NEWEST, Clock, clock, grant, limited, pair
from tests.operations.node import Node
from tests.operations.stored_warrants import new, question

__all__ = ["clock", "pair"]

pytestmark = pytest.mark.anyio

ANN = "document:plan#viewer@user:ann"
IN_TEAM, TEAM = "team:eng#member@user:ann", "document:plan#viewer@team:eng#member"


async def explained(node: Node, *contextual: NewWarrant, as_of: AsOf | None = None, **context: object) -> Explanation:
    check = structs.replace(question(ANN), context=context)
    found = await explain_check(node.ctx, check, NO_DEMAND, is_strict=False, as_of=as_of, contextual=contextual)
    return found.value.explanation


def created(explanation: Explanation) -> list[tuple[str, str]]:
    """What is suggested to be created alone, in written form, and the note."""
    return [
        (names.render() + (f"[{policy}]" if policy else ""), one.note)
        for one in explanation.suggestions
        for names, policy in one.create
        if len(one.create) == 1 and not one.delete and not one.example
    ]


@pytest.mark.parametrize("is_ended", [False, True])
async def test_an_expired_warrant_is_named_before_and_after_its_row_is_ended_and_creating_it_again_allows(
    pair: tuple[Node, Node], clock: Clock, is_ended: bool
) -> None:
    node, _ = pair
    await grant(node, new(IN_TEAM), limited(TEAM, expires_at=2_000))
    clock.time = 2_000
    if is_ended:
        assert await end_expired(node.ctx) == 1

    explanation = await explained(node)

    [step] = explanation.tree.children
    assert step.via is not None
    assert (step.via.render(), step.out_of_force, step.via.expires_at) == (TEAM, "expired", 2_000)
    assert created(explanation)[0] == (TEAM, "renews a warrant that has expired")
    await grant(node, new(TEAM))
    assert await node.allowed(ANN, NEWEST)


async def test_the_direct_warrant_is_suggested_once_as_a_renewal(pair: tuple[Node, Node], clock: Clock) -> None:
    node, _ = pair
    await grant(node, limited(ANN, starts_at=2_000))

    explanation = await explained(node)

    [step] = explanation.tree.children
    assert step.out_of_force == "notStarted"
    assert created(explanation) == [(ANN, "removes a start in the future")]


async def test_a_renewed_or_deleted_warrant_is_not_named(pair: tuple[Node, Node], clock: Clock) -> None:
    node, _ = pair
    await grant(node, limited(ANN, expires_at=1_500))
    clock.time = 1_500
    await end_expired(node.ctx)
    await grant(node, new(ANN))
    assert (await explained(node)).is_allowed
    await node.revoke(ANN)

    explanation = await explained(node)

    assert explanation.tree.children == []
    assert created(explanation) == [(ANN, "")]


async def test_what_has_expired_by_then_is_named_as_of_the_past(pair: tuple[Node, Node], clock: Clock) -> None:
    node, _ = pair
    await grant(node, limited(ANN, expires_at=1_500))
    written = await node.ctx.store.check()
    clock.time = 1_600
    await end_expired(node.ctx)
    ended = await node.ctx.store.check()
    await grant(node, new(ANN))

    points = [AsOf(written, 1_499), AsOf(written, 1_500), AsOf(ended, 1_600)]
    explanations = [await explained(node, as_of=point) for point in points]

    assert [one.is_allowed for one in explanations] == [True, False, False]
    assert [one.tree.children[0].out_of_force for one in explanations] == [None, "expired", "expired"]
    assert (await explained(node)).is_allowed


async def test_a_policy_is_kept_by_a_renewal_and_its_value_told_apart(pair: tuple[Node, Node], clock: Clock) -> None:
    node, _ = pair
    await grant(node, limited(f"{ANN}[x == 1]", expires_at=1_500))
    clock.time = 1_500
    await end_expired(node.ctx)

    holds, does_not = await explained(node, x=1), await explained(node, x=2)

    for explanation, value in ((holds, True), (does_not, False)):
        [step] = explanation.tree.children
        assert step.out_of_force == "expired"
        assert step.policy is not None
        assert (step.policy.holds > 0) == value
    assert created(holds)[0][0] == f"{ANN}[x == 1]"
    assert [one for one, _ in created(does_not)] == [ANN]
    [both] = [one for one in does_not.suggestions if one.example]
    assert (both.example, [policy for _, policy in both.create]) == ({"x": 1}, ["x == 1"])


async def test_a_contextual_warrant_that_is_outside_its_limits_is_named_and_no_stored_one_is_suggested_for_it(
    pair: tuple[Node, Node], clock: Clock
) -> None:
    """It would count instead of the stored one."""
    node, _ = pair
    await grant(node, new(TEAM))

    explanation = await explained(node, limited(IN_TEAM, expires_at=clock.time))

    assert [one.out_of_force for one in explanation.tree.children[0].children] == ["expired"]
    assert created(explanation) == [(ANN, "")]


async def test_a_stored_exclusion_that_the_request_brings_as_well_is_not_suggested_to_be_deleted(
    pair: tuple[Node, Node],
) -> None:
    node, _ = pair
    blocked = "document:plan#blocked@user:ann"
    await grant(node, new(ANN), new(blocked))
    check = question("document:plan#reader@user:ann")

    async def deleted(*contextual: NewWarrant) -> list[list[str]]:
        found = await explain_check(node.ctx, check, NO_DEMAND, is_strict=False, contextual=contextual)
        suggestions = found.value.explanation.suggestions
        return [[warrant.render() for warrant in one.delete] for one in suggestions if one.delete]

    assert await deleted() == [[blocked]]
    assert await deleted(new(blocked)) == []
