"""Removes the rows of deleted stores little by little, so that the writes to other stores hardly wait for it."""

import asyncio

from magistrate.operations.stores.contexts import StoreContexts

REMOVE_AFTER_SECONDS = 5.0
"""Sets how old a deletion must be. All processes know of it within a second."""
FIRST_SIZE, MIN_SIZE, MAX_SIZE = 50, 5, 500
"""Limit the rows that are removed in one transaction."""
TARGET_SECONDS = 0.003
"""Sets how long a transaction is to take, in which writes to the store `default` wait, and on SQLite all: a third
of the 10 ms that it may, because the next rows may take longer than the last."""
MAX_GROWTH, MAX_SHRINKAGE = 1.5, 0.1
PAUSES = 5.0
"""Sets how much longer the pauses are than the transactions. SQLite does not line up the writers of several processes:
each looks at growing intervals whether no other writes, up to five times in 30 ms."""
MIN_PAUSE_SECONDS = 0.01


def choose_size(size: int, seconds: float) -> int:
    """Returns how many rows the next transaction removes, given how long one took that has removed `size`."""
    factor = max(MAX_SHRINKAGE, min(MAX_GROWTH, TARGET_SECONDS / max(seconds, 1e-6)))
    return max(MIN_SIZE, min(MAX_SIZE, round(size * factor)))


def choose_pause(seconds: float) -> float:
    """Returns for how many seconds all others may write after a transaction that took so many."""
    return max(MIN_PAUSE_SECONDS, PAUSES * seconds)


async def remove_deleted(contexts: StoreContexts) -> None:
    """Removes the rows of all stores that were deleted long enough ago, unless another process does. Runs no statement
    if this process knows of no deleted store. Raises StoreUnavailable."""
    size = FIRST_SIZE
    while contexts.may_have_deleted:
        before = contexts.default.now() - round(REMOVE_AFTER_SECONDS * 1_000_000)
        removed = await contexts.stores.delete_rows(before, size)
        contexts.may_have_deleted = removed.may_be_more
        if not removed.rows:
            return
        size = choose_size(size, removed.seconds) if removed.rows >= size else size
        await asyncio.sleep(choose_pause(removed.seconds))
