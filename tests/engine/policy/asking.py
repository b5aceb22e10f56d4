"""How the tests of this folder evaluate a policy: always for the same warrant, and at the same time."""

from collections.abc import Mapping
from typing import Any

import pytest

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter

CREATED_AT = 1_763_683_200_000_000  # 2025-11-21 00:00:00 UTC, a Friday
HOUR = 3_600_000_000
NOW = CREATED_AT + 10 * HOUR + 30 * 60 * 1_000_000 + 15 * 1_000_000 + 250_000

WARRANT = Warrant(
    object_type=TypeName("document"),
    object_id=ObjectId("plan"),
    relation=RelationName("viewer"),
    subject_type=TypeName("team"),
    subject_id=ObjectId("eng"),
    subject_relation="member",
    policy="",
    created_at=CREATED_AT,
    number=1,
)

CONTEXT: Mapping[str, Any] = {
    "ten": 10,
    "half": 0.5,
    "name": "Ada",
    "yes": True,
    "no": False,
    "nothing": None,
    "ids": [1, 2, 3],
    "names": ["ada", "bob"],
    "items": [{"price": 5, "tags": ["a"]}, {"price": 20, "tags": []}],
    "order": {"total": 25.0, "buyer": {"name": "Ada"}, "in": 1, "note": None},
    "huge": 10**400,
}


def answer(text: str, context: Mapping[str, Any] = CONTEXT, warrant: Warrant = WARRANT, now: int = NOW) -> bool | None:
    return read_policy(text).outcome(context, warrant, now).value


def refusal(text: str) -> str:
    """What follows the text of a refused policy in the message."""
    with pytest.raises(InvalidParameter) as caught:
        read_policy(text)
    assert caught.value.parameter == "policy"
    opening = f"error validating policy '{text}': "
    assert caught.value.message.startswith(opening)
    return caught.value.message.removeprefix(opening)
