"""Random histories: the state of the access at the beginning, and what the feed says since, is the full access at every
revision and at every moment in between."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.counting import counting_store
from magistrate.operations.difference import checked_access
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.watch import access_moments, access_steps
from magistrate.operations.watch.access_snapshot import list_access
from magistrate.operations.watch.access_steps import AccessCursor, AccessEvent, AccessPosition, begin_cursor
from magistrate.operations.watch.revision_log import RevisionLog, WrittenRevision
from magistrate.store.contract.revisions import RevisionId
from magistrate.wiring.contexts import context_of
from tests.access import Access, AccessRow
from tests.databases import PostgresServer
from tests.properties.example_counts import scale_examples
from tests.properties.histories import (
    MICROSECONDS_FOR_AN_EXAMPLE,
    Example,
    Recorder,
    State,
    access_change,
    carry_out,
    examples,
)
from tests.running import settings_for
from tests.scenario_runs import emptied

LATER = 8
"""Microseconds that pass after the last revision."""


def selected(state: State, narrowing: Narrowing, time: int) -> Access:
    """The full access at a time, as far as it is selected."""
    named = {narrowing.find_object(), narrowing.find_subject()} - {None}
    if not named <= state.objects:
        return frozenset()
    rows = state._replace(now=time).access()
    return frozenset(row for row in rows if narrowing.covers(access_change(row)))


def replay(access: Access, event: AccessEvent) -> Access:
    """The access after an event, which gains only what is not there, and loses only what is."""
    assert event.rows
    for row in event.rows:
        shown = AccessRow(*row.change[:6])
        assert row.change.is_gained == (shown not in access)
        assert any(row.cause)
        access ^= {shown}
    return access


class Replay:
    """Replays the feed, and compares it with the full access at each moment."""

    def __init__(self, cursor: AccessCursor, first: State, narrowing: Narrowing) -> None:
        self.cursor = cursor
        self.narrowing = narrowing
        self.state = first
        self.access = selected(first, narrowing, cursor.position.time)
        self.last = cursor.position

    async def follow(self, state: State, written: WrittenRevision) -> None:
        async for event in self.cursor.follow_revision(written):
            if event.position.id.revision < state.revision:
                self.expect_until(event.position.time)
            else:
                self.expect_until(state.now)
                self.state = state
            self.take(event)
        self.expect_until(state.now)
        self.state = state
        self.expect_until(state.now + 1)

    async def wait(self, until: int) -> None:
        async for event in self.cursor.follow_time(until):
            self.expect_until(event.position.time)
            self.take(event)
        self.expect_until(until + 1)

    def take(self, event: AccessEvent) -> None:
        assert self.last.key < event.position.key
        assert self.last.time <= event.position.time
        self.last = event.position
        self.access = replay(self.access, event)

    def expect_until(self, time: int) -> None:
        """Nothing has changed between the last event and this time."""
        for moment in range(self.last.time, time):
            assert self.access == selected(self.state, self.narrowing, moment)


async def find_written(recorder: Recorder, after: RevisionId) -> Sequence[WrittenRevision]:
    log, found = RevisionLog(recorder.ctx.store), list[WrittenRevision]()
    while True:
        page = await log.read_page(after)
        found += page.batch.revisions
        after = page.batch.newest
        if page.is_last:
            return found


async def expect_snapshot(recorder: Recorder, state: State, narrowing: Narrowing, position: AccessPosition) -> None:
    """The snapshot has all access at a position, each row once, in order."""
    rows = [AccessRow(*row[:6]) async for rows in list_access(recorder.ctx, narrowing, position) for row in rows]
    assert rows == sorted(selected(state, narrowing, position.time))


async def expect_replayed(recorder: Recorder, states: Sequence[State], narrowing: Narrowing, *, is_large: bool) -> None:
    first = await recorder.ctx.store.identify(states[0].revision)
    position = AccessPosition(first, states[0].now, states[0].now)
    cursor = await begin_cursor(recorder.ctx, narrowing, position)
    await expect_snapshot(recorder, states[0], narrowing, position)
    following = Replay(cursor, states[0], narrowing)
    written = {each.id.revision: each for each in await find_written(recorder, first)}
    for _, state in pairwise(states):
        if state.revision in written:
            revision = written[state.revision]
            await following.follow(state, replace(revision, changes=None) if is_large else revision)
        else:
            cursor.skip_to(await recorder.ctx.store.identify(state.revision), state.now)
            await following.wait(state.now)
            following.state = state
    await following.wait(states[-1].now + LATER)
    await expect_snapshot(recorder, states[-1], narrowing, cursor.position)


def expect_histories(url: str, most: int, *, is_large: bool = False) -> None:
    with asyncio.Runner() as runner:
        store, database = runner.run(counting_store(url))

        @settings(max_examples=most, deadline=None, suppress_health_check=list(HealthCheck))
        @given(examples)
        def replay_the_feed(example: Example) -> None:
            async def run() -> None:
                await database.transact(lambda head: emptied())
                recorder = Recorder(context_of(store, settings_for(url)), 0)
                recorder.clock = (await store.check() + 1) * MICROSECONDS_FOR_AN_EXAMPLE
                recorder.ctx = replace(recorder.ctx, now=lambda: recorder.clock)
                states = await carry_out(recorder, example)
                await expect_replayed(recorder, states, Narrowing(), is_large=is_large)
                if example.narrowing.query is None:
                    await expect_replayed(recorder, states, example.narrowing, is_large=is_large)

            runner.run(run())

        try:
            replay_the_feed()
        finally:
            runner.run(store.close())


@pytest.fixture(autouse=True)
def sampled_at_every_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (access_moments, access_steps):
        monkeypatch.setattr(module, "SAMPLE_US", 1)


def test_on_sqlite_the_feed_is_all_access_at_every_moment(tmp_path: Path) -> None:
    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(15))


def test_objects_that_are_alike_gain_and_lose_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_access, "MIN_ALIKE", 2)

    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(15))


def test_revisions_that_are_too_large_to_be_held_are_read_from_the_log(tmp_path: Path) -> None:
    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(5), is_large=True)


def test_on_postgresql_the_feed_is_all_access_at_every_moment(postgres: PostgresServer) -> None:
    expect_histories(postgres.new_url(), most=scale_examples(5))


@pytest.mark.nightly
def test_many_histories_replay_to_all_access(tmp_path: Path, postgres: PostgresServer) -> None:
    expect_histories(f"sqlite:///{tmp_path}/m.db", most=2_000)
    expect_histories(postgres.new_url(), most=500)
