"""Decisions of checks as they are noted, wait and are written."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from magistrate.engine.evaluation.check import DENIED, EXPLICIT, Check, Decision
from magistrate.engine.names import Revision
from magistrate.errors import NotFound, StoreUnavailable
from magistrate.operations import scheduling
from magistrate.operations.checks import decision_log
from magistrate.operations.checks.check import PendingChecks, check
from magistrate.operations.checks.check_batch import ALL_NEEDED, UNTIL_AUTHORIZED, UNTIL_DENIED, Decisions, StopAt
from magistrate.operations.checks.decision_log import (
    BYTES_OF_A_DECISION,
    MAX_CHARACTERS,
    MAX_WAITING,
    MAX_WAITING_BYTES,
    DecisionLog,
    UnwrittenDecisions,
)
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.store.contract.events import EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice, Snapshot
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_store, open_stores
from tests.captured_log import captured_log
from tests.operations.stored_warrants import DRIVE, define, grant, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio

AT = 1_763_683_200_000_000
ANN, BOB = "folder:0#viewer@user:ann", "folder:0#viewer@user:bob"


def asked(text: str, **context: object) -> Check:
    plain = question(text)
    return Check(plain.object, plain.relation, plain.subject, context)


def decided(decisions: list[Decision]) -> Decisions:
    return Snapshot(Revision(1), decisions)


async def logged(store: Store) -> list[tuple[str, str, str | None]]:
    """Whether authorized, the id of the subject and the context, in the order of decisions."""
    listed = await store.list_events(Slice("createdAt", 20_000), EventFilter([EventsOfKind("decision")]))
    return [(event.action, event.key[4], event.content) for event in listed.value.rows]


def log_of(ctx: Context) -> DecisionLog:
    assert ctx.decisions is not None
    return ctx.decisions


@pytest.fixture
async def ctx(store: Store, database_url: str) -> Context:
    """Ann may view folder 0; what was needed to decide that is in memory."""
    context = context_of(store, settings_for(database_url, decision_log=20_000))
    await define(context, DRIVE)
    await grant(context, ANN)
    await check(replace(context, decisions=None), [asked(ANN), asked(BOB)], ALL_NEEDED, NO_DEMAND)
    return context


@pytest.mark.parametrize(
    ("stop_at", "expected"),
    [
        (ALL_NEEDED, ["denied bob", "allowed ann", "denied bob"]),
        (UNTIL_AUTHORIZED, ["denied bob", "allowed ann"]),
        (UNTIL_DENIED, ["denied bob"]),
    ],
)
async def test_each_check_that_was_decided_is_logged_on_every_path(
    ctx: Context, stop_at: StopAt, expected: list[str]
) -> None:
    questions = [asked(BOB), asked(ANN), asked(BOB)]

    await check(ctx, questions, stop_at, NO_DEMAND)
    await check(ctx, questions, stop_at, NO_DEMAND, with_path=True)
    await ctx.caches.graph.follow_to(NO_DEMAND)  # on a busy machine, what was read before may be too old by now
    is_now = PendingChecks(ctx, questions, stop_at, NO_DEMAND).decide_at_once() is not None
    await log_of(ctx).write()

    found = [f"{action} {subject}" for action, subject, _ in await logged(ctx.store)]
    assert is_now
    assert found == 3 * expected


async def test_a_check_that_raises_and_one_that_cannot_be_answered_at_once_are_not_logged(ctx: Context) -> None:
    with pytest.raises(NotFound):
        await check(ctx, [asked("nothing:0#viewer@user:ann")], ALL_NEEDED, NO_DEMAND)
    missed = PendingChecks(ctx, [asked("folder:1#viewer@user:ann")], ALL_NEEDED, NO_DEMAND)
    assert missed.decide_at_once() is None

    await log_of(ctx).write()

    assert await logged(ctx.store) == []


async def test_the_context_of_each_check_is_kept(ctx: Context) -> None:
    shared = asked(ANN, a=[1, {"b": None}])

    await check(ctx, [shared, shared, asked(BOB), asked(BOB, c="\0é")], ALL_NEEDED, NO_DEMAND)
    await log_of(ctx).write()

    assert [context for *_, context in await logged(ctx.store)] == [
        '{"a":[1,{"b":null}]}',
        '{"a":[1,{"b":null}]}',
        None,
        '{"c":"\\u0000é"}',
    ]


async def test_nothing_is_logged_unless_it_is_wanted(store: Store, database_url: str) -> None:
    assert context_of(store, settings_for(database_url)).decisions is None


async def test_what_cannot_wait_is_dropped_and_counted(ctx: Context) -> None:
    log = log_of(ctx)
    log.note([asked(ANN)] * (MAX_WAITING - 1), decided([EXPLICIT] * (MAX_WAITING - 1)), AT)
    assert log.unwritten.dropped == 0

    log.note([asked(BOB)] * 3, decided([DENIED] * 3), AT)
    assert log.unwritten.dropped == 2
    await log.write()
    log.note([asked(BOB)], decided([DENIED]), AT)
    await log.write()

    found = await logged(ctx.store)
    assert (log.unwritten.dropped, len(found)) == (2, MAX_WAITING + 1)
    assert [action for action, *_ in found[-3:]] == ["allowed", "denied", "denied"]


async def test_contexts_that_wait_are_bounded_too(ctx: Context) -> None:
    log = log_of(ctx)
    large = [asked(ANN, letters="x" * (MAX_CHARACTERS - 14))]
    log.note(large, decided([EXPLICIT]), AT)
    assert log.unwritten.bytes > MAX_CHARACTERS + BYTES_OF_A_DECISION
    fit = -(-MAX_WAITING_BYTES // log.unwritten.bytes)

    for _ in range(fit + 4):
        log.note(large, decided([EXPLICIT]), AT)
    dropped = log.unwritten.dropped
    await log.write()
    log.note(large, decided([EXPLICIT]), AT)

    assert (dropped, log.unwritten.dropped) == (5, 5)
    assert len(await logged(ctx.store)) == fit


async def test_a_long_context_is_not_kept(ctx: Context) -> None:
    for letters in (MAX_CHARACTERS - 14, MAX_CHARACTERS - 13):
        await check(ctx, [asked(ANN, letters="x" * letters)], ALL_NEEDED, NO_DEMAND)
    await log_of(ctx).write()

    assert [context and len(context) for *_, context in await logged(ctx.store)] == [MAX_CHARACTERS, None]


@pytest.fixture
async def failing(database_url: str) -> AsyncIterator[tuple[Store, list[Exception]]]:
    """A store that cannot write decisions as long as the list has something in it."""
    faults: list[Exception] = []

    def fail(sql: str) -> None:
        if faults and "INTO decision" in sql:
            raise faults[0]

    settings = settings_for(database_url)
    migrate_store(settings)
    store = await open_store(settings, fail)
    yield store, faults
    await store.close()


async def test_while_the_store_is_away_decisions_wait(failing: tuple[Store, list[Exception]]) -> None:
    store, faults = failing
    log = DecisionLog(store, 100, UnwrittenDecisions())
    faults.append(StoreUnavailable("away"))

    log.note([asked(ANN)], decided([EXPLICIT]), AT)
    with pytest.raises(StoreUnavailable):
        await log.write()
    log.note([asked(BOB)], decided([DENIED]), AT)
    faults.clear()
    await log.write()

    assert [subject for _, subject, _ in await logged(store)] == ["ann", "bob"]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes follow one another at once."""
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)


async def test_decisions_are_written_in_the_background_and_the_rest_at_the_end(
    failing: tuple[Store, list[Exception]], hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, faults = failing
    log = DecisionLog(store, 100, UnwrittenDecisions())

    async with log.unwritten.writing():
        log.note([asked(ANN)], decided([EXPLICIT]), AT)
        async with asyncio.timeout(20):
            while not await logged(store):
                await asyncio.sleep(0.01)
        faults.append(StoreUnavailable("away"))
        log.note([asked(BOB)], decided([DENIED]), AT)
        await asyncio.sleep(0.05)
        faults.clear()
        monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 60)
        log.note([asked(ANN)], decided([EXPLICIT]), AT)

    assert [subject for _, subject, _ in await logged(store)] == ["ann", "bob", "ann"]


async def test_a_write_that_fails_while_all_is_stopped_is_made_again(
    failing: tuple[Store, list[Exception]], hurried: None
) -> None:
    store, faults = failing
    log = DecisionLog(store, 100, UnwrittenDecisions())
    fault = StoreUnavailable("away")
    faults.append(fault)
    log.note([asked(ANN)], decided([EXPLICIT]), AT)

    async with log.unwritten.writing(), asyncio.timeout(20):
        while fault.__traceback__ is None:  # until it is raised
            await asyncio.sleep(0)
        faults.clear()

    assert [subject for _, subject, _ in await logged(store)] == ["ann"]


async def test_no_decision_is_lost_or_doubled_while_others_come(store: Store) -> None:
    log = DecisionLog(store, 100_000, UnwrittenDecisions())
    batch = [asked(f"folder:{number}#viewer@user:{number}") for number in range(300)]

    async def note() -> None:
        for _ in range(10):
            log.note(batch, decided([EXPLICIT] * len(batch)), AT)
            await asyncio.sleep(0)

    noting = asyncio.create_task(note())
    while not noting.done():
        await log.write()
        await asyncio.sleep(0)
    await log.write()

    subjects = [subject for _, subject, _ in await logged(store)]
    assert sorted(subjects, key=int) == [str(number) for number in range(300) for _ in range(10)]


async def test_a_fault_in_writing_them_is_logged_and_later_they_are_written(
    failing: tuple[Store, list[Exception]], hurried: None
) -> None:
    store, faults = failing
    log = DecisionLog(store, 100, UnwrittenDecisions())

    with captured_log(scheduling) as told:
        faults.append(ZeroDivisionError("a fault of ours"))
        log.note([asked(ANN)], decided([EXPLICIT]), AT)
        async with log.unwritten.writing(), asyncio.timeout(20):
            while not [entry for entry in told if entry["event"] == "decisions could not be written"]:
                await asyncio.sleep(0.01)  # services that other tests have stopped may log as well
            faults.clear()
            while not await logged(store):
                await asyncio.sleep(0.01)


async def test_the_decisions_of_all_stores_wait_within_one_limit_and_are_written(database_url: str) -> None:
    migrate_store(settings_for(database_url))
    stores = await open_stores(settings_for(database_url))
    made = [await stores.create(NewStore(name, "", StoreLimits(), "ann", 5)) for name in ("first", "second")]
    opened = [stores.default, *map(stores.open_store, made)]
    unwritten = UnwrittenDecisions()
    logs = [DecisionLog(each, MAX_WAITING, unwritten) for each in opened]

    for log in logs:
        log.note([asked(ANN)] * 4_000, decided([EXPLICIT] * 4_000), AT)
    dropped = unwritten.dropped
    await stores.delete(made[1].number, 50)
    await unwritten.write()

    assert dropped == 2_000
    assert [len(await logged(each)) for each in opened[:2]] == [4_000, 4_000]
    assert (unwritten.count, unwritten.bytes) == (0, 0)
    await stores.close()


async def test_a_fault_in_one_store_does_not_keep_the_decisions_of_others(
    failing: tuple[Store, list[Exception]], database_url: str
) -> None:
    store, faults = failing
    stores = await open_stores(settings_for(database_url))
    unwritten = UnwrittenDecisions()
    for each in (store, stores.default):
        DecisionLog(each, 100, unwritten).note([asked(ANN)], decided([EXPLICIT]), AT)
    faults.append(ZeroDivisionError("a fault of ours"))

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await unwritten.write()

    assert len(await logged(stores.default)) == 1
    assert unwritten.count == 1
    await stores.close()
