"""Delivers the changes of a store to one webhook, in order, while this process has its lease.

Each attempt begins with a look at the webhook: whether it is still enabled and the lease still that of this process.
A process that was paused for longer than the lease notices there that another delivers, and sends nothing more; what it
would write about the webhook counts for nothing in any case, because it is compared with the number of the lease. Only
what was being sent while it was paused may be sent twice.

A webhook that has everything, or that waits for its next attempt, is held by no process. See
docs/decisions/0104-a-webhook-is-delivered-to-by-one-process-at-a-time.md."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace

import structlog

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, MagistrateError, NotFound, NotRetained, RevisionLost, StoreDeleted
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.operations.watch.access_feed import RenderedAccess, Start, find_feeds
from magistrate.operations.watch.revision_log import RevisionBatch, WrittenRevision
from magistrate.operations.webhooks.counts import DEAD, DELIVERED, FAILED, GONE, DeliveryCounts
from magistrate.operations.webhooks.messages import LongMessage, MessageBuilder
from magistrate.operations.webhooks.receiver_message import OutgoingMessage, SendOutcome
from magistrate.operations.webhooks.receivers import read_url
from magistrate.operations.webhooks.schedule import choose_pause
from magistrate.operations.webhooks.sending import Receiver, open_receiver
from magistrate.store.contract.events import LogPart
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.webhooks import StoredWebhook, WebhookAttempt, WebhookProgress, WebhookState
from magistrate.tracing import Tracer

log = structlog.get_logger()

LEASE_SECONDS = 30.0
"""Sets after which time without a sign of life another process may deliver."""
MIN_LEASE_SECONDS = 20.0
"""Sets how much of the lease an attempt needs, which takes at most 15 s."""
WRITE_EVERY_SECONDS = 10.0
"""Sets how often the position is written while changes are passed over that are of no concern to the webhook."""
MAX_SECONDS = 30.0
"""Limits how long a webhook that always has something is delivered to while others may wait."""
MICROSECONDS_PER_SECOND = 1_000_000
GONE_STATUS = 410
ACTOR = "webhooks"
"""Names the actor of the revisions that say that nothing is sent to a webhook any more."""


class LeaseLost(Exception):
    """Reports that the webhook is not this process's to deliver to any more."""


class WebhookDelivery:
    """Delivers to a webhook of which this process has got the lease just now. `is_crowded` says whether others may have
    to wait for this one to end."""

    def __init__(
        self,
        ctx: Context,
        webhook: StoredWebhook,
        builder: MessageBuilder,
        counts: DeliveryCounts,
        tracer: Tracer | None = None,
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ctx = ctx
        self._webhook = webhook
        self._builder = builder
        self._counts = counts
        self._position = webhook.position
        self._position_at = webhook.position_at
        self._attempts = webhook.attempts
        self._leased_at = time.monotonic()
        self._client: Receiver | None = None
        self._tracer = tracer
        self._is_crowded = is_crowded
        self._began_at = self._leased_at

    async def run(self) -> None:
        """Delivers until the webhook has everything, an attempt fails, or the lease is lost. Raises
        StoreUnavailable."""
        try:
            await (self._follow_access() if self._webhook.filter.of else self._follow_revisions())
        except InvalidParameter as error:  # a type or relation of `of` is not defined any more
            await self._write_last(
                replace(self._describe_progress(), state=WebhookState.DISABLED, reason=error.message)
            )
        except NotRetained:
            await self._skip(await self._find_oldest())
        except RevisionLost:
            await self._skip(await self._find_newest())
        except (LeaseLost, NotFound, StoreDeleted):
            pass
        except asyncio.CancelledError:  # the service stops: others need not wait for the end of the lease
            with suppress(MagistrateError, LeaseLost):
                await self._release()
            raise
        finally:
            if self._client is not None:
                await self._client.close()

    async def _follow_access(self) -> None:
        """Delivers how the selected access changes. Raises LeaseLost, and what `AccessFeeds.follow` raises."""
        narrowing = read_narrowing(",".join(self._webhook.filter.of), None, None, None)
        start = Start(self._position, self._position_at)
        async with aclosing(find_feeds(self._ctx).follow(self._ctx, narrowing, start)) as batches:
            async for batch in batches:
                for event in batch.events:
                    message = await self._build_access(event)
                    if not await self._deliver(message, event.position.id, event.position.time):
                        return
                self._position, self._position_at = batch.position.id, batch.position.time
                await self._write_in_time()
                if await self._release_if_crowded():
                    return

    async def _follow_revisions(self) -> None:
        """Delivers what follows the position. Raises LeaseLost, and what `RevisionFeed.follow` raises."""
        async with aclosing(self._ctx.feed.follow(self._position)) as batches:
            await anext(batches)
            async for batch in batches:
                if not batch.revisions and batch.newest == self._position:
                    await self._release()
                    return
                if not await self._deliver_batch(batch):
                    return
                if await self._release_if_crowded():
                    return

    async def _deliver_batch(self, batch: RevisionBatch) -> bool:
        """Delivers what concerns the webhook, and returns whether it has all of it. Raises LeaseLost."""
        for written in batch.revisions:
            message = await self._build(written)
            if message is None:
                self._attempts = 0
            elif not await self._deliver(message, written.id, written.written_at):
                return False
            self._position, self._position_at = written.id, written.written_at
            await self._write_in_time()
            if is_time_up():
                await checkpoint()
        self._position, self._position_at = batch.newest, max(batch.newest_at, self._position_at)
        await self._write_in_time()
        return True

    async def _build(self, written: WrittenRevision) -> OutgoingMessage | None:
        """Returns the message about a revision, None if nothing in it concerns the webhook."""
        try:
            return self._builder.build(self._webhook, written)
        except LongMessage:
            return self._builder.build_pointer(self._webhook, written, await self._find_before(written.id))

    async def _build_access(self, event: RenderedAccess) -> OutgoingMessage:
        try:
            return self._builder.build_access(self._webhook, event)
        except LongMessage:
            before = await self._find_before(event.position.id)
            return self._builder.build_access_pointer(self._webhook, event, before)

    async def _find_before(self, written: RevisionId) -> RevisionId:
        """Returns the revision behind which a watch begins with this one."""
        return await self._ctx.store.identify(Revision(written.revision - 1))

    async def _write_in_time(self) -> None:
        if time.monotonic() - self._leased_at >= WRITE_EVERY_SECONDS:
            await self._renew()

    async def _deliver(
        self, message: OutgoingMessage, position: RevisionId, position_at: int, skipped_at: int | None = None
    ) -> bool:
        """Attempts to deliver a message, with which the webhook is at a position, and returns whether the receiver has
        it. Raises LeaseLost."""
        await self._look()
        began_at, began = self._ctx.now(), time.monotonic()
        outcome = await self._send_traced(message, began_at)
        duration_us = round((time.monotonic() - began) * MICROSECONDS_PER_SECOND)
        number = self._attempts + 1
        attempt = WebhookAttempt(message.id, began_at, duration_us, outcome.status, outcome.failure, position, number)
        if outcome.failure:
            await self._write_failure(self._describe_failure(outcome, number), attempt)
            return False
        self._counts.add(DELIVERED)
        self._position, self._position_at, self._attempts = position, position_at, 0
        await self._write(replace(self._describe_progress(), skipped_at=skipped_at), attempt)
        return True

    async def _write_failure(self, progress: WebhookProgress, attempt: WebhookAttempt) -> None:
        if progress.state is WebhookState.ENABLED:
            await self._write(progress, attempt)
        else:
            await self._ctx.store.end_webhook(self._webhook, progress, attempt, self._ctx.stamp(ACTOR))

    async def _look(self) -> None:
        """Makes certain that an attempt may begin, and takes over what callers have changed. Raises LeaseLost."""
        if time.monotonic() - self._leased_at > LEASE_SECONDS - MIN_LEASE_SECONDS:
            await self._renew()
        stored = (await self._ctx.store.find_webhook(self._webhook.id)).value
        if stored.lease != self._webhook.lease or stored.state is not WebhookState.ENABLED:
            raise LeaseLost
        if self._client is not None and stored.url != self._client.url.text:
            await self._client.close()
            self._client = None
        self._webhook = stored

    async def _send_traced(self, message: OutgoingMessage, now: int) -> SendOutcome:
        span = None if self._tracer is None else self._tracer.begin_work("webhook delivery")
        if span is None:
            return await self._send(message, now)
        with span:
            outcome = await self._send(message, now)
            span.attributes |= {"http.request.method": "POST", "magistrate.webhook": self._webhook.id}
            span.attributes["magistrate.store"] = self._ctx.store.identity.store_id
            span.attributes["magistrate.result"] = FAILED if outcome.failure else DELIVERED
            if outcome.status is not None:
                span.attributes["http.response.status_code"] = outcome.status
            span.error = outcome.failure and str(outcome.status or "no answer")
        return outcome

    async def _send(self, message: OutgoingMessage, now: int) -> SendOutcome:
        secrets = (await self._ctx.store.read_webhook_secrets(self._webhook.id, now)).secrets
        if self._client is None:
            opened = await open_receiver(read_url(self._webhook.url), self._ctx.webhooks)
            if isinstance(opened, SendOutcome):
                return opened
            self._client = opened
        return await self._client.deliver(message, secrets)

    def _describe_failure(self, outcome: SendOutcome, number: int) -> WebhookProgress:
        """Returns what follows from an attempt that has failed, as the `number`th of its delivery."""
        pause = choose_pause(number, outcome.retry_after)
        failed = WebhookProgress(self._position, self._position_at, None, number, reason=outcome.failure)
        if outcome.status == GONE_STATUS:
            self._counts.add(GONE)
            failed = replace(failed, state=WebhookState.GONE)
        elif pause is None:
            self._counts.add(DEAD)
            failed = replace(failed, state=WebhookState.DEAD)
        else:
            self._counts.add(FAILED)
            return replace(failed, due_at=self._ctx.now() + round(pause * MICROSECONDS_PER_SECOND))
        log.warning(
            "a webhook gets no more messages",
            webhook=self._webhook.id,
            state=failed.state.value,
            attempts=number,
            reason=outcome.failure,
        )
        return failed

    def _describe_progress(self) -> WebhookProgress:
        """Returns where the webhook is now, with another lease."""
        reason = self._webhook.reason if self._attempts else ""
        due_at = self._ctx.now() + round(LEASE_SECONDS * MICROSECONDS_PER_SECOND)
        return WebhookProgress(self._position, self._position_at, due_at, self._attempts, reason=reason)

    async def _renew(self) -> None:
        """Writes the position, and has the lease begin anew. Raises LeaseLost."""
        await self._write(self._describe_progress())

    async def _release(self) -> None:
        """Writes the position, and lets any process deliver as soon as there is something."""
        await self._write(replace(self._describe_progress(), due_at=self._ctx.now()))

    async def _release_if_crowded(self) -> bool:
        """Releases the webhook if it was delivered to for long while others may wait, and returns whether it did."""
        if not self._is_crowded() or time.monotonic() - self._began_at < MAX_SECONDS:
            return False
        await self._release()
        return True

    async def _write_last(self, progress: WebhookProgress) -> None:
        with suppress(LeaseLost):
            await self._write(replace(progress, due_at=None))

    async def _write(self, progress: WebhookProgress, attempt: WebhookAttempt | None = None) -> None:
        """Raises LeaseLost if it was not written."""
        leased_at = time.monotonic()
        if not await self._ctx.store.write_webhook_progress(self._webhook, progress, attempt):
            raise LeaseLost
        self._leased_at = leased_at

    async def _skip(self, position: tuple[RevisionId, int]) -> None:
        """Sends the receiver a message that changes are missing, and goes on behind them once it has that message."""
        now = self._ctx.now()
        message = self._builder.build_skip(self._webhook, *position)
        log.warning("changes that were not kept were skipped by a webhook", webhook=self._webhook.id)
        try:
            if await self._deliver(message, *position, skipped_at=now):
                await self._release()
        except (LeaseLost, NotFound):
            pass

    async def _find_oldest(self) -> tuple[RevisionId, int]:
        """Returns the revision behind which all changes are kept, and its time."""
        page = await self._ctx.store.read_log(LogPart(self._ctx.store.known.newest, 0, 0))
        return await self._ctx.store.identify(page.deleted), page.deleted_at or page.newest_at

    async def _find_newest(self) -> tuple[RevisionId, int]:
        page = await self._ctx.store.read_log(LogPart(self._ctx.store.known.newest, 0, 0))
        return page.newest, page.newest_at
