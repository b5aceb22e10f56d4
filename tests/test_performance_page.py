"""The page of performance: its picture is drawn from its table."""

import re
from xml.etree import ElementTree

from benchmarks.picture import PAGE, PICTURE, draw, read_comparisons

TARGETS = PAGE.parent / "performance" / "targets.md"


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
