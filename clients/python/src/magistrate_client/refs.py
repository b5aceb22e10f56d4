"""Defines objects, subjects and warrants, and reads and writes their text: `document:plan#viewer@group:eng#member`.

A type or relation ends at the first `:`, `#` or `@`. No id has `#` or `[`, so the first `#` ends the id of the object
(docs/compatibility.md#warrants). Names and ids are validated by the service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple, Union

from magistrate_client.errors import InvalidUse

Json = dict[str, Any]

_NAME = r"([^:#@\[]+)"
_ID = r"([^#\[]+)"
_WARRANT = re.compile(rf"{_NAME}:{_ID}#{_NAME}@{_NAME}:{_ID}(?:#([^#\[]+))?(?:\[(.+)\])?", re.DOTALL)


class ObjectRef(NamedTuple):
    """Names an object: `ObjectRef("document", "plan")` is `document:plan`."""

    type: str
    id: str

    def __str__(self) -> str:
        return f"{self.type}:{self.id}"


class SubjectRef(NamedTuple):
    """Names a subject: an object or, with a relation, all that have it on the object: `group:eng#member`."""

    type: str
    id: str
    relation: str | None = None

    def __str__(self) -> str:
        return f"{self.type}:{self.id}" + (f"#{self.relation}" if self.relation else "")


AnyObject = Union[str, ObjectRef]
AnySubject = Union[str, SubjectRef, ObjectRef]


class Warrant(NamedTuple):
    """Says that `subject` has `relation` on `object`, perhaps if `policy` holds, and between two times.

    `created_at` is there in what the service lists, and ignored where a warrant is written."""

    object: ObjectRef
    relation: str
    subject: SubjectRef
    policy: str | None = None
    starts_at: datetime | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.object}#{self.relation}@{self.subject}" + (f"[{self.policy}]" if self.policy else "")


class Object(NamedTuple):
    """Is an object to write, with its `meta`."""

    ref: AnyObject
    meta: Mapping[str, Any] | None = None


AnyWarrant = Union[str, Warrant]
AnyElement = Union[str, Warrant, Object, ObjectRef]
"""Names what is written or deleted: a warrant or an object; a text with `#` is a warrant."""


def render_object(ref: AnyObject) -> Json:
    """Returns the members of an object. Raises InvalidUse for a text that names none."""
    if isinstance(ref, str):
        kind, colon, object_id = ref.partition(":")
        if not kind or not colon or not object_id or "#" in ref:
            raise InvalidUse(f"{ref!r} does not read as type:id")
        return {"objectType": kind, "objectId": object_id}
    return {"objectType": ref.type, "objectId": ref.id}


def render_subject(ref: AnySubject) -> Json:
    """Returns the members of a subject. Raises InvalidUse for a text that names none."""
    if not isinstance(ref, str):
        relation = ref.relation if isinstance(ref, SubjectRef) else None
        return {"objectType": ref.type, "objectId": ref.id, **({"relation": relation} if relation else {})}
    kind, colon, rest = ref.partition(":")
    subject_id, hash_sign, relation = rest.partition("#")
    if not kind or not colon or not subject_id or (hash_sign and not relation):
        raise InvalidUse(f"{ref!r} does not read as type:id, or type:id#relation for a group")
    if relation:
        return {"objectType": kind, "objectId": subject_id, "relation": relation}
    return {"objectType": kind, "objectId": subject_id}


def render_warrant(warrant: AnyWarrant) -> Json:
    """Returns the members of a warrant. Raises InvalidUse for a text that is none."""
    warrant = read_warrant(warrant) if isinstance(warrant, str) else warrant
    body = {
        **render_object(warrant.object),
        "relation": warrant.relation,
        "subject": render_subject(warrant.subject),
    }
    if warrant.policy:
        body["policy"] = warrant.policy
    if warrant.starts_at:
        body["startsAt"] = render_time(warrant.starts_at)
    if warrant.expires_at:
        body["expiresAt"] = render_time(warrant.expires_at)
    return body


def read_warrant(text: str) -> Warrant:
    """Returns the warrant that a text says. Raises InvalidUse, whose message shows the form."""
    matched = _WARRANT.fullmatch(text)
    if matched is None:
        raise InvalidUse(f"{text!r} does not read as type:id#relation@type:id, with #relation behind it for a group")
    object_type, object_id, relation, subject_type, subject_id, group, policy = matched.groups()
    return Warrant(
        ObjectRef(object_type, object_id), relation, SubjectRef(subject_type, subject_id, group), policy or None
    )


def read_warrant_row(row: Mapping[str, Any]) -> Warrant:
    """Returns the warrant of a row of the service, with whatever else it says of it."""
    subject = row["subject"]
    return Warrant(
        ObjectRef(row["objectType"], row["objectId"]),
        row["relation"],
        SubjectRef(subject["objectType"], subject["objectId"], subject.get("relation")),
        row.get("policy"),
        *(read_time(row[name]) if row.get(name) else None for name in ("startsAt", "expiresAt", "createdAt")),
    )


def render_time(time: datetime) -> str:
    """Returns the time in RFC 3339. Raises InvalidUse for one without a zone."""
    if time.tzinfo is None:
        raise InvalidUse(f"the time {time.isoformat()} has no zone; use datetime.now(timezone.utc), for instance")
    return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def read_time(text: str) -> datetime:
    """Returns the time of a text of the service, which is in UTC, with no fraction or one of up to 6 digits."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    time = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return time.replace(microsecond=int(fraction.ljust(6, "0")[:6])) if fraction else time
