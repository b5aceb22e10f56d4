"""Makes, lists, changes and deletes webhooks."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from magistrate.engine.names import Revision
from magistrate.errors import Conflict, InvalidParameter, RevisionUnavailable
from magistrate.operations.consistency import NO_DEMAND, Freshness, read_revision, require_stored
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, cut_sorted, read_page
from magistrate.operations.webhooks.messages import MessageBuilder
from magistrate.operations.webhooks.receivers import read_url, require_public
from magistrate.operations.webhooks.sending import send_once
from magistrate.operations.webhooks.signing import generate_secret
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.webhooks import (
    NO_SECRET,
    NewWebhook,
    StoredWebhook,
    WebhookAttempt,
    WebhookFilter,
    WebhookState,
)

MAX_WEBHOOKS = 50
"""Limits the webhooks of a store: each change is sent to all of them."""
ROTATION_SECONDS = 86_400
"""Sets for how long the secret before a rotation signs as well (24 h)."""
MICROSECONDS_PER_SECOND = 1_000_000
SINCE = "since"
"""Names the parameter of a replay."""

_SORTS: Mapping[str, Sort[StoredWebhook]] = {
    "createdAt": Sort("createdAt", lambda row: (row.created_at, row.id)),
}
WEBHOOK_LIST: ListKind[StoredWebhook] = ListKind("webhooks", _SORTS, is_versioned=False)


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """Describes a webhook to be made; without a secret, one is generated."""

    url: str
    filter: WebhookFilter
    description: str
    is_enabled: bool = True
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class WebhookChange:
    """Describes what is to be changed of a webhook; what is None stays. `filter` has the members of a filter that are
    replaced."""

    url: str | None = None
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str | None = None
    is_enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class IssuedWebhook:
    """Holds a webhook and its secret, which nobody ever sees again."""

    row: StoredWebhook
    secret: str = field(repr=False)


async def create_webhook(ctx: Context, draft: WebhookDraft, actor: str) -> Snapshot[IssuedWebhook]:
    """Makes a webhook, to which all later changes are sent. Raises InvalidParameter, also for a URL whose host must not
    be reached, and Conflict if there are MAX_WEBHOOKS."""
    await require_public(ctx.webhooks.guard, read_url(draft.url))
    await _require_defined(ctx, draft.filter.of)
    secret = draft.secret or generate_secret()
    new = NewWebhook(
        id=ctx.new_id(),
        url=draft.url,
        filter=draft.filter,
        description=draft.description,
        secret=secret,
        is_enabled=draft.is_enabled,
        created_at=ctx.now(),
        created_by=actor,
    )
    created = await ctx.store.create_webhook(new, MAX_WEBHOOKS)
    return Snapshot(created.revision, IssuedWebhook(created.value, secret))


async def _require_defined(ctx: Context, of: Sequence[str]) -> None:
    """Raises InvalidParameter for access whose type or relation is not defined."""
    if of:
        narrowing = read_narrowing(",".join(of), None, None, None)
        newest = await ctx.store.read_warrants((), None, 1)  # a known model may be older
        narrowing.require_defined((await ctx.caches.models.at(newest.revision, newest.model_revision),))


async def get_webhook(ctx: Context, webhook_id: str, freshness: Freshness) -> Snapshot[StoredWebhook]:
    """Returns the webhook with this id. Raises NotFound."""
    stored = await ctx.store.find_webhook(webhook_id)
    freshness.demand(stored.revision)
    return stored


async def list_webhooks(ctx: Context, page_request: PageRequest, freshness: Freshness) -> Snapshot[Page[StoredWebhook]]:
    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[StoredWebhook]]:
        stored = await ctx.store.list_webhooks()
        values = _SORTS[bounds.sort].values
        ordered = sorted(stored.value, key=values)
        return Snapshot(stored.revision, cut_sorted([*map(values, ordered)], bounds, ordered.__getitem__))

    return await read_page(WEBHOOK_LIST, page_request, freshness, ctx.store, read=read)


async def update_webhook(ctx: Context, webhook_id: str, change: WebhookChange) -> Snapshot[StoredWebhook]:
    """Replaces what is given. Raises NotFound, InvalidParameter, and Conflict if it is to be enabled and has no
    secret."""
    await get_webhook(ctx, webhook_id, NO_DEMAND)  # an id that no database accepts is unknown, too
    if change.url is not None:
        await require_public(ctx.webhooks.guard, read_url(change.url))

    await _require_defined(ctx, change.filter.get("of", ()))

    def apply(stored: StoredWebhook) -> StoredWebhook:
        only = replace_filter(stored.filter, change.filter)
        if bool(only.of) != bool(stored.filter.of):
            raise InvalidParameter("of", "cannot be added or removed; make another webhook")
        state = stored.state
        if change.is_enabled is not None and change.is_enabled != (state is WebhookState.ENABLED):
            state = WebhookState.ENABLED if change.is_enabled else WebhookState.DISABLED
        return replace(
            stored,
            url=stored.url if change.url is None else change.url,
            filter=only,
            description=stored.description if change.description is None else change.description,
            state=state,
        )

    return await ctx.store.update_webhook(webhook_id, apply)


def replace_filter(only: WebhookFilter, members: Mapping[str, tuple[str, ...]]) -> WebhookFilter:
    """Returns a filter with some members replaced. Raises InvalidParameter if they cannot be combined."""
    replaced = WebhookFilter(
        members.get("of", only.of),
        members.get("object_types", only.object_types),
        members.get("relations", only.relations),
        members.get("subject_types", only.subject_types),
    )
    if replaced.of and (replaced.object_types or replaced.relations or replaced.subject_types):
        raise InvalidParameter("of", "cannot be combined with objectType, relation and subjectType")
    return replaced


async def rotate_secret(ctx: Context, webhook_id: str, secret: str | None) -> Snapshot[IssuedWebhook]:
    """Replaces the secret of a webhook, by a generated one unless one is given; the one before signs as well for
    ROTATION_SECONDS. Raises NotFound."""
    await get_webhook(ctx, webhook_id, NO_DEMAND)
    secret = secret or generate_secret()
    previous_until = ctx.now() + ROTATION_SECONDS * MICROSECONDS_PER_SECOND
    rotated = await ctx.store.rotate_webhook_secret(webhook_id, secret, previous_until)
    return Snapshot(rotated.revision, IssuedWebhook(rotated.value, secret))


async def replay_webhook(ctx: Context, webhook_id: str, since: str) -> Snapshot[StoredWebhook]:
    """Has all changes after the write of a token sent again. Raises NotFound, InvalidParameter, RevisionLost, and
    EventsNotKept if they are not kept any more."""
    stored = await get_webhook(ctx, webhook_id, NO_DEMAND)
    position = read_revision(ctx.store.identity, SINCE, since)
    await require_stored(ctx.store, position)
    if position.revision > stored.value.position.revision:
        raise InvalidParameter(SINCE, "is ahead of the webhook, which has not got the changes before it")
    position_at = await _find_time(ctx, position)
    return await ctx.store.replay_webhook(webhook_id, position, position_at)


async def _find_time(ctx: Context, position: RevisionId) -> int:
    state = await ctx.store.find_revision(position.revision)
    if state.match is None:
        raise RevisionUnavailable(position.revision)
    return state.match.written_at


async def delete_webhook(ctx: Context, webhook_id: str) -> Revision:
    """Deletes the webhook with this id. Raises NotFound."""
    await get_webhook(ctx, webhook_id, NO_DEMAND)
    return await ctx.store.delete_webhook(webhook_id)


async def send_test(ctx: Context, webhook_id: str) -> Snapshot[WebhookAttempt]:
    """Sends a message that is a test, once, also if the webhook is disabled, and returns the attempt. Raises NotFound,
    and Conflict if it has no secret."""
    stored = await get_webhook(ctx, webhook_id, NO_DEMAND)
    began_at, began = ctx.now(), time.monotonic()
    secrets = (await ctx.store.read_webhook_secrets(webhook_id, began_at)).secrets
    if not secrets:
        raise Conflict(NO_SECRET)
    message = MessageBuilder(ctx.store.identity, "").build_test(stored.value, ctx.new_id(), began_at)
    outcome = await send_once(read_url(stored.value.url), ctx.webhooks, message, secrets)
    duration_us = round((time.monotonic() - began) * MICROSECONDS_PER_SECOND)
    position = stored.value.position
    attempt = WebhookAttempt(message.id, began_at, duration_us, outcome.status, outcome.failure, position, 1)
    await ctx.store.keep_webhook_attempt(webhook_id, attempt)
    return Snapshot(stored.revision, attempt)


async def list_attempts(ctx: Context, webhook_id: str, freshness: Freshness) -> Snapshot[tuple[WebhookAttempt, ...]]:
    """Returns the last attempts to deliver to a webhook, the newest first. Raises NotFound."""
    listed = await ctx.store.list_webhook_attempts(webhook_id)
    freshness.demand(listed.revision)
    return listed
