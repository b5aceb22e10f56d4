"""Lists that bitmaps decide although a policy is unknown, a warrant is on every object, or a rule reads no warrant."""

from typing import Any

import pytest

from magistrate.engine.bitmaps.object_pages import OrderedSets
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery, read_query
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle_queries
from tests.memory_source import Relations
from tests.properties import object_lists as of_objects
from tests.properties import subject_lists as of_subjects
from tests.properties.named_policies import holds
from tests.properties.queries import existing
from tests.scenario_files import stored_warrant


def named(relation: str) -> dict[str, Any]:
    return {"inheritIf": relation}


def combined(keyword: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"inheritIf": keyword, "rules": [*rules]}


TYPES: dict[str, Relations] = {
    "user": {"friend": {}, "self-or-friend": combined("anyOf", named("self"), named("friend"))},
    "group": {"member": {}},
    "paper": {
        "viewer": {},
        "blocked": {},
        "pardoned": {},
        "not-blocked": combined("noneOf", named("blocked")),
        "reader": combined("allOf", named("viewer"), named("not-blocked")),
        "pardoned-reader": combined(
            "noneOf", combined("allOf", named("blocked"), combined("noneOf", named("pardoned")))
        ),
        "today": combined("allOf", named("viewer"), {"policy": "yes"}),
        "never": combined("allOf", named("viewer"), {"policy": "no"}),
        "perhaps": combined("allOf", named("viewer"), {"policy": "lacking"}),
        "perhaps-not": combined("allOf", named("viewer"), combined("noneOf", {"policy": "lacking"})),
    },
}
VIEWERS = ["paper:a#viewer@user:ann", "paper:b#viewer@user:ann", "paper:c#viewer@user:bob"]
FAILS = "[x.y == 1]"

OBJECTS = {
    "a policy below an exclusion is unknown": (
        "select paper where user:ann is reader",
        [*VIEWERS, f"paper:a#blocked@user:ann{FAILS}"],
        ["b"],
    ),
    "a group below an exclusion is perhaps one": (
        "select paper where user:ann is reader",
        [*VIEWERS, f"group:g#member@user:ann{FAILS}", "paper:b#blocked@group:g#member"],
        ["a"],
    ),
    "below two exclusions, an unknown policy does not count": (
        "select paper where user:ann is pardoned-reader",
        ["paper:a#blocked@user:ann", f"paper:a#pardoned@user:ann{FAILS}", "paper:b#viewer@user:ann"],
        ["b"],
    ),
    "below two exclusions, one that holds counts": (
        "select paper where user:ann is pardoned-reader",
        ["paper:a#blocked@user:ann", "paper:a#pardoned@user:ann[x == 1]", "paper:b#blocked@user:ann"],
        ["a"],
    ),
    "a warrant is on every object": (
        "select paper where user:ann is viewer",
        [*VIEWERS, "paper:*#viewer@user:ann"],
        ["a", "b", "c"],
    ),
    "a warrant is on every object but one is excluded": (
        "select paper where user:ann is reader",
        [*VIEWERS, "paper:*#viewer@group:g#member", "group:g#member@user:ann", "paper:b#blocked@user:ann"],
        ["a", "c"],
    ),
    "rows rest on an exclusion alone": (
        "select paper where user:ann is not-blocked",
        [*VIEWERS, "paper:b#blocked@user:*", f"paper:c#blocked@user:ann{FAILS}"],
        ["a"],
    ),
    "the object is the subject": (
        "select user where user:ann is self-or-friend",
        ["user:bob#friend@user:ann"],
        ["ann", "bob"],
    ),
    "the object is the subject, which does not exist": (
        "select user where user:eve is self-or-friend",
        ["user:bob#friend@user:ann"],
        [],
    ),
    "a named policy holds": ("select paper where user:ann is today", VIEWERS, ["a", "b"]),
    "a named policy does not hold": ("select paper where user:ann is never", VIEWERS, []),
    "a named policy is unknown": ("select paper where user:ann is perhaps", VIEWERS, []),
    "a named policy is unknown below an exclusion": ("select paper where user:ann is perhaps-not", VIEWERS, []),
}

SUBJECTS = {
    "a policy below an exclusion is unknown": (
        "select reader of type user for paper:a",
        ["paper:a#viewer@user:ann", "paper:a#viewer@user:bob", f"paper:a#blocked@user:bob{FAILS}"],
        ["ann"],
    ),
    "a group below an exclusion is perhaps one": (
        "select reader of type user for paper:a",
        [
            *("paper:a#viewer@user:ann", "paper:a#viewer@user:bob", f"paper:a#blocked@group:g#member{FAILS}"),
            "group:g#member@user:ann",
        ],
        ["bob"],
    ),
    "everyone but those of whom it is unknown": (
        "select reader of type user for paper:a",
        ["paper:a#viewer@user:*", f"paper:a#blocked@user:bob{FAILS}", "paper:b#viewer@user:ann"],
        ["*", "ann"],
    ),
    "the object is the subject": (
        "select self-or-friend of type user for user:ann",
        ["user:ann#friend@user:bob"],
        ["ann", "bob"],
    ),
    "the object is the subject, which does not exist": (
        "select self-or-friend of type user for user:eve",
        ["user:ann#friend@user:bob"],
        [],
    ),
    "a named policy holds": ("select today of type user for paper:a", VIEWERS, ["ann"]),
    "a named policy is unknown": ("select perhaps of type user for paper:a", VIEWERS, []),
    "a named policy is unknown below an exclusion": ("select perhaps-not of type user for paper:a", VIEWERS, []),
}


def expect_list(
    ordered: OrderedSets | OrderedSubjects | None, stored: list[Warrant], asked: Query, ids: list[str]
) -> None:
    """The list is not given up, has these ids, and agrees with the oracle."""
    assert ordered is not None
    of_objects.expect_rows(ordered, stored, oracle_queries.Facts(TYPES, stored, existing(stored, []), holds), asked)
    assert [row.id for row in of_objects.page(ordered, stored, None, 9, back=False).results] == ids


def stored_warrants(written: list[str]) -> list[Warrant]:
    return [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]


@pytest.mark.parametrize(("text", "written", "expected"), [*OBJECTS.values()], ids=[*OBJECTS])
def test_a_list_of_objects_is_computed_with_bitmaps(text: str, written: list[str], expected: list[str]) -> None:
    asked, stored = read_query(text), stored_warrants(written)
    assert isinstance(asked, ObjectsQuery)

    expect_list(of_objects.Lists(TYPES, stored, of_objects.USUAL).find(stored, asked), stored, asked, expected)


@pytest.mark.parametrize(("text", "written", "expected"), [*SUBJECTS.values()], ids=[*SUBJECTS])
def test_a_list_of_subjects_is_computed_with_bitmaps(text: str, written: list[str], expected: list[str]) -> None:
    asked, stored = read_query(text), stored_warrants(written)
    assert isinstance(asked, SubjectsQuery)

    expect_list(of_subjects.Lists(TYPES, stored, of_objects.USUAL).find(stored, asked), stored, asked, expected)
