"""Reads the users and objects of OpenFGA's tuples: `team:core#member`, `user:*`, `document:plan`."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from magistrate.engine.importers.names import show_name
from magistrate.errors import OpenFgaRefusal

INVALID = "validation_error"
MAX_OBJECT_CHARACTERS = 256
MAX_USER_BYTES = 512
MAX_TYPE_CHARACTERS, MAX_RELATION_CHARACTERS, MAX_CONDITION_CHARACTERS = 254, 50, 50
MIN_CONDITION_CHARACTERS = 2
"""Is how long the name of a condition is at least in a tuple, although a model may have a shorter one."""
ANYBODY = "*"
RESERVED = frozenset({"self", "this"})

_NAME = r"[^:#@\s\x00-\x1f\x7f-\x9f]"
_ID = r"[^:#\s\x00-\x1f\x7f-\x9f]+"
TYPE = re.compile(rf"{_NAME}{{1,{MAX_TYPE_CHARACTERS}}}")
RELATION = re.compile(rf"{_NAME}{{1,{MAX_RELATION_CHARACTERS}}}")
_OBJECT = re.compile(rf"({_NAME}+):({_ID})")
_USER = re.compile(rf"({_NAME}+):({_ID})(?:#({_NAME}+))?")


class NamedObject(NamedTuple):
    """Holds the type and the id of an object, as they are written there."""

    type: str
    id: str


class NamedUser(NamedTuple):
    """Holds the type and the id of a user, `*` for all users of the type, and the relation of a userset or nothing."""

    type: str
    id: str
    relation: str

    @property
    def is_wildcard(self) -> bool:
        return self.id == ANYBODY


class NamedTupleKey(NamedTuple):
    """Holds the names in a tuple."""

    object: NamedObject
    relation: str
    user: NamedUser


class NamedCondition(NamedTuple):
    """Holds the condition of a tuple, and the values that the tuple gives it, as they are written there."""

    name: str
    context: Mapping[str, Any]


def read_object(text: str | None) -> NamedObject:
    """Returns the object that a text names. Raises OpenFgaRefusal."""
    matched = _OBJECT.fullmatch(text or "")
    if matched is None or len(matched[0]) > MAX_OBJECT_CHARACTERS or matched[2] == ANYBODY:
        raise OpenFgaRefusal(INVALID, f"object '{show_name(text or '')}' must have the form type:id")
    return NamedObject(matched[1], matched[2])


def read_user(text: str | None) -> NamedUser:
    """Returns the user that a text names. Raises OpenFgaRefusal."""
    matched = _USER.fullmatch(text or "")
    if matched is None or len(matched[0].encode("utf-8", "surrogatepass")) > MAX_USER_BYTES:
        shown = show_name(text or "")
        raise OpenFgaRefusal(INVALID, f"user '{shown}' must have the form type:id, type:* or type:id#relation")
    user = NamedUser(matched[1], matched[2], matched[3] or "")
    if user.relation and "*" in user.id:
        raise OpenFgaRefusal(INVALID, f"user '{show_name(matched[0])}' is a userset of a wildcard")
    return user


def read_relation(text: str | None) -> str:
    """Returns the relation that a text names. Raises OpenFgaRefusal."""
    if text is None or not RELATION.fullmatch(text):
        raise OpenFgaRefusal(INVALID, f"relation '{show_name(text or '')}' must have 1 to 50 characters, no : # @")
    return text


def read_type(text: str | None) -> str:
    """Returns the type that a text names. Raises OpenFgaRefusal."""
    if text is None or not TYPE.fullmatch(text):
        raise OpenFgaRefusal(INVALID, f"type '{show_name(text or '')}' must have 1 to 254 characters, no : # @")
    return text


def read_tuple_key(user: str | None, relation: str | None, of_object: str | None) -> NamedTupleKey:
    """Returns the names in a tuple. Raises OpenFgaRefusal."""
    return NamedTupleKey(read_object(of_object), read_relation(relation), read_user(user))
