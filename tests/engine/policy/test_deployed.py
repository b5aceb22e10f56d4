"""Policies as they are known to be in use: they must go on meaning what they mean (docs/compatibility.md#policies)."""

from typing import Any

import pytest

from tests.engine.policy.asking import answer


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ("tenant == 'a'", {"tenant": "a"}, True),
        ('tenant == "a"', {"tenant": "b"}, False),
        ('tenant == "a"', {}, False),
        ('tenant == "a" && plan == "pro"', {"tenant": "a", "plan": "pro"}, True),
        ('tenant == "a" && plan == "pro"', {"tenant": "a"}, False),
        ("region in ['eu', 'us']", {"region": "us"}, True),
        ("region in ['eu', 'us']", {"region": "ap"}, False),
        ("region in ['eu', 'us']", {}, False),
        (r'email matches "^[^@]+@example\\.com$"', {"email": "ann@example.com"}, True),
        (r'email matches "^[^@]+@example\\.com$"', {"email": "ann@example-com"}, False),
        (r'email matches "^[^@]+@example\\.com$"', {}, None),
        ('email endsWith "@example.com"', {"email": "ann@example.com"}, True),
        ('email endsWith "@example.com"', {"email": "ann@example.org"}, False),
        ("transaction.amount < (0.2 * limit)", {"transaction": {"amount": 19.99}, "limit": 100}, True),
        ("transaction.amount < (0.2 * limit)", {"transaction": {"amount": 20}, "limit": 100.0}, False),
        ("transaction.amount < (0.2 * limit)", {"transaction": {}, "limit": 100}, None),
        ("transaction.amount < (0.2 * limit)", {"limit": 100}, None),
        (
            "all(transfers, {.amount < max_amount})",
            {"transfers": [{"amount": 1}, {"amount": 2}], "max_amount": 3},
            True,
        ),
        (
            "all(transfers, {.amount < max_amount})",
            {"transfers": [{"amount": 1}, {"amount": 3}], "max_amount": 3},
            False,
        ),
        ("all(transfers, {.amount < max_amount})", {"transfers": [], "max_amount": 3}, True),
        ("all(transfers, {.amount < max_amount})", {"max_amount": 3}, None),
        ("approved", {"approved": True}, True),
        ("approved", {"approved": False}, False),
        ("approved", {"approved": "yes"}, None),
        ("approved", {}, None),
        ("approved", {"approved": True, "unused": "harmless"}, True),
        ("!banned", {"banned": False}, True),
        ("!banned", {}, None),
    ],
)
def test_deployed_policies_mean_what_they_meant(text: str, context: dict[str, Any], expected: bool | None) -> None:
    assert answer(text, context) is expected
