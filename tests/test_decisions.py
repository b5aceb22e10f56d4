"""The decision records: numbered without gaps, one page each, and cited by names that exist."""

import re
from pathlib import Path

import pytest

from tests.generated_docs import ROOT

FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("*.md"))
FOLDERS = ("benchmarks", "docs", "src", "tests")
SUFFIXES = (".md", ".py", ".yaml")
MAX_LINES = 60
"""About a page at 120 columns."""


def test_records_are_numbered_without_gaps() -> None:
    assert [int(path.name[:4]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name[:4])
def test_a_record_begins_with_its_number_and_fits_on_a_page(record: Path) -> None:
    lines = record.read_text().splitlines()

    assert re.match(rf"# {int(record.name[:4])}\. \S", lines[0])
    assert len(lines) <= MAX_LINES


def test_cited_records_exist() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    cited = {name for path in files for name in re.findall(r"\b\d{4}-[a-z0-9-]+\.md", path.read_text())}

    assert cited
    assert cited <= {path.name for path in RECORDS}


def test_the_number_of_a_link_is_that_of_its_record() -> None:
    for path in sorted(ROOT.glob("docs/**/*.md")):
        for number, name in re.findall(r"\[(?:decision )?(\d+)\]\((?:decisions/)?(\d{4})-", path.read_text()):
            assert int(number) == int(name), path


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name[:4])
def test_a_record_names_the_tests_that_hold_what_it_claims(record: Path) -> None:
    named = re.findall(r"tests/[\w/]+\.(?:py|yaml)", record.read_text())

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
