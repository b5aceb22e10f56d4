"""Records which checks were decided, for the list of access events. Decisions wait in memory until a background task
writes them, so that no check waits for the database or slows down with it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Check
from magistrate.operations.background import attempt_work
from magistrate.store.events import EventStore, NewDecision

WRITE_EVERY_SECONDS = 0.5
AT_ONCE = 500
"""Limits the decisions in one write to some milliseconds' worth, in which no other writer can write."""
MOST_WAITING = 10_000
MOST_WAITING_BYTES = 16_777_216
"""Limits the waiting contexts in bytes (16 MiB)."""
MOST_CONTEXT_CHARACTERS = 4_096
"""Limits the characters of a context; a longer one is not kept, because any caller can choose it and have it kept a
thousand times by one request."""


class RequestOrigin(NamedTuple):
    """Names who made a request, and the request, as far as they are known."""

    actor: str | None = None
    request_id: str | None = None


UNKNOWN = RequestOrigin()


class DecisionLog:
    """Holds the decisions of one process that wait to be written; the store keeps the last `most_kept` of all
    processes. `now` returns microseconds since 1970 UTC.

    `dropped` counts the decisions that were not written because too many were waiting."""

    def __init__(self, store: EventStore, most_kept: int, now: Callable[[], int]) -> None:
        self.dropped = 0
        self._store = store
        self._most_kept = most_kept
        self._now = now
        self._waiting: list[NewDecision] = []
        self._waiting_bytes = 0

    def note(self, checks: Sequence[Check], decisions: Sequence[Decision], origin: RequestOrigin = UNKNOWN) -> None:
        """Records these decisions with the current time, one per check; there may be fewer decisions than checks.
        Raises nothing."""
        at = self._now()
        known: Mapping[str, Any] | None = None
        context: str | None = None
        for check, decision in zip(checks, decisions, strict=False):
            if len(self._waiting) >= MOST_WAITING or self._waiting_bytes >= MOST_WAITING_BYTES:
                self.dropped += 1
                continue
            if check.context is not known:  # most checks of a request share one context
                known = check.context
                context = msgspec.json.encode(known).decode() if known else None
                if context is not None and len(context) > MOST_CONTEXT_CHARACTERS:
                    context = None
            object, subject = check.object, check.subject
            names = (object.type, object.id, check.relation, subject.type, subject.id, subject.relation or "")
            self._waiting.append(NewDecision(at, decision.is_authorized, names, context, *origin))
            self._waiting_bytes += len(context) if context else 0

    async def write(self) -> None:
        """Writes the waiting decisions. Raises StoreUnavailable; the rest then keeps waiting."""
        while self._waiting:
            batch = self._waiting[:AT_ONCE]
            await self._store.keep_decisions(batch, self._most_kept)
            del self._waiting[: len(batch)]
            self._waiting_bytes -= sum(len(one.context) for one in batch if one.context)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Writes at intervals until the context ends, and then the rest; decisions that cannot be written then are
        lost."""
        stopping = asyncio.Event()
        task = asyncio.create_task(self._write_until(stopping))
        try:
            yield
        finally:
            # The task is not cancelled: a write that is under way would complete and be repeated.
            stopping.set()
            await task

    async def _write_until(self, stopping: asyncio.Event) -> None:
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), WRITE_EVERY_SECONDS)
            is_last = stopping.is_set()  # read before the write: if the write fails during the shutdown, another is due
            await attempt_work(self.write(), "decisions could not be written")
