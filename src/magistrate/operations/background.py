"""Works beside requests: nobody waits for them, so nobody would hear of what fails in them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import structlog

from magistrate.errors import StoreUnavailable

log = structlog.get_logger()


@asynccontextmanager
async def running_beside(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """They are cancelled when the context ends."""
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
    """For what is tried again later: raises nothing, but logs. That the store is away, requests are told."""
    try:
        await work
    except StoreUnavailable:
        pass
    except Exception:  # whatever it was, it may be over the next time
        log.exception(name)


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        log.error("a work in the background has ended", exc_info=fault)
