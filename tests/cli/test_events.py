"""`magistrate events`: what was written, as a table and as JSON."""

import re
import time

import pytest

from magistrate.cli.input import read_time
from magistrate.errors import InvalidRequest
from magistrate.operations.keys.caller_keys import key_digest
from tests.cli.cases import Magistrate
from tests.running import KEY

GRANTED = "page:a#reader@user:ann"
CONDITIONAL = "page:b#reader@team:eng#member[x == 1]"


@pytest.fixture
def written(magistrate: Magistrate) -> Magistrate:
    """With warrants on pages that were created, and one that was deleted."""
    magistrate.done("types", "apply", "-", typed='{"page": {"reader": {}}}')
    magistrate.done("warrants", "create", GRANTED, CONDITIONAL)
    magistrate.done("warrants", "delete", GRANTED)
    magistrate.done("warrants", "delete", CONDITIONAL)
    return magistrate


def events(magistrate: Magistrate, *arguments: str) -> list[list[str]]:
    """Returns the rows of the table without the times, and without who made the request, which is always the same."""
    rows = [re.split(" {2,}", line)[1:] for line in magistrate("events", *arguments).stdout.splitlines()[1:]]
    assert {row.pop() for row in rows} <= {f"key-{key_digest(KEY)[:8]}"}
    return rows


def test_changes_of_warrants_are_listed_the_newest_first(written: Magistrate) -> None:
    rows = events(written, "access", "--object-type", "page", "--limit", "4")

    assert rows[:2] == [["revoked", CONDITIONAL], ["revoked", GRANTED]]
    assert sorted(rows[2:]) == [["granted", GRANTED], ["granted", CONDITIONAL]]


def test_events_are_filtered_and_turned_round(written: Magistrate) -> None:
    revoked = ("access", "--type", "access_revoked", "--object-type", "page")

    assert events(written, *revoked, "--subject-type", "user", "--limit", "1") == [["revoked", GRANTED]]
    assert events(written, *revoked, "--since", "1h")[:2] == [["revoked", CONDITIONAL], ["revoked", GRANTED]]
    assert events(written, *revoked, "--since", "1h", "--oldest-first")[-1] == ["revoked", CONDITIONAL]
    assert events(written, *revoked, "--until", "2020-01-01") == []


def test_changes_of_objects_and_types_are_listed(written: Magistrate) -> None:
    rows = written.json("events", "resources", "--resource-type", "page", "--resource-id", "a", "--type", "created")

    assert [(row["type"], row["resourceId"]) for row in rows["results"]] == [("created", "a")]
    assert events(written, "resources", "--resource-type", "object-type", "--resource-id", "page")[-1:] == [
        ["created", "object-type:page"]
    ]


def test_a_time_is_absolute_or_relative() -> None:
    assert read_time("1970-01-02T00:00:00.5Z", "--since") == 86_400_500_000
    assert read_time("1970-01-02", "--since") == 86_400_000_000
    assert read_time("1970-01-02T02:00+02:00", "--since") == 86_400_000_000
    assert abs(read_time("2h", "--since") - (time.time() - 7_200) * 1_000_000) < 60_000_000


@pytest.mark.parametrize("text", ["", "yesterday", "3w", "1.5h", "2026-13-01", "-1h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^--since .* is neither a time"):
        read_time(text, "--since")


def test_events_after_a_write_are_listed_the_oldest_first(written: Magistrate) -> None:
    granted = ("access", "--type", "access_granted", "--object-type", "page")
    rows = written.json("events", *granted, "--oldest-first")["results"]

    after_begin = written.json("events", *granted, "--after", "begin", "--limit", "1000")["results"]
    after_first = written.json("events", *granted, "--after", rows[0]["token"])["results"]

    assert after_begin == rows
    assert after_first == [row for row in rows if row["token"] != rows[0]["token"]]
    assert "must be a token" in written.failed("events", *granted, "--after", "x")
