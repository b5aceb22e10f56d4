"""Explanations on the drive data set, with their reads in this process and without the graph, beside cold checks of the
same questions."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

import uvloop

from benchmarks.checks import SEED, Case, as_check, loaded_case
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.table import markdown_table
from magistrate import wiring
from magistrate.config import read_settings
from magistrate.engine.evaluation import Check
from magistrate.operations.checks.check import check_all
from magistrate.operations.checks.explain import explain_check
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context

SIZE = 1_000_000
QUESTIONS = 500
WARM_UP = 50
"""How many are asked before, in which plans and statements are made."""

TARGET_OF_A_CHECK = 3
TARGET_DENIED_P50_MS = 20
TARGET_DENIED_P99_MS = 200

Decide = Callable[[Context, Check], Awaitable[bool]]


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
    header = ("", "cold check p50 ms", "explanation p50 ms", "p99 ms", "of the check", "target")
    return markdown_table("Explain (drive data set)", header, rows)


async def rows_of(case: Case) -> list[Sequence[str]]:
    store = await wiring.open_store(read_settings({"database_url": case.url}, {}))
    context = wiring.context_of(store, read_settings({"graph_warrants": "0"}, {}))
    asked = [as_check(question) for question in case.asked[:QUESTIONS]]
    for check in asked[:WARM_UP]:
        await _is_allowed(context, check)
        await _explain(context, check)
    checked = [await _timed(_is_allowed, context, check) for check in asked]
    explained = [await _timed(_explain, context, check) for check in asked]
    await store.close()
    assert [allowed for allowed, _ in checked] == [allowed for allowed, _ in explained]
    rows: list[Sequence[str]] = []
    for wanted in (True, False):
        cold, own = ([took for allowed, took in one if allowed is wanted] for one in (checked, explained))
        ratio = statistics.median(own) / statistics.median(cold)
        rows.append(
            (
                f"{case.store}, {len(own)} {'allowed' if wanted else 'denied'}",
                f"{statistics.median(cold):.2f}",
                f"{statistics.median(own):.2f}",
                f"{statistics.quantiles(own, n=100)[98]:.2f}",
                f"{ratio:.1f}",
                f"≤ {TARGET_OF_A_CHECK} x"
                if wanted
                else f"p50 ≤ {TARGET_DENIED_P50_MS} ms, p99 ≤ {TARGET_DENIED_P99_MS} ms",
            )
        )
    return rows


async def _is_allowed(context: Context, check: Check) -> bool:
    return (await check_all(context, [check], NO_DEMAND)).value[0].is_authorized


async def _explain(context: Context, check: Check) -> bool:
    return (await explain_check(context, check, NO_DEMAND, is_strict=False)).value.explanation.is_allowed


async def _timed(decide: Decide, context: Context, check: Check) -> tuple[bool, float]:
    started = time.perf_counter()
    is_allowed = await decide(context, check)
    return is_allowed, (time.perf_counter() - started) * 1_000
