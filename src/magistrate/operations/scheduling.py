"""Schedules tasks that share the event loop or the store."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

import structlog

from magistrate.engine.work import Work
from magistrate.errors import StoreUnavailable

T = TypeVar("T")

NANOSECONDS_BETWEEN_CHECKPOINTS = 2_500_000
"""Limits the length of a time slice (2.5 ms): a quarter of what a worker may be held for. A single step may take some
more, other requests are served in the same iteration of the event loop, and a request that arrives waits for two or
three iterations. An iteration itself takes 50 to 100 microseconds, 2 to 4 % of a slice."""

SMALL_BYTES = 16_384
"""Limits the bytes of definitions that are read in the event loop (16 KiB); they take one or two milliseconds."""


class SharedLock:
    """Lets one task at a time do work that serves all. If it fails because the store is unavailable, all tasks that
    wait by then get that error: each would wait just as long, and the last for the sum of it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failures = 0
        self._last_failure = ""

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Waits for the lock. Raises StoreUnavailable."""
        failures = self._failures
        async with self._lock:
            if self._failures > failures:
                raise StoreUnavailable(self._last_failure)
            try:
                yield
            except StoreUnavailable as error:
                self._failures += 1
                self._last_failure = error.message
                raise


class LoopTime:
    """Divides the time of one event loop among the tasks that work long.

    Tasks that yield in `checkpoint` resume in different iterations of the loop. But any number may begin, or get what
    they waited for, in the same iteration; together they have the length of one time slice, and then each yields."""

    __slots__ = ("_began_at", "resuming")

    def __init__(self) -> None:
        self._began_at: int | None = None
        self.resuming = asyncio.Lock()

    def is_up(self) -> bool:
        """Returns whether so much of this iteration has passed that a task that works long must yield. The iteration
        begins when this is first called in it."""
        # The time of the thread: what else runs on the machine must not shorten the time slices.
        now = time.thread_time_ns()
        if self._began_at is None:
            self._began_at = now
            asyncio.get_running_loop().call_soon(self._end_iteration)
        return now - self._began_at >= NANOSECONDS_BETWEEN_CHECKPOINTS

    def _end_iteration(self) -> None:
        self._began_at = None


def is_time_up() -> bool:
    """Returns whether a task that works long must yield now. It must run in an event loop."""
    return _loop_time().is_up()


def limit_work(budget: int) -> Work:
    """Returns work whose time slices end when the time of an iteration of the event loop is up."""
    return Work(budget, is_time_up)


async def checkpoint() -> None:
    """Yields to other tasks. Of those that have yielded here, one resumes in each iteration of the event loop: if all
    did, everybody else would wait for one time slice of each of them."""
    async with _loop_time().resuming:
        await asyncio.sleep(0)


async def take_checkpoint(work: Work) -> None:
    """Yields to other tasks at the end of a time slice. If it offloaded a step, that is taken in a thread."""
    step = work.take_offloaded_step()
    if step is None:
        await checkpoint()
    else:
        await asyncio.to_thread(step)


def _loop_time() -> LoopTime:
    loop = asyncio.get_running_loop()
    loop_time = _loop_times.get(loop)
    if loop_time is None:
        loop_time = _loop_times[loop] = LoopTime()
    return loop_time


_loop_times: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopTime] = WeakKeyDictionary()


class Pace(Protocol):
    """Says how a task that works long shares the event loop."""

    def is_up(self) -> bool:
        """Returns whether it must leave the event loop to others now."""
        ...

    async def checkpoint(self) -> None:
        """Leaves the event loop to others, and returns when it may go on."""
        ...


class SharedPace:
    """Is the pace of a request: others have their time slices as well."""

    def is_up(self) -> bool:
        return is_time_up()

    async def checkpoint(self) -> None:
        await checkpoint()


SHARED_PACE = SharedPace()

IDLE_SLICE_NANOSECONDS = 500_000
"""Limits the length of a time slice of work that nobody waits for (0.5 ms). The step in which it ends may take a
millisecond more."""
IDLE_PAUSE_SECONDS, BUSY_PAUSE_SECONDS = 0.002, 0.05
"""Set the pause after such a time slice, in which it turns out whether others need the event loop, and the pause if
they do."""
BUSY_NANOSECONDS = 500_000
"""Limits what others may take of the first pause: a quarter of it."""


class IdlePace:
    """Is the pace of work that nobody waits for: it goes on only while others hardly use the event loop, and takes less
    than half of its time then."""

    __slots__ = ("_began_at",)

    def __init__(self) -> None:
        self._began_at = time.thread_time_ns()

    def is_up(self) -> bool:
        return time.thread_time_ns() - self._began_at >= IDLE_SLICE_NANOSECONDS

    async def checkpoint(self) -> None:
        while True:
            before = time.thread_time_ns()
            await asyncio.sleep(IDLE_PAUSE_SECONDS)
            if time.thread_time_ns() - before <= BUSY_NANOSECONDS:
                break
            await asyncio.sleep(BUSY_PAUSE_SECONDS)
        self._began_at = time.thread_time_ns()


async def offload(work: Callable[[], T], size: int) -> T:
    """Returns the result of some work that waits for nothing, and takes about as long as reading `size` bytes of
    definitions: if that is long, the work runs in a thread, so that the event loop stays free."""
    return work() if size <= SMALL_BYTES else await asyncio.to_thread(work)


log = structlog.get_logger()


@asynccontextmanager
async def running_beside(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Runs these coroutines until the context ends, and then cancels them."""
    tasks = [asyncio.create_task(work) for work in works]
    for task in tasks:
        task.add_done_callback(_log_fault)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def attempt_work(work: Coroutine[None, None, None], name: str) -> None:
    """Attempts work that is retried later: it logs failures and raises nothing. That the store is unavailable is not
    logged; requests report it."""
    try:
        await work
    except StoreUnavailable:
        pass
    except Exception:  # any error may be gone at the next attempt
        log.exception(name, outage=name)


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        log.error("a background task failed", exc_info=fault)
