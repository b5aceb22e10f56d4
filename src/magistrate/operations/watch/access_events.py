"""Renders what was gained and lost as the events of the effective feed, and positions as their ids."""

from typing import Any

import msgspec

from magistrate.engine.difference.causes import Cause
from magistrate.engine.difference.comparison import AccessChange
from magistrate.operations.consistency import write_token
from magistrate.operations.difference.rows import AccessSubject, build_cause
from magistrate.operations.history.points_in_time import TIME_SEPARATOR
from magistrate.operations.history.times import render_time
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.operations.watch.access_steps import AccessEvent, AccessPosition
from magistrate.store.contract.stored_rows import Identity

ROWS_AT_ONCE = 200
"""Counts the rows that are rendered between two looks at the clock; about a millisecond."""
MAX_CAUSES = 1_000
"""Limits the causes that are kept while an event is rendered: its rows have few different ones."""


class AccessRow(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents access that was gained or lost, or with a snapshot, that there is."""

    object_type: str
    object_id: str
    relation: str
    subject: AccessSubject
    conditional: bool = False
    cause: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_ENCODER = msgspec.json.Encoder()


def render_id(identity: Identity, position: AccessPosition) -> str:
    """Returns the text from which a reader can go on: the token of the revision, with the time in microseconds behind
    it if that is not the one at which the revision was reached."""
    token = write_token(identity, position.id)
    return token if position.time == position.reached_at else f"{token}{TIME_SEPARATOR}{position.time}"


def render_checkpoint(identity: Identity, position: AccessPosition) -> bytes:
    """Returns a position as an object of JSON."""
    return _ENCODER.encode(_build_members(identity, position))


async def render_access(identity: Identity, event: AccessEvent) -> bytes:
    """Returns the event as an object of JSON."""
    members = _build_members(identity, event.position)
    if event.rows is None:
        return _ENCODER.encode(members | {"resync": members["token"]})
    causes: dict[int, msgspec.Raw] = {}
    arrays: dict[bool, list[bytes]] = {True: [], False: []}
    for start in range(0, len(event.rows), ROWS_AT_ONCE):
        for is_gained, array in arrays.items():
            some = [row for row in event.rows[start : start + ROWS_AT_ONCE] if row.change.is_gained is is_gained]
            if some:
                rows = [build_row(row.change, _render_cause(row.cause, causes)) for row in some]
                array.append(_ENCODER.encode(rows)[1:-1])
        if is_time_up():
            await checkpoint()
    filled = [
        b'"%s":[%s]' % (name, b",".join(arrays[is_gained]))
        for name, is_gained in ((b"gained", True), (b"lost", False))
        if arrays[is_gained]
    ]
    return _ENCODER.encode(members)[:-1] + b"," + b",".join(filled) + b"}"


def build_row(change: AccessChange, cause: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET) -> AccessRow:
    subject = AccessSubject(change.subject_type, change.subject_id)
    return AccessRow(change.type, change.id, change.relation, subject, change.is_conditional, cause)


def encode_json(value: Any) -> bytes:
    return _ENCODER.encode(value)


def _build_members(identity: Identity, position: AccessPosition) -> dict[str, str]:
    token, event_id = write_token(identity, position.id), render_id(identity, position)
    members = {"token": token, "time": render_time(position.time)}
    return members if event_id == token else members | {"id": event_id}


def _render_cause(cause: Cause, rendered: dict[int, msgspec.Raw]) -> msgspec.Raw:
    """Returns the cause as JSON; rows of one event share it."""
    text = rendered.get(id(cause))
    if text is None:
        text = msgspec.Raw(_ENCODER.encode(build_cause(cause)))
        if len(rendered) < MAX_CAUSES:
            rendered[id(cause)] = text
    return text
