"""Represents one evaluation of a policy: its inputs, and its budget.

Work is counted in steps, and charged before it is done. A part that is written once in a policy and runs once is free,
because a policy is short. Work that grows with the context is charged: each iteration of a closure costs the parts of
its body, lists cost their length, texts a sixteenth of their length.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.engine.warrants.warrant import Warrant

MAX_STEPS = 200_000
"""Limits the steps of one evaluation; more are a run-time error. One step takes about 0.1 microseconds, half a
microsecond at worst (lists nested in lists that are compared)."""

STEPS_AT_ONCE = 20_000
"""Limits the steps of an evaluation for which other requests wait, some milliseconds. One that needs more begins again
in a thread."""

TEXT_STEP = 16
"""Sets the characters that are read or written for one step."""

_SEARCH_STEP = 256
_LONGEST_NAIVE_SEARCH = (30_000, 1_250)


class Fault(Exception):
    """Reports a run-time error: the policy is neither true nor false. The text is shown only if the error is found when
    the policy is written."""


class PolicyRun(msgspec.Struct):
    """Holds the state of one evaluation, at the time `clock` in microseconds since 1970 UTC.

    `item` is the current element of the innermost closure, `iteration` its index and what the iterations before made of
    the list. `declared` has the values of the variables of `let`, `typed` those that `as` read. It is a Struct because
    one is made for every evaluation."""

    context: Mapping[str, Any]
    warrant: Warrant
    clock: int
    read_clock: bool = False
    steps: int = MAX_STEPS
    item: Any = None
    iteration: tuple[int, Any] = (0, None)
    declared: dict[int, Any] | None = None
    typed: dict[tuple[str, str], Any] | None = None

    @property
    def now(self) -> int:
        """Returns the time in microseconds since 1970 UTC."""
        self.read_clock = True
        return self.clock

    def charge(self, steps: int) -> None:
        """Charges steps. Raises Fault when the steps are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise Fault("the policy needs too many steps")

    def charge_text(self, characters: int) -> None:
        self.charge(characters // TEXT_STEP)

    def charge_search(self, characters: int, sought: int) -> None:
        """Charges a search for a text of length `sought` in one of `characters`.

        Python searches in linear time only when it is worth its preparation; below that the product counts."""
        longest, longest_sought = _LONGEST_NAIVE_SEARCH
        product = min(characters, longest) * min(sought, longest_sought)
        self.charge(characters // TEXT_STEP + product // _SEARCH_STEP)


class NotingRun(PolicyRun):
    """Holds an evaluation of a policy that was compiled to note which variables the context lacks: `absent` has those
    that were read, without those in operands that came to a bool all the same."""

    absent: list[str] = []
