"""Records what a group of writes runs, as a span in the trace of the first of its writes that is sampled.

A group serves many requests. It is linked to each that is sampled, and the span in which such a request waits for its
write is linked to the group (docs/tracing.md#writes)."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from magistrate.store.scripts.script_runs import QueuedWrite
from magistrate.tracing import SpanKind, TraceSpan

MAX_BATCHES = 100
"""Limits what is recorded of a group."""


class StatementBatch(NamedTuple):
    """Holds statements that ran one after another, and when these began and ended, in nanoseconds of
    time.perf_counter_ns."""

    texts: Sequence[str]
    began_ns: int
    ended_ns: int


class GroupRecording:
    """Records one transaction of a group, beginning now."""

    def __init__(self) -> None:
        self._began_ns = time.perf_counter_ns()
        self._batches: list[StatementBatch] = []
        self._texts: list[str] = []

    def note(self, text: str) -> None:
        """Notes a statement that runs in the present batch."""
        self._texts.append(text)

    @contextmanager
    def run_batch(self, texts: Sequence[str] = ()) -> Iterator[None]:
        """Records these statements, and those that are noted meanwhile, as a batch."""
        self._texts, began_ns = [*texts], time.perf_counter_ns()
        try:
            yield
        finally:
            if self._texts and len(self._batches) < MAX_BATCHES:
                self._batches.append(StatementBatch(self._texts, began_ns, time.perf_counter_ns()))
            self._texts = []

    def export(self, writes: Sequence[QueuedWrite], error: BaseException | None = None) -> None:
        """Exports the spans, given the writes that shared the transaction, and why it was undone."""
        waits = [write.wait_span for write in writes if write.wait_span is not None]
        if not waits:
            return
        first = waits[0]
        group = TraceSpan(first.trace, "write group", first.id)
        group.began_ns = self._began_ns
        group.links = tuple(wait.identify_parent() for wait in waits)
        group.attributes["magistrate.writes"] = len(writes)
        if error is not None:
            group.error = type(error).__name__
        for batch in self._batches:
            span = TraceSpan(first.trace, "", group.id, SpanKind.CLIENT, batch.texts)
            span.began_ns = batch.began_ns
            span.end(batch.ended_ns)
        group.end()
        for wait in waits:
            wait.links = (*wait.links, group.identify())
