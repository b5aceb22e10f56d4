"""`--as-of`: what commands print of the past (docs/history.md)."""

import json
from typing import Any

import pytest

from magistrate.cli.input import read_as_of
from magistrate.errors import InvalidRequest
from tests.cli.cases import Magistrate

KIM = "safe:1#opener@user:kim"
QUERY = "select opener of type user for safe:1"


@pytest.fixture
def revoked(magistrate: Magistrate) -> tuple[str, str]:
    """The token and the time at which Kim could open the safe; since then her warrant, the safe and its type went."""
    magistrate.done("types", "apply", "-", typed='{"safe": {"opener": {}}}')
    magistrate.done("warrants", "create", KIM)
    [event, *_] = magistrate.json("events", "access", "--subject-id", "kim", "--type", "access_granted")["results"]
    magistrate.done("warrants", "delete", KIM)
    magistrate.done("objects", "delete", "safe:1")
    magistrate.done("types", "delete", "safe")
    return event["token"], event["createdAt"]


def test_every_read_prints_what_there_was(magistrate: Magistrate, revoked: tuple[str, str]) -> None:
    for as_of in revoked:
        assert magistrate.done("check", KIM, "--as-of", as_of) == "allowed\n"
        assert magistrate.json("check", "--batch", KIM, "--as-of", as_of)[0]["code"] == 200
        assert magistrate.json("query", QUERY, "--as-of", as_of)["results"][0]["objectId"] == "kim"
        assert magistrate.json("objects", "get", "safe:1", "--as-of", as_of)["objectId"] == "1"
        assert listed(magistrate, "objects", "list", "--type", "safe", "--as-of", as_of) == ["safe"]
        assert listed(magistrate, "warrants", "list", "--object-type", "safe", "--as-of", as_of) == ["safe"]
        assert "safe" in [row["type"] for row in magistrate.json("types", "list", "--as-of", as_of)["results"]]
        assert magistrate.done("types", "show", "safe", "--as-of", as_of).splitlines()[1].split()[0] == "opener"


def listed(magistrate: Magistrate, *command: str) -> list[str]:
    return [row["objectType"] for row in magistrate.json(*command)["results"]]


def test_all_pages_of_a_list_show_what_there_was(magistrate: Magistrate, revoked: tuple[str, str]) -> None:
    magistrate.done("types", "apply", "-", typed='{"box": {"opener": {}}}')
    names = [f"box:{number:03}#opener@user:kim" for number in range(5)]
    magistrate.done("warrants", "create", *names)
    as_of = magistrate.json("events", "access", "--object-type", "box")["results"][0]["token"]
    magistrate.done("warrants", "delete", *names)

    asked = ["query", "select box where user:kim is opener", "--as-of", as_of]
    whole = magistrate.json(*asked)["results"]
    in_pages = magistrate.json(*asked, "--limit", "2", "--all")["results"]

    assert len(whole) == 5
    assert in_pages == whole


def test_now_the_answers_are_others(magistrate: Magistrate, revoked: tuple[str, str]) -> None:
    assert magistrate.failed("check", KIM).startswith("objectType: object type safe is not defined")
    assert magistrate.failed("objects", "get", "safe:1") == "safe 1 not found"


@pytest.mark.parametrize(
    ("as_of", "fault"),
    [
        ("2999-01-01", "asOf: is in the future"),
        ("40000d", "nothing was stored yet; the oldest time that can be read is "),
        ("A" * 28, "asOf: must be a token, the id of an event, or a time in the format"),
        ("monday", "--as-of 'monday' is neither a time, as in 2026-11-20T10:00Z, nor how long ago"),
        ("", "--as-of '' is neither a time"),
        ("latest", "--as-of 'latest' is neither a time"),
    ],
)
def test_a_point_in_time_that_cannot_be_is_refused(magistrate: Magistrate, as_of: str, fault: str) -> None:
    for command in (["objects", "list"], ["check", KIM], ["query", QUERY], ["types", "list"]):
        assert magistrate.failed(*command, "--as-of", as_of).startswith(fault)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("2026-11-20T10:00", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00Z", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00:00.5+02:00", "2026-11-20T08:00:00.500000Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("AbiHYrKwc7fmAAAAAAAAABGzXeE1", "AbiHYrKwc7fmAAAAAAAAABGzXeE1"),
        ("AbiHYrKwc7fmAAAAAAAAABGzXeE1.1764237600000000", "AbiHYrKwc7fmAAAAAAAAABGzXeE1.1764237600000000"),
    ],
)
def test_a_time_without_a_zone_is_in_utc(text: str | None, expected: str | None) -> None:
    assert read_as_of(text) == expected


def test_a_time_before_all_calendars_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="further back than any calendar"):
        read_as_of("999999d")


def test_errors_are_json_with_the_option(magistrate: Magistrate) -> None:
    ran = magistrate("objects", "list", "--as-of", "40000d", "--json")

    error: dict[str, Any] = json.loads(ran.stderr)
    assert error["code"] == "gone"
    assert "the oldest time" in error["message"]
