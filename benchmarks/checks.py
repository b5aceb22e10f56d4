"""Checks on the drive data set: the engine with its reads in this process, without the graph, and the same checks
over HTTP, with it."""

import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import msgspec
import uvloop

from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.counting import CountingDatabase, counting_store
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Check, Dataset
from benchmarks.keep_alive import Driven, drive, request_bytes
from benchmarks.loading import load
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.evaluation import evaluation
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import PendingChecks, check_all
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf
from magistrate.operations.models.object_types import put_object_types
from magistrate.wiring.contexts import context_of

SIZES = (10_000, 1_000_000)
SEED = 1
QUESTIONS = 2_000
ROUNDS = 3
CONNECTIONS = 16
MAX_SECONDS = 120

TARGET_MS = {"SQLite": 0.25, "PostgreSQL": 0.9}
TARGET_AS_OF = 1.5
"""How much dearer a check as of the past may be than the same now, without the graph."""
TARGET_GROWTH = 1.3
"""How much dearer a check may be with the largest of SIZES than with the smallest."""


@dataclass(slots=True)
class Case:
    """`asked` are the same in all rounds; `milliseconds` has one list for each round, `reads` one number for each
    check. `as_of_milliseconds` are those of the same checks as of a revision before the model changed."""

    store: str
    size: int
    url: str
    asked: Sequence[Check]
    reads: list[int] = field(default_factory=list)
    allowed: int = 0
    milliseconds: list[list[float]] = field(default_factory=list)
    as_of_milliseconds: list[list[float]] = field(default_factory=list)

    def median(self) -> float:
        return statistics.median(statistics.median(one) for one in self.milliseconds)

    def median_as_of(self) -> float:
        return statistics.median(statistics.median(one) for one in self.as_of_milliseconds)

    def p99(self) -> float:
        return statistics.median(statistics.quantiles(one, n=100)[98] for one in self.milliseconds)


def measure_checks(seconds: int) -> str:
    """Two tables. Loading takes a minute or two; then each case makes its checks in each round, over HTTP for
    `seconds` besides."""
    with ExitStack() as stack:
        cases = [
            loaded_case(store, stack.enter_context(databases())(f"checks_{size}"), DATASETS["drive"](size, SEED))
            for store, databases in STORES.items()
            for size in SIZES
        ]
        with on_core(SERVER_CORE):
            uvloop.run(_ask_in_process(cases))  # the loop the service has
        over_http = [_asked_over_http(case, seconds) for case in cases if case.size == max(SIZES)]
    return f"{_engine_table(cases)}\n{_as_of_table(cases)}\n{_http_table(over_http)}"


def loaded_case(store: str, url: str, dataset: Dataset) -> Case:
    load(url, dataset)
    with serving(url) as server:
        bodies = [{"type": name, "relations": relations} for name, relations in dataset.types.items()]
        requests = (request_bytes("POST", "/v2/object-types", msgspec.json.encode(body)) for body in bodies)
        drive(server.url, requests, 1, MAX_SECONDS)
    return Case(store, dataset.size, url, dataset.questions(QUESTIONS, SEED))


async def _ask_in_process(cases: Sequence[Case]) -> None:
    opened = [await counting_store(case.url) for case in cases]
    without_graph = read_settings({"cache_bytes": "0"}, {})
    contexts = [context_of(store, without_graph) for store, _ in opened]
    pasts = [AsOf(revision=await context.store.check()) for context in contexts]
    for context in contexts:
        await put_object_types(context, [ObjectType(TypeName("printer"), {})], context.stamp("bench"))
    for _ in range(ROUNDS + 1):
        for case, context, past, (_, database) in zip(cases, contexts, pasts, opened, strict=True):
            case.milliseconds.append([])
            case.as_of_milliseconds.append([])
            case.reads, case.allowed = [], 0
            for question in case.asked:
                case.allowed += await _timed(case, context, database, question)
                await _time_as_of(case, context, past, question)
    for case, (store, _) in zip(cases, opened, strict=True):
        del case.milliseconds[0], case.as_of_milliseconds[0]  # in which plans and statements are made
        await store.close()


async def _timed(case: Case, context: Context, database: CountingDatabase, question: Check) -> bool:
    asked = as_check(question)
    database.reads = 0
    started = time.perf_counter()
    found = await check_all(context, [asked], NO_DEMAND)
    case.milliseconds[-1].append((time.perf_counter() - started) * 1_000)
    case.reads.append(database.reads)
    return found.value[0].is_authorized


async def _time_as_of(case: Case, context: Context, past: AsOf, question: Check) -> None:
    asked = as_check(question)
    started = time.perf_counter()
    await PendingChecks(context, [asked], ALL_NEEDED, NO_DEMAND).decide_as_of(past)
    case.as_of_milliseconds[-1].append((time.perf_counter() - started) * 1_000)


def as_check(question: Check) -> evaluation.Check:
    object_ref = ObjectRef(TypeName(question.object_type), ObjectId(question.object_id))
    subject = Subject(TypeName(question.subject_type), ObjectId(question.subject_id))
    return evaluation.Check(object_ref, RelationName(question.relation), subject)


@dataclass(frozen=True, slots=True)
class OverHttp:
    store: str
    cold: Driven
    warm: Driven
    loaded: Driven
    constant: Driven


def _asked_over_http(case: Case, seconds: int) -> OverHttp:
    bodies = [request_bytes("POST", "/v2/check", _body(question)) for question in case.asked]
    health = request_bytes("GET", "/healthz")
    with serving(case.url) as server:
        return OverHttp(
            case.store,
            cold=drive(server.url, iter(bodies), 1, MAX_SECONDS),
            warm=drive(server.url, iter(bodies), 1, MAX_SECONDS),
            loaded=_under_load(server, itertools.cycle(bodies), seconds),
            constant=_under_load(server, itertools.repeat(health), seconds),
        )


def _under_load(server: Server, requests: Iterator[bytes], seconds: int) -> Driven:
    return drive(server.url, requests, CONNECTIONS, seconds)


def _body(question: Check) -> bytes:
    subject = {"objectType": question.subject_type, "objectId": question.subject_id}
    names = {"objectType": question.object_type, "objectId": question.object_id, "relation": question.relation}
    return msgspec.json.encode({"warrants": [{**names, "subject": subject}]})


def _engine_table(cases: Sequence[Case]) -> str:
    header = ("", "statements a check", "largest", "p50 ms", "p99 ms", "target p50 ms", "growth", "target")
    rows = []
    for case in cases:
        smallest = next(other for other in cases if other.store == case.store)
        is_largest = case.size == max(SIZES)
        rows.append(
            (
                f"{case.store}, {case.size:,} warrants, {case.allowed / len(case.asked):.0%} allowed",
                f"{statistics.mean(case.reads):.1f}",
                str(max(case.reads)),
                f"{case.median():.2f}",
                f"{case.p99():.2f}",
                f"≤ {TARGET_MS[case.store]:.2f}",
                f"{case.median() / smallest.median():.2f}" if is_largest else "",
                f"≤ {TARGET_GROWTH}" if is_largest else "",
            )
        )
    return markdown_table("Check, the engine with its reads (drive data set)", header, rows)


def _as_of_table(cases: Sequence[Case]) -> str:
    header = ("", "now p50 ms", "as of the past p50 ms", "ratio", "target")
    rows = []
    for case in cases:
        now, then = case.median(), case.median_as_of()
        name = f"{case.store}, {case.size:,} warrants"
        rows.append((name, f"{now:.2f}", f"{then:.2f}", f"{then / now:.2f}", f"≤ {TARGET_AS_OF}"))
    return markdown_table("Check as of a revision before the model changed, the engine with its reads", header, rows)


def _http_table(measured: Sequence[OverHttp]) -> str:
    header = ("", "cold p50 ms", "cold p99 ms", "warm p50 ms", "warm p99 ms", "checks/s", "of the constant answer")
    rows = []
    for one in measured:
        rate, constant = (len(driven.latencies) / driven.seconds for driven in (one.loaded, one.constant))
        percentiles = [_percentiles(driven) for driven in (one.cold, one.warm)]
        latencies = itertools.chain.from_iterable(percentiles)
        name = f"{one.store}, {max(SIZES):,} warrants"
        rows.append((name, *latencies, f"{rate:,.0f}", f"{rate / constant:.0%}"))
    return markdown_table(f"Check over HTTP, one connection; checks/s over {CONNECTIONS}", header, rows)


def _percentiles(driven: Driven) -> tuple[str, ...]:
    cuts = statistics.quantiles(driven.latencies, n=100)
    return f"{cuts[49] * 1_000:.2f}", f"{cuts[98] * 1_000:.2f}"
