"""Holds what walks find for one subject, so that checks with the same subject share it, and where walks stopped that
lack something, so that they continue from there when it has been read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any, Final

from magistrate.engine.cache.closures import MembershipClosure
from magistrate.engine.cache.entries import State
from magistrate.engine.cache.views import CombinedView
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.names import ObjectId
from magistrate.engine.truth import FALSE, Truth


class InProgress(Enum):
    """Marks a combination whose value is being computed."""

    MARK = 0


BEING_DECIDED: Final = InProgress.MARK

NOT_IN_THIS_ROUND = 0
"""Is no number of a round; they count from 1."""


class OpenWalk:
    """Holds a walk from one state.

    `seen` maps each state to the one it was reached from; the first of them is `start`. `waiting` has those that are
    not expanded yet, and `operations` the operations, each with its state, whose values are not known. `is_certain`
    is false when a value was unknown. `round` is the number of the round in which the walk went as far as it could.
    """

    __slots__ = ("_registered", "is_certain", "operations", "round", "seen", "start", "waiting")

    def __init__(self, seen: dict[State, State], operations: list[tuple[CombinedView, State]]) -> None:
        self.start = next(iter(seen))
        self.seen = seen
        self.waiting: list[State] = []
        self.operations = operations
        self.is_certain = True
        self.round = NOT_IN_THIS_ROUND
        self._registered = 0

    def register(self, values: "dict[State, Truth | OpenWalk]", round_number: int) -> None:
        """Makes this walk, which went as far as it could in this round, the value of the states that it has seen;
        those that another walk stands for in this round stay with it."""
        self.round = round_number
        seen = dict.fromkeys(islice(self.seen, self._registered, None), self)
        if values.keys().isdisjoint(seen):
            values.update(seen)
        else:
            for state in seen:
                value = values.get(state)
                if value is None or (isinstance(value, OpenWalk) and value.round != round_number):
                    values[state] = self
        self._registered = len(self.seen)


@dataclass(eq=False, slots=True)
class WalkFindings:
    """Holds the results for one subject with one context.

    `values` maps states to their values, or to an open walk that has seen them; `decided` has the values of
    operations, by number and object, and `undecided` the keys of those that lack something in round `round`. `open`
    has the open walks by the state they start from. `closure` and `conditions` are None until they are needed.
    """

    context: Mapping[str, Any]
    round: int
    conditions: PolicyEvaluator | None = None
    values: dict[State, Truth | OpenWalk] = field(default_factory=dict)
    decided: dict[tuple[int, ObjectId], Truth | InProgress | None] = field(default_factory=dict)
    undecided: list[tuple[int, ObjectId]] = field(default_factory=list)
    open: dict[State, OpenWalk] = field(default_factory=dict)
    closure: MembershipClosure | None = None

    def begin_round(self, round_number: int) -> None:
        """Drops what may no longer be true after more has been read."""
        self.round = round_number
        self.closure = None
        for key in self.undecided:
            del self.decided[key]
        self.undecided.clear()

    def resume(self, start: State) -> OpenWalk | None:
        """Returns the open walk from a state, which is not kept any longer: should it fail, it begins anew."""
        walk = self.open.pop(start, None)
        if walk is not None:
            walk.round = NOT_IN_THIS_ROUND
        return walk

    def close(self, seen: Mapping[State, State]) -> None:
        """Records that no state of a walk grants the subject anything."""
        self.values.update(dict.fromkeys(seen, FALSE))
