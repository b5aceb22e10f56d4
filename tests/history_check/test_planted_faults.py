"""The checker finds each fault that is planted into a correct history, and names it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from history_check.__main__ import main
from history_check.checker import check_history
from history_check.findings import MAX_FINDINGS, Fault, Findings
from history_check.operations import QUERIES, Check, Listing, Outcome, Write
from tests.conftest import list_by_day
from tests.history_check.planted_faults import History, list_faults

RECORDED = Path(__file__).with_name("recorded.jsonl")
"""Is what three clients and three readers recorded of a service on SQLite."""


@pytest.fixture
def history() -> History:
    return History(RECORDED.read_bytes())


def check(history: History, folder: Path) -> dict[str, int]:
    path = folder / "history.jsonl"
    path.write_bytes(history.encode())
    return dict(check_history(path).faults)


def test_the_recorded_history_has_no_fault() -> None:
    report = check_history(RECORDED)

    assert report.findings == []
    assert min(report.operations.values()) > 30
    assert {*report.operations} == {"as-of", "check", "difference", "effective feed", "list", "watch", "write"}
    assert report.revisions == report.writes["acknowledged"] > 50


@pytest.mark.parametrize("plant", list_by_day(list_faults(), 14), ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_and_named(
    plant: Callable[[History], Fault], history: History, tmp_path: Path
) -> None:
    fault = plant(history)

    assert check(history, tmp_path).get(fault, 0) >= 1


def test_each_kind_of_fault_is_planted(history: History) -> None:
    planted = {plant(History(history.encode())) for plant in list_faults()}

    assert planted == {*Fault}
    assert len(list_faults()) >= 20


@pytest.mark.parametrize("is_made", [True, False])
def test_a_write_without_an_answer_may_have_been_made_or_not(is_made: bool, history: History, tmp_path: Path) -> None:
    write = history.made() if is_made else history.first(Write, lambda write: write.refusal == "not_found")
    write.outcome, write.token, write.refusal, write.counts = Outcome.UNKNOWN, "", "", None

    assert check(history, tmp_path) == {}


def test_a_write_without_an_answer_takes_effect_after_it_began(history: History, tmp_path: Path) -> None:
    write = history.made()
    write.outcome, write.token, write.counts = Outcome.UNKNOWN, "", None
    write.begin = history.writes()[-1].end + 1

    assert Fault.WRITES_OUT_OF_ORDER in check(history, tmp_path)


@pytest.mark.parametrize(("stale_seconds", "is_right"), [(0.0, False), (1e9, True)])
def test_a_check_without_a_demand_may_miss_what_was_written_just_before(
    stale_seconds: float, is_right: bool, history: History, tmp_path: Path
) -> None:
    """On PostgreSQL, for as long as the header says."""
    history.header = msgspec.structs.replace(history.header, stale_seconds=stale_seconds)
    stale = history.first(Check, lambda operation: bool(operation.allowed and not operation.as_of))
    stale.process, stale.at_least, stale.token = "another", "", history.header.base
    stale.allowed = tuple(False for _ in stale.allowed)

    assert (check(history, tmp_path) == {}) is is_right


def test_a_query_may_be_as_stale_as_a_check_and_no_other_list(history: History, tmp_path: Path) -> None:
    history.header = msgspec.structs.replace(history.header, stale_seconds=1e9)
    listings = [one for one in history.each(Listing) if one.process == "last" and one.lists == "warrants"]
    for listing, lists in ((history.first(Listing, is_query), "a query"), (listings[0], "warrants")):
        listing.process, listing.at_least, listing.token, listing.rows = lists, "", history.header.base, ()

    assert check(history, tmp_path) == {Fault.STALE_ANSWER: 1}


def is_query(listing: Listing) -> bool:
    return listing.lists in QUERIES and not listing.as_of


def test_findings_are_bounded_and_all_counted() -> None:
    findings = Findings()
    for line in range(MAX_FINDINGS + 5):
        findings.add(Fault.WRONG_CHECK, line, "")

    assert len(findings.first) == MAX_FINDINGS
    assert findings.counts[Fault.WRONG_CHECK] == MAX_FINDINGS + 5


def test_the_command_prints_reports_and_fails_after_a_finding(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    history.remove(*history.events_of(history.made()))
    path.write_bytes(history.encode())

    assert main(str(RECORDED)) == 0
    assert "findings                            0" in capsys.readouterr().out
    assert main(str(RECORDED), str(path)) == 1
    assert str(Fault.LOST_WRITE) in capsys.readouterr().out
