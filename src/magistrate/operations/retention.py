"""Forgetting what nobody may ask for any more."""

from magistrate.operations.context import Context

ROWS_AT_ONCE = 1_000
"""Rows forgotten in one transaction: about ten milliseconds in which no other writer gets a turn."""

MICROSECONDS_PER_HOUR = 3_600_000_000


async def forget_ended(ctx: Context, retention_hours: int) -> int:
    """Forgets every row of objects, object types and warrants that ended longer ago than that, in short transactions.
    Answers how many, as Store.collect counts."""
    forgotten = 0
    while found := await ctx.store.collect(ctx.now() - retention_hours * MICROSECONDS_PER_HOUR, ROWS_AT_ONCE):
        forgotten += found
    return forgotten


async def forget_events(ctx: Context, event_retention_hours: int, retention_hours: int) -> int:
    """Forgets every event older than both, in short transactions: it takes the list of revisions to know what ended
    longer ago than `retention_hours`. Answers how many rows."""
    hours = max(event_retention_hours, retention_hours)
    forgotten = 0
    while found := await ctx.store.forget_events(ctx.now() - hours * MICROSECONDS_PER_HOUR, ROWS_AT_ONCE):
        forgotten += found
    return forgotten
