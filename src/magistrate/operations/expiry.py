"""Ends warrants that have expired, so that their end is logged, and keeps the clock of the store exact.

Checks and queries do not wait for this: they compare the time limits of each warrant with the clock."""

from magistrate.operations.context import Context

ACTOR = "expiry"
"""Names the actor in the change log."""

WARRANTS_AT_ONCE = 1_000
"""Limits the warrants ended in one transaction to about ten milliseconds' worth, in which no other writer can write."""


async def end_expired(ctx: Context) -> int:
    """Ends every warrant that has expired, in short transactions. Returns how many this process ended."""
    ended = 0
    while (due := await ctx.store.next_expiry()) is not None and due <= ctx.now():
        ended += await ctx.store.end_expired(ctx.stamp(ACTOR), WARRANTS_AT_ONCE)
    return ended
