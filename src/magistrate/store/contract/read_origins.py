"""Says of the reads of a request whether a replica may answer them (docs/scaling.md#replicas)."""

from contextvars import ContextVar

from magistrate.store.contract.revisions import RevisionId

OLDEST_READ: ContextVar[RevisionId | None] = ContextVar("oldest_read", default=None)
"""Holds the oldest revision that reads of the newest one may show in the present request: NOTHING_WRITTEN if the caller
demands none. None means that everything is read from the primary: for writes, for `latest`, and outside of requests."""
