"""Which checks were decided, for the list of access events. They wait in memory until a work in the background writes
them, so that no check waits for the database, or grows slower with it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Question
from magistrate.operations.background import attempt_work
from magistrate.store.events import EventStore, NewDecision

WRITE_EVERY_SECONDS = 0.5
AT_ONCE = 500
"""Decisions in one write: some milliseconds, in which no other writer gets a turn."""
MOST_WAITING = 10_000
MOST_WAITING_BYTES = 16_777_216
"""Of contexts that wait (16 MiB)."""
MOST_CONTEXT_CHARACTERS = 4_096
"""A longer context is not kept: whoever may ask can choose it, and have it kept a thousand times by one request."""


class DecisionLog:
    """Of one process; the store keeps the last `most_kept` of all. `now` answers microseconds since 1970 UTC.

    `dropped`: how many were not written, because there was no room for more to wait."""

    def __init__(self, store: EventStore, most_kept: int, now: Callable[[], int]) -> None:
        self.dropped = 0
        self._store = store
        self._most_kept = most_kept
        self._now = now
        self._waiting: list[NewDecision] = []
        self._waiting_bytes = 0

    def note(self, questions: Sequence[Question], decisions: Sequence[Decision]) -> None:
        """These were decided now, one by one; there may be fewer decisions than questions. Raises nothing."""
        at = self._now()
        known: Mapping[str, Any] | None = None
        context: str | None = None
        for question, decision in zip(questions, decisions, strict=False):
            if len(self._waiting) >= MOST_WAITING or self._waiting_bytes >= MOST_WAITING_BYTES:
                self.dropped += 1
                continue
            if question.context is not known:  # most questions of a check share one
                known = question.context
                context = msgspec.json.encode(known).decode() if known else None
                if context is not None and len(context) > MOST_CONTEXT_CHARACTERS:
                    context = None
            object, subject = question.object, question.subject
            names = (object.type, object.id, question.relation, subject.type, subject.id, subject.relation or "")
            self._waiting.append(NewDecision(at, decision.is_authorized, names, context))
            self._waiting_bytes += len(context) if context else 0

    async def write(self) -> None:
        """Writes what waits. Raises StoreUnavailable; the rest then waits on."""
        while self._waiting:
            batch = self._waiting[:AT_ONCE]
            await self._store.keep_decisions(batch, self._most_kept)
            del self._waiting[: len(batch)]
            self._waiting_bytes -= sum(len(one.context) for one in batch if one.context)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Writes now and then until the context ends, and then the rest; what cannot be written then is lost."""
        stopping = asyncio.Event()
        task = asyncio.create_task(self._write_until(stopping))
        try:
            yield
        finally:
            # Not cancelled: a write that is under way would be done, and done again.
            stopping.set()
            await task

    async def _write_until(self, stopping: asyncio.Event) -> None:
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), WRITE_EVERY_SECONDS)
            is_last = stopping.is_set()  # before the write: if that fails while all is stopped, another is due
            await attempt_work(self.write(), "decisions could not be written")
