"""`magistrate warrants` with --starts, --expires and --expired."""

from datetime import datetime, timedelta

import pytest

from tests.cli.cases import Magistrate

FIRST = "memo:a#reader@user:ann"


@pytest.fixture
def memos(magistrate: Magistrate) -> Magistrate:
    """With one warrant on memos, which has no limits."""
    magistrate.done("types", "apply", "-", typed='{"memo": {"reader": {}}}')
    magistrate.done("warrants", "create", FIRST)
    return magistrate


def outcomes(printed: str) -> list[str]:
    return [line.split()[0] for line in printed.splitlines()]


def test_time_limits_are_set_renewed_shown_and_removed(memos: Magistrate) -> None:
    far = memos.done("warrants", "create", FIRST, "memo:c#reader@user:ann", "--expires", "2999-12-01T10:00Z")
    again = memos.done("warrants", "create", FIRST, "--starts", "2020-01-01", "--expires", "2999-12-01T10:00Z")
    ahead = memos.json("warrants", "create", "memo:c#reader@user:ann", "--starts", "3d", "--expires", "4d")
    shown = memos.done("warrants", "list", "--object-type", "memo").splitlines()

    assert (outcomes(far), outcomes(again)) == (["updated", "created"], ["updated"])
    start, end = (datetime.fromisoformat(ahead[0][name]) for name in ("startsAt", "expiresAt"))
    assert timedelta(days=1) - timedelta(minutes=1) < end - start < timedelta(days=1) + timedelta(minutes=1)
    assert shown[0].split() == ["WARRANT", "CREATED", "STARTS", "EXPIRES"]
    assert [line.split()[2:] for line in shown[1:] if line.startswith(f"{FIRST} ")] == [
        ["2020-01-01T00:00:00Z", "2999-12-01T10:00:00Z"]
    ]
    assert outcomes(memos.done("warrants", "create", FIRST, "memo:c#reader@user:ann")) == ["updated"] * 2
    assert memos.done("warrants", "list", "--object-type", "memo").splitlines()[0].split() == ["WARRANT", "CREATED"]
    memos.done("warrants", "delete", "memo:c#reader@user:ann")


@pytest.mark.parametrize("option", ["--starts", "--expires"])
@pytest.mark.parametrize("text", ["soon", "3", "3w", "-3d", "1y", "2026-13-01", ""])
def test_what_is_no_time_limit_is_refused(memos: Magistrate, option: str, text: str) -> None:
    told = memos.failed("warrants", "create", FIRST, option, text)

    assert told.startswith(f"{option} {text!r} is neither a time, as in 2026-11-20T10:00Z, nor how far ahead")


def test_a_time_limit_may_not_be_farther_away_than_dates_go(memos: Magistrate) -> None:
    assert memos.done("warrants", "create", FIRST, "--expires", "999999d") == f"updated  {FIRST}\n"
    for text in ("9999-12-31T23:59-10:00", "9999999d", "9" * 18 + "d"):
        told = memos.failed("warrants", "create", FIRST, "--expires", text)
        assert told == f"--expires {text!r} is too far away; the last year is 9999"


def test_the_expired_are_listed_by_themselves(memos: Magistrate) -> None:
    assert memos("warrants", "list", "--expired").stdout == ""
    assert memos.done("warrants", "list", "--object-type", "memo").count("\n") == 2
