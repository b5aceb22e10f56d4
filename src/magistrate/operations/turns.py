"""Leaving others a turn in the event loop."""

import asyncio


async def give_way() -> None:
    """Whoever else has work gets a turn."""
    await asyncio.sleep(0)
