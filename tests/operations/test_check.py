"""Checks over real stores, without a graph: at one revision whatever others write, in as many reads as there are
levels, at any size."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import pytest
from msgspec import structs

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation.check import Decision
from magistrate.engine.evaluation.nodes import CheckNode
from magistrate.engine.names import Revision
from magistrate.errors import BudgetExceeded, InvalidParameter, NotFound, RevisionLost
from magistrate.operations.checks import check as operations_check
from magistrate.operations.checks.check import check_all
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckRun
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import delete_object_type
from magistrate.operations.readers.prefetching_reader import MAX_ROWS_AHEAD
from magistrate.operations.writes.warrants import delete_warrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.database import Execute, Script
from magistrate.store.sql_reads import MAX_ROWS
from magistrate.wiring.contexts import context_of
from tests import oracle
from tests.conftest import POSTGRES_NIGHTLY
from tests.event_loop_turns import counted_turns
from tests.operations.stored_warrants import (
    DRIVE,
    OTHER_FOLDER,
    STORM,
    define,
    grant,
    new,
    question,
    read_state,
    stormy_warrants,
)
from tests.running import settings_for
from tests.scenario_files import claim

pytestmark = pytest.mark.anyio


@pytest.fixture
async def counted(database_url: str) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    store, database = await counting_store(database_url)
    yield context_of(store, settings_for(database_url, cache_bytes=0)), database
    await store.close()


async def check(ctx: Context, *asked: str) -> Snapshot[list[Decision]]:
    """With the warrants that each decision depends on, so that the store is read for it."""
    questions = [question(text) for text in asked]
    return await operations_check.check(ctx, questions, ALL_NEEDED, NO_DEMAND, with_path=True)


async def allowed(ctx: Context, *asked: str) -> list[bool]:
    return [decision.is_authorized for decision in (await check(ctx, *asked)).value]


def chain(length: int) -> list[str]:
    """Groups in groups, ann in the last."""
    links = [f"team:{number}#member@team:{number + 1}#member" for number in range(length)]
    return [*links, f"team:{length}#member@user:ann"]


async def test_a_check_whose_plans_are_known_reads_all_levels_at_once(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    folders = [f"folder:{number}#parent@folder:{number + 1}" for number in range(5)]
    await grant(ctx, *folders, "folder:5#viewer@team:0#member", *chain(2))
    await check(ctx, "folder:0#viewer@user:nobody")
    database.reads = 0

    assert await allowed(ctx, "folder:0#viewer@user:ann") == [True]
    assert await allowed(ctx, "folder:0#viewer@user:bob") == [False]

    assert database.reads == 2


async def test_a_check_reads_once_for_each_level_of_plans_that_were_not_known(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    folders = [f"folder:{number}#parent@folder:{number + 1}" for number in range(5)]
    await grant(ctx, *folders, "folder:5#viewer@team:0#member", *chain(2))
    await ctx.caches.models.get_known()
    database.reads = 0

    assert await allowed(ctx, "folder:0#viewer@user:ann") == [True]

    assert database.reads == len(["folder:0 to folder:5", "team:0", "team:1", "team:2"])


async def test_a_check_that_leads_to_too_much_reads_the_rest_by_levels(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    await grant(ctx, *chain(MAX_ROWS_AHEAD + 2), "folder:0#viewer@team:0#member", "folder:1#viewer@team:9#member")
    await check(ctx, "folder:1#viewer@user:nobody")
    database.reads = 0

    assert await allowed(ctx, "folder:0#viewer@user:ann") == [True]
    assert database.reads == len(["all levels", "folder:0"]) + MAX_ROWS_AHEAD + 3
    assert await allowed(ctx, "folder:1#viewer@user:ann") == [True]
    assert database.reads == len(["all levels", "folder:0"]) + MAX_ROWS_AHEAD + 3 + 1


async def test_a_hundred_checks_read_no_more_often_than_the_deepest(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    await grant(ctx, *[f"folder:{number}#viewer@team:{number % 7}#member" for number in range(100)], *chain(7))
    await check(ctx, "folder:0#viewer@user:nobody")
    database.reads = 0

    answers = await allowed(
        ctx, *[f"folder:{number}#viewer@user:{'ann' if number % 2 else 'bob'}" for number in range(100)]
    )

    assert answers == [number % 2 == 1 for number in range(100)]
    assert database.reads == 3  # what one has read, the others need not


async def test_many_objects_on_one_level_are_one_read(counted: tuple[Context, CountingDatabase]) -> None:
    """As many as an ordinary read may return; more are read again, by a long read."""
    ctx, database = counted
    await define(ctx, DRIVE)
    groups = [f"folder:0#viewer@team:t{number}#member" for number in range(MAX_ROWS - 1)]
    await grant(ctx, *groups, "team:t50#member@user:ann")
    await check(ctx, "folder:9#viewer@user:ann")
    database.reads = 0

    assert await allowed(ctx, "folder:0#viewer@user:ann", "folder:0#viewer@user:bob") == [True, False]
    assert database.reads == 2


async def test_the_model_is_read_again_only_when_a_type_was_written(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    await grant(ctx, "folder:0#viewer@user:ann")
    reads = []
    for change in (None, None, "warrant", "type", None):
        if change == "warrant":
            await grant(ctx, "folder:1#viewer@user:ann")
        if change == "type":
            await define(ctx, {"folder": {"viewer": {}}})
        database.reads = 0
        assert await allowed(ctx, "folder:0#viewer@user:ann") == [True]
        reads.append(database.reads)

    assert reads == [2, 1, 1, 3, 1]


async def test_only_definitions_that_changed_are_read_again(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    await allowed(ctx, "folder:0#viewer@user:ann")
    before = (await ctx.caches.models.get_known()).types
    await define(ctx, {"folder": {"viewer": {}}})
    await allowed(ctx, "folder:0#viewer@user:ann")
    after = (await ctx.caches.models.get_known()).types

    assert [name for name in after if after[name] is not before.get(name)] == ["folder"]


@POSTGRES_NIGHTLY
async def test_a_chain_of_ten_thousand_groups_answers(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    await grant(ctx, *chain(10_000))

    [reached] = (await check(ctx, "team:0#member@user:ann")).value
    [denied] = (await check(ctx, "team:0#member@user:bob")).value

    assert reached.is_authorized
    assert [warrant.render() for warrant in reached.path] == chain(10_000)[::-1]
    assert not denied.is_authorized


def members_of_all(number: int) -> Script[None]:
    """As many members of one group, in one statement."""
    yield Execute(
        f"""
        INSERT INTO warrant (
            store, object_type, object_id, relation, subject_type, subject_id, subject_relation, policy,
            number, created_at, created_revision, deleted_revision)
        WITH RECURSIVE member (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM member WHERE place < {number - 1})
        SELECT :store, 'team', 'all', 'member', 'user', CAST(place AS TEXT), '', '', place + 1, 0, 1, {ALIVE}
        FROM member""",
        [()],
    )


@pytest.mark.nightly
@POSTGRES_NIGHTLY
async def test_a_group_of_two_hundred_thousand_answers_for_each_of_them(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define(ctx, DRIVE)
    await grant(
        ctx, *[f"team:all#member@user:{number}" for number in range(200_000)], "folder:0#viewer@team:all#member"
    )
    await check(ctx, "folder:9#viewer@user:0")
    database.reads = 0

    asked = [f"folder:0#viewer@user:{number}" for number in (0, 9_999, 10_000, 10_001, 199_999, 200_000)]

    assert await allowed(ctx, *asked) == [True] * 5 + [False]
    assert database.reads == 2


async def test_more_groups_on_one_object_than_are_read_at_once(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    await grant(ctx, *[f"folder:0#viewer@team:{number}#member" for number in range(9_000)], "team:77#member@user:ann")

    assert await allowed(ctx, "folder:0#viewer@user:ann", "folder:0#viewer@user:bob") == [True, False]


async def test_a_relation_with_a_thousand_links_and_a_type_with_thousands_of_relations(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, _ = counted
    links = [{"inheritIf": "v", "ofType": f"t{number}", "withRelation": "p"} for number in range(800)]
    relations = {f"r{number}": {"inheritIf": f"r{number + 1}"} for number in range(2_000)}
    await define(ctx, {"big": {"p": {}, "v": {"inheritIf": "anyOf", "rules": links}}})
    await define(ctx, {"wide": {**relations, "r2000": {}}, "t7": {"v": {}}})
    await grant(ctx, "big:1#p@t7:x", "t7:x#v@user:ann", "wide:1#r1999@user:ann", "wide:1#r1500@t7:x#v")

    asked = [f"wide:1#r0@user:{number}" for number in range(40)]

    assert await allowed(ctx, "big:1#v@user:ann", "big:1#v@user:bob") == [True, False]
    assert await allowed(ctx, "wide:1#r0@user:ann", *asked) == [True, *[False] * 40]


@pytest.mark.parametrize("number", [MAX_ROWS - 1, MAX_ROWS, MAX_ROWS + 1])
async def test_the_rows_of_a_level_are_read_whole(counted: tuple[Context, CountingDatabase], number: int) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    await grant(ctx, *[f"folder:0#viewer@team:{place}#member" for place in range(number)])
    await grant(ctx, f"team:{number - 1}#member@user:ann")

    assert await allowed(ctx, "folder:0#viewer@user:ann", "folder:0#viewer@user:bob") == [True, False]


async def test_other_requests_run_while_policies_are_evaluated(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    await grant(ctx, *[f"folder:0#viewer@team:eng#member[none(list, {{# == {place}.5}})]" for place in range(40)])
    asked = structs.replace(question("folder:0#viewer@user:ann"), context={"list": list(range(10_000))})

    with counted_turns() as turns:
        found = await check_all(ctx, [asked], NO_DEMAND)

    assert not found.value[0].is_authorized
    assert turns.count > 8


async def test_policies_count_as_work(counted: tuple[Context, CountingDatabase], database_url: str) -> None:
    ctx, _ = counted
    frugal = context_of(ctx.store, settings_for(database_url, max_check_work=10_000, cache_bytes=0))
    await define(frugal, DRIVE)
    await grant(frugal, *[f"folder:0#viewer@team:eng#member[none(list, {{# == {place}.5}})]" for place in range(40)])
    asked = structs.replace(question("folder:0#viewer@user:ann"), context={"list": list(range(10_000))})

    with pytest.raises(BudgetExceeded):
        await check_all(frugal, [asked], NO_DEMAND)


async def test_an_exceeded_budget_is_no_answer(counted: tuple[Context, CountingDatabase], database_url: str) -> None:
    ctx, _ = counted
    frugal = context_of(ctx.store, settings_for(database_url, max_check_work=1_000, cache_bytes=0))
    await define(frugal, DRIVE)
    await grant(frugal, *chain(600))

    with pytest.raises(BudgetExceeded) as caught:
        await check(frugal, "team:0#member@user:bob")

    assert caught.value.limit == 1_000
    assert await allowed(frugal, "team:300#member@user:bob") == [False]


async def test_a_token_from_the_future_is_refused(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted

    with pytest.raises(RevisionLost):
        await check_all(ctx, [question("team:1#member@user:ann")], Freshness("Warrant-Token", Revision(1_000)))


async def test_each_answer_in_a_storm_of_writes_is_that_of_the_revision_it_names(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, _ = counted
    await define(ctx, STORM)
    await grant(ctx, *stormy_warrants()[::2])
    asked = [f"folder:{number}#viewer@user:{name}" for number in range(5) for name in ("ann", "bob")]
    writing = True
    seen: list[tuple[str, int, bool]] = []

    async def write(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(60):
            text = chosen.choice(stormy_warrants())
            try:
                await delete_warrants(ctx, [new(text)], ctx.stamp("ann"))
            except NotFound:
                with suppress(InvalidParameter):  # its type may be gone for a moment
                    await grant(ctx, text)
                await change_type(chosen)

    async def change_type(chosen: random.Random) -> None:
        kind = chosen.randrange(12)
        if kind == 0:
            await define(ctx, OTHER_FOLDER if chosen.randrange(2) else STORM)
        elif kind == 1:
            with suppress(NotFound):  # another writer may have deleted it, and not defined it yet
                await delete_object_type(ctx, claim("team:0#member@user:ann").object_type, ctx.stamp("ann"))
            await define(ctx, STORM)

    async def ask(seed: int) -> None:
        chosen = random.Random(seed)
        while writing:
            text = chosen.choice(asked)
            answer = await check_or_missing(ctx, text)
            if answer is not None:
                seen.append((text, *answer))

    writers = [asyncio.create_task(write(seed)) for seed in range(3)]
    askers = [asyncio.create_task(ask(seed)) for seed in range(4)]
    await asyncio.gather(*writers)
    writing = False
    await asyncio.gather(*askers)

    assert len({revision for _, revision, _ in seen}) > 20
    assert await find_wrong(ctx, seen) == []


async def check_or_missing(ctx: Context, text: str) -> tuple[int, bool] | None:
    """The revision and the answer; None while a type is deleted, for then no revision is answered."""
    try:
        found = await check(ctx, text)
    except NotFound:
        return None
    return found.revision, found.value[0].is_authorized


async def find_wrong(ctx: Context, seen: Iterable[tuple[str, int, bool]]) -> list[tuple[str, int, bool]]:
    """Returns the answers that differ from what the oracle finds in all that the store held at their revisions."""
    by_revision: dict[int, set[tuple[str, bool]]] = defaultdict(set)
    for text, revision, answer in seen:
        by_revision[revision].add((text, answer))
    wrong = []
    for revision, answers in sorted(by_revision.items()):
        model, stored = await read_state(ctx, revision)
        for text, answer in sorted(answers):
            found = oracle.check(model, stored, *claim(text), lambda warrant: True)
            wrong += [(text, revision, answer)] if answer != (found == oracle.Truth.TRUE) else []
    return wrong


async def test_each_decision_of_a_batch_is_made_once_however_deep_the_last_of_them_is(
    counted: tuple[Context, CountingDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, _ = counted
    await define(ctx, DRIVE)
    deep = [f"team:{number}#member@team:{number + 1}#member" for number in range(30)]
    shallow = [f"folder:{number}#viewer@user:ann" for number in range(50)]
    await grant(ctx, *deep, "team:30#member@user:ann", *shallow)
    made = 0
    decide = CheckRun._decision

    def count_decision(run: CheckRun, node: CheckNode) -> Decision:
        nonlocal made
        made += 1
        return decide(run, node)

    monkeypatch.setattr(CheckRun, "_decision", count_decision)
    asked = [*shallow, "team:0#member@user:ann"]
    found = await operations_check.check(ctx, [question(text) for text in asked], ALL_NEEDED, NO_DEMAND)

    assert [one.is_authorized for one in found.value] == [True] * len(asked)
    assert made == len(asked)
