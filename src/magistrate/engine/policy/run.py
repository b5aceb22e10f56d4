"""One evaluation of a policy: what it may look at, and how much work it may do.

Work is counted in steps, and paid before it is done. What is written once in a policy and runs once is free: a policy
is short. What grows with the context is paid for: each turn of a closure costs the parts of its body, lists cost their
length, texts a sixteenth of theirs.
"""

from collections.abc import Mapping
from typing import Any

from magistrate.engine.warrants import Warrant

MAX_STEPS = 200_000
"""Steps of one evaluation; more are a run-time error. One step takes about 0.1 microseconds, half a microsecond at
worst (regular expressions and searches in texts that were made to be slow)."""

TEXT_STEP = 16
"""Characters that are read or written for one step."""

_SEARCH_STEP = 256
_LONGEST_NAIVE_SEARCH = (30_000, 1_250)


class Fault(Exception):
    """A run-time error: the policy is neither true nor false. The text is shown only if it is found when written."""


class PolicyRun:
    """`item` is the element that the innermost closure looks at."""

    __slots__ = ("_now", "context", "item", "read_clock", "steps", "warrant")

    def __init__(self, context: Mapping[str, Any], warrant: Warrant, now: int) -> None:
        self.context = context
        self.warrant = warrant
        self._now = now
        self.read_clock = False
        self.steps = MAX_STEPS
        self.item: Any = None

    @property
    def now(self) -> int:
        """In microseconds since 1970 UTC."""
        self.read_clock = True
        return self._now

    def pay(self, steps: int) -> None:
        """Raises Fault when the steps are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise Fault("the policy needs too many steps")

    def pay_text(self, characters: int) -> None:
        self.pay(characters // TEXT_STEP)

    def pay_search(self, characters: int, sought: int) -> None:
        """For looking for a text of length `sought` in one of `characters`.

        Python searches in linear time only when it is worth its preparation; up to there the product counts."""
        longest, longest_sought = _LONGEST_NAIVE_SEARCH
        product = min(characters, longest) * min(sought, longest_sought)
        self.pay(characters // TEXT_STEP + product // _SEARCH_STEP)
