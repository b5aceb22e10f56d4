"""Bounds how stale a read without a token may be: by what was known to be the newest revision a moment ago."""

import time

from magistrate.engine.names import Revision

BOUND_SECONDS = 0.05
"""Sets for how long a revision has been known before replicas must have it. They lag by some milliseconds; without this
time, most reads after a write would be repeated on the primary."""


class StalenessBound:
    """Holds the newest revision that has been known for BOUND_SECONDS, or up to twice as long under steady writes."""

    __slots__ = ("_bound", "_newest", "_newest_at", "_pending", "_pending_at")

    def __init__(self) -> None:
        self._bound = self._pending = self._newest = Revision(0)
        self._pending_at = self._newest_at = 0.0

    def note(self, revision: Revision) -> None:
        """Notes that a revision was found to be the newest, now."""
        now = time.monotonic()
        if now - self._newest_at > BOUND_SECONDS:
            self._bound = self._newest
            self._pending, self._pending_at = revision, now
        elif now - self._pending_at > BOUND_SECONDS:
            self._bound = self._pending
            self._pending, self._pending_at = revision, now
        self._newest, self._newest_at = revision, now

    def begin_anew(self, revision: Revision) -> None:
        """Notes the newest revision of another history: those of the one before mean nothing."""
        self._bound = self._pending = revision
        self._newest, self._newest_at = revision, time.monotonic()

    def read(self) -> Revision:
        """Returns the revision."""
        return self._newest if time.monotonic() - self._newest_at > BOUND_SECONDS else self._bound
