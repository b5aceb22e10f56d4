"""The timer that ends idle connections: when it closes them, and what it costs busy ones."""

from asyncio import AbstractEventLoop
from asyncio.events import TimerHandle
from collections.abc import Callable
from typing import Any, cast

from magistrate.api.http.connection_state import KeepAliveTimer


class Clock:
    """Stands in for an event loop's clock: time passes only in `advance`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.started = 0

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        timer = (self.now + seconds, callback)
        self.timers.append(timer)
        self.started += 1
        return cast(TimerHandle, Cancellable(self, timer))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, callback in due:
            callback()


class Cancellable:
    def __init__(self, clock: Clock, timer: Any) -> None:
        self.clock, self.timer = clock, timer

    def cancel(self) -> None:
        self.clock.timers.remove(self.timer)


def make_timer(clock: Clock, closed: list[float]) -> KeepAliveTimer:
    return KeepAliveTimer(cast(AbstractEventLoop, clock), 75.0, lambda: closed.append(clock.now))


def test_an_idle_connection_is_closed_when_the_timeout_has_passed_since_its_last_answer() -> None:
    clock, closed = Clock(), list[float]()
    timer = make_timer(clock, closed)

    timer.start()
    clock.advance(50)
    timer.stop()
    timer.start()
    clock.advance(74.5)
    clock.advance(0.5)

    assert closed == [125.0]


def test_a_connection_that_is_sending_is_not_closed_and_its_next_answer_starts_the_time() -> None:
    clock, closed = Clock(), list[float]()
    timer = make_timer(clock, closed)

    timer.start()
    timer.stop()
    clock.advance(1_000)
    assert closed == []
    timer.start()
    clock.advance(75)

    assert closed == [1_075.0]


def test_a_thousand_requests_within_a_timeout_take_one_timer_of_the_event_loop() -> None:
    clock = Clock()
    timer = make_timer(clock, [])

    for _ in range(1_000):
        timer.start()
        timer.stop()

    assert clock.started == 1


def test_a_lost_connection_leaves_no_timer() -> None:
    clock, closed = Clock(), list[float]()
    timer = make_timer(clock, closed)

    timer.start()
    timer.cancel()
    clock.advance(1_000)

    assert clock.timers == []
    assert closed == []
