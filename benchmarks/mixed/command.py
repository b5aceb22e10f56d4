"""`./run bench mixed`: its options, and what is done in which order."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.databases import STORES, NewDatabase, postgres_databases
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Dataset
from benchmarks.document import FOLDER, write_document
from benchmarks.mixed.asks import WrongAnswer
from benchmarks.mixed.first_requests import measure_first_requests
from benchmarks.mixed.measure import Effort, measure_case
from benchmarks.mixed.memory import measure_memory
from benchmarks.mixed.mixes import mixes_of
from benchmarks.mixed.openfga_server import VARIANTS, fill_openfga_database
from benchmarks.mixed.plots import IS_POSSIBLE, draw
from benchmarks.mixed.probe import ProbeEffort, probe_staleness
from benchmarks.mixed.report import CHECKED_DATASET, Results, markdown
from benchmarks.mixed.systems import OwnDatabase, Remote, Running, nodes
from benchmarks.mixed.warrant_api import WarrantApi
from benchmarks.mixed.workers import measure_workers
from benchmarks.server import API_KEY

SEED = 1
SIZES = [10_000, 1_000_000]
TEN_MILLION = 10_000_000
SMALL = 100_000
"""Up to this size every answer is compared; above it one of SAMPLE_EVERY."""
SAMPLE_EVERY = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sizes", type=_numbers, default=SIZES, metavar="N,N", help="in warrants (default 10000,1000000)")
    add("--ten-million", action="store_true", help="10,000,000 warrants as well")
    add("--datasets", type=_words, default=list(DATASETS), metavar="NAME,NAME", help=", ".join(DATASETS))
    add("--stores", type=_words, default=list(STORES), metavar="NAME,NAME", help=f"{', '.join(STORES)}; empty for none")
    add("--seconds", type=float, default=3.0, help="for each measurement (default 3)")
    add("--questions", type=int, default=5_000, metavar="N", help="different ones to ask (default 5000)")
    add("--probe-pairs", type=int, default=400, metavar="N", help="writes and deletes to look for stale answers with")
    add("--probe-seconds", type=float, default=120.0, metavar="N", help="that probing takes at most (default 120)")
    add(
        "--memory-questions",
        type=int,
        default=100_000,
        metavar="N",
        help="asked to see what memory warrants take; 0: none",
    )
    add("--without-workers", action="store_true", help="do not measure what a second worker brings")
    add("--plots", type=Path, metavar="FOLDER", help="draws into this folder")
    add(
        "--write-docs",
        nargs="?",
        const="mixed",
        metavar="NAME",
        help="writes tables into NAME.md in docs/performance, plots beside it (default NAME: mixed)",
    )
    _add_remote_options(parser)


def _add_remote_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--openfga-program",
        metavar="PATH",
        help="OpenFGA, started on PostgreSQL with and without caches, and measured with the first size after our own",
    )
    group = parser.add_argument_group(
        "a server that runs already, with nothing in it", "It is measured with the first size, after our own."
    )
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--url", help="one that speaks the Warrant v2 API")
    kind.add_argument("--openfga", metavar="URL", help="one that speaks the API of OpenFGA")
    group.add_argument("--other-url", metavar="URL", help="a second node of the first kind, on the same database")
    group.add_argument("--key", default="", help="the API key to show to it")
    group.add_argument("--name", help="what to call it in the tables")
    group.add_argument("--batch-writes", type=int, default=100, metavar="N", help="warrants a request; 1: no arrays")
    group.add_argument("--pid", type=int, help="of its process, to tell how busy it is")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in _words(text)]


def _words(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def run(options: argparse.Namespace) -> None:
    """Prints the tables, and writes what the options say. Raises WrongAnswer, in the end, if any answer was wrong or
    stale, RuntimeError as soon as one is not 200."""
    results = Results()
    sizes = sorted({*options.sizes, *([TEN_MILLION] if options.ten_million else [])})
    with ExitStack() as stack:
        for store in options.stores:
            _measure_store(results, store, stack.enter_context(STORES[store]()), sizes, options)
    if options.openfga_program:
        _measure_openfga(results, options)
    remote = _remote(options)
    if remote:
        _measure_remote(results, remote, options)
    _report(results, options)


def _measure_store(
    results: Results, store: str, new_database: NewDatabase, sizes: Sequence[int], options: argparse.Namespace
) -> None:
    for dataset in _datasets(options.datasets, sizes):
        url = new_database(f"{dataset.name.replace('-', '_')}_{dataset.size}")
        is_checked = dataset.name == CHECKED_DATASET and dataset.size == max(sizes)
        database = OwnDatabase.filled(store, url, dataset)
        _say(f"{dataset.name}, {dataset.size:,}, {store}: loaded in {database.fill_seconds:.1f} s")
        results.first += measure_first_requests(database, dataset, _effort(dataset, options))
        with database.start() as system:
            results.cases.append(measure_case(system, _effort(dataset, options)))
            if is_checked and system.own and options.memory_questions:
                results.memory[system.case] = measure_memory(system.own, dataset, options.memory_questions)
        if is_checked and not options.without_workers:
            checks = mixes_of(dataset, WarrantApi(), options.questions).once
            results.workers[f"{dataset.name}, {dataset.size:,}, {store}"] = measure_workers(
                url, checks, options.seconds
            )
    if options.probe_pairs:
        smallest = DATASETS[CHECKED_DATASET](min(sizes), SEED)
        with nodes(new_database, smallest) as (one, other):
            results.staleness[store] = probe_staleness((one.url, other.url), API_KEY, smallest, _probing(options))


def _measure_remote(results: Results, remote: Remote, options: argparse.Namespace) -> None:
    for dataset in _datasets(options.datasets, options.sizes[:1]):
        system = remote.filled(dataset)
        _say(f"{system.case}: loaded in {system.fill_seconds:.1f} s")
        results.first += measure_first_requests(Running(system), dataset, _effort(dataset, options))
        results.cases.append(measure_case(system, _effort(dataset, options)))
    if remote.kind == "warrant" and options.probe_pairs:
        urls = (remote.url, options.other_url or remote.url)
        results.staleness[remote.name] = probe_staleness(urls, remote.key, dataset, _probing(options))


def _measure_openfga(results: Results, options: argparse.Namespace) -> None:
    with postgres_databases() as new_database:
        for dataset in _datasets(options.datasets, options.sizes[:1]):
            for number, (name, caches) in enumerate(VARIANTS.items()):
                url = new_database(f"{dataset.name.replace('-', '_')}_{number}")
                database = fill_openfga_database(options.openfga_program, url, dataset, name, caches)
                _say(f"{database.filled.case}: loaded in {database.filled.fill_seconds:.1f} s")
                results.first += measure_first_requests(database, dataset, _effort(dataset, options))
                with database.start() as system:
                    results.cases.append(measure_case(system, _effort(dataset, options)))


def _remote(options: argparse.Namespace) -> Remote | None:
    url = options.openfga or options.url
    if not url:
        return None
    kind = "openfga" if options.openfga else "warrant"
    return Remote(kind, options.name or url, url, options.key, options.batch_writes, options.pid)


def _datasets(names: Iterable[str], sizes: Sequence[int]) -> Iterator[Dataset]:
    return (DATASETS[name](size, SEED) for name in names for size in sizes)


def _effort(dataset: Dataset, options: argparse.Namespace) -> Effort:
    sample_every = 1 if dataset.size <= SMALL else SAMPLE_EVERY
    return Effort(options.seconds, sample_every, options.questions)


def _probing(options: argparse.Namespace) -> ProbeEffort:
    return ProbeEffort(options.probe_pairs, options.probe_seconds)


def _report(results: Results, options: argparse.Namespace) -> None:
    text = markdown(results)
    print(text, flush=True)
    if results.wrong():
        raise WrongAnswer(f"{results.wrong()} answers were wrong or stale: see the tables")
    folder = FOLDER if options.write_docs else options.plots
    name = options.write_docs or "mixed"
    plots = draw(folder, results.cases, CHECKED_DATASET, name) if folder and results.cases and IS_POSSIBLE else []
    if folder and not IS_POSSIBLE:
        _say("no plots: matplotlib is not installed")
    if options.write_docs:
        write_document(name, f"./run bench mixed --write-docs{'' if name == 'mixed' else ' ' + name}", text, plots)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
