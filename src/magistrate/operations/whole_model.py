"""Reads the model of a store as a whole (docs/models.md)."""

from magistrate.operations.as_of import AsOf
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history import find_revision
from magistrate.store.contract import Snapshot, StoredModel


async def read_whole_model(ctx: Context, freshness: Freshness, as_of: AsOf | None = None) -> Snapshot[StoredModel]:
    """Returns all object types at one revision. Raises InvalidParameter if the token is from the future, and what
    `find_revision` raises."""
    found = await ctx.store.read_model(await find_revision(ctx, as_of, freshness))
    if as_of is None:
        freshness.demand(found.revision)
    return found
