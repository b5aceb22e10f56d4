"""Policies of warrants that name a policy of the model (docs/policies.md#warrants-that-name-a-policy)."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from magistrate.engine.evaluation.conditions import ANY_CONTEXT, PolicyEvaluator
from magistrate.engine.names import PolicyName
from magistrate.engine.policy.named_policies import read_named_policy
from magistrate.engine.policy.policy import parse_policy, read_policy
from magistrate.engine.policy.references import (
    MAX_REFERENCE_LENGTH,
    MAX_VALUE_DEPTH,
    is_reference,
    read_reference,
    render_reference,
)
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.engine.work import Work
from magistrate.errors import InvalidParameter

BELOW = read_named_policy("below", {"level": "any", "limit": "any"}, 'as(level, "int") < as(limit, "int")')
TYPED = read_named_policy("typed", {"role": "string"}, 'role == "editor"')
TIMED = read_named_policy("timed", {"limit": "any"}, 'now < date(as(limit, "string"))')
NAMED = {policy.name: policy for policy in (BELOW, TYPED, TIMED)}


def evaluator(context: Mapping[str, Any]) -> PolicyEvaluator:
    return PolicyEvaluator(context, 0, Work(100_000), NAMED)


@pytest.mark.parametrize(
    ("text", "context", "value"),
    [
        ('policy("below", {"limit": 5})', {"level": 4}, TRUE),
        ('policy("below", {"limit": 5})', {"level": "5"}, FALSE),
        ('policy("below", {"limit": 5})', {"level": 9, "limit": 10}, FALSE),
        ('policy("below", {"limit": 5})', {}, UNKNOWN),
        ('policy("below", {"limit": 5})', {"level": None}, UNKNOWN),
        ('policy("below", {"limit": null})', {"level": 1, "limit": 5}, UNKNOWN),
        ('policy("below", {"limit": 5.5})', {"level": 1}, UNKNOWN),
        ('policy("below")', {"level": 1, "limit": 2}, TRUE),
        ('policy( "below" , {"limit": 5, "unused": [1]} )', {"level": 1}, TRUE),
        ('policy("typed", {"role": "editor"})', {}, TRUE),
        ('policy("typed", {"role": 1})', {"role": "editor"}, UNKNOWN),
        ('policy("undefined")', {}, FALSE),
        ('policy("timed", {"limit": "2026-01-02T00:00:00Z"})', {}, UNKNOWN),
    ],
)
def test_the_values_of_a_warrant_go_before_those_of_the_context(
    text: str, context: dict[str, Any], value: Truth
) -> None:
    warrant = replace(NO_WARRANT, policy=text, number=1)
    assert evaluator(context).value(warrant) is value
    assert evaluator(context).policy_value(warrant) is value
    attempted = evaluator(context)
    assert attempted.attempt(warrant)
    assert attempted.value(warrant) is value


def test_without_a_context_only_values_of_the_warrant_decide() -> None:
    open_one, decided = evaluator(ANY_CONTEXT), evaluator(ANY_CONTEXT)

    assert open_one.value(replace(NO_WARRANT, policy='policy("below", {"limit": 5})', number=1)) is UNKNOWN
    assert decided.value(replace(NO_WARRANT, policy='policy("below", {"limit": 5, "level": 1})', number=1)) is TRUE

    assert (open_one.depends_on_context, decided.depends_on_context) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "policy(below)",
        'policy("below") && true',
        'policy("a b")',
        'policy("")',
        'policy("below", {"limit": })',
        'policy("below", [1])',
        'policy("below", {"limit": 5}, 1)',
        'policy("below", ' + "[" * 10_000,
        'policy("below", {"x": ' + "[" * MAX_VALUE_DEPTH + "]" * MAX_VALUE_DEPTH + "})",
        'policy("below", {"x": "' + "a" * MAX_REFERENCE_LENGTH + '"})',
        'policy("' + '\\"' * 20_000,
    ],
)
def test_what_is_no_reference_is_refused_with_the_rest_of_the_language(text: str) -> None:
    assert isinstance(parse_policy(text), InvalidParameter)


def test_equal_values_have_one_text() -> None:
    name = PolicyName("below")
    text = render_reference(name, {"b": {"y": 1, "x": "\0"}, "a": [1.0]})

    assert text == render_reference(name, {"a": [1.0], "b": {"x": "\0", "y": 1}})
    assert is_reference(text)
    assert "\0" not in text  # PostgreSQL stores no such text
    reference = read_reference(text)
    assert reference is not None
    assert (reference.name, reference.values) == (name, {"b": {"y": 1, "x": "\0"}, "a": [1.0]})
    assert read_policy(text).reference == reference
    assert read_reference("amount < 5") is None
