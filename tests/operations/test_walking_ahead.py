"""Plain checks that the graph cache does not decide are walked, in one statement and without an evaluation."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation.check import DENIED, EXPLICIT, IMPLICIT, Check, Decision
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision
from magistrate.engine.walk import walk
from magistrate.engine.warrants.read_ahead import MAX_BRANCHES
from magistrate.errors import NotFound, RevisionLost
from magistrate.operations.checks.check import PendingChecks, check_all
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckBatch
from magistrate.operations.checks.evaluators import decide_ahead, predict_reads, read_for_walk
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf
from magistrate.operations.readers.prefetching_reader import MAX_ROWS_AHEAD, BegunRead
from magistrate.operations.scheduling import NANOSECONDS_BETWEEN_CHECKPOINTS
from magistrate.store.database import Rows
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.contexts import context_of
from tests.operations.event_loops import TASKS, Clock, Iterations
from tests.operations.stored_warrants import Types, define, grant, question
from tests.running import settings_for
from tests.working import measured_effort

pytestmark = pytest.mark.anyio

MODEL: Types = {
    "user": {},
    "team": {"member": {}},
    "folder": {
        "parent": {},
        "owner": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [
                {"inheritIf": "owner"},
                {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
            ],
        },
        "blocked": {},
        "reader": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
WARRANTS = (
    "folder:a#parent@folder:b",
    "folder:b#parent@folder:c",
    "folder:c#viewer@team:all#member",
    "team:all#member@team:eng#member",
    "team:eng#member@user:ann",
    "team:eng#member@user:eve",
    "folder:a#blocked@user:eve",
    "folder:a#owner@user:bob",
    "folder:a#viewer@user:joe",
)
EXPECTED = {
    "folder:a#viewer@user:ann": IMPLICIT,
    "folder:a#viewer@user:bob": IMPLICIT,
    "folder:a#viewer@user:joe": EXPLICIT,
    "folder:a#viewer@user:nobody": DENIED,
    "folder:a#reader@user:ann": IMPLICIT,
    "folder:a#reader@user:eve": DENIED,
    "folder:a#owner@user:bob": EXPLICIT,
    "folder:x#reader@user:ann": DENIED,
    "folder:c#viewer@team:all#member": EXPLICIT,
    "team:all#member@user:eve": IMPLICIT,
}


@pytest.fixture
async def counted(database_url: str) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    store, database = await counting_store(database_url)
    yield context_of(store, settings_for(database_url, cache_bytes=0)), database
    await store.close()


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Evaluation]:
    """All that have been made since."""
    made: list[Evaluation] = []
    begin = Evaluation.__init__

    def count(one: Evaluation, *given: object, **named: object) -> None:
        made.append(one)
        begin(one, *given, **named)  # type: ignore[arg-type]  # whatever it is given

    monkeypatch.setattr(Evaluation, "__init__", count)
    return made


async def decide(ctx: Context, *asked: str | Check) -> list[Decision]:
    """One after the other."""
    checks = [question(one) if isinstance(one, str) else one for one in asked]
    return [(await check_all(ctx, [one], NO_DEMAND)).value[0] for one in checks]


async def test_plain_checks_take_a_statement_each_and_no_evaluation(
    counted: tuple[Context, CountingDatabase], evaluations: list[Evaluation]
) -> None:
    ctx, database = counted
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS)
    assert await decide(ctx, *EXPECTED) == [*EXPECTED.values()]  # which compiles the plans
    past = AsOf(revision=await ctx.store.check())
    evaluations.clear()
    database.reads = 0

    assert await decide(ctx, *EXPECTED) == [*EXPECTED.values()]
    assert database.reads == len(EXPECTED)

    await grant(ctx, "folder:x#viewer@user:ann")
    for asked, expected in EXPECTED.items():
        found = await PendingChecks(ctx, [question(asked)], ALL_NEEDED, NO_DEMAND).decide_as_of(past)
        assert (found.revision, found.value) == (past.revision, [expected])
    assert not evaluations


async def test_an_evaluation_takes_what_was_read_for_a_walk(
    counted: tuple[Context, CountingDatabase], evaluations: list[Evaluation]
) -> None:
    ctx, database = counted
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS, "team:all#member@team:ops#member[x == 1]", "team:ops#member@user:joe")
    asked = replace(question("folder:b#viewer@user:joe"), context={"x": 1})
    await decide(ctx, asked)
    evaluations.clear()
    database.reads = 0

    assert await decide(ctx, asked, replace(asked, context={"x": 2})) == [IMPLICIT, DENIED]

    assert len(evaluations) == 2
    assert database.reads == 2


async def test_a_check_that_leads_to_too_much_is_evaluated(
    counted: tuple[Context, CountingDatabase], evaluations: list[Evaluation]
) -> None:
    ctx, database = counted
    await define(ctx, MODEL)
    await grant(
        ctx, *[f"folder:a#viewer@team:{number}#member" for number in range(MAX_ROWS_AHEAD)], "team:x#member@user:bob"
    )
    await decide(ctx, "folder:b#viewer@user:ann")
    await decide(ctx, "folder:a#viewer@user:ann")
    evaluations.clear()
    database.reads = 0

    assert await decide(ctx, "folder:a#viewer@user:ann") == [DENIED]

    assert len(evaluations) == 1
    assert database.reads == 1 + len(["folder:a", "teams"])


async def test_a_walk_gives_up_after_some_steps(
    counted: tuple[Context, CountingDatabase], evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, _ = counted
    await define(ctx, MODEL)
    await grant(ctx, *[f"team:{one}#member@team:{other}#member" for one in range(12) for other in range(12)])
    asked = "team:0#member@user:ann"
    await decide(ctx, asked)
    evaluations.clear()

    assert await decide(ctx, asked) == [DENIED]
    assert not evaluations
    monkeypatch.setattr(walk, "MAX_STEPS", 12 * 12)

    assert await decide(ctx, asked) == [DENIED]
    assert len(evaluations) == 1


async def define_rules(ctx: Context, count: int) -> None:
    """Any of so many combinations of two relations."""
    both: list[dict[str, object]] = [
        {"inheritIf": "allOf", "rules": [{"inheritIf": "a"}, {"inheritIf": f"b{number}"}]} for number in range(count)
    ]
    others: dict[str, dict[str, object]] = {f"b{number}": {} for number in range(count)}
    await define(ctx, {"user": {}, "paper": {"a": {}, **others, "any": {"inheritIf": "anyOf", "rules": both}}})


@pytest.mark.parametrize("count", [MAX_BRANCHES // 5, MAX_BRANCHES // 2, MAX_BRANCHES])
async def test_a_walk_gives_up_over_many_rules(
    counted: tuple[Context, CountingDatabase], evaluations: list[Evaluation], count: int
) -> None:
    ctx, _ = counted
    await define_rules(ctx, count)
    await grant(ctx, "paper:1#a@user:ann", f"paper:1#b{count - 1}@user:ann", "paper:2#a@user:ann")
    asked = ("paper:1#any@user:ann", "paper:2#any@user:ann")
    await decide(ctx, *asked)
    evaluations.clear()

    assert await decide(ctx, *asked) == [IMPLICIT, DENIED]

    assert len(evaluations) == (0 if count == MAX_BRANCHES // 5 else 2)


@pytest.mark.parametrize("name", ["shelf:s", "paper:1"])
@pytest.mark.parametrize("count", [25, 600])
async def test_a_relation_may_have_very_many_links(
    counted: tuple[Context, CountingDatabase], count: int, name: str
) -> None:
    """SQLite accepts 500 parts of a statement."""
    ctx, _ = counted
    rules = [{"inheritIf": "r", "ofType": f"t{number}", "withRelation": f"p{number}"} for number in range(count)]
    linked: dict[str, dict[str, object]] = {f"p{number}": {} for number in range(count)}
    linked["r"] = {"inheritIf": "anyOf", "rules": rules}
    on_shelf = {"p": {}, "r": {"inheritIf": "r", "ofType": "shelf", "withRelation": "p"}}
    above: Types = {f"t{number}": {"r": {}} for number in range(count)}
    await define(ctx, {"user": {}, "shelf": linked, "paper": on_shelf, **above})
    await grant(ctx, f"shelf:s#p{count - 1}@t{count - 1}:a", "shelf:*#p1@t1:b", "paper:1#p@shelf:s")
    await grant(ctx, f"t{count - 1}:a#r@user:ann", *(f"shelf:x#p{number}@t{number}:b" for number in range(count)))
    asked = (f"{name}#r@user:ann", f"{name}#r@user:bob")

    for _ in range(2):
        assert await decide(ctx, *asked) == [IMPLICIT, DENIED]


async def test_a_walk_that_gives_up_over_many_rules_has_not_looked_at_all_of_them(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await define_rules(ctx, 3 * MAX_BRANCHES)
    await grant(ctx, "paper:1#a@user:ann")
    await decide(ctx, "paper:1#any@user:ann")
    batch = CheckBatch([question("paper:1#any@user:ann")], ALL_NEEDED, 1, 1_000_000)
    known = await ctx.caches.models.get_known()
    ahead = predict_reads(known, batch)
    assert ahead is not None
    begun = await read_for_walk(ctx.store, ahead, batch, None)

    with measured_effort(database) as effort:
        assert decide_ahead(known, batch, begun) is None

    assert 0 < effort.lines < MAX_BRANCHES


async def test_a_walk_is_made_with_the_model_of_its_revision(
    counted: tuple[Context, CountingDatabase], database_url: str
) -> None:
    ctx, _ = counted
    other = context_of(ctx.store, settings_for(database_url, cache_bytes=0))
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS)
    assert await decide(ctx, "folder:a#viewer@user:bob") == [IMPLICIT]

    await define(other, {"paper": {"viewer": {}}})
    await grant(other, "folder:a#viewer@folder:d#owner", "folder:d#owner@user:zoe")

    assert await decide(ctx, "folder:a#viewer@user:zoe", "paper:1#viewer@user:zoe") == [IMPLICIT, DENIED]


async def test_tokens_and_undefined_types_are_refused_alike(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, _ = counted
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS)
    await decide(ctx, "folder:a#viewer@user:ann")
    future = Freshness("Warrant-Token", Revision(99))

    with pytest.raises(RevisionLost):
        await check_all(ctx, [question("folder:a#viewer@user:ann")], future)
    with pytest.raises(NotFound):
        await decide(ctx, "ghost:a#viewer@user:ann")


class SlowDatabase(CountingDatabase):
    """Each read takes a millisecond of the clock; counts them by iteration of the event loop."""

    def __init__(self, database: CountingDatabase, clock: Clock, iterations: Iterations) -> None:
        super().__init__(database)
        self._clock, self._iterations = clock, iterations
        self.by_iteration: Counter[int] = Counter()

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        self._clock.nanoseconds += NANOSECONDS_BETWEEN_CHECKPOINTS // 5
        self.by_iteration[self._iterations.count] += 1
        return await super().read(sql, values, long)


class LateDatabase(CountingDatabase):
    """What is read in one iteration of the event loop comes in the next."""

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        await asyncio.sleep(0)
        return await super().read(sql, values, long)


async def test_checks_that_come_at_once_leave_time_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    store, counting = await counting_store(url)
    clock, iterations = Clock(), Iterations()
    database = SlowDatabase(counting, clock, iterations)
    ctx = context_of(SqlStore(database, store.identity), settings_for(url, cache_bytes=0))
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS)
    await decide(ctx, *EXPECTED)
    monkeypatch.setattr("magistrate.operations.scheduling.time.thread_time_ns", clock)
    database.by_iteration.clear()

    await asyncio.gather(*(decide(ctx, "folder:a#viewer@user:ann") for _ in range(5 * TASKS)))
    iterations.stop()

    assert sum(database.by_iteration.values()) == 5 * TASKS
    assert max(database.by_iteration.values()) <= 5
    await store.close()


async def test_walks_whose_rows_come_at_once_leave_time_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    store, counting = await counting_store(url)
    late = SqlStore(LateDatabase(counting), store.identity)
    ctx = context_of(late, settings_for(url, cache_bytes=0))
    await define(ctx, MODEL)
    await grant(ctx, *WARRANTS)
    await decide(ctx, *EXPECTED)
    clock, iterations = Clock(), Iterations()
    begun: Counter[int] = Counter()

    def walk_long(known: Model, batch: CheckBatch, read: BegunRead) -> Decision | None:
        clock.nanoseconds += NANOSECONDS_BETWEEN_CHECKPOINTS // 5
        begun[iterations.count] += 1
        return decide_ahead(known, batch, read)

    monkeypatch.setattr("magistrate.operations.checks.evaluators.decide_ahead", walk_long)
    monkeypatch.setattr("magistrate.operations.scheduling.time.thread_time_ns", clock)
    await asyncio.gather(*(decide(ctx, "folder:a#viewer@user:ann") for _ in range(5 * TASKS)))
    iterations.stop()

    assert sum(begun.values()) == 5 * TASKS
    assert max(begun.values()) <= 6
    await store.close()
