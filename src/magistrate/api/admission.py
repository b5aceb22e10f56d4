"""Keeps the time short for which requests wait when more arrive than can be answered.

A bounded number of requests of each scope run at the same time, and a bounded number wait, each for a bounded time. The
others are refused at once, which costs little. Without that, all requests would be answered ever later, until none is
answered before its client has given up. Scopes do not share their bounds, so no number of queries keeps a check
waiting. See docs/decisions/0064-requests-beyond-a-queue-are-refused.md."""

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from magistrate.errors import Overloaded
from magistrate.operations.callers import Scope


class Admission:
    """Admits the requests of one scope: an async context manager, in which a request runs. Those that wait run in the
    order of their arrival."""

    def __init__(self, most_running: int, most_waiting: int, wait_ms: int) -> None:
        self._most_running = most_running
        self._most_waiting = most_waiting
        self._wait_seconds = wait_ms / 1000
        self._turns: deque[asyncio.Future[None]] = deque()
        self.running = 0
        self.shed = 0
        """Counts the requests that were refused."""

    @property
    def waiting(self) -> int:
        return len(self._turns)

    @property
    def is_full(self) -> bool:
        """Returns whether no more requests may wait."""
        return self.running >= self._most_running and len(self._turns) >= self._most_waiting

    async def __aenter__(self) -> None:
        """Waits until the request may run. Raises Overloaded."""
        if self.running < self._most_running:
            self.running += 1
            return
        if self.is_full:
            raise self._refusal()
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            async with asyncio.timeout(self._wait_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # its turn came in the same moment
            else:
                with suppress(ValueError):
                    self._turns.remove(turn)
            if isinstance(error, TimeoutError):
                raise self._refusal() from error
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        """Gives the turn of a request that ends to the one that has waited longest."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1

    def _refusal(self) -> Overloaded:
        self.shed += 1
        return Overloaded()


Admissions = Mapping[Scope, Admission]


def admissions(most_running: int, most_waiting: int, wait_ms: int) -> Admissions:
    """Returns the admission of each scope."""
    return {scope: Admission(most_running, most_waiting, wait_ms) for scope in Scope}
