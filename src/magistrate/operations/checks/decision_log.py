"""Records how checks were decided, for the list of access events and to make the decisions again
(operations/history/decisions.py).
Decisions wait in memory until a background task writes them, so that no check waits for the database or slows down with
it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.warrants.warrant import Warrant, warrant_names
from magistrate.errors import StoreDeleted
from magistrate.operations.scheduling import attempt_work
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant, build_new_warrant
from magistrate.store.contract.store import Store

WRITE_EVERY_SECONDS = 0.5
AT_ONCE = 500
"""Limits the decisions in one write to some milliseconds' worth, in which no other writer can write."""
MAX_WAITING = 10_000
MAX_WAITING_BYTES = 16_777_216
"""Limits the waiting decisions in bytes, unless the operator does (16 MiB)."""
BYTES_OF_A_DECISION = 600
"""Estimates what a decision takes besides its texts while it waits."""
MAX_CHARACTERS = 4_096
"""Limits the characters of a context, and those of contextual warrants; longer ones are not kept, because any caller
can choose them and have them kept a thousand times by one request."""

_WarrantRow = tuple[str, str, str, str, str, str, str, int | None, int | None]
"""Holds the columns of a contextual warrant: its names, its policy and its time limits."""


class RequestOrigin(NamedTuple):
    """Names who made a request, and the request, as far as they are known."""

    actor: str | None = None
    request_id: str | None = None


UNKNOWN = RequestOrigin()


class UnwrittenDecisions:
    """Counts the decisions of one process that wait to be written, of all stores, and writes them.

    `dropped` counts the decisions that were not written because too many were waiting."""

    def __init__(self, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self.dropped = 0
        self.count = 0
        self.bytes = 0
        """Estimates the bytes of the decisions that wait."""
        self._max_bytes = max_bytes
        self._logs: dict[DecisionLog, None] = {}

    @property
    def is_full(self) -> bool:
        return self.count >= MAX_WAITING or self.bytes >= self._max_bytes

    def add(self, log: "DecisionLog", added_bytes: int) -> None:
        """Notes a decision of a log that waits."""
        self._logs[log] = None
        self.count += 1
        self.bytes += added_bytes

    def subtract(self, count: int, subtracted_bytes: int) -> None:
        """Notes that so many decisions do not wait any more."""
        self.count -= count
        self.bytes -= subtracted_bytes

    async def write(self) -> None:
        """Writes the waiting decisions of all stores. Raises StoreUnavailable; the rest then keeps waiting."""
        for log in tuple(self._logs):
            del self._logs[log]
            try:
                await log.write()
            except StoreDeleted:
                log.discard()
            except BaseException:
                self._logs[log] = None  # behind the others, which may not have its fault
                raise

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


class DecisionLog:
    """Holds the decisions about one store of one process that wait to be written; the store keeps the last `max_kept`
    of all processes."""

    def __init__(self, store: Store, max_kept: int, unwritten: UnwrittenDecisions) -> None:
        self.unwritten = unwritten
        self._store = store
        self._max_kept = max_kept
        self._waiting: list[DecisionRecord] = []

    @property
    def is_waiting(self) -> bool:
        """Returns whether decisions wait to be written."""
        return bool(self._waiting)

    def note(
        self,
        checks: Sequence[Check],
        decided: Snapshot[list[Decision]],
        at: int,
        contextual: Sequence[Warrant] = (),
        origin: RequestOrigin = UNKNOWN,
    ) -> None:
        """Records these decisions, one per check; there may be fewer decisions than checks. They were made for the time
        `at`, in microseconds since 1970 UTC, with these contextual warrants. Raises nothing."""
        former_context: Mapping[str, Any] | None = None
        context = warrants = None
        lacks_context = lacks_warrants = False
        if contextual:
            warrants, lacks_warrants = _shorten(_encode_warrants(contextual))
        known_id = self._store.known.find(decided.revision)
        bits = None if known_id is None else known_id.bits
        for check, decision in zip(checks, decided.value, strict=False):
            if self.unwritten.is_full:
                self.unwritten.dropped += 1
                continue
            if check.context is not former_context:  # most checks of a request share one context
                former_context = check.context
                context, lacks_context = (
                    _shorten(msgspec.json.encode(former_context)) if former_context else (None, False)
                )
            obj, subject = check.object, check.subject
            names = (obj.type, obj.id, check.relation, subject.type, subject.id, subject.relation)
            is_partial = lacks_context or lacks_warrants
            allowed, revision = decision.is_authorized, decided.revision
            record = DecisionRecord(at, allowed, names, context, revision, warrants, is_partial, *origin, bits)
            self._waiting.append(record)
            self.unwritten.add(self, _measure(record))

    async def write(self) -> None:
        """Writes the waiting decisions. Raises StoreUnavailable; the rest then keeps waiting."""
        while self._waiting:
            batch = self._waiting[:AT_ONCE]
            await self._store.keep_decisions(batch, self._max_kept)
            self._discard(len(batch))

    def discard(self) -> None:
        """Discards the waiting decisions, whose store was deleted."""
        self._discard(len(self._waiting))

    def _discard(self, count: int) -> None:
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        self.unwritten.subtract(len(batch), sum(map(_measure, batch)))


def read_contextual_warrants(record: DecisionRecord) -> Sequence[NewWarrant]:
    """Returns the contextual warrants that were kept with a decision."""
    if record.contextual_warrants is None:
        return ()
    rows = msgspec.json.decode(record.contextual_warrants, type=list[_WarrantRow])
    return [_build_warrant(row) for row in rows]


def _measure(record: DecisionRecord) -> int:
    texts = len(record.context or "") + len(record.contextual_warrants or "")
    return BYTES_OF_A_DECISION + texts + sum(map(len, record.names))


def _encode_warrants(warrants: Sequence[Warrant]) -> bytes:
    rows: list[_WarrantRow] = [
        (*warrant.names, warrant.policy, warrant.starts_at, warrant.expires_at) for warrant in warrants
    ]
    return msgspec.json.encode(rows)


def _build_warrant(row: _WarrantRow) -> NewWarrant:
    policy, (starts_at, expires_at) = row[6], row[7:]
    return build_new_warrant(warrant_names(*row[:6]), policy, starts_at=starts_at, expires_at=expires_at)


def _shorten(encoded: bytes) -> tuple[str | None, bool]:
    """Returns the JSON as text, or None if it is too long to be kept; and whether it is too long."""
    text = encoded.decode()
    return (text, False) if len(text) <= MAX_CHARACTERS else (None, True)
