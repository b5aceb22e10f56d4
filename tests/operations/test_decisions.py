"""Recorded decisions, made again as of their time."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import Revision
from magistrate.errors import NotFound, NotReplayable, NotRetained, RevisionLost
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.checks.decision_log import MAX_CHARACTERS
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.decisions import Replay, find_decision, replay_decision
from magistrate.operations.history.events import event_id
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.models.object_types import delete_object_type, put_object_types
from magistrate.operations.writes.retention import end_expired
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from magistrate.store.contract.events import DecisionRecord, EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.conftest import list_seeds
from tests.memory_source import model_of
from tests.operations.stored_warrants import Types, define, grant, new, question
from tests.properties.contextual_cases import LIFELIKE, SHAPES
from tests.running import settings_for

pytestmark = pytest.mark.anyio

NOW = 1_763_683_200_000_000
HOUR = 3_600_000_000
ANN = "document:plan#viewer@user:ann"
TYPES: Types = {"user": {}, "document": {"viewer": {}}}
CHECKED = [
    f"{where}@user:{user}"
    for where in ("document:1#reader", "document:2#viewer", "folder:1#viewer", "group:1#member", "group:2#member")
    for user in (1, 2)
]


class Clock:
    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> int:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def ctx(store: Store, database_url: str, clock: Clock) -> Context:
    """A process that logs decisions, and has a clock that the test sets."""
    context = context_of(store, settings_for(database_url, decision_log=10_000))
    return replace(
        context,
        now=clock,
        caches=replace(context.caches, graph=LiveGraph(store, context.caches.models, 1_000_000, clock)),
    )


def asked(text: str, **context: object) -> Check:
    return structs.replace(question(text), context=context)


async def decide(ctx: Context, checks: Sequence[Check], contextual: Sequence[NewWarrant] = ()) -> list[bool]:
    found = await check(ctx, checks, ALL_NEEDED, NO_DEMAND, contextual=contextual)
    return [one.is_authorized for one in found.value]


async def recorded_ids(ctx: Context) -> list[str]:
    """The ids of all recorded decisions, in the order in which they were made."""
    assert ctx.decisions is not None
    await ctx.decisions.write()
    listed = await ctx.store.list_events(Slice("createdAt", 20_000), EventFilter([EventsOfKind("decision")]))
    return [event_id(ctx.store.identity, event) for event in listed.value.rows]


async def replay_last(ctx: Context) -> Replay:
    return (await replay_decision(ctx, (await recorded_ids(ctx))[-1], NO_DEMAND)).value


async def test_a_decision_is_made_again_with_the_warrants_of_then(ctx: Context) -> None:
    await define(ctx, TYPES)
    await grant(ctx, ANN)
    revision = (await check(ctx, [asked(ANN)], ALL_NEEDED, NO_DEMAND)).revision
    await delete_warrants(ctx, [new(ANN)], ctx.stamp("ann"))

    [decision_id] = await recorded_ids(ctx)
    found = await replay_decision(ctx, decision_id, NO_DEMAND)

    assert (found.value.agrees, found.revision) == (True, revision)
    assert [warrant.render() for warrant in found.value.explained.explanation.path] == [ANN]
    assert await decide(ctx, [asked(ANN)]) == [False]


async def test_a_decision_is_made_again_with_the_model_the_context_and_the_time_of_then(
    ctx: Context, clock: Clock
) -> None:
    await define(ctx, TYPES)
    policy = f'{ANN}[network == "office" && expiresIn("1h")]'
    await grant(ctx, policy)
    clock.time += HOUR - 1
    assert await decide(ctx, [asked(ANN, network="office", numbers=[1, 2.5, None])]) == [True]
    clock.time += 1
    assert await decide(ctx, [asked(ANN, network="office")]) == [False]
    await delete_warrants(ctx, [new(policy)], ctx.stamp("ann"))
    await delete_object_type(ctx, new(ANN).object.type, ctx.stamp("ann"))

    first, second = [
        (await replay_decision(ctx, decision_id, NO_DEMAND)).value for decision_id in await recorded_ids(ctx)
    ]

    assert first.agrees
    assert first.recorded.check == asked(ANN, network="office", numbers=[1, 2.5, None])
    assert first.explained.explanation.is_allowed
    assert second.agrees
    assert not second.explained.explanation.is_allowed


async def test_a_decision_is_made_again_with_its_contextual_warrants(ctx: Context, clock: Clock) -> None:
    await define(ctx, {**TYPES, "team": {"member": {}}})
    await grant(ctx, "document:plan#viewer@team:eng#member")
    member = structs.replace(new("team:eng#member@user:ann[x == 1]"), starts_at=NOW, expires_at=NOW + 1)
    assert await decide(ctx, [asked(ANN, x=1), asked(ANN)], [member]) == [True, False]
    clock.time += 1
    assert await decide(ctx, [asked(ANN, x=1)], [member]) == [False]

    replays = [(await replay_decision(ctx, decision_id, NO_DEMAND)).value for decision_id in await recorded_ids(ctx)]

    assert [one.agrees for one in replays] == [True, True, True]
    assert [one.explained.explanation.is_allowed for one in replays] == [True, False, False]
    assert replays[0].recorded.contextual == [member]


async def test_the_replay_says_when_the_decision_is_not_the_same(ctx: Context) -> None:
    """As after a restore of some tables only: the record says what is not so."""
    await define(ctx, TYPES)
    revision = await ctx.store.check()
    names = ("document", "plan", "viewer", "user", "ann", "")
    await ctx.store.keep_decisions([DecisionRecord(NOW, True, names, None, revision)], 10)

    replay = await replay_last(ctx)

    assert replay.recorded.record.is_authorized
    assert not replay.explained.explanation.is_allowed
    assert not replay.agrees


async def test_a_replay_is_not_recorded_and_writes_nothing(ctx: Context) -> None:
    await define(ctx, TYPES)
    await decide(ctx, [asked(ANN)])
    ids = await recorded_ids(ctx)
    revision = await ctx.store.check()

    await replay_decision(ctx, ids[0], NO_DEMAND)

    assert await recorded_ids(ctx) == ids
    assert await ctx.store.check() == revision


@pytest.mark.parametrize("letters", [MAX_CHARACTERS - 8, MAX_CHARACTERS - 7])
async def test_a_decision_whose_context_was_too_long_to_be_kept_is_found_and_not_replayed(
    ctx: Context, letters: int
) -> None:
    await define(ctx, TYPES)
    await decide(ctx, [asked(ANN, x="y" * letters)])
    [decision_id] = await recorded_ids(ctx)
    is_kept = letters == MAX_CHARACTERS - 8

    found = (await find_decision(ctx, decision_id, NO_DEMAND)).value

    assert found.record.is_partial is not is_kept
    assert bool(found.check.context) is is_kept
    if is_kept:
        assert (await replay_decision(ctx, decision_id, NO_DEMAND)).value.agrees
    else:
        with pytest.raises(NotReplayable, match="more context, or more contextual warrants, than the 4,096"):
            await replay_decision(ctx, decision_id, NO_DEMAND)


async def test_a_decision_with_too_many_contextual_warrants_is_not_replayed(ctx: Context) -> None:
    await define(ctx, TYPES)
    many = [new(f"document:{number}#viewer@user:{'x' * 60}") for number in range(60)]
    await decide(ctx, [asked(ANN)], many)
    await decide(ctx, [asked(ANN)], many[:2])
    first, second = await recorded_ids(ctx)

    with pytest.raises(NotReplayable):
        await replay_decision(ctx, first, NO_DEMAND)
    assert (await replay_decision(ctx, second, NO_DEMAND)).value.agrees


async def test_a_decision_at_a_revision_that_is_not_kept_any_more_is_not_replayed(ctx: Context, clock: Clock) -> None:
    await define(ctx, TYPES)
    await grant(ctx, ANN)
    await decide(ctx, [asked(ANN)])
    clock.time += HOUR
    await delete_warrants(ctx, [new(ANN)], ctx.stamp("ann"))
    clock.time += HOUR
    await grant(ctx, ANN)
    [decision_id] = await recorded_ids(ctx)
    while await ctx.store.collect(clock.time, 1_000):
        pass

    with pytest.raises(NotRetained):
        await replay_decision(ctx, decision_id, NO_DEMAND)


async def test_what_is_no_decision_is_not_found(ctx: Context) -> None:
    await define(ctx, TYPES)
    await grant(ctx, ANN)
    await decide(ctx, [asked(ANN)])
    [decision_id] = await recorded_ids(ctx)
    listed = await ctx.store.list_events(Slice("createdAt", 10), EventFilter([EventsOfKind("warrant")]))
    grants = [event_id(ctx.store.identity, event) for event in listed.value.rows]

    for other in ("", "x", decision_id[:-1], decision_id[::-1], *grants):
        with pytest.raises(NotFound):
            await find_decision(ctx, other, NO_DEMAND)
    await ctx.store.keep_decisions([], 0)
    with pytest.raises(NotFound, match="not kept any more"):
        await replay_decision(ctx, decision_id, NO_DEMAND)


async def test_a_token_from_the_future_is_refused(ctx: Context) -> None:
    await define(ctx, TYPES)
    await decide(ctx, [asked(ANN)])
    [decision_id] = await recorded_ids(ctx)

    for read in (find_decision, replay_decision):
        with pytest.raises(RevisionLost):
            await read(ctx, decision_id, Freshness("Warrant-Token", Revision(1_000)))


class History:
    """Writes and checks at random. Policies depend on the context and on the time, and warrants have time limits."""

    def __init__(self, ctx: Context, clock: Clock, seed: int) -> None:
        self.ctx = ctx
        self._clock = clock
        self._choices = random.Random(seed)
        self.made: list[bool] = []

    async def take_step(self) -> None:
        self._clock.time += self._choices.choice((0, 1, HOUR // 2))
        action = self._choices.choice((self._write, self._write, self._end, self._define, *[self._check] * 5))
        await action()

    def draw(self) -> NewWarrant:
        choices = self._choices
        object_type, relation, subject_type, group = choices.choice(SHAPES)
        ids = ("*" if choices.random() < 0.05 else choices.choice("123") for _ in range(2))
        written = f"{object_type}:{next(ids)}#{relation}@{subject_type}:{next(ids)}" + (f"#{group}" if group else "")
        policy = choices.choice(("", "", "", "x == 1", 'expiresIn("1h")'))
        now = self._clock.time
        limits = choices.choice(({}, {}, {"starts_at": now + HOUR}, {"expires_at": now + HOUR}))
        return structs.replace(new(written + (f"[{policy}]" if policy else "")), **limits)

    async def _write(self) -> None:
        warrants = [self.draw() for _ in range(self._choices.choice((1, 4)))]
        await create_warrants(self.ctx, warrants, self.ctx.stamp("ann"), str)
        if self._choices.random() < 0.5:
            await delete_warrants(self.ctx, warrants[:1], self.ctx.stamp("ann"))

    async def _end(self) -> None:
        await end_expired(self.ctx)

    async def _define(self) -> None:
        rule = self._choices.choice(({}, LIFELIKE["document"]["reader"]))
        types = {**LIFELIKE, "document": {**LIFELIKE["document"], "reader": rule}}
        await put_object_types(self.ctx, list(model_of(types).types.values()), self.ctx.stamp("ann"))

    async def _check(self) -> None:
        context: Mapping[str, Any] = self._choices.choice(({}, {"x": 1}, {"x": 2}))
        checks = [asked(text, **context) for text in self._choices.sample(CHECKED, 2)]
        contextual = [self.draw() for _ in range(self._choices.choice((0, 0, 1, 3)))]
        self.made += await decide(self.ctx, checks, contextual)


@pytest.mark.parametrize("seed", list_seeds(2, 6))
async def test_all_decisions_of_a_random_history_are_the_same_again(ctx: Context, clock: Clock, seed: int) -> None:
    await define(ctx, LIFELIKE)
    history = History(ctx, clock, seed)
    for _ in range(60):
        await history.take_step()

    ids = await recorded_ids(ctx)
    replays = [(await replay_decision(ctx, decision_id, NO_DEMAND)).value for decision_id in ids]

    assert [one.agrees for one in replays] == [True] * len(history.made)
    assert [one.explained.explanation.is_allowed for one in replays] == history.made
    assert {True, False} == {*history.made}
