"""Holds what walks find for one subject, so that checks with the same subject share it."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.graph.closures import MembershipClosure
from magistrate.engine.graph.entries import State
from magistrate.engine.terms import ObjectId
from magistrate.engine.truth import Truth


class InProgress(Enum):
    """Marks a combination whose value is being computed."""

    MARK = 0


BEING_DECIDED: Final = InProgress.MARK


class WalkFindings:
    """Holds the results for one subject with one context.

    `values` maps states to values, None where something is missing; `decided` does so for combinations, by number and
    object. `closure` and `conditions` are None until they are needed.
    """

    __slots__ = ("closure", "conditions", "context", "decided", "values")

    def __init__(self, context: Mapping[str, Any]) -> None:
        self.context = context
        self.conditions: PolicyEvaluator | None = None
        self.values: dict[State, Truth | None] = {}
        self.decided: dict[tuple[int, ObjectId], Truth | InProgress | None] = {}
        self.closure: MembershipClosure | None = None
