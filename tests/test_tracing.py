"""What is recorded of requests, and which of them are sampled, without a receiver."""

import asyncio
import time

import pytest

from magistrate.api.http.admission import Admission
from magistrate.tracing import (
    BYTES_OF_A_SPAN,
    CURRENT,
    MAX_SPANS,
    CallerTrace,
    SpanQueue,
    Tracer,
    TraceSpan,
    end_request,
    measure_span,
    open_span,
    open_statements,
)
from magistrate.wiring.trace_export import MAX_QUERY_CHARACTERS, describe_statements

PLENTY = 100_000_000
CALLER = CallerTrace(trace_id=7, span_id=8, flags=1)


def begin(tracer: Tracer, caller: CallerTrace | None = None) -> TraceSpan:
    span = tracer.begin(caller)
    assert span is not None
    return span


def end(span: TraceSpan, status: int = 200) -> None:
    end_request(span, "GET", "/v2/objects", status, path="/v2/objects", request_id="1")


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 1.0])
def test_about_the_given_part_of_the_requests_is_sampled(rate: float) -> None:
    tracer, requests = Tracer(rate, SpanQueue(PLENTY)), 20_000

    sampled = sum(tracer.begin() is not None for _ in range(requests))

    deviation = (requests * rate * (1 - rate)) ** 0.5
    assert abs(sampled - requests * rate) <= 6 * deviation


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_the_caller_decides_whatever_the_rate(rate: float) -> None:
    tracer = Tracer(rate, SpanQueue(PLENTY), trusts_callers=True)

    span = begin(tracer, CALLER)

    assert (span.trace.id, span.parent_id) == (7, 8)
    assert tracer.begin(CALLER._replace(flags=0)) is None


def test_a_request_that_only_has_ids_for_the_log_records_nothing() -> None:
    queue = SpanQueue(PLENTY)
    span = begin(Tracer(0, queue, trusts_callers=True, logs_ids=True), CALLER._replace(flags=0))

    with span.open("a wait"):
        pass
    end(span)

    assert span.trace.id == 7
    assert len(queue) == 0


def test_spans_beyond_the_limit_are_counted_and_the_first_is_exported() -> None:
    queue = SpanQueue(PLENTY)
    span = begin(Tracer(1, queue))
    for _ in range(MAX_SPANS + 3):
        with span.open_statements(("SELECT 1",)):
            pass
    end(span)

    *_, first = spans = queue.take(PLENTY)
    assert len(spans) == MAX_SPANS + 1
    assert first.attributes["magistrate.spans_left_out"] == 3
    assert first.attributes["magistrate.statements"] == MAX_SPANS + 3


def test_a_queue_is_bounded_in_bytes() -> None:
    queue = SpanQueue(10 * BYTES_OF_A_SPAN)
    span = begin(Tracer(1, queue))
    for _ in range(12):
        with span.open("a wait"):
            pass

    assert (len(queue), queue.dropped, queue.bytes) == (10, 2, 10 * BYTES_OF_A_SPAN)
    assert [each.name for each in queue.take(4)] == ["a wait"] * 4
    assert (len(queue), queue.bytes) == (6, 6 * BYTES_OF_A_SPAN)


def test_texts_of_a_span_are_counted_and_bounded() -> None:
    queue = SpanQueue(PLENTY)
    span = begin(Tracer(1, queue))
    end_request(span, "GET", "", 404, path="/" + "x" * 60_000, request_id="1")

    assert 1_000 < measure_span(span) - BYTES_OF_A_SPAN < 3_000


def test_what_fails_says_so_and_leaves_its_context() -> None:
    queue = SpanQueue(PLENTY)
    span = begin(Tracer(1, queue))
    outer = CURRENT.set(span)
    with pytest.raises(ZeroDivisionError), open_span("a wait"), open_statements("SELECT 1"):
        _ = 1 / 0
    assert CURRENT.get() is span
    CURRENT.reset(outer)
    end(span, 503)

    statement, wait, first = queue.take(3)
    assert (statement.error, wait.error, first.error) == ("ZeroDivisionError", "ZeroDivisionError", "503")
    assert (statement.parent_id, wait.parent_id, first.parent_id) == (wait.id, span.id, 0)


def test_nothing_is_recorded_of_what_belongs_to_no_request() -> None:
    with open_span("a wait") as wait, open_statements("SELECT 1") as statement:
        assert (wait, statement, CURRENT.get()) == (None, None, None)


@pytest.mark.anyio
async def test_a_wait_for_admission_is_a_span() -> None:
    queue, admission = SpanQueue(PLENTY), Admission(1, 10, 1_000)
    span = begin(Tracer(1, queue))

    async def run() -> None:
        CURRENT.set(span)
        async with admission:
            await asyncio.sleep(0.02)

    await asyncio.gather(run(), run())

    [wait] = queue.take(10)
    assert (wait.name, wait.parent_id) == ("wait for admission", span.id)
    assert 15_000_000 < wait.ended_ns - wait.began_ns < 10_000_000_000


def test_a_clock_that_is_set_changes_no_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    span = begin(Tracer(1, SpanQueue(PLENTY)))
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    with span.open("a wait") as wait:
        pass

    assert 0 <= wait.ended_ns - wait.began_ns < 1_000_000_000
    assert wait.trace.anchor_ns + wait.began_ns > 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("texts", "summary", "operation"),
    [
        (("SELECT a FROM warrant",), "SELECT warrant", "SELECT"),
        (("SELECT a FROM (SELECT * FROM head) h LEFT JOIN warrant w ON true",), "SELECT head warrant", "SELECT"),
        (("SELECT value FROM json_each(?1)",), "SELECT", "SELECT"),
        (("INSERT INTO warrant (a) VALUES ($1)",) * 2, "INSERT warrant", "BATCH INSERT"),
        (("UPDATE head SET a = 1", "COMMIT"), "UPDATE head; COMMIT", "BATCH"),
        (("WITH x AS (SELECT 1) DELETE FROM change",), "DELETE change", "DELETE"),
        (("WITH x AS (SELECT 1) SELECT * FROM warrant",), "SELECT warrant", "SELECT"),
        (("BEGIN IMMEDIATE",), "BEGIN", "BEGIN"),
    ],
)
def test_statements_are_named_by_their_verbs_and_tables(texts: tuple[str, ...], summary: str, operation: str) -> None:
    described = describe_statements(texts)

    assert described.summary == summary
    assert described.attributes["db.operation.name"] == operation
    assert described.attributes.get("db.operation.batch.size") == (len(texts) if len(texts) > 1 else None)


def test_long_texts_of_statements_are_cut() -> None:
    text = describe_statements(("SELECT " + "a" * 5_000,)).attributes["db.query.text"]

    assert isinstance(text, str)
    assert len(text) == MAX_QUERY_CHARACTERS + 3
