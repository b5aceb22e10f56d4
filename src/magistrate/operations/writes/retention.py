"""Deletes rows that are past their retention."""

from magistrate.operations.context import Context

ROWS_AT_ONCE = 1_000
"""Limits the rows deleted in one transaction to about ten milliseconds' worth, in which no other writer can write."""

MICROSECONDS_PER_HOUR = 3_600_000_000


async def delete_ended(ctx: Context, retention_hours: int) -> int:
    """Deletes every row of objects, object types and warrants that ended longer ago than the retention, in short
    transactions. Returns how many, as Store.collect counts."""
    deleted = 0
    while deleted_now := await ctx.store.collect(ctx.now() - retention_hours * MICROSECONDS_PER_HOUR, ROWS_AT_ONCE):
        deleted += deleted_now
    return deleted


async def delete_events(ctx: Context, event_retention_hours: int, retention_hours: int) -> int:
    """Deletes every event older than both retentions, in short transactions: the list of revisions is needed to know
    what ended longer ago than `retention_hours`. Returns how many rows."""
    hours = max(event_retention_hours, retention_hours)
    deleted = 0
    while deleted_now := await ctx.store.delete_events(ctx.now() - hours * MICROSECONDS_PER_HOUR, ROWS_AT_ONCE):
        deleted += deleted_now
    return deleted


ACTOR = "expiry"
"""Names the actor in the change log."""

WARRANTS_AT_ONCE = 1_000
"""Limits the warrants ended in one transaction to about ten milliseconds' worth, in which no other writer can write."""


async def end_expired(ctx: Context) -> int:
    """Ends every warrant that has expired, in short transactions. Returns how many this process ended."""
    ended, ended_now = 0, WARRANTS_AT_ONCE
    while ended_now == WARRANTS_AT_ONCE:
        ended_now = await ctx.store.end_expired(ctx.stamp(ACTOR), WARRANTS_AT_ONCE)
        ended += ended_now
    return ended
