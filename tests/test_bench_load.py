"""The load generator of `./run bench mixed`: when requests go out, what is timed, and what is read of answers."""

import itertools
import time
from collections.abc import Iterator

import pytest

from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Answer, Ask, Verdict, judged
from benchmarks.mixed.generator import Schedule, closed_loop, constant_rate
from benchmarks.mixed.latency import CURVE, latency_of, percentile
from benchmarks.mixed.wire import body_of
from tests.stub_server import Sent, stub_server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def numbered() -> Iterator[Ask]:
    return (Ask(request_bytes("GET", f"/{number}")) for number in itertools.count())


def echo(sent: Sent) -> bytes:
    return sent.path.encode()


def test_requests_are_due_evenly_whatever_becomes_of_the_others() -> None:
    schedule = Schedule(rate=100.0, count=5)

    assert [schedule.due(number) for number in range(5)] == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert [schedule.due_by(seconds) for seconds in (0.0, 0.005, 0.011, 0.039, 0.041, 9.0)] == [1, 1, 2, 4, 5, 5]


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.99, 99), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: int) -> None:
    assert percentile(range(1, 101), share) == expected


def test_latencies_come_in_milliseconds_and_in_any_order() -> None:
    latency = latency_of([number / 1_000 for number in reversed(range(1, 1_001))])

    assert (latency.p50, latency.p95, latency.p99) == pytest.approx((500, 950, 990))
    assert dict(zip(CURVE, latency.curve, strict=True))[0.999] == pytest.approx(999)


def test_one_latency_is_every_percentile() -> None:
    assert set(latency_of([0.002]).curve) == {2.0}


@pytest.mark.parametrize(
    ("received", "body"),
    [
        (HEAD + b"Content-Length: 4\r\n\r\nbody", b"body"),
        (HEAD + b"content-length:0\r\n\r\n", b""),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
        (HEAD + b"Content-Length: 4\r\n\r\nbod", None),
        (HEAD + b"Content-Length: 4\r\n", None),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n3;x=y\r\n on\r\n0\r\n\r\n", b"body on"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", None),
    ],
)
def test_an_answer_is_read_once_all_of_it_is_there(received: bytes, body: bytes | None) -> None:
    assert body_of(received) == body


@pytest.mark.parametrize("head", [b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_what_cannot_be_an_answer_ends_the_run(head: bytes) -> None:
    with pytest.raises(RuntimeError):
        body_of(head)


def test_the_closed_loop_sends_everything_once_and_samples_the_share_that_is_set() -> None:
    with stub_server(echo) as stub:
        driven = closed_loop(stub.url, itertools.islice(numbered(), 40), 4, 10, sample_every=10)

    assert sorted(sent.path for sent in stub.sent) == sorted(f"/{number}" for number in range(40))
    assert len(driven.latencies) == 40
    assert len(driven.sampled) == 4
    assert all(answer.ask.request.split()[1] == answer.body for answer in driven.sampled)


def test_the_closed_loop_stops_in_time() -> None:
    with stub_server(echo) as stub:
        driven = closed_loop(stub.url, numbered(), 2, 0.2)

    assert 0.2 <= driven.seconds < 2
    assert driven.rate == pytest.approx(len(stub.sent) / driven.seconds)
    assert not driven.sampled


def test_an_answer_other_than_200_ends_the_load() -> None:
    def refuse(sent: Sent) -> bytes:
        raise ConnectionResetError

    with stub_server(refuse) as stub, pytest.raises((RuntimeError, ConnectionResetError)):
        closed_loop(stub.url, numbered(), 1, 1)


def test_the_constant_rate_is_kept() -> None:
    with stub_server(echo) as stub:
        driven = constant_rate(stub.url, numbered(), 4, Schedule(rate=200.0, count=60), sample_every=1)

    assert len(driven.latencies) == len(driven.sampled) == len(stub.sent) == 60
    # The last one is due after 59/200 s: it is not sent earlier, and later only by what its latency shows.
    assert 59 / 200 <= driven.seconds <= 59 / 200 + max(driven.latencies) + 0.25


def test_a_stall_counts_for_every_request_that_was_due_meanwhile() -> None:
    """One request of a hundred takes 0.3 s: whoever waits for an answer before sending more sees one slow one."""

    def stall(sent: Sent) -> bytes:
        if sent.path == "/20":
            time.sleep(0.3)
        return b""

    with stub_server(stall) as stub:
        driven = constant_rate(stub.url, numbered(), 1, Schedule(rate=200.0, count=100))

    slow = [latency for latency in driven.latencies if latency > 0.1]
    assert len(slow) >= 30
    assert max(slow) >= 0.3


def test_verdicts_are_added_and_answers_without_a_judge_left_out() -> None:
    half_wrong = Ask(b"", lambda body: Verdict(2, 1))

    assert judged([Answer(half_wrong, b""), Answer(half_wrong, b""), Answer(Ask(b""), b"")]) == (4, 2)
