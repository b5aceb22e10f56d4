"""Tasks that work long take turns: others wait for one turn of one of them, however many there are."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from magistrate.engine.evaluation.check import Decision
from magistrate.engine.names import Revision
from magistrate.engine.work import WORK_BETWEEN_CHECKPOINTS, WORK_BETWEEN_LOOKS
from magistrate.operations.checks.check import MAX_CHECKS_AT_ONCE, PendingChecks, check_all
from magistrate.operations.checks.evaluators import CachedWalks
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.scheduling import NANOSECONDS_BETWEEN_CHECKPOINTS, checkpoint, is_time_up, limit_work
from magistrate.store.contract.lists import Snapshot
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_store
from tests.operations.event_loops import TASKS, TURNS, Clock, Iterations
from tests.operations.stored_warrants import define, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio


async def test_one_task_resumes_in_each_iteration_of_the_event_loop() -> None:
    iterations = Iterations()
    resumed: list[int] = []

    async def work() -> None:
        for _ in range(TURNS):
            await checkpoint()
            resumed.append(iterations.count)

    await asyncio.gather(*(work() for _ in range(TASKS)))
    iterations.stop()

    assert len(resumed) == TASKS * TURNS
    assert len(set(resumed)) == len(resumed)


async def test_tasks_resume_in_the_order_in_which_they_yielded() -> None:
    resumed: list[int] = []

    async def work(number: int) -> None:
        for _ in range(TURNS):
            await checkpoint()
            resumed.append(number)

    await asyncio.gather(*map(work, range(TASKS)))

    assert resumed == [*range(TASKS)] * TURNS


async def test_a_task_that_is_cancelled_delays_nobody() -> None:
    tasks = [asyncio.create_task(checkpoint()) for _ in range(TASKS)]
    await asyncio.sleep(0)
    for task in tasks[:-1]:
        task.cancel()

    await asyncio.wait_for(tasks[-1], timeout=1)

    assert sum(task.cancelled() for task in tasks) == TASKS - 1


async def test_tasks_that_begin_in_one_iteration_share_the_time_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, iterations = Clock(), Iterations()
    done: Counter[int] = Counter()
    monkeypatch.setattr("magistrate.operations.scheduling.time.thread_time_ns", clock)

    async def work_long() -> None:
        work = limit_work(1_000_000)
        for _ in range(TURNS):
            work.pass_checkpoint()
            while not work.needs_checkpoint:
                work.spend(1)
                clock.nanoseconds += 10_000
                done[iterations.count] += 10_000
            await checkpoint()

    await asyncio.gather(*(work_long() for _ in range(TASKS)))
    iterations.stop()

    assert sum(done.values()) > TASKS * TURNS * WORK_BETWEEN_LOOKS * 10_000
    assert max(done.values()) <= NANOSECONDS_BETWEEN_CHECKPOINTS + (TASKS + 1) * WORK_BETWEEN_LOOKS * 10_000
    assert NANOSECONDS_BETWEEN_CHECKPOINTS < WORK_BETWEEN_CHECKPOINTS * 10_000


async def test_each_iteration_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("magistrate.operations.scheduling.time.thread_time_ns", clock)
    seen = []

    for _ in range(3):
        seen.append(is_time_up())
        clock.nanoseconds += NANOSECONDS_BETWEEN_CHECKPOINTS
        seen.append(is_time_up())
        await checkpoint()

    assert seen == [False, True] * 3


async def test_batches_that_come_at_once_begin_in_different_iterations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")
    migrate_store(settings)
    store = await open_store(settings)
    ctx = context_of(store, settings)
    asked = [question(f"document:{number}#viewer@user:ann") for number in range(MAX_CHECKS_AT_ONCE + 1)]
    iterations, begun = Iterations(), []

    async def decide_from_graph(*_: object) -> Snapshot[list[Decision]]:
        begun.append(iterations.count)
        return Snapshot(Revision(1), [])

    ctx = replace(ctx, decisions=None)
    monkeypatch.setattr(CachedWalks, "decide", decide_from_graph)
    await asyncio.gather(*(check_all(ctx, asked, NO_DEMAND) for _ in range(TASKS)))
    iterations.stop()

    assert len(set(begun)) == TASKS
    await store.close()


async def test_a_batch_of_cached_decisions_waits_while_the_time_of_an_iteration_is_up(tmp_path: Path) -> None:
    """It is answered at once otherwise, and so is a check in between."""
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")
    migrate_store(settings)
    store = await open_store(settings)
    ctx = context_of(store, settings)
    await define(ctx, {"user": {}, "paper": {"viewer": {}}})
    batch = [question(f"paper:{number}#viewer@user:ann") for number in range(MAX_CHECKS_AT_ONCE + 1)]
    expected = await check_all(ctx, batch, NO_DEMAND)
    assert PendingChecks(ctx, batch, None, NO_DEMAND).decide_at_once() == expected

    await asyncio.sleep(0)
    while not is_time_up():
        pass
    waiting = PendingChecks(ctx, batch, None, NO_DEMAND)

    assert waiting.decide_at_once() is None
    assert PendingChecks(ctx, batch[:1], None, NO_DEMAND).decide_at_once() is not None
    assert await waiting.decide() == expected
    await store.close()
