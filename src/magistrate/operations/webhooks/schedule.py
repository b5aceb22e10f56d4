"""Says when a delivery that has failed is attempted again."""

import random
from collections.abc import Callable

PAUSES_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Sets the pause before each further attempt: 5 s, 5 min, 30 min, then 2, 5, 10, 14, 20 and 24 h. A webhook whose last
one fails is dead."""
MAX_JITTER = 0.2
"""Limits how much longer a pause may be, as a part of it, so that what has failed together is not repeated together."""
MAX_RETRY_SECONDS = 86_400
"""Limits for how long a receiver can put off the next attempt (24 h)."""

_RANDOM = random.Random()
"""Chooses pauses. A program around the service may have seeded the generator that all share."""


def choose_pause(attempts: int, retry_after: float, draw: Callable[[], float] = _RANDOM.random) -> float | None:
    """Returns for how many seconds to wait once a delivery has failed so many times, None if it is not attempted again.
    `retry_after` is for how long the receiver wants to have its peace."""
    if attempts > len(PAUSES_SECONDS):
        return None
    pause = PAUSES_SECONDS[attempts - 1] * (1 + MAX_JITTER * draw())
    return max(pause, min(retry_after, MAX_RETRY_SECONDS))
