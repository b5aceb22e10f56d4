"""Random models, warrants and checks: an evaluation that reads ahead answers what the oracle answers, at the same cost
as one that does not; and what it has read ahead is what the store returns when only that is read."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.engine.warrants.reader import WarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckBatch, CheckRun
from magistrate.operations.readers.prefetching_reader import PrefetchingReader
from magistrate.operations.runs import drive_run, release_run
from magistrate.store.contract.new_rows import NewObjectType, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.databases import PostgresServer
from tests.memory_source import PLENTY
from tests.properties.example_counts import scale_examples
from tests.properties.models import Types, model, oracle_value, question, warrants
from tests.properties.read_levels import LEVELS, LINKED, asked_about
from tests.running import settings_for
from tests.scenario_runs import emptied, new

Outcome = tuple[list[bool] | str, int]
"""What was decided, or which type is not defined, and the work it took."""


BATCHES = st.lists(question(), min_size=1, max_size=3)


async def decide(reader: WarrantReader, run: CheckRun, at: Revision) -> Outcome:
    try:
        return [decision.is_authorized for decision in await drive_run(reader, run, at)], run.work.cost
    except NotFound as missing:
        return str(missing), run.work.cost


async def expect_known(store: Store, reader: PrefetchingReader, at: Revision) -> None:
    """Compares what was read ahead with the store."""
    known = [
        (WarrantRead(request, (object_id,)), found)
        for request, by_id in reader.known.items()
        for object_id, found in by_id.items()
    ]
    for read, found in known:
        [alone] = (await store.read_warrants([read], at, PLENTY)).warrants
        assert sorted(one.number for one in found) == sorted(one.number for one in alone), read


async def expect_same(
    store: Store, database: CountingDatabase, known: Model, batch: CheckBatch, values: Sequence[int]
) -> int:
    """Returns how many statements reading ahead has saved. `values` are those of the oracle."""
    at = await store.check()
    await decide(store, CheckRun(known, batch), at)  # which compiles the plans
    run, database.reads = CheckRun(known, batch), 0
    by_levels, levels = await decide(store, run, at), database.reads
    release_run(run)
    run, database.reads = CheckRun(known, batch), 0
    reader = PrefetchingReader(store, store, run)
    ahead, statements = await decide(reader, run, at), database.reads
    release_run(run)

    assert ahead == by_levels
    if isinstance(ahead[0], str):
        assert UNDEFINED in values
    else:
        assert ahead[0] == [value == TRUE for value in values]
    assert statements <= levels + 1  # one more if there was too much to be read ahead
    await expect_known(store, reader, at)
    return levels - statements


def expect_examples(url: str, examples: int) -> None:
    saved: list[int] = []
    with asyncio.Runner() as runner:
        store, database = runner.run(counting_store(url))

        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        @given(model(), warrants(rarely_to_all=True), BATCHES)
        @example(LINKED, LEVELS, [asked_about("1"), asked_about("2")])
        def answer_as_by_levels(types: Types, stored: list[Warrant], asked: Sequence[Check]) -> None:
            async def run() -> None:
                await database.transact(lambda head: emptied())
                written = [NewObjectType(TypeName(name), json.dumps({"relations": of})) for name, of in types.items()]
                await store.put_object_types(written, lambda model: None, Stamp("ann", 1), is_whole_model=True)
                for warrant in stored:
                    await store.put_warrants([new(warrant.render())], lambda model: None, Stamp("ann", 1))
                newest = await store.read_warrants((), None, 1)
                models = context_of(store, settings_for(url)).caches.models
                known = await models.at(newest.revision, newest.model_revision)
                for checks in (asked[:1], asked):
                    values = [oracle_value(types, stored, one) for one in checks]
                    batch = CheckBatch(checks, ALL_NEEDED, 1, PLENTY)
                    saved.append(await expect_same(store, database, known, batch, values))

            runner.run(run())

        try:
            answer_as_by_levels()
        finally:
            runner.run(store.close())
    assert max(saved) >= len(LEVELS) - 1  # few random examples have several levels


def test_on_sqlite_reading_ahead_changes_no_answer(tmp_path: Path) -> None:
    expect_examples(f"sqlite:///{tmp_path}/m.db", examples=scale_examples(150))


def test_on_postgresql_reading_ahead_changes_no_answer(postgres: PostgresServer) -> None:
    expect_examples(postgres.new_url(), examples=scale_examples(30))
