"""Renders the records of the audit log, in one of two formats (docs/operating.md#audit)."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from magistrate.api.audit.chain import ChainLink
from magistrate.api.http.json_values import decode_json, render_time

CHANGE, REFUSED, ADMINISTRATIVE = "change", "refused", "administrative"
"""Name the kinds of audited requests."""
MAX_BODY_BYTES = 4_096
"""Limits the bytes of a request body that is recorded as a whole; of a longer one, the digest is recorded."""
MAX_PATH_CHARACTERS = 2_048
"""Limits the characters of a path that are recorded."""
BYTES_OF_A_RECORD = 600
NOT_RENDERED = "the record could not be rendered"

log = structlog.get_logger()


class AuditRecord(msgspec.Struct, frozen=True):
    """Represents an audited request. `at` is in microseconds since 1970 UTC, `kind` is "change", "refused" or
    "administrative", and `body` is the JSON that was sent. `actor` and `token`, that of the revision that was written,
    are None if there are none.

    A record may stand for several requests that were refused since a time: `times` counts them, and they have an actor
    or a source, but nothing else in common."""

    at: int
    kind: str
    actor: str | None
    request_id: str | None = None
    method: str | None = None
    path: str | None = None
    status: int | None = None
    token: str | None = None
    body: bytes = b""
    source: str | None = None
    times: int | None = None
    since: int | None = None

    def measure(self) -> int:
        """Returns an estimate of the bytes that the record takes while it waits."""
        return BYTES_OF_A_RECORD + len(self.path or "") + len(self.actor or "") + len(self.body)


def _build_stub_members(record: AuditRecord, dropped: int) -> dict[str, Any]:
    """Returns the members of a record that cannot be rendered: they contain no JSON of the caller, and only characters
    that can be encoded."""
    members = _build_head_members(record, dropped) | _build_digest_members(record.body)
    encodable = {
        name: value.encode(errors="replace").decode() if isinstance(value, str) else value
        for name, value in members.items()
    }
    return encodable | {"error": NOT_RENDERED}


def _build_head_members(record: AuditRecord, dropped: int) -> dict[str, Any]:
    """Returns the members that both formats have, those without a value left out, and without that of the body.
    `dropped` counts the records that are missing before this one."""
    members = {
        "kind": record.kind,
        "actor": record.actor,
        "requestId": record.request_id,
        "method": record.method,
        "path": record.path,
        "status": record.status,
        "source": record.source,
        "times": record.times,
        "since": None if record.since is None else render_time(record.since),
        "token": record.token,
        "dropped": dropped or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def _build_body_members(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_BODY_BYTES:
        return _build_digest_members(body)
    if not body:
        return {}
    try:
        return {"request": msgspec.Raw(msgspec.json.encode(decode_json(body)))}
    except (msgspec.DecodeError, RecursionError):  # some routes take text as well; or it is nested too deeply
        return {"request": body.decode(errors="replace")}


def _build_digest_members(body: bytes) -> dict[str, Any]:
    return {"requestSha256": hashlib.sha256(body).hexdigest(), "requestBytes": len(body)} if body else {}


def _render_json(record: AuditRecord, members: Mapping[str, Any], link: ChainLink) -> bytes:
    return msgspec.json.encode({"time": render_time(record.at), **members, **msgspec.structs.asdict(link)})


def _render_cloud_event(record: AuditRecord, members: Mapping[str, Any], link: ChainLink) -> bytes:
    """Renders a CloudEvent 1.0 with three extension attributes, those of the link."""
    event = {
        "specversion": "1.0",
        "id": f"{link.chain}-{link.sequence}",
        "source": "/magistrate",
        "type": f"magistrate.audit.{record.kind}",
        "time": render_time(record.at),
        "datacontenttype": "application/json",
        "data": members,
    }
    return msgspec.json.encode(event | msgspec.structs.asdict(link))


AUDIT_FORMATS: Mapping[str, Callable[[AuditRecord, Mapping[str, Any], ChainLink], bytes]] = {
    "json": _render_json,
    "cloudevents": _render_cloud_event,
}
"""Maps the setting audit_format to what renders the time of a record, its other members, and its link."""


class LineContent:
    """Represents a line that is still to be linked: called with its link, it returns the JSON object. If the record
    cannot be rendered, this is a stub that says so."""

    __slots__ = ("_dropped", "_format", "_record")

    def __init__(self, log_format: str, record: AuditRecord, dropped: int) -> None:
        self._format = log_format
        self._record = record
        self._dropped = dropped

    def __call__(self, link: ChainLink) -> bytes:
        record, render = self._record, AUDIT_FORMATS[self._format]
        try:
            members = _build_head_members(record, self._dropped) | _build_body_members(record.body)
            return render(record, members, link)
        except Exception as error:  # one record must not keep all later ones from being written
            with suppress(Exception):  # the log of the service may be on a full disk
                log.error(
                    "a record of the audit log cannot be rendered", request_id=record.request_id, cause=repr(error)
                )
            return render(record, _build_stub_members(record, self._dropped), link)
