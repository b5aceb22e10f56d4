"""Reads the relationships of SpiceDB, one in each line: `document:plan#viewer@user:ann[on_weekdays:{"zone":"UTC"}]`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from magistrate.engine.foreign.names import ForeignName, show_name
from magistrate.engine.foreign.relationships import ForeignRelationship, Placed, RelationshipRefusal
from magistrate.engine.terms import WILDCARD

_RELATIONSHIP = re.compile(
    r"([^:#@\s]+):([^#@\s]+)#([^#@\s]+)@([^:#@\s]+):([^#\[\s]+)(?:#([^\[\s]+))?"
    r"(?:\[(?!expiration:)([^:\]\s]+)(?::(\{.*\}))?\])?(?:\[expiration:([^\]\s]+)\])?"
)
_ID = re.compile(r"[A-Za-z0-9/_|=+-]{1,1024}")
"""Matches every id that SpiceDB has, apart from the wildcard."""
_ITSELF = "..."
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)


def is_relationship(line: str) -> bool:
    """Returns whether a line is a relationship."""
    return _RELATIONSHIP.fullmatch(line.strip()) is not None


def read_relationships(lines: Iterable[str], file: str, line: int = 1, column: int = 1) -> Iterator[Placed]:
    """Yields the relationships of the lines, of which the first is at this place in the file; blank lines and comments
    are skipped."""
    for number, written in enumerate(lines, line):
        text = written.strip()
        if text and not text.startswith("//"):
            yield partial(ForeignName, "", file, number, column), _read_relationship(text)


def _read_relationship(text: str) -> ForeignRelationship | RelationshipRefusal:
    found = _RELATIONSHIP.fullmatch(text)
    if found is None:
        message = f"'{show_name(text)}' is no relationship; expected document:plan#viewer@user:ann"
        return RelationshipRefusal("invalid_relationship", message)
    object_type, object_id, relation, subject_type, subject_id, userset, caveat, context, expires_at = found.groups("")
    userset = "" if userset == _ITSELF else userset
    for id in (object_id, subject_id):
        if not _ID.fullmatch(id) and not (id == WILDCARD and id is subject_id):
            message = f"id {show_name(id)}: SpiceDB has ids of 1 to 1,024 letters, digits, and / _ | - = +"
            return RelationshipRefusal("invalid_id", message)
    try:
        values = _read_context(context) if context else {}
    except RelationshipRefusal as refusal:
        return refusal
    return ForeignRelationship(
        object_type, object_id, relation, subject_type, subject_id, userset, caveat, values, expires_at
    )


def _read_context(text: str) -> Mapping[str, Any]:
    try:
        context: Mapping[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except _UNREADABLE:
        raise RelationshipRefusal("invalid_relationship", f"'{show_name(text)}' is no JSON object") from None
    return context
