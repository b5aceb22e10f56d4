"""Counts the iterations of an event loop."""

import asyncio

TASKS, TURNS = 8, 5


class Iterations:
    """Counts the iterations of the event loop from now on."""

    def __init__(self) -> None:
        self.count = 0
        self._handle = asyncio.get_running_loop().call_soon(self._count)

    def _count(self) -> None:
        self.count += 1
        self._handle = asyncio.get_running_loop().call_soon(self._count)

    def stop(self) -> None:
        self._handle.cancel()


class Clock:
    """A time of the thread that only work moves."""

    def __init__(self) -> None:
        self.nanoseconds = 0

    def __call__(self) -> int:
        return self.nanoseconds
