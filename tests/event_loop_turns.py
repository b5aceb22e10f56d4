"""Counts how often other tasks get a turn of the event loop meanwhile."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    count: int = 0


@contextmanager
def counted_turns() -> Iterator[Turns]:
    """Counts the turns that another task gets until the context ends."""
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
