"""Decides whether a request is sent again, and when (clients/conformance/README.md#retries)."""

from __future__ import annotations

import random
import time
from enum import Enum

from magistrate_client.answers import Answer, build_refusal
from magistrate_client.errors import CallTimeout, Unreachable

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 2.0

UNLIMITED = 1_000_000
_MAX_DOUBLINGS = 16


class Repeat(Enum):
    """Says when a request may be sent again."""

    ALWAYS = "always"
    UNSENT = "unsent"
    """Only if nothing of it was sent, or it was refused before it began: it may have been made otherwise."""


class ConnectionFailed(Exception):
    """Reports that no complete answer came; `was_sent` says whether the service may have the request."""

    def __init__(self, reason: str, was_sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.was_sent = was_sent


class DeadlinePassed(Exception):
    """Reports that the time of a call was over while it waited for the service."""


class Attempts:
    """Counts the attempts of one call, up to its deadline."""

    def __init__(self, url: str, timeout: float, retries: int, repeat: Repeat, idempotency_key: str | None) -> None:
        self.deadline = time.monotonic() + timeout
        self._url = url
        self._timeout = timeout
        self._left = retries
        self._repeat = repeat
        self._idempotency_key = idempotency_key
        self._waits = 0

    @property
    def is_over(self) -> bool:
        """Returns whether there is no time left."""
        return time.monotonic() >= self.deadline

    def judge_answer(self, answer: Answer) -> float | None:
        """Returns after how many seconds the request is sent again, or None if the answer is a result. Raises the error
        that it is otherwise."""
        if answer.status < 300:
            return None
        error = build_refusal(answer)
        error.idempotency_key = self._idempotency_key
        is_transient = answer.status in (429, 502, 504) or (
            answer.status == 503 and error.code in ("unavailable", None)
        )
        if not is_transient or (self._repeat is Repeat.UNSENT and answer.status != 429):
            raise error
        wait = self._choose_wait(error.retry_after)
        if wait is None:
            raise error
        return wait

    def judge_failure(self, failure: ConnectionFailed) -> float:
        """Returns after how many seconds the request is sent again. Raises Unreachable if it is not."""
        may_repeat = self._repeat is Repeat.ALWAYS or not failure.was_sent
        wait = self._choose_wait(None) if may_repeat else None
        if wait is None:
            raise Unreachable(f"{self._url}: {failure.reason}", self._url, self._idempotency_key) from None
        return wait

    def build_timeout(self) -> CallTimeout:
        """Returns the error of a call whose time is over."""
        message = f"{self._url}: no complete answer within {self._timeout:g} s"
        return CallTimeout(message, self._url, self._idempotency_key)

    def _choose_wait(self, retry_after: float | None) -> float | None:
        """Returns how long to wait before the next attempt, or None if there is none."""
        if self._left == 0:
            return None
        self._left -= 1
        wait = choose_backoff(self._waits) if retry_after is None else retry_after
        self._waits += 1
        return wait if time.monotonic() + wait < self.deadline else None


def choose_backoff(waits: int) -> float:
    """Returns how long to wait after so many waits: twice as long each time, of which a random part from half to all:
    clients that failed together do not come back together."""
    whole: float = min(FIRST_WAIT_SECONDS * 2 ** min(waits, _MAX_DOUBLINGS), LONGEST_WAIT_SECONDS)
    return whole * random.uniform(0.5, 1.0)
