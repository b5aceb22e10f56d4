"""A process that follows several stores of one database together."""

import asyncio
from typing import NamedTuple

from magistrate.store.contract.revisions import AGING_MS
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import Stores

AGED = (AGING_MS + 1) / 1_000
"""Is the age, in seconds, from which a mark is confirmed by a statement."""


class Process(NamedTuple):
    """A process that has three stores open."""

    stores: Stores
    opened: tuple[Store, ...]

    async def begin(self) -> None:
        """Follows two stores until a statement continues another."""
        first, second, _ = self.opened
        while not all([await store.confirm_mark(store.mark()) for store in (first, second)]):
            await asyncio.sleep(AGED)
