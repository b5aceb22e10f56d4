"""The page of performance: its picture is drawn from its table."""

import re
from xml.etree import ElementTree

from benchmarks.picture import PAGE, PICTURE, draw, read_comparisons

TARGETS = PAGE.parent / "performance" / "targets.md"
FIRST_REQUESTS = PAGE.parent / "performance" / "first-requests.md"


def test_the_picture_shows_the_table() -> None:
    comparisons = read_comparisons(PAGE.read_text())

    assert len(comparisons) == 5
    assert PICTURE.read_text() == draw(comparisons), "run ./run python -m benchmarks.picture"
    ElementTree.fromstring(PICTURE.read_text())


def test_the_table_has_ten_rows() -> None:
    table = PAGE.read_text().partition("## Results\n")[2].partition("\n## ")[0]

    assert len(re.findall(r"^\| ", table, re.MULTILINE)) == 2 + 10


def test_what_the_page_shows_in_per_cent_is_the_result_of_a_measurement() -> None:
    tables = "\n".join(path.read_text() for path in TARGETS.parent.glob("*.md"))

    for comparison in read_comparisons(PAGE.read_text()):
        for share in (comparison.sqlite, comparison.postgresql):
            assert re.search(rf"\b{share} ?%", tables), f"{comparison.measured}: {share} %"


def read_tables(page: str) -> list[list[str]]:
    """Returns the rows of each table, without its header."""
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    return [table.splitlines()[2:] for table in tables]


def test_the_page_leads_with_distinct_checks_and_then_repeated_ones() -> None:
    leading = read_tables(PAGE.read_text())[0]

    assert [row.partition(": ")[2].partition(" |")[0] for row in leading[:6]] == [
        f"{kind} checks, {state}"
        for kind in ("distinct", "repeated")
        for state in ("just started", "warming", "filled")
    ]


def test_what_is_compared_with_other_servers_was_measured_in_one_run() -> None:
    compared = read_tables(PAGE.read_text())[0]

    measured = read_tables(FIRST_REQUESTS.read_text().partition("## Beside other servers")[2])[0]
    assert set(compared) <= set(measured)


def test_every_figure_below_ten_times_the_best_other_server_is_on_the_page() -> None:
    page = PAGE.read_text()

    measured = read_tables(FIRST_REQUESTS.read_text().partition("## Beside other servers")[2])[0]
    assert [row for row in measured if row.endswith("| missed |") and row not in page] == []
