"""Sends every hostile request there is to real services, one after the other, beside a pulse of /healthz and of cheap
checks; then compares checks with the graph cache and without. Ends with exit code 1 if a target is missed."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.databases import STORES
from benchmarks.document import write_document
from benchmarks.fairness.comparison import Compared, compare_with_no_graph, comparison_table
from benchmarks.fairness.hostile import ATTACKS
from benchmarks.fairness.pauses import TARGET_MS, Case, Row, measure_pauses, pauses_table
from benchmarks.fairness.population import populate

GRAPH = "graph"

LEGEND = f"""\
*pause*: the longest time in which a worker did not answer the pulse. *hold*: the longest in which its event loop was
busy or blocked, which is the pause of `/healthz` without the time in which the thread was ready to run and had no core;
*of it busy*: the processor time of that thread in it. A pause with no hold is the machine, not the service. *check*:
the hold of the cheap check, which may wait for the store. Target: no hold above {TARGET_MS:.0f} ms, an answer to
everything, none of them 500.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--attacks", nargs="+", choices=[*ATTACKS, GRAPH], default=[*ATTACKS, GRAPH], metavar="NAME")
    parser.add_argument(
        "--write-docs", action="store_true", help="writes the tables into fairness.md in docs/performance as well"
    )
    parser.add_argument(
        "--deadline-seconds", type=float, default=20.0, metavar="N", help="how long a client waits for an answer"
    )


def run(options: argparse.Namespace) -> None:
    """Prints the tables at the end, rows on stderr as they come."""
    attacks = [name for name in options.attacks if name != GRAPH]
    rows: list[Row] = []
    compared: list[Compared] = []
    with ExitStack() as stack:
        for store in options.stores:
            url = stack.enter_context(STORES[store]())("fairness")
            populate(url)
            for workers in options.workers if attacks else ():
                rows += measure_pauses(Case(store, workers, url), attacks, options.deadline_seconds)
            if GRAPH in options.attacks:
                compared += compare_with_no_graph(store, url, options.deadline_seconds)
    missed = sum(bool(row.faults) for row in rows) + sum(row.verdict != "ok" for row in compared)
    text = _report(rows, compared, missed)
    print(text, flush=True)
    if options.write_docs:
        write_document("fairness", "./run bench fairness --write-docs", text)
    sys.exit(1 if missed else 0)


def _report(rows: Sequence[Row], compared: Sequence[Compared], missed: int) -> str:
    cases = list(dict.fromkeys(row.case for row in rows))
    tables = [pauses_table([row for row in rows if row.case == case], case) for case in cases]
    if rows:
        tables.append(LEGEND)
    if compared:
        tables.append(comparison_table(compared))
    return "\n".join([*tables, f"{missed} of {len(rows) + len(compared)} targets were missed."])
