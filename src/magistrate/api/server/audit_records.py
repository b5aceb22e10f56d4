"""Renders the records of the audit log, in one of two formats (docs/operating.md#audit)."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from magistrate.api.json_decoders import decode_json
from magistrate.api.render import render_time
from magistrate.audit_chain import ChainLink

CHANGE, REFUSED, ADMINISTRATIVE = "change", "refused", "administrative"
"""Name the kinds of audited requests."""
MOST_BODY_BYTES = 4_096
"""Limits the bytes of a request body that is recorded as a whole; of a longer one, the digest is recorded."""
MOST_PATH_CHARACTERS = 2_048


class AuditRecord(msgspec.Struct, frozen=True):
    """Represents an audited request. `at` is in microseconds since 1970 UTC, `kind` is "change", "refused" or
    "administrative", and `body` is the JSON that was sent. `actor` and `token`, that of the revision that was written,
    are None if there are none."""

    at: int
    kind: str
    actor: str | None
    request_id: str
    method: str
    path: str
    status: int
    token: str | None = None
    body: bytes = b""


def _build_members(record: AuditRecord, dropped: int) -> dict[str, Any]:
    """Returns the members that both formats have, those without a value left out. `dropped` counts the records that
    are missing before this one."""
    members = {
        "kind": record.kind,
        "actor": record.actor,
        "requestId": record.request_id,
        "method": record.method,
        "path": record.path[:MOST_PATH_CHARACTERS],
        "status": record.status,
        "token": record.token,
        **_build_body_members(record.body),
        "dropped": dropped or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def _build_body_members(body: bytes) -> Mapping[str, object]:
    if not body:
        return {}
    if len(body) <= MOST_BODY_BYTES:
        try:
            return {"request": decode_json(body)}
        except msgspec.DecodeError:  # some routes take text as well
            return {"request": body.decode(errors="replace")}
    return {"requestSha256": hashlib.sha256(body).hexdigest(), "requestBytes": len(body)}


def _render_json(record: AuditRecord, dropped: int, link: ChainLink) -> bytes:
    members = _build_members(record, dropped)
    return msgspec.json.encode({"time": render_time(record.at), **members, **msgspec.structs.asdict(link)})


def _render_cloud_event(record: AuditRecord, dropped: int, link: ChainLink) -> bytes:
    """Renders a CloudEvent 1.0 with three extension attributes, those of the link."""
    event = {
        "specversion": "1.0",
        "id": f"{link.chain}-{link.sequence}",
        "source": "/magistrate",
        "type": f"magistrate.audit.{record.kind}",
        "time": render_time(record.at),
        "datacontenttype": "application/json",
        "data": _build_members(record, dropped),
    }
    return msgspec.json.encode(event | msgspec.structs.asdict(link))


AUDIT_FORMATS: Mapping[str, Callable[[AuditRecord, int, ChainLink], bytes]] = {
    "json": _render_json,
    "cloudevents": _render_cloud_event,
}
"""Maps the setting audit_format to what renders a record, the number of records missing before it, and its link."""
