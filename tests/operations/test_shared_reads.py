"""Evaluations that run at the same time share what they read."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import ObjectId, Revision
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantRead
from magistrate.errors import StoreUnavailable
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.readers import shared_reads
from magistrate.operations.readers.shared_reads import SharedReadBytes, SharedReads
from magistrate.wiring.contexts import context_of
from tests.operations.stored_warrants import define, grant, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio

LEVELS, CLIENTS = 30, 6


@pytest.fixture
async def counted(database_url: str) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    """A chain of groups with ann at its end, and bob in the middle."""
    store, database = await counting_store(database_url)
    ctx = context_of(store, settings_for(database_url, cache_bytes=0))
    await define(ctx, {"user": {}, "group": {"member": {}}})
    await grant(
        ctx,
        *(f"group:{number}#member@group:{number + 1}#member" for number in range(LEVELS)),
        f"group:{LEVELS}#member@user:ann",
        f"group:{LEVELS // 2}#member@user:bob",
    )
    yield ctx, database
    await store.close()


def asked(*users: str) -> list[Check]:
    return [question(f"group:0#member@user:{user}") for user in users]


async def decide(ctx: Context, questions: Sequence[Check]) -> list[bool]:
    return [decision.is_authorized for decision in (await check_all(ctx, questions, NO_DEMAND)).value]


async def test_clients_that_ask_the_same_at_once_take_few_more_statements_than_one(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    before = database.reads
    alone = await decide(ctx, asked("ann", "bob", "eve"))
    of_one = database.reads - before

    together = await asyncio.gather(*(decide(ctx, asked("ann", "bob", "eve")) for _ in range(CLIENTS)))

    assert together == [alone] * CLIENTS == [[True, True, False]] * CLIENTS
    assert of_one >= LEVELS
    assert database.reads - before - of_one <= of_one + 2 * CLIENTS


async def test_clients_that_ask_about_others_share_the_groups(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted

    found = await asyncio.gather(*(decide(ctx, asked(user)) for user in ("ann", "bob", "eve")))

    assert found == [[True], [True], [False]]
    assert not ctx.caches.shared_reads.is_used


async def test_what_is_kept_is_limited_and_an_evaluation_reads_the_rest_itself(
    counted: tuple[Context, CountingDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_reads, "MAX_BYTES", 3_000)
    ctx, _ = counted

    found = await asyncio.gather(*(decide(ctx, asked("ann", "eve")) for _ in range(CLIENTS)))

    assert found == [[True, False]] * CLIENTS


async def test_what_all_stores_keep_is_limited_together(
    counted: tuple[Context, CountingDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_reads, "MAX_BYTES", 30_000)
    ctx, _ = counted
    model = await ctx.caches.models.get_known()
    [check] = asked("ann")
    request = model.request(check.object.type, (check.relation,), check.subject)
    assert request is not None
    newest = (await ctx.store.read_warrants((), None, 1)).revision
    total = SharedReadBytes()
    first, second = SharedReads(total), SharedReads(total)

    async def read_some(shared: SharedReads) -> int:
        with shared.join(ctx.store) as one, shared.join(ctx.store):
            for start in range(0, 200, 50):
                ids = tuple(ObjectId(f"unknown-{number}") for number in range(start, start + 50))
                await one.read_warrants([WarrantRead(request, ids)], newest, 10)
            return total.bytes

    with first.join(ctx.store):
        alone = await read_some(first)
        together = await read_some(second)
        left = total.bytes

    assert alone > 0.9 * 30_000
    assert together <= 30_000
    assert left == alone
    assert total.bytes == 0


class FailingOnce:
    """A reader whose first read fails after another evaluation has begun to wait for it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._has_failed = False

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        if not self._has_failed:
            self._has_failed = True
            await asyncio.sleep(0.01)
            raise StoreUnavailable("gone")
        return await self._ctx.store.read_warrants(reads, at, most)


async def test_a_read_that_fails_is_made_again_by_those_that_waited_for_it(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, _ = counted
    model = await ctx.caches.models.get_known()
    [check] = asked("ann")
    request = model.request(check.object.type, (check.relation,), check.subject)
    assert request is not None
    reads = [WarrantRead(request, (ObjectId(str(LEVELS)), ObjectId("0")))] * 2
    newest = (await ctx.store.read_warrants((), None, 1)).revision
    shared, failing = SharedReads(SharedReadBytes()), FailingOnce(ctx)

    with shared.join(failing) as one, shared.join(failing) as other:
        first, second = await asyncio.gather(
            one.read_warrants(reads, newest, 10), other.read_warrants(reads, newest, 10), return_exceptions=True
        )
        assert shared.is_used

    assert isinstance(first, StoreUnavailable)
    assert not isinstance(second, BaseException)
    assert [[row.subject_id for row in rows] for rows in second.warrants] == [["ann"], ["ann"]]
    assert not shared.is_used
