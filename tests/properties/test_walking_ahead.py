"""Random models, warrants and checks: what a walk over the rows read ahead decides is what an evaluation decides, with
as little work as the check may take; and the evaluation takes what was read for a walk that has given up."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.engine.warrants.read_ahead import AheadResult, ReadsAhead, outline_reads
from magistrate.engine.warrants.reader import WarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import BudgetExceeded, NotFound
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckBatch, CheckRun
from magistrate.operations.checks.evaluators import decide_ahead, predict_reads, read_for_walk
from magistrate.operations.readers.prefetching_reader import BegunRead, PrefetchingReader
from magistrate.operations.runs import drive_run, release_run
from magistrate.store.contract.new_rows import NewObjectType, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.databases import PostgresServer
from tests.memory_source import PLENTY, evaluated, model_of, rows_of
from tests.properties.example_counts import scale_examples
from tests.properties.models import Types, model, oracle_value, question, warrants
from tests.properties.read_levels import LEVELS, LINKED, asked_about
from tests.properties.time_limits import limited, times
from tests.running import settings_for
from tests.scenario_files import stored_warrant
from tests.scenario_runs import emptied, new

SELF_GRANTED = [stored_warrant("doc:1#a@doc:1", 1, 0)]
ASKED_OF_ITSELF = [
    Check(ObjectRef(TypeName("doc"), ObjectId("1")), RelationName("a"), Subject(TypeName("doc"), ObjectId("1"), group))
    for group in ("a", "")
]

GRANTED_TWICE = [*SELF_GRANTED, stored_warrant("doc:1#a@doc:1[x == 1]", 2, 0)]
"""Are more rows than a check may take whose budget is one, so that it takes none of what was read ahead."""

budgets = st.just(PLENTY) | st.integers(1, 60)


def rows_ahead(stored: Sequence[Warrant], ahead: ReadsAhead, object_id: ObjectId) -> list[tuple[int, Warrant]]:
    """What a store returns that reads ahead for a check on this object."""
    waiting = [(place, one) for place, ids in ahead.outline.begin_on((object_id,)) for one in ids]
    made = dict.fromkeys(waiting)
    rows: list[tuple[int, Warrant]] = []
    for place, one in waiting:  # grows during the loop
        for warrant in rows_of(stored, WarrantRead(ahead.requests[place], (one,))):
            rows.append((place, warrant))
            steps = ahead.outline.following[place] if warrant.subject_id != WILDCARD else ()
            new = [(step.request, warrant.subject_id) for step in steps if step.follows(warrant)]
            waiting += [step for step in new if step not in made]
            made.update(dict.fromkeys(new))
    return rows


def walked(known: Model, stored: Sequence[Warrant], asked: Check, now: int) -> bool | None:
    """None if the walk cannot decide it."""
    plan = known.plan(asked.object.type, asked.relation)
    ahead = outline_reads(known, plan, asked.subject).name_subject(asked.subject)
    rows = rows_ahead(stored, ahead, asked.object.id)
    begun = BegunRead((), ahead, AheadResult(Revision(1), Revision(1), Revision(1), rows), is_complete=True)
    decision = decide_ahead(known, CheckBatch([asked], ALL_NEEDED, now, PLENTY), begun)
    return None if decision is None else decision.is_authorized


@settings(max_examples=scale_examples(500))
@given(model(), limited(rarely_to_all=True), st.lists(question(), min_size=1, max_size=5), times, st.booleans())
def test_a_walk_decides_as_an_evaluation_does(
    drawn: Types, stored: list[Warrant], asked: list[Check], now: int, is_warm: bool
) -> None:
    known = model_of(drawn, stored)
    for one in asked if is_warm else ():  # which compiles the plans that the outlines of all of them lead to
        evaluated(known, stored, [one], now)

    for one in asked:
        decided = walked(known, stored, one, now)
        [node], _ = evaluated(known, stored, [one], now)

        assert decided is None or node.value is not UNDEFINED
        assert decided in (None, node.value is TRUE)


Outcome = Decision | str


async def evaluate(reader: WarrantReader, run: CheckRun, at: Revision) -> Outcome:
    try:
        [decision] = await drive_run(reader, run, at)
    except (NotFound, BudgetExceeded) as error:
        return str(error)
    finally:
        release_run(run)
    return decision


async def expect_same(store: Store, database: CountingDatabase, known: Model, batch: CheckBatch, value: int) -> str:
    """Compares a walk, and an evaluation after it, with an evaluation alone; returns how the check was decided. `value`
    is that of the oracle."""
    at = await store.check()
    plenty = CheckBatch(batch.checks, ALL_NEEDED, batch.now, PLENTY)
    await evaluate(store, CheckRun(known, plenty), at)  # which compiles the plans
    expected = await evaluate(store, CheckRun(known, batch), at)
    ahead, database.reads = predict_reads(known, batch), 0
    begun = None if ahead is None else await read_for_walk(store, ahead, batch, at)
    decision = None if begun is None else decide_ahead(known, batch, begun)
    assert database.reads == (begun is not None)
    if decision is not None:
        assert decision == expected
        assert decision.is_authorized == (value == TRUE)
        return "allowed" if decision.is_authorized else "denied"
    run = CheckRun(known, batch)
    alone = await evaluate(PrefetchingReader(store, store, run), run, at)
    without, database.reads = database.reads - (begun is not None), 0
    run = CheckRun(known, batch)

    assert await evaluate(PrefetchingReader(store, store, run, begun), run, at) == alone == expected
    saves_one = begun is not None and (begun.is_complete or begun.ahead.outline.steps != ()) and without > 0
    assert database.reads <= without - saves_one
    return "evaluated"


def expect_examples(url: str, examples: int) -> None:
    ways: Counter[str] = Counter()
    with asyncio.Runner() as runner:
        store, database = runner.run(counting_store(url))

        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        @given(model(), warrants(rarely_to_all=True), st.lists(question(), min_size=1, max_size=3), budgets)
        @example(LINKED, LEVELS, [asked_about("1"), asked_about("2")], PLENTY)
        @example(LINKED, LEVELS, [asked_about("1"), asked_about("2")], 3)
        @example({"doc": {}}, SELF_GRANTED, ASKED_OF_ITSELF, 1)
        @example({}, SELF_GRANTED, ASKED_OF_ITSELF, 1)
        @example({}, GRANTED_TWICE, ASKED_OF_ITSELF, 1)
        def decide_as_an_evaluation(types: Types, stored: list[Warrant], asked: Sequence[Check], budget: int) -> None:
            async def run() -> None:
                await database.transact(lambda head: emptied())
                written = [NewObjectType(TypeName(name), json.dumps({"relations": of})) for name, of in types.items()]
                await store.put_object_types(written, lambda model: None, Stamp("ann", 1), is_whole_model=True)
                for warrant in stored:
                    await store.put_warrants([new(warrant.render())], lambda model: None, Stamp("ann", 1))
                newest = await store.read_warrants((), None, 1)
                models = context_of(store, settings_for(url)).caches.models
                known = await models.at(newest.revision, newest.model_revision)
                for one in asked:
                    batch = CheckBatch([one], ALL_NEEDED, 1, budget)
                    ways[await expect_same(store, database, known, batch, oracle_value(types, stored, one))] += 1

            runner.run(run())

        try:
            decide_as_an_evaluation()
        finally:
            runner.run(store.close())
    assert ways["allowed"] > 0
    assert ways["denied"] > sum(ways.values()) // 20


def test_on_sqlite_a_walk_decides_as_an_evaluation_does(tmp_path: Path) -> None:
    expect_examples(f"sqlite:///{tmp_path}/m.db", examples=scale_examples(150))


def test_on_postgresql_a_walk_decides_as_an_evaluation_does(postgres: PostgresServer) -> None:
    expect_examples(postgres.new_url(), examples=scale_examples(30))
