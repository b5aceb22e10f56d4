"""Random histories: what is answered as of each revision, and as of each time, is what the oracle answers for the state
that was recorded then. Models change, clocks go back, and policies depend on the time."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from benchmarks.counting import counting_store
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import Query
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, pin_page
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from magistrate.store.contract.new_rows import NewObjectType, NewWarrant, Stamp
from magistrate.wiring.contexts import context_of
from tests import oracle, oracle_queries
from tests.databases import PostgresServer
from tests.properties.example_counts import scale_examples
from tests.properties.models import Types, model, question, warrants
from tests.properties.queries import query
from tests.running import settings_for
from tests.scenario_rows import EVERYTHING, shown_row, written_forms
from tests.scenario_runs import emptied

CONTEXT = {"x": 1}
FOR_A_MOMENT = 'expiresIn("4us")'
MICROSECONDS_FOR_AN_EXAMPLE = 1_000
LATER = 2**53


class Step(NamedTuple):
    """Comes or goes the warrant of this number, or the model becomes this one; by a clock so much later than before."""

    warrant: int
    model: Types | None
    later: int


class State(NamedTuple):
    """What there is at a revision, which was written by one clock and reached by all."""

    revision: Revision
    written_at: int
    reached_at: int
    types: Types
    warrants: Sequence[Warrant]
    objects: Sequence[ObjectRef]


steps = st.lists(
    st.builds(Step, st.integers(0, 13), st.none() | st.none() | model(), st.integers(-3, 4)), min_size=1, max_size=7
)


@st.composite
def some_for_a_moment(draw: st.DrawFn) -> list[Warrant]:
    """Warrants some of which expire soon after they are created."""
    drawn = draw(warrants())
    short = draw(st.sets(st.integers(0, 13)))
    changed = [structs.replace(one, policy=FOR_A_MOMENT) if place in short else one for place, one in enumerate(drawn)]
    return list({one.render(): one for one in changed}.values())


@dataclass
class Recorder:
    """Carries out a history, and records each of its states."""

    ctx: Context
    states: list[State] = field(default_factory=list)

    async def begin(self, first: Types) -> None:
        self.clock = (await self.ctx.store.check() + 1) * MICROSECONDS_FOR_AN_EXAMPLE
        self.reached = self.clock
        self.types: Types = {}
        self.stored: dict[str, Warrant] = {}
        self.named: set[ObjectRef] = set()
        await self.define(first)

    async def carry_out(self, step: Step, all_ever: Sequence[Warrant]) -> None:
        self.clock += step.later
        if step.model is not None:
            await self.define(step.model)
        elif all_ever:
            await self.toggle(all_ever[step.warrant % len(all_ever)])

    async def define(self, types: Types) -> None:
        new = [NewObjectType(TypeName(name), json.dumps({"relations": of})) for name, of in types.items()]
        stamp = Stamp("ann", self.clock)
        written = await self.ctx.store.put_object_types(new, lambda model: None, stamp, is_whole_model=True)
        self.types = types
        self.record(written.revision)

    async def toggle(self, warrant: Warrant) -> None:
        subject = warrant.names.subject
        object_ref = ObjectRef(warrant.object_type, warrant.object_id)
        new = [NewWarrant(object_ref, warrant.relation, subject, warrant.policy)]
        if warrant.render() in self.stored:
            del self.stored[warrant.render()]
            self.record(await self.ctx.store.delete_warrants(new, Stamp("ann", self.clock)))
            return
        written = await self.ctx.store.put_warrants(new, lambda model: None, Stamp("ann", self.clock))
        self.stored[warrant.render()] = written.value[0]
        self.named |= {object_ref, ObjectRef(subject.type, subject.id)}
        self.record(written.revision)

    def record(self, revision: Revision) -> None:
        self.reached = max(self.reached, self.clock)
        stored = sorted(self.stored.values(), key=lambda one: (one.created_at, one.number))
        objects = sorted(ref for ref in self.named if ref.id != WILDCARD)
        self.states.append(State(revision, self.clock, self.reached, self.types, stored, objects))

    def points(self) -> Iterator[tuple[AsOf, State, int]]:
        """Every revision, and every time from that of the first on: with the state there, and the time of policies."""
        for state in self.states:
            yield AsOf(revision=state.revision), state, state.written_at
        for time in range(self.states[0].reached_at, self.reached + 6):
            yield AsOf(time=time), [state for state in self.states if state.reached_at <= time][-1], time


def policy_holds(now: int) -> Callable[[Warrant], bool | None]:
    return lambda warrant: read_policy(warrant.policy).outcome(CONTEXT, warrant, now).value


async def expect_check(ctx: Context, asked: Check, as_of: AsOf, state: State, now: int) -> None:
    object_ref, subject = asked.object, asked.subject
    value = int(
        oracle.check(
            state.types, state.warrants, object_ref.type, object_ref.id, asked.relation, subject, policy_holds(now)
        )
    )
    try:
        decisions = await PendingChecks(ctx, [asked], ALL_NEEDED, NO_DEMAND).decide_as_of(as_of)
    except NotFound:
        assert value == UNDEFINED, (as_of, state)
        return
    assert decisions.revision == state.revision
    assert (value != UNDEFINED, decisions.value[0].is_authorized) == (True, value == TRUE), (as_of, state)


async def expect_rows(ctx: Context, asked: Query, as_of: AsOf, state: State, now: int) -> None:
    facts = oracle_queries.Facts(state.types, state.warrants, state.objects, policy_holds(now))
    wanted = await pin_page(ctx, EVERYTHING, as_of, NO_DEMAND)
    try:
        page = await list_page(ctx, QueryRequest(asked, CONTEXT, now=wanted.now), wanted, NO_DEMAND)
    except NotFound as missing:
        if oracle_queries.undefined_type(state.types, asked) != missing.key:
            raise
        return
    assert oracle_queries.undefined_type(state.types, asked) is None
    rows = [shown_row(one.row) for one in page.value.rows]
    forms = [written_forms(row) for row in oracle_queries.list_rows(facts, asked)]
    assert rows == [next((form for form in few if form in rows), few[0]) for few in forms], (as_of, state)


def expect_histories(url: str, examples: int) -> None:
    with asyncio.Runner() as runner:
        store, database = runner.run(counting_store(url))
        ctx = replace(context_of(store, settings_for(url)), now=lambda: LATER)

        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        @given(model(), some_for_a_moment(), steps, st.lists(question(), min_size=1, max_size=3), query())
        def answer_as_recorded(
            first: Types, all_ever: list[Warrant], changes: list[Step], checks: list[Check], asked: Query
        ) -> None:
            async def run() -> None:
                await database.transact(lambda head: emptied())
                fresh = context_of(store, settings_for(url))
                recorder = Recorder(
                    replace(ctx, caches=replace(ctx.caches, models=fresh.caches.models, listings=fresh.caches.listings))
                )
                await recorder.begin(first)
                for change in changes:
                    await recorder.carry_out(change, all_ever)
                for as_of, state, now in recorder.points():
                    for check in checks:
                        await expect_check(recorder.ctx, check, as_of, state, now)
                    await expect_rows(recorder.ctx, asked, as_of, state, now)

            runner.run(run())

        try:
            answer_as_recorded()
        finally:
            runner.run(store.close())


def test_on_sqlite_the_past_is_answered_as_it_was_recorded(tmp_path: Path) -> None:
    expect_histories(f"sqlite:///{tmp_path}/m.db", examples=scale_examples(60))


def test_on_postgresql_the_past_is_answered_as_it_was_recorded(postgres: PostgresServer) -> None:
    expect_histories(postgres.new_url(), examples=scale_examples(15))


@given(st.integers(0, 20))
def test_the_policy_of_a_moment_is_one(age: int) -> None:
    names = (TypeName("doc"), ObjectId("1"), RelationName("a"), TypeName("user"), ObjectId("1"), "")
    created = Warrant(*names, FOR_A_MOMENT, 100, 1)

    assert read_policy(FOR_A_MOMENT).outcome(CONTEXT, created, 100 + age).value is (age < 4)
