"""Runs work beside requests. No request waits for it, so its failures are logged."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import structlog

from magistrate.errors import StoreUnavailable

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
