"""Requests beyond a bounded queue are refused at once, and the others are answered."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from magistrate.api.http.admission import BYTES_OF_A_VALUE, LATE_SHARE, SLICE_SECONDS, Admission, RequestBodies
from magistrate.errors import Overloaded
from tests.api.overloading import LONG_MS, OBJECT, overloaded

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def new_admission(
    max_running: int,
    max_waiting: int,
    wait_ms: int = LONG_MS,
    clock: Callable[[], float] | None = None,
) -> Admission:
    return Admission(max_running, max_waiting, wait_ms, clock or Clock())


async def run(admission: Admission, end: asyncio.Event, order: list[str], name: str) -> str:
    """Stays in until the event, and answers how it went."""
    try:
        async with admission:
            order.append(name)
            await end.wait()
            return "ran"
    except Overloaded:
        return "refused"


async def start(admission: Admission, end: asyncio.Event, order: list[str], names: str) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(run(admission, end, order, name)) for name in names]
    await until(lambda: sum(task.done() for task in tasks) + admission.waiting + admission.running >= len(names))
    return tasks


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0)


async def test_requests_run_wait_or_are_refused_in_order() -> None:
    admission, end, order = new_admission(2, 2), asyncio.Event(), list[str]()

    tasks = await start(admission, end, order, "abcdef")
    numbers = (admission.running, admission.waiting, admission.shed, admission.is_full)
    end.set()
    outcomes = await asyncio.gather(*tasks)

    assert numbers == (2, 2, 2, True)
    assert outcomes == ["ran"] * 4 + ["refused"] * 2
    assert order == ["a", "b", "c", "d"]
    assert (admission.running, admission.waiting) == (0, 0)


async def test_requests_that_wait_for_nothing_begin_in_slices_and_those_beyond_are_refused() -> None:
    clock, order = Clock(), list[str]()
    admission = new_admission(100, 4, clock=clock)

    async def work(name: str) -> None:
        async with admission:
            order.append(name)
            clock.now += 2 * SLICE_SECONDS

    tasks = [asyncio.create_task(work(name)) for name in "abcdefg"]
    await asyncio.sleep(0)
    in_one_iteration = ([*order], admission.waiting, admission.shed)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert in_one_iteration == (["a"], 4, 2)
    assert order == ["a", "b", "c", "d", "e"]
    assert [type(one) for one in outcomes] == [type(None)] * 5 + [Overloaded] * 2
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_request_that_nobody_waits_behind_takes_one_step_of_the_event_loop_besides_its_own() -> None:
    """It reads the clock of the processor twice, which is a system call."""
    readings = 0

    def clock() -> float:
        nonlocal readings
        readings += 1
        return 0.0

    admission = new_admission(100, 4, clock=clock)

    async with admission:
        pass
    for _ in range(5):
        await asyncio.sleep(0)

    assert readings == 2


async def test_more_requests_begin_at_once_while_they_take_little() -> None:
    clock = Clock()
    admission = new_admission(1_000, 1_000, clock=clock)

    async def work(seconds: float) -> None:
        async with admission:
            clock.now += seconds

    tasks = [asyncio.create_task(work(seconds)) for seconds in (2 * SLICE_SECONDS, *[0.0] * 100)]
    iterations = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        iterations += 1

    assert admission.shed == 0
    assert iterations < 50


async def test_a_request_that_waits_too_long_is_refused() -> None:
    admission, end, order = new_admission(1, 5, 1), asyncio.Event(), list[str]()

    tasks = await start(admission, end, order, "ab")
    waited = await tasks[1]
    end.set()

    assert (waited, await tasks[0]) == ("refused", "ran")
    assert (admission.running, admission.waiting, admission.shed) == (0, 0, 1)


async def test_a_waiting_request_that_is_cancelled_leaves_the_queue() -> None:
    admission, end, order = new_admission(1, 5), asyncio.Event(), list[str]()

    tasks = await start(admission, end, order, "abc")
    tasks[1].cancel()
    end.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [outcomes[0], outcomes[2]] == ["ran", "ran"]
    assert order == ["a", "c"]
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_turn_that_comes_with_a_cancellation_is_passed_on() -> None:
    admission, end, order = new_admission(1, 5), asyncio.Event(), list[str]()
    async with admission:
        tasks = await start(admission, end, order, "bc")
        await until(lambda: admission.waiting == 2)
    tasks[0].cancel()  # its turn has come, and it has not run yet
    end.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert outcomes[1] == "ran"
    assert (admission.running, admission.waiting) == (0, 0)


async def test_bodies_are_bounded_as_sent_and_as_decoded() -> None:
    bodies = RequestBodies(10_000)
    with bodies.open_account() as first, bodies.open_account() as second:
        first.add(3_000)
        second.add(3_000)
        first.add_decoded(b"[1,2]")
        counted = bodies.bytes
        with pytest.raises(Overloaded):
            second.add(3_700)

    assert counted == 6_000 + 5 + 2 * BYTES_OF_A_VALUE
    assert (bodies.bytes, bodies.refused) == (0, 1)


async def test_a_body_that_is_larger_than_the_bound_is_taken_alone() -> None:
    bodies = RequestBodies(10)
    first, second = bodies.open_account(), bodies.open_account()

    first.add(11)
    second.add(0)
    with pytest.raises(Overloaded):
        second.add(1)
    bodies.release(first)
    second.add(11)
    second.add_decoded(b"[1]")


async def test_no_more_requests_wait_behind_one_that_has_waited_for_most_of_the_time() -> None:
    wall, end, order = Clock(), asyncio.Event(), list[str]()
    admission = Admission(1, 5, LONG_MS, Clock(), wall)
    tasks = await start(admission, end, order, "ab")

    wall.now += LONG_MS / 1_000 * LATE_SHARE
    in_time = admission.is_full
    wall.now += 0.001
    late = admission.is_full
    refused = await run(admission, end, order, "c")
    end.set()
    outcomes = await asyncio.gather(*tasks)

    assert (in_time, late, refused) == (False, True, "refused")
    assert outcomes == ["ran", "ran"]
    assert not admission.is_full


@pytest.mark.parametrize("fast_path", [1, 0])
def test_requests_beyond_the_queue_get_503_while_health_and_other_scopes_are_answered(
    tmp_path: Path, fast_path: int
) -> None:
    with overloaded(tmp_path, fast_path=fast_path) as client:
        refused = client.post("/v2/objects", json=OBJECT)
        by_variables = client.put("/v2/objects/d/x", json={"meta": {}})
        health = {client.get(path).status_code for path in ("/healthz", "/readyz", "/v2/objects", "/metrics")}

    for answer in (refused, by_variables):
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert answer.headers["Warrant-Request-Id"]
        assert answer.json() == {
            "code": "unavailable",
            "message": "the service has more requests than it can answer now; nothing of this one was done",
        }
    assert health == {200}
