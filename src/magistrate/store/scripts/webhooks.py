"""Reads and writes webhooks, as scripts."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.webhooks import (
    NO_SECRET,
    ChangeWebhook,
    NewWebhook,
    StoredWebhook,
    WebhookAttempt,
    WebhookFilter,
    WebhookProgress,
    WebhookSecrets,
    WebhookState,
)
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.scripts.key_encryption import Sealing
from magistrate.store.scripts.versions import Effect, write_effects
from magistrate.store.sql.webhooks import (
    COUNT_WEBHOOKS,
    DELETE_ATTEMPTS,
    DELETE_WEBHOOK,
    FIND_LAST_ATTEMPT,
    FIND_POSITION,
    FIND_WEBHOOK,
    INSERT_ATTEMPT,
    INSERT_WEBHOOK,
    LEASE_WEBHOOK,
    LIST_SECRETS,
    MOVE_WEBHOOK,
    REPLACE_SECRETS,
    ROTATE_SECRET,
    TRIM_ATTEMPTS,
    UPDATE_WEBHOOK,
    WRITE_PROGRESS,
)

_FILTER = msgspec.json.Decoder(WebhookFilter)
_DUE_NOW = 0


def not_found(webhook_id: str) -> NotFound:
    return NotFound("Webhook", webhook_id)


def build_webhook(row: Row) -> StoredWebhook:
    """Builds a webhook from its columns."""
    names, (has_secret, previous_until, state, reason, created_at, created_by) = row[:4], row[4:10]
    position, bits, position_at, skipped, skipped_bits, skipped_at, lease, due_at, attempts = row[10:]
    webhook_id, url, only, description = names
    return StoredWebhook(
        id=webhook_id,
        url=url,
        filter=_FILTER.decode(only),
        description=description,
        has_secret=bool(has_secret),
        previous_until=previous_until,
        state=WebhookState(state),
        reason=reason,
        created_at=created_at,
        created_by=created_by,
        position=RevisionId(Revision(position), bits),
        position_at=position_at,
        skipped=None if skipped is None else RevisionId(Revision(skipped), skipped_bits),
        skipped_at=skipped_at,
        lease=lease,
        due_at=due_at,
        attempts=attempts,
    )


def build_attempt(row: Row) -> WebhookAttempt:
    """Builds an attempt from its columns."""
    message, began_at, duration_us, status, failure, revision, bits, number = row
    position = RevisionId(Revision(revision), bits)
    return WebhookAttempt(message, began_at, duration_us, status, failure, position, number)


def create_webhook(head: Revision, sealing: Sealing, new: NewWebhook, most: int) -> Script[Snapshot[StoredWebhook]]:
    [[(count,)]] = yield Select(COUNT_WEBHOOKS, [()])
    if count >= most:
        raise Conflict(f"the store has {count} webhooks, which is the most: delete one that nobody uses")
    [[(revision, bits, reached_at)]] = yield Select(FIND_POSITION, [()])
    state, due_at = (WebhookState.ENABLED, _DUE_NOW) if new.is_enabled else (WebhookState.DISABLED, None)
    sealed = sealing.seal(new.secret, _binding(new.id, new.created_at))
    row = (new.id, new.url, encode_filter(new.filter), new.description, sealed, state.value)
    position = (revision, bits, max(new.created_at, reached_at or 0))
    yield Execute(INSERT_WEBHOOK, [(*row, new.created_at, new.created_by, *position, due_at)])
    return Snapshot(head, (yield from _find(new.id)))


def encode_filter(only: WebhookFilter) -> str:
    return msgspec.json.encode(only).decode()


def update_webhook(head: Revision, webhook_id: str, change: ChangeWebhook) -> Script[Snapshot[StoredWebhook]]:
    stored = yield from _find(webhook_id)
    changed = change(stored)
    if changed.state != stored.state:
        if changed.state is WebhookState.ENABLED and not stored.has_secret:
            raise Conflict(NO_SECRET)
        due_at = _DUE_NOW if changed.state is WebhookState.ENABLED else None
        changed = replace(changed, lease=stored.lease + 1, due_at=due_at, attempts=0, reason="")
    elif changed.filter.of != stored.filter.of:
        due_at = None if stored.due_at is None else _DUE_NOW
        changed = replace(changed, lease=stored.lease + 1, due_at=due_at)
    row = (changed.url, encode_filter(changed.filter), changed.description, changed.state.value, changed.reason)
    yield Execute(UPDATE_WEBHOOK, [(*row, changed.lease, changed.due_at, changed.attempts, webhook_id)])
    return Snapshot(head, (yield from _find(webhook_id)))


def rotate_secret(
    head: Revision, sealing: Sealing, webhook_id: str, secret: str, previous_until: int
) -> Script[Snapshot[StoredWebhook]]:
    stored = yield from _find(webhook_id)
    sealed = sealing.seal(secret, _binding(webhook_id, stored.created_at))
    yield Execute(ROTATE_SECRET, [(previous_until, sealed, webhook_id)])
    return Snapshot(head, (yield from _find(webhook_id)))


def replay_webhook(
    head: Revision, webhook_id: str, position: RevisionId, position_at: int
) -> Script[Snapshot[StoredWebhook]]:
    yield from _find(webhook_id)
    yield Execute(MOVE_WEBHOOK, [(*position, position_at, webhook_id)])
    return Snapshot(head, (yield from _find(webhook_id)))


def delete_webhook(head: Revision, webhook_id: str) -> Script[Revision]:
    yield from _find(webhook_id)
    yield Execute(DELETE_WEBHOOK, [(webhook_id,)])
    yield Execute(DELETE_ATTEMPTS, [(webhook_id,)])
    return head


def lease_webhook(head: Revision, webhook_id: str, now: int, until: int) -> Script[StoredWebhook | None]:
    [rows] = yield Select(LEASE_WEBHOOK, [(until, webhook_id, now)])
    return (yield from _find(webhook_id)) if rows else None


def write_progress(
    head: Revision, webhook: StoredWebhook, progress: WebhookProgress, attempt: WebhookAttempt | None = None
) -> Script[bool]:
    position = (*progress.position, progress.position_at)
    row = (*position, progress.due_at, progress.attempts, progress.state.value, progress.reason)
    [written] = yield Select(WRITE_PROGRESS, [(*[progress.skipped_at] * 3, *row, webhook.id, webhook.lease)])
    if attempt is not None:
        yield from keep_attempt(head, webhook.id, attempt)
    return bool(written)


def end_webhook(
    head: Revision, webhook: StoredWebhook, progress: WebhookProgress, attempt: WebhookAttempt, stamp: Stamp
) -> Script[bool]:
    is_written = yield from write_progress(head, webhook, progress, attempt)
    if is_written:
        yield from write_effects(head, stamp, _describe_end(webhook, progress), is_called=False)
    return is_written


def _describe_end(webhook: StoredWebhook, progress: WebhookProgress) -> Script[list[Effect]]:
    yield from ()
    content = msgspec.json.encode({"state": progress.state.value, "reason": progress.reason}).decode()
    return [Effect("updated", "webhook", (webhook.id,), after=content)]


def keep_attempt(head: Revision, webhook_id: str, attempt: WebhookAttempt) -> Script[None]:
    [rows] = yield Select(FIND_LAST_ATTEMPT, [(webhook_id,)])
    if not rows:
        return
    number = rows[0][0] + 1
    times = (attempt.began_at, attempt.duration_us, attempt.status)
    row = (webhook_id, number, attempt.message, *times, attempt.failure, *attempt.position, attempt.number)
    yield Execute(INSERT_ATTEMPT, [row])
    yield Execute(TRIM_ATTEMPTS, [(webhook_id, number)])


def open_secrets(rows: Rows, sealing: Sealing, now: int) -> WebhookSecrets:
    """Builds the secrets that sign from the row of READ_SECRETS. Raises SigningKeysLocked."""
    webhook_id, created_at, secret, previous, previous_until = rows[0]
    signing = [secret, previous if previous_until is not None and now < previous_until else None]
    binding = _binding(webhook_id, created_at)
    return WebhookSecrets([sealing.unseal(kept, binding) for kept in signing if kept is not None])


def seal_secrets(head: Revision, sealing: Sealing) -> Script[int]:
    [rows] = yield Select(LIST_SECRETS, [()])
    changed: list[Row] = []
    for webhook_id, created_at, *kept in rows:
        sealed = _seal_again(kept, sealing, _binding(webhook_id, created_at))
        if sealed != kept:
            changed.append((*sealed, webhook_id))
    yield Execute(REPLACE_SECRETS, changed)
    return len(changed)


def _seal_again(kept: Sequence[str | None], sealing: Sealing, binding: str) -> list[str | None]:
    return [
        each
        if each is None or sealing.is_current(each, binding)
        else sealing.seal(sealing.unseal(each, binding), binding)
        for each in kept
    ]


def _find(webhook_id: str) -> Script[StoredWebhook]:
    [rows] = yield Select(FIND_WEBHOOK, [(webhook_id,)])
    if not rows:
        raise not_found(webhook_id)
    return build_webhook(rows[0])


def _binding(webhook_id: str, created_at: int) -> str:
    return f"webhook {webhook_id} {created_at}"
