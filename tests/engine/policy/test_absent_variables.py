"""Which absent variables keep a policy from being true or false."""

from collections.abc import Mapping
from typing import Any

import pytest

from magistrate.engine.policy.policy import read_policy
from magistrate.engine.warrants.warrant import NO_WARRANT

CASES: list[tuple[str, Mapping[str, Any], bool | None, list[str]]] = [
    ('region == "eu" && level > 3', {}, False, []),
    ('region == "eu" && level > 3', {"level": 5}, False, []),
    ('region == "eu" && level > 3', {"region": "eu"}, None, ["level"]),
    ('level > 3 && region == "eu"', {}, None, ["level"]),
    ('region == "eu" || level > 3', {}, None, ["level"]),
    ('region == "eu" || level > 3', {"level": 5}, True, []),
    ('(region == "eu" && level > 3) || age > 3', {}, None, ["age"]),
    ('(region == "eu" && level > 3) || age > 3', {"region": "eu", "age": 5}, None, ["level"]),
    ("low < high", {}, None, ["low", "high"]),
    ("low < high", {"high": 1}, None, ["low"]),
    ("low + low < high", {}, None, ["low"]),
    ("flag", {}, None, ["flag"]),
    ("!flag", {}, None, ["flag"]),
    ("flag && level > 3", {}, None, ["flag"]),
    ("flag ? level > 3 : other", {}, None, ["flag"]),
    ("flag ? level > 3 : other", {"flag": True}, None, ["level"]),
    ("flag ? level > 3 : other", {"flag": False}, None, ["other"]),
    ("(level ?? 1) > 3", {}, False, []),
    ("any(levels, # > limit)", {}, None, ["levels"]),
    ("any(levels, # > limit)", {"levels": [1]}, None, ["limit"]),
    ("all(levels, # > limit)", {"levels": []}, True, []),
    ('len(regions) > 0 && "eu" in regions', {}, None, ["regions"]),
    ("not (region in regions)", {}, True, []),
    ("let limit = most; level > limit", {}, None, ["most", "level"]),
    ("let limit = most; level > limit", {"level": 1}, None, ["most"]),
    ('$env["level"] > 3', {}, None, ["level"]),
    ("user.age > 3", {}, None, ["user"]),
    # Without these, the policy is unknown wherever they stand.
    ('as(vip, "bool") || as(level, "int") > 3', {"vip": True}, None, ["level"]),
    ('as(vip, "bool") || as(level, "int") > 3', {}, None, ["vip", "level"]),
    ('anyOf(as(vip, "bool?"), as(level, "int?") > 3)', {"level": 1}, None, ["vip"]),
    ('anyOf(as(vip, "bool?"), as(level, "int?") > 3)', {"level": 5}, True, []),
    ('anyOf(allOf(as(vip, "bool?"), no), as(level, "int?") > 3)', {"no": False}, None, ["level"]),
    ('some(as(ids, "list<int>?"), {# > as(level, "int?")})', {"ids": [1]}, None, ["level"]),
    ('some(as(ids, "list<int>?"), {# > as(level, "int?")})', {}, None, ["ids"]),
    # These are unknown for another reason.
    ('as(vip, "bool") || as(level, "int") > 3', {"vip": "yes"}, None, []),
    ('as(vip, "bool") || as(level, "int") > 3', {"level": 0.5}, None, []),
    ("user.age > 3", {"user": {}}, None, []),
    ("level > 3", {"level": "five"}, None, []),
    ('level > 3 && region == "eu"', {"level": "five"}, None, []),
    ("levels[2] > 3", {"levels": [1]}, None, []),
]


@pytest.mark.parametrize(("text", "context", "value", "absent"), CASES)
def test_only_variables_whose_absence_matters_are_named(
    text: str, context: Mapping[str, Any], value: bool | None, absent: list[str]
) -> None:
    policy = read_policy(text)

    assert policy.outcome(context, NO_WARRANT, 0).value is value
    assert policy.list_absent(context, NO_WARRANT, 0) == absent


def test_naming_them_is_bounded_like_an_evaluation() -> None:
    policy = read_policy("all(numbers, all(numbers, # < limit))")
    context = {"numbers": [1] * 400, "limit": 5}

    assert policy.list_absent(context, NO_WARRANT, 0, max_steps=1_000) is None
    assert policy.list_absent({"numbers": [1] * 2_000}, NO_WARRANT, 0) == ["limit"]
