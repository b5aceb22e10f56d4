"""Knows when time alone may change the access that is selected: warrants begin or end to count, and policies read the
clock."""

from bisect import bisect_right
from collections.abc import Iterable

from magistrate.engine.model.model import Model
from magistrate.engine.policy.policy import may_read_clock, read_policy
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter
from magistrate.operations.context import Context
from magistrate.operations.difference.selection import Selection
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.store.contract.revisions import LoggedChange, RevisionId, Span

SAMPLE_US = 1_000_000
"""Sets how often policies that read the clock are evaluated: once a second."""
WINDOW_US = 60_000_000
"""Limits how far ahead moments are looked up: a minute, so that a feed takes one statement a minute for it."""
MAX_TIMED = 5_000
"""Limits the warrants that are read for it. If there are more, they are treated as if they read the clock."""
WARRANTS_BETWEEN_LOOKS = 100


class AccessMoments:
    """Holds the moments up to `until`. `reads_clock`: there are policies that have to be evaluated again and again.

    Nothing is known until `look_ahead` was completed, nor after `discard`."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._times: list[int] = []
        self.until: int | None = None
        self.reads_clock = False

    def discard(self) -> None:
        """Has everything looked up again, because other policies or rules may matter."""
        self.until = None

    async def look_ahead(self, at: RevisionId, since: int, selection: Selection) -> None:
        """Looks up the moments after a time, as of a revision. Takes one statement. Raises RevisionUnavailable."""
        span = Span(at.revision, at.revision, since, since + WINDOW_US)
        timed = await self._ctx.store.list_timed_warrants(span, MAX_TIMED + 1)
        self.until = span.until
        self.reads_clock = len(timed) > MAX_TIMED or _has_clock_rules(selection.models[-1])
        times: set[int] = set()
        for number, warrant in enumerate(timed):
            if selection.is_concerned(warrant.object_type, warrant.relation, warrant.subject_type):
                self._add(times, warrant)
            if not number % WARRANTS_BETWEEN_LOOKS and is_time_up():
                await checkpoint()
        self._times = sorted(time for time in times if time > since)

    def add_changes(self, changes: Iterable[LoggedChange]) -> None:
        """Adds the moments of warrants that were written."""
        for change in changes:
            if may_read_clock(change.policy):
                self.discard()
            times = {change.starts_at, change.expires_at} - {None, *self._times}
            if times and self.until is not None:
                self._times = sorted({*self._times, *(time for time in times if time is not None)})

    def find_next(self, after: int) -> int | None:
        """Returns the next moment after a time, None if there is none up to `until`."""
        place = bisect_right(self._times, after)
        return self._times[place] if place < len(self._times) else None

    def _add(self, times: set[int], warrant: Warrant) -> None:
        if may_read_clock(warrant.policy):
            lifetime = _find_lifetime(warrant.policy)
            if lifetime is None:
                self.reads_clock = True
            else:
                times.add(warrant.created_at + lifetime)
        times |= {limit for limit in (warrant.starts_at, warrant.expires_at) if limit is not None}


def _find_lifetime(policy: str) -> int | None:
    """Returns how long after the creation of its warrant a policy holds, if it depends on the time in no other way."""
    if "now" in policy or policy.count("expiresIn") != 1:
        return None
    try:
        return read_policy(policy).lifetime
    except InvalidParameter:  # the language had more when it was written
        return None


def _has_clock_rules(model: Model) -> bool:
    """Returns whether a named policy has values that change with the time, whatever the context is."""
    return any(not named.parameters and may_read_clock(named.expression) for named in model.policies.values())
