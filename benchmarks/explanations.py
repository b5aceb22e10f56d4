"""Explanations on the drive data set, with their reads in this process and without the graph, each right after a cold
same check."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import uvloop

from benchmarks.checks import SEED, Case, as_check, loaded_case
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.evaluation.check import Check
from magistrate.operations.checks.check import check_all
from magistrate.operations.checks.explain import explain_check
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import open_store

SIZE = 1_000_000
QUESTIONS = 500
WARM_UP = 50
"""How many are made before, in which plans and statements are made."""

TARGET_OF_A_CHECK = 3
TARGET_DENIED_P50_MS = 20
TARGET_DENIED_P99_MS = 200

Decide = Callable[[Context, Check], Awaitable[bool]]


class Timed(NamedTuple):
    """What one check or explanation took, in milliseconds of the clock and of this process's CPU."""

    is_allowed: bool
    clock: float
    cpu: float


MEASURED: Mapping[str, Callable[[Timed], float]] = {
    "clock": lambda timed: timed.clock,
    "CPU of the process": lambda timed: timed.cpu,
}
"""Says what of it a row is about: on a machine with other work, the second shows what the first does not."""


def measure_explanations(seconds: int) -> str:
    """A table, a row for each store and decision. Loading takes a minute or two; `seconds` has no effect."""
    with ExitStack() as stack:
        cases = [
            loaded_case(store, stack.enter_context(databases())("explanations"), DATASETS["drive"](SIZE, SEED))
            for store, databases in STORES.items()
        ]
        with on_core(SERVER_CORE):
            rows = [row for case in cases for row in uvloop.run(rows_of(case))]
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    header = ("", "", "cold check p50 ms", "explanation p50 ms", "p99 ms", "of the check", "target")
    return markdown_table("Explain (drive data set)", header, rows)


async def rows_of(case: Case) -> list[Sequence[str]]:
    store = await open_store(read_settings({"database_url": case.url}, {}))
    context = context_of(store, read_settings({"cache_bytes": "0"}, {}))
    asked = [as_check(question) for question in case.asked[:QUESTIONS]]
    for check in asked[:WARM_UP]:
        await _is_allowed(context, check)
        await _explain(context, check)
    pairs = [[await _timed(decide, context, check) for decide in (_is_allowed, _explain)] for check in asked]
    await store.close()
    assert all(cold.is_allowed == own.is_allowed for cold, own in pairs)
    return [
        _row(case.store, is_allowed, pairs, name, measured)
        for is_allowed in (True, False)
        for name, measured in MEASURED.items()
    ]


def _row(
    store: str, is_allowed: bool, pairs: Sequence[Sequence[Timed]], name: str, measured: Callable[[Timed], float]
) -> Sequence[str]:
    chosen = [pair for pair in pairs if pair[0].is_allowed is is_allowed]
    cold, own = ([measured(pair[place]) for pair in chosen] for place in (0, 1))
    check, explanation = statistics.median(cold), statistics.median(own)
    denied = f"p50 ≤ {TARGET_DENIED_P50_MS} ms, p99 ≤ {TARGET_DENIED_P99_MS} ms"
    return (
        f"{store}, {len(own)} {'allowed' if is_allowed else 'denied'}",
        name,
        f"{check:.2f}",
        f"{explanation:.2f}",
        f"{statistics.quantiles(own, n=100)[98]:.2f}",
        f"{explanation / check:.1f}",
        f"≤ {TARGET_OF_A_CHECK} x" if is_allowed else denied,
    )


async def _is_allowed(context: Context, check: Check) -> bool:
    return (await check_all(context, [check], NO_DEMAND)).value[0].is_authorized


async def _explain(context: Context, check: Check) -> bool:
    return (await explain_check(context, check, NO_DEMAND, is_strict=False)).value.explanation.is_allowed


async def _timed(decide: Decide, context: Context, check: Check) -> Timed:
    started, worked = time.perf_counter(), time.process_time()
    is_allowed = await decide(context, check)
    return Timed(is_allowed, (time.perf_counter() - started) * 1_000, (time.process_time() - worked) * 1_000)
