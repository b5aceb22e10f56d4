"""One process on a database, as far as checks are concerned."""

from benchmarks.counting import CountingDatabase
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from tests.memory_source import model_of
from tests.operations.stored_warrants import Types, new, question


class Node:
    def __init__(self, ctx: Context, database: CountingDatabase) -> None:
        self.ctx = ctx
        self.database = database

    async def define(self, types: Types) -> None:
        await put_object_types(self.ctx, list(model_of(types).types.values()), self.ctx.stamp("ann"))

    async def grant(self, *written: str) -> Freshness:
        for start in range(0, len(written), 1_000):
            batch = [new(text) for text in written[start : start + 1_000]]
            found = await create_warrants(self.ctx, batch, self.ctx.stamp("ann"), str)
        return Freshness("Warrant-Token", found.revision)

    async def revoke(self, *written: str) -> Freshness:
        revision = await delete_warrants(self.ctx, [new(text) for text in written], self.ctx.stamp("ann"))
        return Freshness("Warrant-Token", revision)

    async def allowed(self, asked: str, freshness: Freshness = NO_DEMAND) -> bool:
        return (await check_all(self.ctx, [question(asked)], freshness)).value[0].is_authorized

    async def reads_for(self, asked: str) -> int:
        self.database.reads = 0
        await self.allowed(asked, NO_DEMAND)
        return self.database.reads
