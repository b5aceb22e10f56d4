"""What `./run bench mixed` makes of its figures: tables, targets, plots, documents."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.datasets import DATASETS
from benchmarks.document import write_document
from benchmarks.mixed.asks import Verdict
from benchmarks.mixed.first_requests import COLD, DISTINCT, FILLED, LISTS, WARMING, FirstRequests
from benchmarks.mixed.latency import latency_of
from benchmarks.mixed.measure import Case, Figures, Measured, Tail
from benchmarks.mixed.memory import Memory, held_in
from benchmarks.mixed.mixes import BATCHES, CHECK, LIST, WRITE
from benchmarks.mixed.plots import draw
from benchmarks.mixed.probe import OTHER_TOKEN, Staleness
from benchmarks.mixed.report import Results, markdown
from benchmarks.mixed.systems import System
from benchmarks.mixed.warrant_api import WarrantApi
from benchmarks.mixed.workers import Throughput, WorkersCase, speedup, speedup_without_limit
from benchmarks.server import Server
from benchmarks.table import markdown_table

MIXES = (CHECK, *BATCHES, LIST, WRITE)


def figures(rate: float, wrong: int = 0, slowest: float = 0.01) -> Figures:
    return Figures(rate, latency_of([0.001] * 95 + [slowest] * 5), 0.99, 0.4, 0.1, Verdict(100, wrong), 100)


def case(store: str, size: int, share: float, dataset: str = "drive", wrong: int = 0) -> Case:
    system = System(store, "http://localhost", WarrantApi(), DATASETS[dataset](size, 1))
    mixes = [Measured(system, mix, figures(10_000 * share), figures(5_000 * share, wrong)) for mix in MIXES]
    return Case(system, figures(10_000), share, mixes, [tail(1.0, 2.0)])


def tail(constant: float, check: float) -> Tail:
    """Of a round with these p99 in milliseconds."""
    return Tail(*(latency_of([0.0001] * 95 + [p99 / 1_000] * 5) for p99 in (constant, check)))


def target_rows(results: Results) -> list[str]:
    return markdown(results).partition("### Targets and results")[2].strip().splitlines()[2:]


def test_each_mix_has_a_row_as_fast_as_it_goes_and_one_at_the_constant_rate() -> None:
    text = markdown(Results([case("SQLite", 1_000_000, 0.5)]))

    assert (
        "| drive, 1,000,000, SQLite: check | 5,000 | 50% | 1.00 | 1.00 | 10.00 | 99% | 40% | 10% | 0 of 100 |" in text
    )
    assert (
        "| drive, 1,000,000, SQLite: check | 2,500 | 1.00 | 10.00 | 10.0 | ≤ 5 | 99% | 40% | 10% | 0 of 100 |" in text
    )
    assert "| drive, 1,000,000, SQLite: constant answer | 10,000 | 100% |" in text


def first(system: System, kind: str, state: str, rate: float | None) -> FirstRequests:
    return FirstRequests(system, kind, state, None if rate is None else figures(rate))


def test_every_figure_is_compared_with_the_best_of_the_others_on_the_same_work() -> None:
    dataset = DATASETS["drive"](1_000, 1)
    own = System("SQLite", "", WarrantApi(), dataset, own=Server(1, "", 0.0))
    slow, fast = (System(name, "", WarrantApi(), dataset) for name in ("slow", "fast"))
    measured = [
        first(own, DISTINCT, COLD, 3_000),
        first(own, DISTINCT, FILLED, 9_000),
        *(first(slow, DISTINCT, state, rate) for state, rate in ((COLD, 200), (WARMING, 210), (FILLED, None))),
        *(first(fast, DISTINCT, state, rate) for state, rate in ((COLD, 250), (WARMING, 1_000), (FILLED, None))),
        first(own, LISTS, FILLED, 50),
        first(fast, LISTS, COLD, 5),
    ]

    rows = markdown(Results(first=measured)).partition("### Beside other servers")[2].splitlines()[4:7]

    assert [row.partition(": ")[2] for row in rows] == [
        "distinct checks, just started | 3,000 (10.00) | 200 (10.00) | 250 (10.00) | 12.0 times | ≥ 10 |",
        "distinct checks, filled | 9,000 (10.00) | 210 (10.00) | 1,000 (10.00) | 9.0 times | missed |",
        "lists, each user once, filled | 50.0 (10.00) |  | 5.0 (10.00) | 10.0 times | ≥ 10 |",
    ]


def test_wrong_answers_to_first_requests_count() -> None:
    system = System("SQLite", "", WarrantApi(), DATASETS["drive"](1_000, 1))
    measured = FirstRequests(system, DISTINCT, COLD, figures(1, wrong=2))

    assert Results(first=[measured, replace(measured, figures=None)]).wrong() == 2


@pytest.mark.parametrize(("share", "said"), [(0.5, "| 50% |  |"), (0.3, "| 30% | missed |")])
def test_the_share_of_the_constant_answer_is_a_target_of_the_largest_drive(share: float, said: str) -> None:
    results = Results([case("SQLite", 10_000, 0.1), case("SQLite", 1_000_000, share), case("PostgreSQL", 10_000, 0.1)])

    assert target_rows(results)[0] == (
        f"| warm check, drive, 1,000,000, SQLite, of the constant answer | ≥ 45%, aim 65% {said}"
    )


def test_growth_is_from_the_smallest_size_of_the_same_store_and_data_set() -> None:
    results = Results([case("PostgreSQL", 1_000_000, 0.2), case("PostgreSQL", 10_000, 0.3), case("other", 1_000, 0.9)])

    growth = [row for row in target_rows(results) if "instead of" in row]
    assert growth == [
        "| warm check, drive, 1,000,000, PostgreSQL instead of 10,000 | ≤ 1.3 times | 1.50 times | missed |"
    ]


@pytest.mark.parametrize(("slowest", "said"), [(0.005, "| 5.0 |  |"), (0.006, "| 6.0 | missed |")])
def test_the_tail_at_half_the_load_is_a_target(slowest: float, said: str) -> None:
    system = System("SQLite", "http://localhost", WarrantApi(), DATASETS["drive"](1_000, 1))
    measured = Measured(system, CHECK, figures(2), figures(1, slowest=slowest))

    rows = target_rows(Results([Case(system, figures(4), 0.5, [measured], [tail(1.0, 2.0)])]))

    assert rows[-2] == f"| p99 of a check in p50, drive, 1,000, SQLite, at half the load | ≤ 5 {said}"


@pytest.mark.parametrize(
    ("checks", "said"), [((3.0, 30.0, 2.0), "| 3.0 times |  |"), ((4.0, 8.0, 2.0), "| 4.0 times | missed |")]
)
def test_the_tail_is_compared_with_that_of_the_constant_answer_round_by_round(
    checks: tuple[float, ...], said: str
) -> None:
    """A round in which the machine stalls decides nothing."""
    tails = [tail(1.0, checks[0]), tail(1.0, checks[1]), tail(10.0, checks[2])]
    results = Results([replace(case("SQLite", 1_000, 0.5), tails=tails)])

    assert target_rows(results)[-1] == (
        f"| p99 of a check, drive, 1,000, SQLite, in that of the constant answer at the same rate | ≤ 3 times {said}"
    )
    shown = ", ".join(f"{p99:.2f}" for p99 in checks)
    assert f"| drive, 1,000, SQLite | 2,500 | 1.00, 1.00, 10.00 | {shown} | " in markdown(results)


def test_two_workers_are_compared_round_by_round() -> None:
    one = WorkersCase(
        1,
        [
            Throughput(100, 1.0, 1.00, 0.2, 0.3),
            Throughput(200, 1.0, 1.00, 0.2, 0.3),
            Throughput(150, 1.0, 1.00, 0.2, 0.3),
        ],
    )
    two = WorkersCase(
        2,
        [
            Throughput(180, 1.5, 0.75, 0.4, 0.3),
            Throughput(300, 1.5, 0.75, 0.4, 0.3),
            Throughput(240, 1.5, 0.75, 0.4, 0.3),
        ],
    )

    assert speedup([one, two]) == pytest.approx(1.6)
    assert speedup_without_limit([one, two]) == pytest.approx(240 / 1.5 / 150 * 2)
    [row] = target_rows(Results(workers={"SQLite": [one, two]}))
    assert row.startswith("| two workers, SQLite, instead of one | ≥ 1.7 times | 1.60 times | missed, but ")
    assert (
        "the workers got 1.50 cores, the load 0.40, other programs 0.30; by their processor time it would be 2.13 times"
        in row
    )


def test_two_busy_workers_that_are_too_slow_are_a_miss() -> None:
    cases = [
        WorkersCase(1, [Throughput(100, 1.0, 1.00, 0.1, 0.3)]),
        WorkersCase(2, [Throughput(120, 1.98, 0.99, 0.1, 0.3)]),
    ]

    assert target_rows(Results(workers={"SQLite": cases}))[0].endswith("| 1.20 times | missed |")


def test_an_uneven_share_of_the_work_is_named() -> None:
    cases = [
        WorkersCase(1, [Throughput(100, 1.0, 1.0, 0.1, 0.3)]),
        WorkersCase(2, [Throughput(100, 1.0, 0.9, 0.1, 0.3)]),
    ]

    [row] = target_rows(Results(workers={"SQLite": cases}))

    assert "missed, but one worker did 90% of the work" in row
    assert row.endswith("it would be 2.00 times |")


def test_memory_is_reported_by_the_warrant_where_their_number_is_known() -> None:
    results = Results(memory={"known": Memory(40_000_000, 100_000), "unknown": Memory(5_000_000, None)})

    assert target_rows(results) == [
        "| memory for each of 100,000 warrants kept, known | ≤ 400 bytes | 400 bytes |  |",
        "| memory, unknown | ≤ 400 bytes a warrant kept | 5 MB | number unknown |",
    ]


def test_the_number_of_kept_warrants_is_read_off_the_metrics() -> None:
    assert held_in("# HELP magistrate_graph_entries kept\nmagistrate_graph_entries 12345.0\n") == 12_345
    assert held_in('magistrate_graph_entries{pid="1"} 7\nmagistrate_graph_entries{pid="2"} 8\n') == 15
    assert held_in("magistrate_graph_entries_total 7\n") is None


def test_stale_and_wrong_answers_are_counted_together() -> None:
    stale = Staleness(10, Counter({OTHER_TOKEN: 2}), [0.004] * 98 + [0.2] * 2, 500, 2.0)
    results = Results([case("SQLite", 1_000, 0.5, wrong=1)], staleness={"PostgreSQL": stale})

    assert results.wrong() == len(MIXES) + 2
    assert "| PostgreSQL | 10 | 0 | 2 | 0 | 0 | 4.0 | 200.0 | 250 |" in markdown(results)
    assert target_rows(results)[-2:] == [
        "| stale answers, PostgreSQL | 0 | 2 in 10 pairs | missed |",
        "| visible to another node without a token, PostgreSQL, p99 | ≤ 100 ms | 200 ms | missed |",
    ]


def test_without_figures_there_are_no_tables() -> None:
    assert markdown(Results()) == ""


def test_a_document_has_a_title_its_origin_tables_and_plots(tmp_path: Path) -> None:
    table = markdown_table("Mixed load", ("", "requests/s"), [("check", "5,000")])
    plots = [tmp_path / "mixed-latency.png"]

    path = write_document("ten-million", "./run bench mixed", table, plots, tmp_path)

    assert path == tmp_path / "ten-million.md"
    title, origin, measured_on, heading, rows, image = path.read_text().strip().split("\n\n")
    assert (title, heading) == ("# Ten million", "## Mixed load")
    assert origin.startswith("`./run bench mixed` writes this file.")
    assert measured_on.startswith("CPython ")
    assert rows.splitlines()[-1] == "| check | 5,000 |"
    assert image == "![mixed latency](mixed-latency.png)"


def test_writing_a_document_again_replaces_it(tmp_path: Path) -> None:
    for text in ("### Before\n", "### After\n"):
        path = write_document("mixed", "./run bench mixed", text, folder=tmp_path)

    assert "## After" in path.read_text()
    assert "Before" not in path.read_text()


def test_plots_are_small_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stores, sizes = ("SQLite", "PostgreSQL"), (10_000, 1_000_000, 10_000_000)
    cases = [case(store, size, 0.5, name) for store in stores for size in sizes for name in DATASETS]

    paths = draw(tmp_path / "plots", cases, "drive", "mixed")

    assert [path.name for path in paths] == ["mixed-latency.png", "mixed-throughput.png"]
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 60_000
