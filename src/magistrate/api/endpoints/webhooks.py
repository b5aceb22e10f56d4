"""Defines the bodies and handlers of /v2/webhooks (docs/webhooks.md)."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.http.json_values import render_time
from magistrate.engine.terms import relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.consistency import write_token
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.paging import read_page_request
from magistrate.operations.webhooks import webhooks
from magistrate.operations.webhooks.receivers import MAX_URL_LENGTH, read_url
from magistrate.operations.webhooks.signing import read_secret
from magistrate.operations.webhooks.webhooks import (
    SINCE,
    WEBHOOK_LIST,
    IssuedWebhook,
    WebhookChange,
    WebhookDraft,
    replace_filter,
)
from magistrate.store.contract.stored_rows import Identity
from magistrate.store.contract.webhooks import StoredWebhook, WebhookAttempt, WebhookFilter, WebhookState

MAX_NAMES = 100
"""Limits the names in a member of a filter."""
MAX_DESCRIPTION_LENGTH = 1_000
MICROSECONDS_PER_MS = 1_000

UrlText = Annotated[str, msgspec.Meta(extra_json_schema={"format": "uri", "maxLength": MAX_URL_LENGTH})]
DescriptionText = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_DESCRIPTION_LENGTH})]
NameList = Annotated[list[str], msgspec.Meta(extra_json_schema={"maxItems": MAX_NAMES})]
TypeList = Annotated[list[TypeText], msgspec.Meta(extra_json_schema={"maxItems": MAX_NAMES})]
StateText = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [state.value for state in WebhookState]})]


class WebhookBody(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents a webhook to create. It gets the changes that match `objectType`, `relation` and `subjectType`, or the
    access named by `of` that is gained and lost. Without `secret`, one is generated."""

    url: UrlText | None = None
    of: NameList | None = None
    object_type: TypeList | None = None
    relation: NameList | None = None
    subject_type: TypeList | None = None
    secret: str | None = None
    description: DescriptionText | None = None
    enabled: bool | None = None


class WebhookChangeBody(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents what is to be changed of a webhook: each member replaces the whole, and null removes it."""

    url: UrlText | UnsetType = UNSET
    of: NameList | UnsetType | None = UNSET
    object_type: TypeList | UnsetType | None = UNSET
    relation: NameList | UnsetType | None = UNSET
    subject_type: TypeList | UnsetType | None = UNSET
    description: DescriptionText | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET


class SecretBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents the new secret of a webhook; without `secret`, one is generated."""

    secret: str | None = None


class ReplayBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents from where on changes are sent again: after the write of the token `since`."""

    since: str | None = None


class SkippedAnswer(msgspec.Struct):
    """Represents changes that were skipped because they were not kept any more: all those after the write of a token
    until the time at which this was noticed, or fewer."""

    after: str
    time: str


class WebhookAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a webhook. All changes up to the write of `token` were sent. `attempts` counts those of the delivery
    that is due that have failed; the next one is at `nextAttemptAt`. The secret before a rotation signs as well until
    `previousUntil`."""

    id: str
    url: str
    of: list[str] | None = None
    object_type: list[str] | None = None
    relation: list[str] | None = None
    subject_type: list[str] | None = None
    description: str | None = None
    enabled: bool
    state: StateText
    reason: str | None = None
    created_at: str
    created_by: str
    previous_until: str | None = None
    token: str
    attempts: int = 0
    next_attempt_at: str | None = None
    skipped: SkippedAnswer | None = None


class IssuedWebhookAnswer(WebhookAnswer, kw_only=True):
    """Represents a webhook with its secret, which is shown this once."""

    secret: str


class DeliveryAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents an attempt to deliver a message: when it began, the status of the answer, and how long it took in
    milliseconds. `error` says what went wrong, and is absent if the receiver has the message. `tokens` has the write up
    to which the receiver has everything then, `attempt` counts from 1."""

    id: str
    time: str
    status: int | None = None
    error: str | None = None
    duration: float
    attempt: int
    tokens: list[str]


class DeliveriesAnswer(msgspec.Struct):
    """Represents the last attempts, the newest first."""

    results: list[DeliveryAnswer]


async def create(call: Call[WebhookBody]) -> Answer[IssuedWebhookAnswer]:
    body = call.body
    if not body.url:
        raise MissingParameter("url")
    draft = WebhookDraft(
        read_url(body.url).text,
        replace_filter(WebhookFilter(), _read_filter(body)),
        _read_description(body.description),
        body.enabled is not False,
        None if body.secret is None else read_secret(body.secret),
    )
    created = await webhooks.create_webhook(call.context, draft, call.caller.actor)
    return Answer(_render_issued(created.value, call.context.store.identity), created.revision)


async def get(call: Call[None]) -> Answer[WebhookAnswer]:
    stored = await webhooks.get_webhook(call.context, call.path["id"], call.freshness)
    return Answer(_render_webhook(stored.value, call.context.store.identity), stored.revision)


async def list_page(call: Call[None]) -> Answer[ListAnswer[WebhookAnswer]]:
    identity = call.context.store.identity
    bounds = read_page_request(WEBHOOK_LIST, call.parameters, identity)
    page = await webhooks.list_webhooks(call.context, bounds, call.freshness)
    return Answer(await render_page(page.value, lambda row: _render_webhook(row, identity)), page.revision)


async def update(call: Call[WebhookChangeBody]) -> Answer[WebhookAnswer]:
    body = call.body
    change = WebhookChange(
        None if body.url is UNSET else read_url(body.url).text,
        _read_filter(body),
        None if body.description is UNSET else _read_description(body.description),
        None if body.enabled is UNSET else body.enabled,
    )
    changed = await webhooks.update_webhook(call.context, call.path["id"], change)
    return Answer(_render_webhook(changed.value, call.context.store.identity), changed.revision)


async def delete(call: Call[None]) -> Answer[None]:
    return Answer(None, await webhooks.delete_webhook(call.context, call.path["id"]))


async def rotate(call: Call[SecretBody]) -> Answer[IssuedWebhookAnswer]:
    secret = None if call.body.secret is None else read_secret(call.body.secret)
    rotated = await webhooks.rotate_secret(call.context, call.path["id"], secret)
    return Answer(_render_issued(rotated.value, call.context.store.identity), rotated.revision)


async def replay(call: Call[ReplayBody]) -> Answer[WebhookAnswer]:
    if not call.body.since:
        raise MissingParameter(SINCE)
    moved = await webhooks.replay_webhook(call.context, call.path["id"], call.body.since)
    return Answer(_render_webhook(moved.value, call.context.store.identity), moved.revision)


async def send_test(call: Call[None]) -> Answer[DeliveryAnswer]:
    attempt = await webhooks.send_test(call.context, call.path["id"])
    return Answer(_render_attempt(attempt.value, call.context.store.identity), attempt.revision)


async def list_deliveries(call: Call[None]) -> Answer[DeliveriesAnswer]:
    listed = await webhooks.list_attempts(call.context, call.path["id"], call.freshness)
    identity = call.context.store.identity
    return Answer(DeliveriesAnswer([_render_attempt(row, identity) for row in listed.value]), listed.revision)


def _read_filter(body: WebhookBody | WebhookChangeBody) -> dict[str, tuple[str, ...]]:
    """Returns the members of a filter that a body has. Raises InvalidParameter."""
    read = {"of": _read_of, "object_type": _read_types, "relation": _read_relations, "subject_type": _read_types}
    members: dict[str, tuple[str, ...]] = {}
    for name, read_names in read.items():
        texts = getattr(body, name)
        if texts is UNSET:
            continue
        parameter = _PARAMETERS[name]
        if texts is not None and len(texts) > MAX_NAMES:
            raise InvalidParameter(parameter, f"must have at most {MAX_NAMES} elements")
        members[_MEMBERS[name]] = tuple(dict.fromkeys(read_names(texts or [], parameter)))
    return members


_PARAMETERS = {"of": "of", "object_type": "objectType", "relation": "relation", "subject_type": "subjectType"}
_MEMBERS = {"of": "of", "object_type": "object_types", "relation": "relations", "subject_type": "subject_types"}


def _read_of(texts: list[str], parameter: str) -> list[str]:
    if texts:
        read_narrowing(",".join(texts), None, None, None)
    return texts


def _read_types(texts: list[str], parameter: str) -> list[str]:
    return [type_name(text, parameter) for text in texts]


def _read_relations(texts: list[str], parameter: str) -> list[str]:
    return [relation_name(text, parameter) for text in texts]


def _read_description(text: str | None) -> str:
    if text is not None and (len(text) > MAX_DESCRIPTION_LENGTH or "\0" in text):
        raise InvalidParameter("description", f"must be at most {MAX_DESCRIPTION_LENGTH} characters, none of them NUL")
    return text or ""


def _render_webhook(row: StoredWebhook, identity: Identity) -> WebhookAnswer:
    skipped = None
    if row.skipped is not None and row.skipped_at is not None:
        skipped = SkippedAnswer(write_token(identity, row.skipped), render_time(row.skipped_at))
    return WebhookAnswer(
        id=row.id,
        url=row.url,
        of=_render_names(row.filter.of),
        object_type=_render_names(row.filter.object_types),
        relation=_render_names(row.filter.relations),
        subject_type=_render_names(row.filter.subject_types),
        description=row.description or None,
        enabled=row.state is WebhookState.ENABLED,
        state=row.state.value,
        reason=row.reason or None,
        created_at=render_time(row.created_at),
        created_by=row.created_by,
        previous_until=_render_moment(row.previous_until),
        token=write_token(identity, row.position),
        attempts=row.attempts,
        next_attempt_at=_render_moment(row.due_at) if row.attempts else None,
        skipped=skipped,
    )


def _render_names(names: tuple[str, ...]) -> list[str] | None:
    return [*names] or None


def _render_moment(at: int | None) -> str | None:
    return None if at is None else render_time(at)


def _render_issued(issued: IssuedWebhook, identity: Identity) -> IssuedWebhookAnswer:
    return IssuedWebhookAnswer(**asdict(_render_webhook(issued.row, identity)), secret=issued.secret)


def _render_attempt(row: WebhookAttempt, identity: Identity) -> DeliveryAnswer:
    return DeliveryAnswer(
        id=row.message,
        time=render_time(row.began_at),
        status=row.status,
        error=row.failure or None,
        duration=row.duration_us / MICROSECONDS_PER_MS,
        attempt=row.number,
        tokens=[write_token(identity, row.position)],
    )
