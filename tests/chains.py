"""Models in which each relation depends on the next one, for thousands of them: what walks rules must neither be as
deep as they are long, nor take the square of their length."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

Rules = dict[str, dict[str, Any]]


class Chain(NamedTuple):
    """`rule` of a relation, given the name of the next and the place. If the last relation holds, each other has the
    value of the next, or the opposite at the places where the rule `is_negated`, as noneOf makes it."""

    rule: Callable[[str, int], dict[str, Any]]
    is_negated: Callable[[int], bool] = lambda place: False

    def relations(self, length: int) -> Rules:
        """`r0` is the first of them, `r{length}` the last, which only warrants give."""
        rules = {f"r{place}": self.rule(f"r{place + 1}", place) for place in range(length)}
        return {**rules, f"r{length}": {}, "other": {}, "parent": {}}

    def holding(self, length: int) -> set[str]:
        """The relations that somebody has who has the last, on an object that is its own parent."""
        holds, found = True, {f"r{length}"}
        for place in reversed(range(length)):
            holds = not holds if self.is_negated(place) else holds
            found |= {f"r{place}"} if holds else set()
        return found


def same(name: str) -> dict[str, Any]:
    return {"inheritIf": name}


def on_parent(name: str) -> dict[str, Any]:
    return {"inheritIf": name, "ofType": "doc", "withRelation": "parent"}


def combined(keyword: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"inheritIf": keyword, "rules": [*rules]}


def _mixed(name: str, place: int) -> dict[str, Any]:
    rules = (
        same(name),
        combined("anyOf", same("other"), same(name)),
        combined("allOf", same(name)),
        combined("noneOf", same(name)),
        on_parent(name),
    )
    return rules[place % len(rules)]


CHAINS = {
    "inheritIf": Chain(lambda name, place: same(name)),
    "anyOf": Chain(lambda name, place: combined("anyOf", same("other"), same(name))),
    "anyOf in anyOf": Chain(lambda name, place: combined("anyOf", same("other"), combined("anyOf", same(name)))),
    "allOf": Chain(lambda name, place: combined("allOf", same(name))),
    "noneOf": Chain(lambda name, place: combined("noneOf", same(name)), lambda place: True),
    "allOf in anyOf": Chain(lambda name, place: combined("anyOf", same("other"), combined("allOf", same(name)))),
    "links": Chain(lambda name, place: on_parent(name)),
    "links in allOf": Chain(lambda name, place: combined("allOf", on_parent(name))),
    "mixed": Chain(_mixed, lambda place: place % 5 == 3),
}

BY_DAY = ("anyOf", "noneOf", "links in allOf", "mixed")
EVERY_CHAIN = pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.nightly) for name in CHAINS]
)
"""Runs a test for some of them by day, which together have every kind of rule, and for all at night."""

WARRANTS = ("doc:d#parent@doc:d",)
"""Besides one of the last relation on `doc:d`."""
