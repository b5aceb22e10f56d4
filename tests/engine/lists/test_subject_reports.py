"""The reports of a large page of subjects: found in short turns, and in time that grows with the page."""

from collections.abc import Sequence

from benchmarks.counting import count_executed
from magistrate.engine.bitmaps.object_pages import SetPage, cut_page
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.lists.language import SubjectsQuery, read_query
from magistrate.engine.steps import Steps, WarrantLists
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.engine.lists.policies import always
from tests.memory_source import PLENTY, Relations, rows_of
from tests.properties.subject_lists import Lists
from tests.scenario_files import stored_warrant

TYPES: dict[str, Relations] = {
    "user": {},
    "group": {"member": {}},
    "paper": {"owner": {}, "viewer": {"inheritIf": "owner"}},
}
MANY = 400
WRITTEN = [
    *(f"paper:wide#viewer@user:u{number}a" for number in range(MANY)),
    *(f"paper:wide#owner@user:u{number}b" for number in range(MANY)),
    *(f"paper:wide#viewer@group:g{number}#member" for number in range(MANY)),
    *(f"group:g{number}#member@user:u{number}c" for number in range(MANY)),
]


def cut(ordered: OrderedSubjects, stored: Sequence[Warrant], limit: int) -> tuple[SetPage, list[int]]:
    """A page, and the instructions of each time slice of cutting it, if the time is up at each look at the clock."""
    work, turns = Work(PLENTY, always), list[int]()
    steps: Steps[SetPage] = cut_page(ordered, None, limit, False, work)
    rows: WarrantLists | None = None
    page: list[SetPage] = []

    def advance() -> object:
        work.pass_checkpoint()
        try:
            return steps.send(rows)
        except StopIteration as stop:
            page.append(stop.value)
            return None

    while not page:
        reads, count = count_executed(advance)
        turns.append(count)
        rows = [rows_of(stored, read) for read in reads] if isinstance(reads, list) else None
    return page[0], turns


def test_the_reports_of_a_large_page_take_short_turns_and_time_in_proportion() -> None:
    asked = read_query("select viewer of type user for paper:wide")
    assert isinstance(asked, SubjectsQuery)
    stored = [stored_warrant(one, number, number) for number, one in enumerate(WRITTEN, 1)]
    ordered = Lists(TYPES, stored, PLENTY).find(stored, asked)
    assert ordered is not None

    few, of_few = cut(ordered, stored, MANY // 4)
    many, of_many = cut(ordered, stored, 2 * MANY)

    assert [row.warrant for row in many.results[: len(few.results)]] == [row.warrant for row in few.results]
    assert {row.id[-1] for row in many.results} == {"a", "b", "c"}
    assert max(of_many) < 150_000  # some milliseconds, for finding the rows themselves
    assert sum(of_many) < 8 * sum(of_few)
