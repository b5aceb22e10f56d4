"""Looks which webhooks of all stores have something to be delivered, and delivers it.

One statement finds them; webhooks that have everything cost no more than that, and no task. Of the processes that find
the same webhook, one gets its lease."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

import structlog

from magistrate.errors import StoreDeleted
from magistrate.operations.scheduling import attempt_work
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.operations.webhooks.counts import DeliveryCounts
from magistrate.operations.webhooks.delivery import LEASE_SECONDS, MICROSECONDS_PER_SECOND, WebhookDelivery
from magistrate.operations.webhooks.messages import MessageBuilder
from magistrate.store.contract.webhooks import WebhookCounts, WebhookPlace
from magistrate.tracing import Tracer

LOOK_EVERY_SECONDS = 1.0
FOLLOWER_PAUSES = 5
"""Counts the pauses after which a process looks that does not lead the others on its machine."""
MAX_DELIVERIES_AT_ONCE = 100
"""Limits the webhooks of which this process has the lease: it waits for each of them at most 15 s."""
COUNT_EVERY_LOOKS = 10
WATCH_PATH = "/v2/watch"

_PAUSES = random.Random()

log = structlog.get_logger()


class WebhookDeliverer:
    """Delivers to webhooks of all stores, for one process. `take_leadership` returns whether it is the one on this
    machine that looks most often; the others help if that one has too much, or hangs."""

    def __init__(
        self, contexts: StoreContexts, tracer: Tracer | None = None, take_leadership: Callable[[], bool] = lambda: True
    ) -> None:
        self.counts = DeliveryCounts()
        self.webhooks = WebhookCounts(0, 0, 0, 0.0)
        """Has the webhooks of all stores, as they were counted last."""
        self._contexts = contexts
        self._tracer = tracer
        self._take_leadership = take_leadership
        self._running: dict[WebhookPlace, asyncio.Task[None]] = {}

    @property
    def has_work(self) -> bool:
        """Returns whether this process delivers to any webhook now."""
        return bool(self._running)

    async def run(self) -> None:
        """Looks and delivers until it is cancelled."""
        looks = 0
        try:
            while True:
                await self._pause()
                await attempt_work(self.look(), "webhooks could not be delivered to")
                if not looks % COUNT_EVERY_LOOKS:
                    await attempt_work(self._count(), "webhooks could not be counted")
                looks += 1
        finally:
            await self.stop()

    async def _pause(self) -> None:
        for _ in range(FOLLOWER_PAUSES):
            await asyncio.sleep(_PAUSES.uniform(0.5, 1) * LOOK_EVERY_SECONDS)
            if self._take_leadership():
                return

    async def look(self) -> None:
        """Begins to deliver to the webhooks that are due. Raises StoreUnavailable."""
        most = MAX_DELIVERIES_AT_ONCE - len(self._running)
        if most <= 0:
            return
        places = await self._contexts.stores.list_due_webhooks(self._contexts.default.now(), most)
        for place in places:
            if place not in self._running:
                task = self._running[place] = asyncio.create_task(
                    attempt_work(self._deliver(place), "a webhook could not be delivered to")
                )
                task.add_done_callback(partial(self._end, place))

    def _end(self, place: WebhookPlace, task: asyncio.Task[None]) -> None:
        del self._running[place]

    async def stop(self) -> None:
        """Ends all deliveries."""
        tasks = [*self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self, place: WebhookPlace) -> None:
        try:
            context = self._contexts.open_context(place.store)
            now = context.now()
            until = now + round(LEASE_SECONDS * MICROSECONDS_PER_SECOND)
            leased = await context.store.lease_webhook(place.id, now, until)
        except StoreDeleted:
            return
        if leased is not None:
            watch_url = context.webhooks.public_url + self._contexts.find_prefix(place.store) + WATCH_PATH
            builder = MessageBuilder(context.store.identity, watch_url)
            delivery = WebhookDelivery(
                context, leased, builder, self.counts, tracer=self._tracer, is_crowded=self._is_crowded
            )
            await delivery.run()

    def _is_crowded(self) -> bool:
        """Returns whether webhooks may wait because this process delivers to as many as it may."""
        return len(self._running) >= MAX_DELIVERIES_AT_ONCE

    async def _count(self) -> None:
        self.webhooks = await self._contexts.stores.count_webhooks()
