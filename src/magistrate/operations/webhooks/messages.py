"""Builds the messages of webhooks: bodies as the Standard Webhooks specification 1.0.0 describes them.

A message is a function of what was written and of the webhook alone: each attempt, by whatever process, sends the same
id and the same body."""

from urllib.parse import urlencode

import msgspec

from magistrate.operations.consistency import write_token
from magistrate.operations.history.times import render_time
from magistrate.operations.watch.access_feed import RenderedAccess
from magistrate.operations.watch.access_steps import AccessPosition
from magistrate.operations.watch.revision_log import WrittenRevision
from magistrate.operations.watch.watch_events import WatchFilter, render_revision
from magistrate.operations.webhooks.receiver_message import OutgoingMessage
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from magistrate.store.contract.webhooks import StoredWebhook, WebhookFilter

MAX_BODY_BYTES = 20_000
"""Limits the body of a message; one that would be longer says where to read what happened."""
REVISION, ACCESS = "revision", "access"
"""Are the types of messages."""

_ENCODER = msgspec.json.Encoder()


class LongMessage(Exception):
    """Reports that a message would have MAX_BODY_BYTES or more."""


class MessageBuilder:
    """Builds the messages of the webhooks of a store. `watch_url` is the URL of its watch, by which a receiver reads
    what is too long for a message; relative if the operator has not said by which URL clients reach the service."""

    def __init__(self, identity: Identity, watch_url: str) -> None:
        self._identity = identity
        self._watch_url = watch_url

    def build(self, webhook: StoredWebhook, written: WrittenRevision) -> OutgoingMessage | None:
        """Returns the message about a revision, None if nothing in it concerns the webhook. Raises LongMessage if it
        would be too long."""
        if written.changes is None:
            raise LongMessage
        data = render_revision(self._identity, written, _select_rows(webhook.filter))
        if data is None:
            return None
        body = self._wrap(REVISION, written.written_at, data)
        if len(body) >= MAX_BODY_BYTES:
            raise LongMessage
        return OutgoingMessage(_identify(webhook, written.id), body)

    def build_pointer(self, webhook: StoredWebhook, written: WrittenRevision, before: RevisionId) -> OutgoingMessage:
        """Returns the message that says where to read a revision, given the one before it."""
        token = write_token(self._identity, written.id)
        data = {"token": token, "watch": self._point_to(webhook.filter, before)}
        return OutgoingMessage(_identify(webhook, written.id), self._render(webhook, written.written_at, data))

    def build_access(self, webhook: StoredWebhook, event: RenderedAccess) -> OutgoingMessage:
        """Returns the message about access that was gained and lost. Raises LongMessage if it would be too long."""
        body = self._wrap(ACCESS, event.position.time, event.json)
        if len(body) >= MAX_BODY_BYTES:
            raise LongMessage
        return OutgoingMessage(_identify_moment(webhook, event.position), body)

    def build_access_pointer(
        self, webhook: StoredWebhook, event: RenderedAccess, before: RevisionId
    ) -> OutgoingMessage:
        """Returns the message that says where to read it, given the revision before that of the event. That may repeat
        what time alone has changed since, but does not depend on where the webhook was."""
        position = event.position
        parameters = urlencode([("of", ",".join(webhook.filter.of)), ("since", write_token(self._identity, before))])
        data = {"token": write_token(self._identity, position.id), "watch": f"{self._watch_url}/access?{parameters}"}
        body = self._wrap(ACCESS, position.time, _ENCODER.encode(data))
        return OutgoingMessage(_identify_moment(webhook, position), body)

    def build_skip(self, webhook: StoredWebhook, position: RevisionId, at: int) -> OutgoingMessage:
        """Returns the message that says that changes between the position of a webhook and this one were skipped."""
        data = {
            "token": write_token(self._identity, position),
            "time": render_time(at),
            "skippedAfter": write_token(self._identity, webhook.position),
        }
        return OutgoingMessage(f"{_identify(webhook, position)}_skip", self._render(webhook, at, data))

    def build_test(self, webhook: StoredWebhook, unique: str, at: int) -> OutgoingMessage:
        """Returns a message that says nothing but that it is a test; `unique` makes its id."""
        data = {"token": write_token(self._identity, webhook.position), "time": render_time(at), "test": True}
        return OutgoingMessage(f"msg_{unique.replace('-', '')}_test", self._render(webhook, at, data))

    def _wrap(self, of_type: str, at: int, data: bytes) -> bytes:
        """Returns a body with data that are rendered already."""
        return _ENCODER.encode({"type": of_type, "timestamp": render_time(at), "data": msgspec.Raw(data)})

    def _render(self, webhook: StoredWebhook, at: int, data: object) -> bytes:
        return self._wrap(ACCESS if webhook.filter.of else REVISION, at, _ENCODER.encode(data))

    def _point_to(self, only: WebhookFilter, before: RevisionId) -> str:
        parameters = [("since", write_token(self._identity, before))]
        for name, texts in (
            ("objectType", only.object_types),
            ("relation", only.relations),
            ("subjectType", only.subject_types),
        ):
            parameters += [(name, text) for text in texts]
        return f"{self._watch_url}?{urlencode(parameters)}"


def _identify(webhook: StoredWebhook, written: RevisionId) -> str:
    """Returns the id of the message about a revision, which has no full stop, because signatures separate by them."""
    return f"msg_{webhook.id.replace('-', '')}_{written.revision}_{written.bits or 0:08x}"


def _identify_moment(webhook: StoredWebhook, position: AccessPosition) -> str:
    """Returns the id of the message about a position of the effective feed."""
    moment = "" if position.time == position.reached_at else f"_{position.time}"
    return f"{_identify(webhook, position.id)}{moment}"


def _select_rows(only: WebhookFilter) -> WatchFilter:
    return WatchFilter(frozenset(only.object_types), frozenset(only.relations), frozenset(only.subject_types))
