"""Defines what a store promises about webhooks: where the changes of the store are sent, up to where they were sent,
and which process may send more. Every sentence has a test in tests/store/test_webhooks.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.revisions import RevisionId

MAX_DELIVERIES = 100
"""Limits the attempts that are kept of each webhook."""
NO_SECRET = "the webhook has no secret, because it was restored from a backup: rotate the secret first"


class WebhookState(StrEnum):
    """Says whether changes are sent to a webhook, and if not, why: because a caller disabled it, the receiver answered
    410, or the last attempt of a delivery failed."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    GONE = "gone"
    DEAD = "dead"


class WebhookFilter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Selects what is sent to a webhook: changes of access, if `of` names some, as `document#viewer@user`; otherwise
    changes of rows, those of these types and relations if any are named."""

    of: tuple[str, ...] = ()
    object_types: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    subject_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """Holds a webhook without its secrets. Times are in microseconds since 1970 UTC.

    What was written by `position`, and what began or ended by itself until `position_at`, was sent, or is of no concern
    to it. `skipped` is the position from which on changes were skipped, when that last happened, and `skipped_at` when
    it was noticed. `due_at` is None unless the webhook is enabled; until then no process may begin to deliver. The
    delivery that is due has failed `attempts` times."""

    id: str
    url: str
    filter: WebhookFilter
    description: str
    has_secret: bool
    previous_until: int | None
    state: WebhookState
    reason: str
    created_at: int
    created_by: str
    position: RevisionId
    position_at: int
    skipped: RevisionId | None
    skipped_at: int | None
    lease: int
    due_at: int | None
    attempts: int


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """Describes a webhook to be made."""

    id: str
    url: str
    filter: WebhookFilter
    description: str
    secret: str = field(repr=False)
    is_enabled: bool
    created_at: int
    created_by: str


class WebhookSecrets(NamedTuple):
    """Holds the secrets that sign, the newest first; there is none after a restore."""

    secrets: Sequence[str]

    def __repr__(self) -> str:
        return f"{len(self.secrets)} secrets"


class WebhookAttempt(msgspec.Struct, frozen=True):
    """Holds an attempt to deliver a message: when it began and how long it took, in microseconds, and the status of the
    answer, None without one. `failure` says what went wrong; it is empty if nothing did. `position` is where the
    webhook is once it has the message. `number` counts the attempts of this delivery from 1."""

    message: str
    began_at: int
    duration_us: int
    status: int | None
    failure: str
    position: RevisionId
    number: int


@dataclass(frozen=True, slots=True)
class WebhookProgress:
    """Describes what a process that delivers writes: where the webhook is now, and when another process may go on."""

    position: RevisionId
    position_at: int
    due_at: int | None
    attempts: int = 0
    state: WebhookState = WebhookState.ENABLED
    reason: str = ""
    skipped_at: int | None = None
    """Is when it was noticed that changes between the position before and this one are not kept any more."""


class WebhookPlace(NamedTuple):
    """Identifies a webhook: by the number of its store, and its id."""

    store: int
    id: str


class WebhookCounts(NamedTuple):
    """Counts the webhooks of all stores: those that are enabled, those of which a delivery has failed and is attempted
    again, and those that are dead. `lag_seconds` is how long the oldest change waits that an enabled webhook has not
    got yet."""

    enabled: int
    retrying: int
    dead: int
    lag_seconds: float


ChangeWebhook = Callable[[StoredWebhook], StoredWebhook]
"""Returns a webhook as it is to be. Raising an exception leaves it as it is."""


class WebhookStore(Protocol):
    """Describes the part of a store that handles webhooks. They are not versioned: writing them makes no revision and
    no row in the change log, except in `end_webhook`."""

    async def list_webhooks(self) -> Snapshot[tuple[StoredWebhook, ...]]:
        """Returns all webhooks, by id."""
        ...

    async def find_webhook(self, webhook_id: str) -> Snapshot[StoredWebhook]:
        """Returns a webhook. Raises NotFound."""
        ...

    async def create_webhook(self, new: NewWebhook, most: int) -> Snapshot[StoredWebhook]:
        """Stores a webhook to which all later changes are sent. Raises Conflict if there are `most` already."""
        ...

    async def update_webhook(self, webhook_id: str, change: ChangeWebhook) -> Snapshot[StoredWebhook]:
        """Replaces the URL, the filter, the description, and whether it is enabled. If that changes, no process that
        delivers goes on, and the attempts begin anew; if `of` changes, none goes on either. Raises NotFound, and
        Conflict if it is to be enabled and has no secret."""
        ...

    async def rotate_webhook_secret(self, webhook_id: str, secret: str, previous_until: int) -> Snapshot[StoredWebhook]:
        """Replaces the secret. Of the earlier secrets, only the last one signs as well, until `previous_until`. Raises
        NotFound."""
        ...

    async def replay_webhook(self, webhook_id: str, position: RevisionId, position_at: int) -> Snapshot[StoredWebhook]:
        """Moves a webhook to a position, from which the changes are sent again. No process that delivers goes on.
        Raises NotFound."""
        ...

    async def delete_webhook(self, webhook_id: str) -> Revision:
        """Deletes a webhook with its attempts, and returns the newest revision. Raises NotFound."""
        ...

    async def read_webhook_secrets(self, webhook_id: str, now: int) -> WebhookSecrets:
        """Returns the secrets that sign at this time. Raises NotFound, and SigningKeysLocked if one is encrypted and
        the store was opened without the key for it."""
        ...

    async def lease_webhook(self, webhook_id: str, now: int, until: int) -> StoredWebhook | None:
        """Lets the caller alone deliver until a time, if it is enabled and due, and returns it with a new number of the
        lease; None otherwise. Of several concurrent callers, one gets it."""
        ...

    async def write_webhook_progress(
        self, webhook: StoredWebhook, progress: WebhookProgress, attempt: WebhookAttempt | None = None
    ) -> bool:
        """Writes the progress if the lease is still that of the webhook and it is enabled, and returns whether it was
        written. The attempt is kept in any case, unless the webhook was deleted."""
        ...

    async def end_webhook(
        self, webhook: StoredWebhook, progress: WebhookProgress, attempt: WebhookAttempt, stamp: Stamp
    ) -> bool:
        """Does the same when nothing is sent any more. If it is written, it makes a revision with an event of the kind
        `webhook`, whose content is a JSON object with `state` and `reason`."""
        ...

    async def keep_webhook_attempt(self, webhook_id: str, attempt: WebhookAttempt) -> None:
        """Keeps an attempt, unless the webhook was deleted."""
        ...

    async def list_webhook_attempts(self, webhook_id: str) -> Snapshot[tuple[WebhookAttempt, ...]]:
        """Returns the last MAX_DELIVERIES attempts, the newest first. Raises NotFound."""
        ...

    async def seal_webhook_secrets(self) -> int:
        """Encrypts the secrets that are not stored as new ones would be, and returns the number of webhooks. Raises
        SigningKeysLocked if one of them cannot be decrypted."""
        ...
