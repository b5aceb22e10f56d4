"""What checks have cached survives every change of the model that does not concern it."""

import pytest

from magistrate.engine.model.model import Model
from magistrate.engine.names import TypeName
from magistrate.operations.models.object_types import delete_object_type
from tests.operations.node import Node
from tests.operations.stored_groups import reads_of_news
from tests.operations.stored_warrants import DRIVE

pytestmark = pytest.mark.anyio

SHARED = [
    *(f"folder:{number}#parent@folder:{number + 1}" for number in range(3)),
    "folder:3#viewer@team:0#member",
    "team:0#member@team:1#member",
    "team:1#member@user:ann",
]
CHECK = "folder:0#viewer@user:ann"

UNRELATED = {
    "the same types again": DRIVE,
    "another type": {"printer": {"operator": {}, "queue": {"inheritIf": "operator"}}},
    "a relation that no rule of the check names": {"folder": {**DRIVE["folder"], "starred": {}}},
    "a combination elsewhere": {
        "printer": {"operator": {}, "guest": {"inheritIf": "noneOf", "rules": [{"inheritIf": "operator"}]}}
    },
}


async def fetches_of(node: Node, asked: str = CHECK) -> int:
    """Returns how many batches of warrants a check that is allowed had to read."""
    before = node.ctx.caches.graph.counts.fetches
    assert await node.allowed(asked)
    return node.ctx.caches.graph.counts.fetches - before


@pytest.fixture
async def warm(node: Node) -> Node:
    await node.grant(*SHARED)
    assert await fetches_of(node) > 0
    assert await fetches_of(node) == 0
    return node


@pytest.mark.parametrize("change", UNRELATED)
async def test_a_type_that_means_the_same_for_a_check_keeps_its_cached_warrants(warm: Node, change: str) -> None:
    await warm.define(UNRELATED[change])

    assert await fetches_of(warm) == 0


async def test_a_hundred_changes_of_the_model_read_no_warrant_anew(warm: Node) -> None:
    for number in range(50):
        await warm.define({"printer": {f"operator{number}": {}}})
        assert await fetches_of(warm) == 0
        await delete_object_type(warm.ctx, TypeName("printer"), warm.ctx.stamp("ann"))
        assert await fetches_of(warm) == 0


async def test_the_first_warrant_of_a_new_pattern_keeps_what_it_does_not_concern(warm: Node) -> None:
    await warm.define({"printer": {"operator": {}}})
    await warm.grant("printer:1#operator@user:ann")

    assert await fetches_of(warm) == 0


async def test_a_rule_that_changes_is_followed_at_once_and_back(warm: Node) -> None:
    without_teams = {"folder": {**DRIVE["folder"], "viewer": {}}}
    seen = []
    for types in (without_teams, DRIVE, without_teams, DRIVE):
        await warm.define(types)
        seen.append(await warm.allowed(CHECK))

    assert seen == [False, True, False, True]


async def test_a_warrant_that_goes_while_the_model_changes_is_gone_when_it_changes_back(warm: Node) -> None:
    await warm.define({"folder": {**DRIVE["folder"], "viewer": {}}})
    await warm.revoke("folder:3#viewer@team:0#member")
    assert not await warm.allowed(CHECK)

    await warm.define(DRIVE)

    assert not await warm.allowed(CHECK)


async def test_a_group_that_gains_a_rule_is_no_longer_decided_by_memberships_alone(warm: Node) -> None:
    """Members by warrants alone are found from the subject's side; with a rule, the group has to be checked."""
    assert not await warm.allowed("folder:0#viewer@user:bob")
    await warm.define({"team": {"lead": {}, "member": {"inheritIf": "lead"}}})
    await warm.grant("team:1#lead@user:bob")

    assert await warm.allowed("folder:0#viewer@user:bob")
    assert await warm.allowed(CHECK)


async def test_another_process_keeps_what_the_change_does_not_concern(nodes: tuple[Node, Node]) -> None:
    writer, reader = nodes
    granted = await writer.grant(*SHARED)
    assert await reader.allowed(CHECK, granted)

    await writer.define({"printer": {"operator": {}}})
    fresh = await writer.grant("printer:1#operator@user:ann")
    before = reader.ctx.caches.graph.counts.fetches

    assert await reader.allowed(CHECK, fresh)
    assert reader.ctx.caches.graph.counts.fetches == before


async def test_a_type_that_did_not_change_is_not_read_again(node: Node) -> None:
    before = await newest_model(node)
    await node.define({"printer": {"operator": {}}})

    after = await newest_model(node)

    assert after is not before
    assert {*after.types} == {*before.types, "printer"}
    assert all(after.types[name] is before.types[name] for name in before.types)


async def newest_model(node: Node) -> Model:
    stored = await node.ctx.store.read_model()
    return await node.ctx.caches.models.at(stored.revision, stored.value.written_at)


@pytest.mark.parametrize("change", UNRELATED)
async def test_checks_among_two_writes_of_types_in_a_hundred_read_no_warrants(warm: Node, change: str) -> None:
    """The first check after each write reads the types that changed, with five statements, and all others nothing."""
    asked = [f"folder:{number}#viewer@user:{user}" for number in range(3) for user in ("ann", "bob")]
    for one in asked * 2:
        await warm.allowed(one)
    fetches, statements = warm.ctx.caches.graph.counts.fetches, []

    for number in range(100):
        if number % 50 == 25:
            await warm.define(UNRELATED[change])
        statements.append(await warm.reads_for(asked[number % len(asked)]))

    assert warm.ctx.caches.graph.counts.fetches == fetches
    if not reads_of_news(warm.database):  # these depend on the time that has passed
        assert [number for number, count in enumerate(statements) if count] == [25, 75]
        assert sum(statements) <= 10
