"""Contextual warrants over real stores: what they answer, what they leave in the caches, and how the graph has them."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants.plain_warrants import KindIds, PlainRuns, PlainWarrants
from magistrate.errors import BudgetExceeded, InvalidParameter
from magistrate.operations import live_graph
from magistrate.operations.checks.check import PendingChecks, check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from magistrate.operations.live_graph import MAX_CHANGES, LiveGraph
from magistrate.operations.models.object_types import delete_object_type
from magistrate.operations.paging import PageRequest
from magistrate.operations.readers.contextual_warrants import ContextualWarrants, build_contextual_warrants
from magistrate.store.contract.lists import Slice
from tests.conftest import list_seeds
from tests.operations.node import Node
from tests.operations.stored_warrants import new, question
from tests.properties.contextual_cases import LIFELIKE, SHAPES

pytestmark = pytest.mark.anyio

SEEDS = list_seeds(5, 12)
CHECKS = [
    f"{where}@user:{user}"
    for where in ("document:1#reader", "document:2#viewer", "folder:1#viewer", "group:1#member", "group:2#member")
    for user in (1, 2)
]
QUERIES = [
    "select document where user:1 is *",
    "select * where user:2 is *",
    "select explicit folder, group where user:1 is *",
    "select reader, viewer of type * for document:1",
    "select member of type user for group:2",
]


def written_form(choices: random.Random) -> str:
    object_type, relation, subject_type, group = choices.choice(SHAPES)
    object_id = "*" if object_type == "document" and choices.random() < 0.1 else choices.choice("123")
    subject_id = "*" if choices.random() < 0.05 else choices.choice("123")
    name = f"{object_type}:{object_id}#{relation}@{subject_type}:{subject_id}"
    policy = choices.choice(("[x == 1]", "[x == 2]")) if choices.random() < 0.15 else ""
    return f"{name}#{group}{policy}" if group else name + policy


async def decisions(ctx: Context, contextual: Sequence[str], with_path: bool) -> list[Any]:
    """One for each check, with the names of the warrants of its path."""
    asked = [replace_context(text) for text in CHECKS]
    added = [new(text) for text in contextual]
    found = (await check(ctx, asked, ALL_NEEDED, NO_DEMAND, with_path, added)).value
    return [(one.is_authorized, one.is_implicit, [warrant.render() for warrant in one.path]) for one in found]


def replace_context(text: str) -> Any:
    asked = question(text)
    return type(asked)(asked.object, asked.relation, asked.subject, {"x": 1})


async def rows(ctx: Context, q: str, sort: str, contextual: Sequence[str]) -> list[Any]:
    request = QueryRequest(read_query(q), {"x": 1}, [new(text) for text in contextual])
    page = (await list_page(ctx, request, PageRequest(Slice(sort, 1_000)), NO_DEMAND)).value
    return [(*one.row[:3], reported(one.row), one.row.is_implicit) for one in page.rows]


def reported(row: QueryRow) -> str | None:
    return row.warrant.render() if row.warrant else None


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_answers_are_those_after_writing_the_warrants(node: Node, seed: int) -> None:
    """From the graph, empty or filled, from evaluations, and by queries; then the warrants are written."""
    choices = random.Random(seed)
    await node.define(LIFELIKE)
    await node.grant(*dict.fromkeys(written_form(choices) for _ in range(12)))
    contextual = [*dict.fromkeys(written_form(choices) for _ in range(choices.choice((1, 3, 8))))]
    ctx = node.ctx
    without = replace(ctx, caches=replace(ctx.caches, graph=LiveGraph(ctx.store, ctx.caches.models, 0, ctx.now)))
    graph_before = await decisions(ctx, (), with_path=False)

    from_empty = await decisions(ctx, contextual, with_path=False)
    from_filled = await decisions(ctx, contextual, with_path=False)
    evaluated = await decisions(without, contextual, with_path=False)
    with_paths = await decisions(without, contextual, with_path=True)
    found = [await rows(ctx, q, "id", contextual) for q in QUERIES]
    by_creation = [await rows(ctx, q, "createdAt", contextual) for q in QUERIES]

    assert await decisions(ctx, (), with_path=False) == graph_before
    await node.grant(*contextual)
    expected = await decisions(without, (), with_path=False)
    assert from_empty == from_filled == evaluated == expected
    assert with_paths == await decisions(without, (), with_path=True)
    assert found == [await rows(ctx, q, "id", ()) for q in QUERIES]
    assert [sorted(one, key=repr) for one in by_creation] == [sorted(one, key=repr) for one in found]


async def allowed(node: Node, asked: str, *contextual: str, since: Freshness = NO_DEMAND) -> bool:
    added = [new(text) for text in contextual]
    found = await check(node.ctx, [question(asked)], ALL_NEEDED, since, contextual=added)
    return found.value[0].is_authorized


async def test_a_cached_check_needs_the_ids_of_plain_contextual_warrants_alone(node: Node) -> None:
    await node.grant("team:eng#member@user:ann", "folder:1#viewer@team:team-99#member", "team:all#member@team:7#member")
    kind = (TypeName("team"), RelationName("member"), TypeName("user"), "")
    names = [ObjectId(f"team-{number}") for number in range(100)]
    plain = PlainWarrants(PlainRuns([(kind, KindIds(names, [ObjectId("ann")] * 100))]), node.ctx.now())
    asked = [question("folder:1#viewer@user:ann")]
    async with asyncio.timeout(30):  # the groups are read ahead
        while True:
            contextual = ContextualWarrants(plain, plain.now)
            pending = PendingChecks(node.ctx, asked, ALL_NEEDED, NO_DEMAND, contextual=contextual)
            if (decided := pending.decide_at_once()) is not None:
                break
            await pending.decide()
            await asyncio.sleep(0.01)

    assert decided.value[0].is_authorized
    assert "all_warrants" not in vars(contextual.overlay)


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_groups_that_contextual_groups_are_in_follow_all_changes(nodes: tuple[Node, Node], seed: int) -> None:
    choices = random.Random(seed)
    node = nodes[0]
    ctx = node.ctx
    without = Node(
        replace(ctx, caches=replace(ctx.caches, graph=LiveGraph(ctx.store, ctx.caches.models, 0, ctx.now))),
        node.database,
    )
    written = {f"folder:{number}#viewer@team:{number}#member" for number in range(6)}
    last = await node.grant(*written)
    for _ in range(20):
        contextual = [f"team:{number}#member@user:ann" for number in choices.sample(range(6), 2)]
        for number in range(6):
            asked = f"folder:{number}#viewer@user:ann"
            expected = await allowed(without, asked, *contextual)
            assert await allowed(node, asked, *contextual, since=last) == expected
            assert await allowed(node, asked, *contextual) == expected
        group, member = choices.sample(range(6), 2)
        text = f"team:{group}#member@team:{member}#member"
        by = choices.choice(nodes)
        last = await (by.revoke(text) if text in written else by.grant(text))
        written ^= {text}


MEMBER = "team:eng#member@robot:r2"
"""Of a pattern that no written warrant has."""
VIEWED = "folder:1#viewer@robot:r2"


async def test_checks_with_a_new_pattern_are_decided_in_memory_when_they_are_repeated(node: Node) -> None:
    await node.grant("folder:1#parent@folder:2", "folder:2#viewer@team:eng#member")
    async with asyncio.timeout(30):  # groups are read ahead
        while True:
            node.database.reads = 0
            assert await allowed(node, VIEWED, MEMBER)
            if node.database.reads == 0:
                break
            await asyncio.sleep(0.01)

    assert node.ctx.caches.graph.counts.given_up == 0
    assert not await allowed(node, "folder:1#viewer@robot:d2", MEMBER)


async def test_the_graph_with_further_patterns_follows_writes_and_model_changes(nodes: tuple[Node, Node]) -> None:
    node, other = nodes
    await node.grant("folder:1#parent@folder:2", "folder:2#viewer@team:eng#member")
    for by in nodes:
        assert await allowed(node, VIEWED, MEMBER)
        revoked = await by.revoke("folder:1#parent@folder:2")
        assert not await allowed(node, VIEWED, MEMBER, since=revoked)
        granted = await by.grant("folder:1#parent@folder:2")
        assert await allowed(node, VIEWED, MEMBER, since=granted)
    changed = await other.grant("folder:9#viewer@robot:r2")  # a new pattern changes the model
    assert await allowed(node, VIEWED, MEMBER, since=changed)
    many = [f"folder:{number}#viewer@user:ann" for number in range(MAX_CHANGES + 1)]
    cleared = await other.grant(*many)  # more than are applied singly
    assert await allowed(node, VIEWED, MEMBER, since=cleared)
    assert not await allowed(node, VIEWED, since=cleared)


async def test_many_further_patterns_take_no_more_memory(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_graph, "MAX_PATTERNS", 5)
    await node.grant("folder:1#viewer@team:eng#member")

    for number in range(30):
        kind = f"robot{number}"
        assert await allowed(node, f"folder:1#viewer@{kind}:r2", f"team:eng#member@{kind}:r2")

    patterns = build_contextual_warrants([new(f"team:eng#member@{kind}:r2")], 0).overlay.patterns
    extended = node.ctx.caches.graph.current_graph(NO_DEMAND, patterns)
    assert extended is not None
    assert len(extended.model.patterns) <= 2 + 5


async def test_concurrent_checks_with_different_patterns_do_not_disturb_each_other(node: Node) -> None:
    await node.grant("folder:1#parent@folder:2", "folder:2#viewer@team:eng#member", "team:eng#member@user:ann")

    async def ask(number: int) -> tuple[bool, bool]:
        kind = f"robot{number % 7}"
        asked = f"folder:1#viewer@{kind}:{number}"
        return await allowed(node, asked, f"team:eng#member@{kind}:{number}"), await allowed(node, asked)

    assert await asyncio.gather(*map(ask, range(40))) == [(True, False)] * 40


async def test_nothing_of_a_contextual_warrant_stays_in_the_caches(node: Node) -> None:
    await node.grant("folder:1#viewer@team:eng#member", "team:eng#member@user:ann")
    assert await allowed(node, "folder:1#viewer@user:bob", "team:eng#member@user:bob")
    held = node.ctx.caches.graph.count_entries()

    for number in range(20):
        contextual = ("team:eng#member@user:bob", f"folder:{number}#viewer@user:x")
        assert await allowed(node, "folder:1#viewer@user:bob", *contextual)
        assert not await allowed(node, "folder:1#viewer@user:bob")
        assert not await allowed(node, f"folder:{number}#viewer@user:x")
    request = QueryRequest(read_query("select folder where user:bob is viewer"), {}, [new("folder:7#viewer@user:bob")])
    page = (await list_page(node.ctx, request, PageRequest(Slice("id", 10)), NO_DEMAND)).value

    assert [one.row.id for one in page.rows] == ["7"]
    assert await rows(node.ctx, "select folder where user:bob is viewer", "id", ()) == []
    assert (
        node.ctx.caches.graph.count_entries() <= held + 3 * 20
    )  # entries of objects that were checked, each without a warrant


async def test_the_types_and_relations_are_those_of_the_revision(node: Node) -> None:
    assert await allowed(node, "folder:1#viewer@user:ann", "folder:1#viewer@user:ann")

    with pytest.raises(InvalidParameter) as unknown:
        await allowed(node, "folder:1#viewer@user:ann", "team:1#member@user:ann", "folder:1#editor@user:ann")
    await delete_object_type(node.ctx, TypeName("team"), node.ctx.stamp("ann"))
    with pytest.raises(InvalidParameter) as deleted:
        await allowed(node, "folder:1#viewer@user:ann", "team:1#member@user:ann")

    assert unknown.value.parameter == "contextualWarrants[1].relation"
    assert deleted.value.parameter == "contextualWarrants[0].objectType"


@pytest.mark.parametrize("written", ["folder:1#viewer@user:ann", "team:eng#member@user:ann"])
async def test_a_time_limit_counts_instead_of_that_of_the_stored_warrant(node: Node, written: str) -> None:
    await node.grant("folder:1#viewer@team:eng#member", written)
    past, future = node.ctx.now() - 1, node.ctx.now() + 60_000_000
    asked = [question("folder:1#viewer@user:ann")]
    answers = []

    for _ in range(2):
        for limits in ({}, {"expires_at": past}, {"starts_at": future}, {"expires_at": future}):
            added = [structs.replace(new(written), **limits)]
            found = await check(node.ctx, asked, ALL_NEEDED, NO_DEMAND, contextual=added)
            answers.append(found.value[0].is_authorized)

    assert answers == 2 * [True, False, False, True]


async def test_time_limits_in_force_are_decided_in_memory_and_others_take_a_stored_warrant_away(node: Node) -> None:
    await node.grant("folder:1#viewer@team:eng#member", "folder:2#viewer@user:ann")
    now, asked = node.ctx.now(), [question(f"folder:{written_id}#viewer@user:ann") for written_id in (1, 2)]

    async def answers(starts_at: int, *written: str) -> list[bool]:
        limits = {"starts_at": starts_at, "expires_at": now + 60_000_000}
        added = [structs.replace(new(text), **limits) for text in written]
        found = await check(node.ctx, asked, ALL_NEEDED, NO_DEMAND, contextual=added)
        return [one.is_authorized for one in found.value]

    for _ in range(3):
        await answers(1, "team:eng#member@user:ann")
        await answers(1, "folder:2#viewer@user:ann")
        await asyncio.sleep(0.01)  # groups are read ahead
    node.database.reads = 0

    assert await answers(1, "team:eng#member@user:ann") == [True, True]
    assert await answers(1, "folder:2#viewer@user:ann") == [False, True]
    assert (node.database.reads, node.ctx.caches.graph.counts.given_up) == (0, 0)
    assert await answers(now + 30_000_000, "team:eng#member@user:ann") == [False, True]
    assert await answers(now + 30_000_000, "folder:2#viewer@user:ann") == [False, False]
    assert node.ctx.caches.graph.counts.given_up == 2


EXPIRING = 'folder:1#viewer@user:ann[expiresIn("1m")]'


@pytest.mark.parametrize("with_path", [False, True])
async def test_a_contextual_warrant_renews_a_policy_that_has_run_out_as_a_written_one_does(
    node: Node, with_path: bool
) -> None:
    await node.grant(EXPIRING)
    answers = []

    for later in (0, 61_000_000, 0):
        now = node.ctx.now() + later
        ctx = replace(node.ctx, now=partial(int, now))
        for contextual in ([], [new(EXPIRING)]):
            asked = [question("folder:1#viewer@user:ann")]
            found = await check(ctx, asked, ALL_NEEDED, NO_DEMAND, with_path, contextual)
            answers.append(found.value[0].is_authorized)

    assert answers == [True, True, False, True, True, True]


async def test_the_budget_counts_contextual_warrants(node: Node) -> None:
    contextual = [f"folder:{number}#parent@folder:{number + 1}" for number in range(60)]
    small = Node(replace(node.ctx, max_check_work=50, max_query_work=50), node.database)

    with pytest.raises(BudgetExceeded):
        await allowed(small, "folder:0#viewer@user:ann", *contextual)
    with pytest.raises(BudgetExceeded):
        await rows(small.ctx, "select folder where user:ann is viewer", "id", contextual)
