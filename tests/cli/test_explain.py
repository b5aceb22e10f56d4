"""`magistrate explain`: the tree, what would allow a denied check, exit codes."""

import json

import pytest

from magistrate.cli.checks.reasons import say_relation
from tests.cli.cases import Magistrate

TYPES = {
    "user": {},
    "team": {"member": {}},
    "page": {
        "blocked": {},
        "reader": {},
        "visible": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
WARRANTS = [
    "page:home#reader@team:eng#member",
    "team:eng#member@team:ops#member",
    "team:ops#member@team:eng#member",
    "team:eng#member@user:ann",
    "page:home#reader@user:eve[amount < 10]",
    "page:home#blocked@user:eve[risk > 3]",
]


@pytest.fixture
def written(magistrate: Magistrate) -> Magistrate:
    magistrate.done("types", "apply", "-", typed=json.dumps(TYPES))
    magistrate.done("warrants", "create", *WARRANTS)
    return magistrate


def test_an_allowed_check_is_explained_by_every_step(written: Magistrate) -> None:
    assert written.done("explain", "page:home#visible@user:ann").splitlines() == [
        "allowed",
        "  yes  page:home#visible@user:ann",
        "    yes  allOf",
        "      yes  page:home#reader@user:ann",
        "        yes  team:eng#member@user:ann  by page:home#reader@team:eng#member",
        "          yes  team:eng#member@user:ann  by team:eng#member@user:ann",
        "      yes  noneOf",
        "        no   page:home#blocked@user:ann",
    ]


def test_a_loop_is_named_and_the_exit_code_is_that_of_a_denial(written: Magistrate) -> None:
    explained = written("explain", "team:eng#member@user:zoe")

    assert (explained.exit_code, explained.stderr) == (1, "")
    assert explained.stdout.splitlines() == [
        "denied",
        "  no   team:eng#member@user:zoe",
        "    no   team:ops#member@user:zoe  by team:eng#member@team:ops#member",
        "      no   team:eng#member@user:zoe  by team:ops#member@team:eng#member  (a loop: it depends on itself)",
        "  any one of these would allow it:",
        "    create  team:ops#member@user:zoe  (with all else that team:ops#member has; no effect on others)",
        "    create  team:eng#member@user:zoe  (no effect on others)",
    ]


def test_what_is_unknown_is_marked_and_several_changes_are_joined(written: Magistrate) -> None:
    lines = written("explain", "page:home#visible@user:eve", "--context", "risk:=5").stdout.splitlines()

    unknown = "?    page:home#reader@user:eve  by page:home#reader@user:eve  if amount < 10, but amount was not sent"
    assert unknown in [line.strip() for line in lines]
    place = lines.index("    delete  page:home#blocked@user:eve[risk > 3]")
    assert lines[place + 1].strip().startswith("and ")


def test_a_misspelled_name_is_an_error_unless_it_is_allowed(written: Magistrate) -> None:
    message = "relation visble is not defined on page; did you mean visible?"

    assert message in written.failed("explain", "page:home#visble@user:ann")
    assert message in written("explain", "page:home#visble@user:ann", "--no-strict").stdout


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("viewer", "viewer of"),
        ("member", "member of"),
        ("blocked", "blocked on"),
        ("visible", "visible on"),
        ("can-read", "can-read on"),
        ("can_write", "can_write on"),
        ("is-open", "is-open on"),
    ],
)
def test_a_relation_has_its_preposition(relation: str, said: str) -> None:
    assert say_relation(relation) == said
