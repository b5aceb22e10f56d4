"""Random histories and proposals: the difference is that of all access before and after, as the oracle has it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.counting import counting_store
from magistrate.engine.bitmaps.subject_batches import SubjectBitmapSearch
from magistrate.engine.names import WILDCARD
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import NO_DEMAND, write_token
from magistrate.operations.context import Context
from magistrate.operations.difference import affected_access as search
from magistrate.operations.difference import checked_access
from magistrate.operations.difference import comparison as bitmap_comparing
from magistrate.operations.difference import comparison as comparing
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import DifferenceRow
from magistrate.operations.difference.proposal import Proposal, list_proposed_difference, proposal_kind
from magistrate.operations.difference.revisions import RevisionsRequest, list_difference, revisions_kind
from magistrate.operations.paging import ListKind, Page, PageRequest, read_page_request
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from magistrate.wiring.contexts import context_of
from tests.access import AccessRow, Difference, difference
from tests.databases import PostgresServer
from tests.memory_source import model_of
from tests.properties.example_counts import scale_examples
from tests.properties.histories import (
    MICROSECONDS_FOR_AN_EXAMPLE,
    Example,
    Recorder,
    State,
    access_change,
    carry_out,
    examples,
    new_warrant,
)
from tests.properties.models import Types, model
from tests.properties.time_limits import Limits, limits
from tests.running import settings_for
from tests.scenario_runs import emptied


def shown(page: Page[DifferenceRow]) -> Difference:
    assert not [row for row in page.rows if not any(row.cause)]
    return [(AccessRow(*row.change[:6]), row.change.is_gained) for row in page.rows]


Listing = Callable[[PageRequest], Awaitable[Snapshot[Page[DifferenceRow]]]]


async def list_all(kind: ListKind[DifferenceRow], identity: Identity, limit: int, read: Listing) -> Difference:
    """All pages forwards, and then backwards, which must have the same rows."""

    async def read_page(**cursor: str) -> Page[DifferenceRow]:
        return (await read(read_page_request(kind, {"limit": str(limit), **cursor}, identity))).value

    page = await read_page()
    rows = shown(page)
    while page.next_cursor is not None:
        page = await read_page(nextCursor=page.next_cursor)
        rows += shown(page)
    back = shown(page)
    while page.prev_cursor is not None:
        page = await read_page(prevCursor=page.prev_cursor)
        back = shown(page) + back
    assert back == rows
    return rows


async def list_between(ctx: Context, first: State, last: State, narrowing: Narrowing, limit: int) -> Difference:
    identity = ctx.store.identity
    since, until = (write_token(identity, RevisionId(one.revision, None)) for one in (first, last))
    request = RevisionsRequest(since, until, narrowing)
    read = partial(list_difference, ctx, request, freshness=NO_DEMAND)
    return await list_all(revisions_kind(request), identity, limit, read)


async def list_proposed(ctx: Context, proposal: Proposal, narrowing: Narrowing, limit: int) -> Difference:
    read = partial(list_proposed_difference, ctx, proposal, narrowing, freshness=NO_DEMAND)
    return await list_all(proposal_kind(proposal, narrowing), ctx.store.identity, limit, read)


def narrowed(first: State, last: State, narrowing: Narrowing) -> Difference:
    """The part of the difference that is selected. The subject and the object that are named count as existing if they
    exist in neither state."""
    object_ref, subject = narrowing.find_object(), narrowing.find_subject()
    existing = first.objects | last.objects
    besides = {ref for ref in (object_ref, subject) if ref is not None and ref not in existing}
    rows = difference(first.access(besides), last.access(besides))
    changes = [(access_change(row), row, is_gained) for row, is_gained in rows]
    return [
        (row, is_gained)
        for change, row, is_gained in changes
        if narrowing.covers(change)
        and ObjectRef(change.type, change.id) in {*existing, object_ref}
        and (change.subject_id == WILDCARD or change.subject in {*existing, subject})
    ]


class Drawn(NamedTuple):
    """`create` has the numbers of warrants, with their limits; `delete` those of stored ones."""

    create: list[tuple[int, Limits]]
    delete: set[int]
    model: Types | None
    is_whole_model: bool


proposals = st.builds(
    Drawn,
    st.lists(st.tuples(st.integers(0, 13), st.just((None, None)) | limits), max_size=4),
    st.sets(st.integers(0, 13), max_size=3),
    st.none() | model(),
    st.booleans(),
)


def build_proposal(drawn: Drawn, recorder: Recorder, all_ever: Sequence[Warrant]) -> Proposal:
    """A proposal that can be written."""
    stored = [one for one in recorder.stored.values() if one.expires_at is None or one.expires_at > recorder.clock]
    defined = {} if drawn.is_whole_model else dict(recorder.types)
    defined |= recorder.types if drawn.model is None else drawn.model
    new = [new_warrant(all_ever[n % len(all_ever)], recorder.clock, limits) for n, limits in drawn.create if all_ever]
    return Proposal(
        [one for one in new if one.relation in defined.get(one.object.type, ())],
        [new_warrant(one) for number, one in enumerate(stored) if number in drawn.delete],
        [] if drawn.model is None else [*model_of(drawn.model).types.values()],
        drawn.model is not None and drawn.is_whole_model,
    )


async def apply(recorder: Recorder, proposal: Proposal) -> State:
    """Writes what is proposed."""
    if proposal.object_types or proposal.is_whole_model:
        types = {one.name: one.render_relations() for one in proposal.object_types}
        kept = {} if proposal.is_whole_model else recorder.types
        await recorder.define(kept | msgspec.to_builtins(types))
    for one in proposal.delete:
        await recorder.ctx.store.delete_warrants([one], recorder.stamp)
        del recorder.stored[written(one)]
    return await recorder.put(proposal.create)


def written(new: NewWarrant) -> str:
    names = (new.object.type, new.object.id, new.relation, new.subject.type, new.subject.id, new.subject.relation)
    return Warrant(*names, new.policy, 0, 0).render()


async def expect_narrowed(found: Awaitable[Difference], first: State, last: State, narrowing: Narrowing) -> None:
    try:
        rows = await found
    except InvalidParameter as error:
        if "not defined" not in error.message:
            raise
    else:
        assert rows == narrowed(first, last, narrowing)


async def expect_between(recorder: Recorder, states: Sequence[State], example: Example, ends: tuple[int, int]) -> None:
    first, last = (states[place] for place in sorted(place % len(states) for place in ends))
    whole = await list_between(recorder.ctx, first, last, Narrowing(), 1_000)
    assert whole == difference(first.access(), last.access())
    some = list_between(recorder.ctx, first, last, example.narrowing, example.limit)
    await expect_narrowed(some, first, last, example.narrowing)
    replayed = states[0].access()
    for one, other in pairwise(states):
        for row, is_gained in await list_between(recorder.ctx, one, other, Narrowing(), 1_000):
            assert is_gained == (row not in replayed)
            replayed ^= {row}
    assert replayed == states[-1].access()


async def expect_predicted(recorder: Recorder, drawn: Drawn, example: Example) -> None:
    before = await recorder.define(recorder.types)  # a revision of this time
    proposal = build_proposal(drawn, recorder, example.warrants)
    try:
        predicted = await list_proposed(recorder.ctx, proposal, Narrowing(), 1_000)
    except InvalidParameter as error:
        if "depends on its own negation" not in error.message:
            raise
        return  # with the other types, the proposed ones could not be written either
    try:
        some = await list_proposed(recorder.ctx, proposal, example.narrowing, example.limit)
    except InvalidParameter as error:
        if "not defined" not in error.message:
            raise
        some = None
    assert await recorder.ctx.store.check() == before.revision
    after = await apply(recorder, proposal)
    assert predicted == difference(before.access(), after.access())
    assert predicted == await list_between(recorder.ctx, before, after, Narrowing(), 1_000)
    assert some in (None, narrowed(before, after, example.narrowing))


def expect_histories(url: str, most: int) -> None:
    with asyncio.Runner() as runner:
        store, database = runner.run(counting_store(url))

        @settings(max_examples=most, deadline=None, suppress_health_check=list(HealthCheck))
        @given(examples, proposals, st.tuples(st.integers(0, 8), st.integers(0, 8)))
        def find_the_difference(example: Example, proposal: Drawn, ends: tuple[int, int]) -> None:
            async def run() -> None:
                await database.transact(lambda head: emptied())
                recorder = Recorder(context_of(store, settings_for(url)), 0)
                recorder.clock = (await store.check() + 1) * MICROSECONDS_FOR_AN_EXAMPLE
                recorder.ctx = replace(recorder.ctx, now=lambda: recorder.clock)
                states = await carry_out(recorder, example)
                await expect_between(recorder, states, example, ends)
                await expect_predicted(recorder, proposal, example)

            runner.run(run())

        try:
            find_the_difference()
        finally:
            runner.run(store.close())


def test_on_sqlite_differences_are_those_of_all_access(tmp_path: Path) -> None:
    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(30))


def test_differences_of_objects_that_are_alike_are_those_of_all_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_access, "MIN_ALIKE", 2)

    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(30))


def test_differences_that_take_many_checks_are_those_of_all_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MIN_GRAPH_CHECKS", 1)  # for which a graph is read

    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(8))


@pytest.mark.parametrize(("together", "nodes"), [(2, 8), pytest.param(64, 20_000, marks=pytest.mark.nightly)])
def test_differences_that_are_found_with_bitmaps_are_those_of_all_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int, nodes: int
) -> None:
    monkeypatch.setattr(bitmap_comparing, "MAX_TOGETHER", together)
    monkeypatch.setattr(SubjectBitmapSearch, "_max_nodes", nodes)
    monkeypatch.setattr(bitmap_comparing, "MIN_BITMAP_NODES", 1)
    monkeypatch.setattr(comparing, "MAX_CHECKED", 1)  # the subject of a narrowing need not exist

    expect_histories(f"sqlite:///{tmp_path}/m.db", most=scale_examples(30))


def test_on_postgresql_differences_are_those_of_all_access(postgres: PostgresServer) -> None:
    expect_histories(postgres.new_url(), most=scale_examples(8))
