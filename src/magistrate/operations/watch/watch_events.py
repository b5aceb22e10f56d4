"""Renders what was written to a store, and its state, as the events of a watch (docs/watch.md#events)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.warrants.warrant import Warrant, warrant_names
from magistrate.operations.consistency import write_token
from magistrate.operations.history.times import render_time
from magistrate.operations.watch.revision_log import WrittenRevision
from magistrate.store.contract.backups import VersionedRow
from magistrate.store.contract.events import Action, Event, EventKind
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity, StoredObject, StoredObjectType, StoredPolicy

_ENCODER = msgspec.json.Encoder()
encode_json: Callable[[Any], bytes] = _ENCODER.encode


@dataclass(frozen=True, slots=True)
class WatchFilter:
    """Selects the rows that are sent: those that have one of these object types, one of these relations and one of
    these types of subjects. An empty set selects all, also rows that have nothing of the kind: a policy has no object
    type, and only warrants have a relation and a subject."""

    object_types: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()
    subject_types: frozenset[str] = frozenset()

    def matches(self, kind: EventKind, key: Sequence[str]) -> bool:
        """Returns whether it selects a row, given its kind and the key of its event."""
        if self.object_types and (kind == "policy" or key[0] not in self.object_types):
            return False
        if not self.relations and not self.subject_types:
            return True
        if kind != "warrant" or (self.relations and key[2] not in self.relations):
            return False
        return not self.subject_types or key[3] in self.subject_types

    def may_match(self, kind: EventKind) -> bool:
        """Returns whether it may select a row of a kind."""
        return kind == "warrant" or not (
            self.relations or self.subject_types or (self.object_types and kind == "policy")
        )


EVERY_ROW = WatchFilter()


class SubjectRow(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    object_type: str
    object_id: str
    relation: str = ""


class WarrantRow(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents a warrant. The limits are those that it has now, or had when it expired."""

    object_type: str
    object_id: str
    relation: str
    subject: SubjectRow
    policy: str = ""
    starts_at: str | None = None
    expires_at: str | None = None


class ObjectRow(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents an object; `meta` is omitted when it is empty, and of an object that was deleted."""

    object_type: str
    object_id: str
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ChangeGroup(NamedTuple):
    """Says in which array of an event the changes of a kind with one of these actions are."""

    member: str
    array: str
    kind: EventKind
    actions: tuple[Action, ...]


_CREATED: tuple[tuple[str, tuple[Action, ...]], ...] = (
    ("created", ("created",)),
    ("updated", ("updated",)),
    ("deleted", ("deleted",)),
)
_OF_WARRANTS: tuple[tuple[str, tuple[Action, ...]], ...] = (
    ("created", ("created", "updated")),
    ("deleted", ("deleted",)),
    ("expired", ("expired",)),
)
_MEMBERS: tuple[tuple[str, EventKind], ...] = (
    ("objects", "object"),
    ("warrants", "warrant"),
    ("objectTypes", "object-type"),
    ("policies", "policy"),
)
GROUPS = tuple(
    ChangeGroup(member, array, kind, actions)
    for member, kind in _MEMBERS
    for array, actions in (_OF_WARRANTS if kind == "warrant" else _CREATED)
)
"""Lists the arrays of an event in their order. A warrant that gets other time limits is created once more."""
_GROUP_OF = {(group.kind, action): place for place, group in enumerate(GROUPS) for action in group.actions}


def render_beginning(identity: Identity, written: WrittenRevision) -> bytes:
    """Returns the first members of the event of a revision, without the brace behind them."""
    members = {"token": write_token(identity, written.id), "time": render_time(written.written_at)}
    if written.actor:
        members["actor"] = written.actor
    if written.request_id:
        members["requestId"] = written.request_id
    return encode_json(members)[:-1]


def render_revision(identity: Identity, written: WrittenRevision, only: WatchFilter) -> bytes | None:
    """Returns the event of a revision whose changes are held, as an object of JSON; None if no change of it is
    selected."""
    rows: dict[int, list[Any]] = defaultdict(list)
    for event in written.changes or ():
        if only.matches(event.kind, event.key):
            rows[_GROUP_OF[event.kind, event.action]].append(build_row(event))
    if not rows:
        return None
    members: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for place, group in enumerate(GROUPS):
        if place in rows:
            members[group.member][group.array] = rows[place]
    return render_beginning(identity, written) + b"," + encode_json(members)[1:]


def build_row(event: Event) -> Any:
    """Returns the row of a change, which can be encoded."""
    if event.kind == "warrant":
        names = warrant_names(*event.key[:6])
        return _build_warrant(names, event.content or "", event.starts_at, event.expires_at)
    content = None if event.action == "deleted" else event.content
    if event.kind == "object":
        return ObjectRow(event.key[0], event.key[1], msgspec.UNSET if content is None else msgspec.Raw(content))
    return _build_definition("type" if event.kind == "object-type" else "name", event.key[0], content)


def build_stored_row(row: VersionedRow) -> tuple[EventKind, Sequence[str], Any]:
    """Returns the kind and the key of a stored row, and the row as it is sent."""
    if isinstance(row, Warrant):
        return "warrant", row.names, _build_warrant(row.names, row.policy, row.starts_at, row.expires_at)
    if isinstance(row, StoredObject):
        meta = msgspec.UNSET if row.meta is None else msgspec.Raw(row.meta)
        return "object", (row.type, row.id), ObjectRow(row.type, row.id, meta)
    member, kind = _DEFINITIONS[type(row)]
    return kind, (row.name,), _build_definition(member, row.name, row.definition)


_DEFINITIONS: Mapping[type, tuple[str, EventKind]] = {
    StoredObjectType: ("type", "object-type"),
    StoredPolicy: ("name", "policy"),
}
MEMBER_OF: Mapping[EventKind, str] = {kind: member for member, kind in _MEMBERS}


def _build_warrant(names: Sequence[str], policy: str, starts_at: int | None, expires_at: int | None) -> WarrantRow:
    object_type, object_id, relation, *subject = names
    limits = (None if limit is None else render_time(limit) for limit in (starts_at, expires_at))
    return WarrantRow(object_type, object_id, relation, SubjectRow(*subject), policy, *limits)


def _build_definition(member: str, name: str, definition: str | None) -> msgspec.Raw:
    named = encode_json({member: name})
    return msgspec.Raw(named if definition is None else named[:-1] + b"," + definition[1:].encode())


def render_position(identity: Identity, newest: RevisionId, at: int) -> bytes:
    """Returns a checkpoint as an object of JSON."""
    return encode_json({"token": write_token(identity, newest), "time": render_time(at)})


def render_rows(rows: Iterable[Any]) -> bytes:
    """Returns the elements of an array, without the brackets."""
    return encode_json([*rows])[1:-1]
