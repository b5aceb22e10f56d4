"""Bounds the bytes that all connections of a worker hold together, for each purpose (docs/security.md#memory)."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from magistrate.errors import Overloaded

LOOK_EVERY_SECONDS = 0.05
"""Sets how often a request that waits for space looks for answers that have not been read for too long."""


class MemoryOwner(Protocol):
    """Represents a connection that holds bytes."""

    def drop(self) -> None:
        """Ends the connection at once, so that it holds nothing."""
        ...


class MemoryShare(NamedTuple):
    """Holds how many bytes a connection holds, and since when it holds any."""

    size: int
    since: float


class ConnectionMemory:
    """Counts the bytes that connections hold. Beyond `max_bytes`, those are dropped that have held some for longest;
    a single one may hold more."""

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.bytes = 0
        self.dropped = 0
        """Counts the connections that were dropped."""
        self._max_bytes = max_bytes
        self._clock = clock
        self._by_owner: dict[MemoryOwner, MemoryShare] = {}

    def hold(self, owner: MemoryOwner, size: int) -> None:
        """Says how many bytes a connection holds now."""
        share = self._by_owner.get(owner)
        if share is None:
            if not size:
                return
            self._by_owner[owner] = MemoryShare(size, self._clock())
            self.bytes += size
            return
        self.bytes += size - share.size
        if size:
            self._by_owner[owner] = MemoryShare(size, share.since)
        else:
            del self._by_owner[owner]

    def drop_oldest(self) -> None:
        """Drops connections until the others hold no more than they may."""
        while self.bytes > self._max_bytes and len(self._by_owner) > 1:
            self._drop(next(iter(self._by_owner)))

    def _drop(self, owner: MemoryOwner) -> None:
        self.hold(owner, 0)
        self.dropped += 1
        owner.drop()


class UnsentAnswers(ConnectionMemory):
    """Counts the bytes of answers from when their rows are read until clients have read the answers. A request that
    needs space waits for it, but not longer than `wait_seconds`; connections are dropped for it whose clients have not
    read all of an answer for that long."""

    def __init__(self, max_bytes: int, wait_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(max_bytes, clock)
        self.refused = 0
        """Counts the requests for which there was no space."""
        self._wait_seconds = wait_seconds
        self._accounts: dict[AnswerAccount, None] = {}
        """Has the accounts of requests that hold some bytes, the oldest first."""
        self._released: asyncio.Future[None] | None = None

    def open_account(self) -> "AnswerAccount":
        return AnswerAccount(self)

    def hold(self, owner: MemoryOwner, size: int) -> None:
        super().hold(owner, size)
        if not size:
            self._wake()

    async def reserve(self, account: "AnswerAccount", size: int) -> None:
        """Counts more bytes for a request, as soon as there is space for them. Raises Overloaded."""
        if not self._fits(account, size):
            await self._wait_until_released(account, size)
        self.change(account, size)

    def change(self, account: "AnswerAccount", size: int) -> None:
        """Adds `size` to the bytes of a request; it may be negative."""
        account.bytes += size
        self.bytes += size
        if account.bytes:
            self._accounts[account] = None
        else:
            self._accounts.pop(account, None)
        if size < 0:
            self._wake()

    def _fits(self, account: "AnswerAccount", size: int) -> bool:
        """Returns whether a request may hold `size` more bytes. The oldest request that holds some always may, so that
        requests do not wait for each other."""
        if self.bytes + size <= self._max_bytes or self.bytes == account.bytes:
            return True
        return next(iter(self._accounts), None) is account

    async def _wait_until_released(self, account: "AnswerAccount", size: int) -> None:
        ends_at = self._clock() + self._wait_seconds
        while True:
            self._drop_unread(account, size)
            if self._fits(account, size):
                return
            if self._clock() >= ends_at:
                self.refused += 1
                raise Overloaded
            if self._released is None or self._released.done():
                self._released = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._released), LOOK_EVERY_SECONDS)

    def _drop_unread(self, account: "AnswerAccount", size: int) -> None:
        latest = self._clock() - self._wait_seconds
        while self._by_owner and not self._fits(account, size):
            owner, share = next(iter(self._by_owner.items()))
            if share.since > latest:
                return
            self._drop(owner)

    def _wake(self) -> None:
        if self._released is not None and not self._released.done():
            self._released.set_result(None)


class AnswerAccount:
    """Counts the bytes of the answer to one request until it is passed to the connection. It implements the ReadMemory
    of stores."""

    __slots__ = ("_answers", "bytes")

    def __init__(self, answers: UnsentAnswers) -> None:
        self.bytes = 0
        self._answers = answers

    async def reserve(self, size: int) -> None:
        await self._answers.reserve(self, size)

    def keep(self, reserved: int, size: int) -> None:
        self._answers.change(self, size - reserved)

    def resize(self, size: int) -> None:
        """Counts so many bytes in place of all: what the answer was made of is freed."""
        self._answers.change(self, size - self.bytes)

    def close(self) -> None:
        """Counts nothing any more: the connection holds what its client has not read."""
        self.resize(0)
        self._answers.drop_oldest()
