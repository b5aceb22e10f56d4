"""Model tests in memory: what is asserted agrees with what a store would answer, and coverage says what held."""

from typing import Any

import pytest

from magistrate.engine.testing.coverage import measure_coverage
from magistrate.engine.testing.suite_run import SuiteRun
from magistrate.engine.testing.suites import read_suite
from magistrate.errors import InvalidRequest

NOW = 1_763_683_200_000_000

MODEL = """\
version 1.0

type user
    relation manager [user]

    relation me []
    inherit me if
        self

type folder
    relation viewer [user]

type document
    relation parent [folder]

    relation viewer []
    inherit viewer if
        relation viewer for all parent [folder]

    relation hidden [user:*, user]

    relation visible []
    inherit visible if
        none_of
            relation hidden
"""

FOR_ALL = "document#viewer: viewer of every folder that is its parent"


def refuse(name: str) -> str:
    raise InvalidRequest(name)


def outcomes(*tests: dict[str, Any], warrants: list[str]) -> list[str]:
    suite = read_suite({"model": MODEL, "setup": {"warrants": warrants}, "tests": [*tests]}, refuse, NOW)
    return [outcome.failure for outcome in SuiteRun(suite).list_outcomes()]


def test_quantifiers_wildcards_and_self_are_decided() -> None:
    assert (
        outcomes(
            {"check": "document:a#viewer@user:ann", "expect": True},
            {"check": "document:b#viewer@user:ann", "expect": False},
            {"check": "document:a#visible@user:ann", "expect": True},
            {"check": "document:b#visible@user:ann", "expect": False},
            {"check": "user:ann#me@user:ann", "expect": True},
            {"query": "select document where user:ann is visible", "expect": ["document:a"]},
            {"query": "select user where user:ann is me", "expect": ["user:ann"]},
            warrants=[
                "document:a#parent@folder:x",
                "document:b#parent@folder:x",
                "document:b#parent@folder:y",
                "folder:x#viewer@user:ann",
                "document:b#hidden@user:*",
            ],
        )
        == [""] * 7
    )


@pytest.mark.parametrize("object_id", ["josé", "日本", "o'brien@example.com", "what?"])
def test_ids_beyond_ascii_are_decided(object_id: str) -> None:
    check = {"check": f"folder:{object_id}#viewer@user:{object_id}", "expect": True}
    other = {"check": f"folder:{object_id}#viewer@user:x", "expect": False}
    query = {"query": f"select folder where user:{object_id} is viewer", "expect": [f"folder:{object_id}"]}

    assert outcomes(check, other, query, warrants=[f"folder:{object_id}#viewer@user:{object_id}"]) == [""] * 3


def test_warrants_of_one_test_do_not_count_for_another() -> None:
    added = {"warrants": ["folder:x#viewer@user:ann"]}

    assert outcomes(
        {"check": "folder:x#viewer@user:ann", "expect": False},
        {"check": "folder:x#viewer@user:ann", "expect": True, **added},
        {"check": "folder:x#viewer@user:ann", "expect": False},
        warrants=[],
    ) == ["", "", ""]


@pytest.mark.parametrize(
    ("tests", "unreached"),
    [
        ([], {FOR_ALL, "document#visible: hidden", "user#me: self"}),
        (
            [{"check": "document:a#viewer@user:ann", "expect": True}],
            {"document#visible: hidden", "user#me: self"},
        ),
        (
            [
                {"query": "select viewer of type user for document:a", "expect": []},
                {"check": "document:a#visible@user:bob", "expect": False},
                {"check": "user:ann#me@user:ann", "expect": True},
            ],
            set(),
        ),
        ([{"check": "document:a#visible@user:ann", "expect": True}], None),
    ],
)
def test_a_rule_is_reached_if_it_held(tests: list[dict[str, Any]], unreached: set[str] | None) -> None:
    warrants = ["document:a#parent@folder:x", "folder:x#viewer@user:ann", "document:a#hidden@user:bob"]
    suite = read_suite({"model": MODEL, "setup": {"warrants": warrants}, "tests": tests}, refuse, NOW)

    coverage = measure_coverage(suite)

    missing = {name for name, is_reached in coverage.rules.items() if not is_reached}
    assert coverage.is_complete
    if unreached is None:
        assert "document#visible: hidden" in missing
        assert coverage.relations["document#visible"]
    else:
        assert missing == unreached
