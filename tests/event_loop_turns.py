"""Counts how often other tasks run in the event loop meanwhile."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    count: int = 0


@contextmanager
def counted_turns() -> Iterator[Turns]:
    """Counts how often another task runs until the context ends."""
    turns = Turns()

    async def take_turns() -> None:
        while True:
            turns.count += 1
            await asyncio.sleep(0)  # one turn of the event loop

    beside = asyncio.ensure_future(take_turns())
    try:
        yield turns
    finally:
        beside.cancel()
