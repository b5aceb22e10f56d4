"""Conditions of OpenFGA and caveats of SpiceDB as policies: they mean the same, or are unknown."""

from typing import Any

import pytest

from magistrate.engine.foreign.cel import CelRefusal
from magistrate.engine.foreign.conditions import ConditionConverter
from magistrate.engine.foreign.names import ForeignName
from magistrate.engine.foreign.schema import ForeignCondition
from magistrate.engine.named_policy import NO_WARRANT
from magistrate.engine.policy import read_policy
from magistrate.errors import InvalidParameter

NOW = 1_767_225_600_000_000
TYPES = {"s": "string", "t": "string", "i": "int", "d": "double", "b": "bool", "l": "list<string>"}
TYPES |= {"at": "timestamp", "lasts": "duration"}


def converter(expression: str, **types: str) -> ConditionConverter:
    name = ForeignName("c", "m.fga", 1, 1)
    return ConditionConverter(ForeignCondition(name, types or TYPES, expression, name), "c")


def decide(expression: str, values: dict[str, Any], context: dict[str, Any]) -> bool | None:
    policy = converter(expression).render_policy(values)
    return read_policy(policy).holds(context, NO_WARRANT, NOW)


@pytest.mark.parametrize(
    ("expression", "context", "holds"),
    [
        ('s == "x"', {"s": "x"}, True),
        ('s == "x"', {"s": "y"}, False),
        ('s != "x"', {}, None),
        ('s != "x"', {"s": 5}, None),
        ('s != "x"', {"s": None}, None),
        ("i < 10 && i >= 2", {"i": 2}, True),
        ("i < 10", {"i": "2"}, None),
        ("-i < 0 && d * 2.0 - 1.0 == 4.0", {"i": 1, "d": 2.5}, True),
        ("b", {"b": True}, True),
        ("!b", {"b": False}, True),
        ("!b", {}, None),
        ("!b", {"b": "no"}, None),
        ("s in l", {"s": "x", "l": ["x"]}, True),
        ("!(s in l)", {"s": "x", "l": []}, True),
        ("!(s in l)", {"s": "x"}, None),
        ('s in ["a", "b"]', {"s": "b"}, True),
        ("i in [1, 2]", {"i": 2}, True),
        ("size(l) == 2", {"l": ["x", "y"]}, True),
        ("size(l) == 0", {}, None),
        ('s.startsWith("a") && s.endsWith("c") && s.contains("b")', {"s": "abc"}, True),
        ('!s.startsWith("a")', {"s": "abc"}, False),
        ('s.matches("^a.c$")', {"s": "abc"}, True),
        ('(s + t).startsWith("ab")', {"s": "a", "t": "bc"}, True),
        ("s.startsWith(t)", {"s": "abc", "t": "ab"}, True),
        ("at < timestamp('2026-01-01T00:00:00Z')", {"at": "2025-12-31T23:59:59Z"}, True),
        ("at + lasts < timestamp('2026-01-01T00:00:00Z')", {"at": "2025-12-31T23:00:00Z", "lasts": "59m"}, True),
        ("at + lasts < timestamp('2026-01-01T00:00:00Z')", {"at": "2025-12-31T23:00:00Z", "lasts": "1h"}, False),
        ("at < timestamp('2026-01-01T00:00:00Z')", {"at": "yesterday"}, None),
        ("at < timestamp('2026-01-01T00:00:00Z')", {}, None),
        ("lasts > duration('1m')", {"lasts": "61s"}, True),
        ('b ? s == "x" : s == "y"', {"b": False, "s": "y"}, True),
        ("true || b", {}, True),
        ("b && false", {"b": True}, False),
        ("b && // a remark\n i > 1", {"b": True, "i": 2}, True),
    ],
)
def test_an_expression_means_the_same_or_is_unknown(
    expression: str, context: dict[str, Any], holds: bool | None
) -> None:
    assert decide(expression, {}, context) is holds


@pytest.mark.parametrize("value", ["x", 'a"b', "a\\nb", "it's", "é\n\t", "] || true || [", "${x}"])
def test_a_value_of_a_relationship_is_that_text_and_nothing_else(value: str) -> None:
    assert decide("s == t", {"s": value}, {"t": value}) is True
    assert decide("s == t", {"s": value}, {"t": value + "!"}) is False


def test_values_of_a_relationship_win_over_those_of_a_check() -> None:
    assert decide('s == "x" && i == 1 && b', {"s": "x", "b": True}, {"s": "y", "i": 1, "b": False}) is True
    assert decide("s in l", {"l": ["x"]}, {"s": "y", "l": ["y"]}) is False
    assert decide("i > -1", {"i": -2}, {}) is False


@pytest.mark.parametrize("values", [{"nothing": 1}, {"s": 1}, {"i": "1"}, {"i": True}, {"l": [["x"]]}, {"b": None}])
def test_a_value_that_does_not_fit_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        converter("b").render_policy(values)


@pytest.mark.parametrize(
    "expression",
    [
        "i % 2 == 0",
        "i / 2 == 1",
        "l[0] == s",
        "s.size() == 1",
        "size(s) == 1",
        "s == r'a'",
        "has(s.x)",
        "at.getHours() < 5",
        "s.lower() == t",
        "i == 1u",
        "i < d == b",
        "l.exists(x, x == s)",
        "int(s) == 1",
        "warrant.objectId == s",
        "now() > at",
        "expiresIn('1h')",
        "s == $env",
        '"\\d" == s',
        "(b",
        "b)",
        "",
        "(b]",
        "b b",
        "s == 'a\nb'",
        "b " + "&& b " * 3_000,
    ],
)
def test_what_cannot_be_expressed_is_refused(expression: str) -> None:
    with pytest.raises((CelRefusal, InvalidParameter)):
        converter(expression)
