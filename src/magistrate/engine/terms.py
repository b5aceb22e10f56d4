"""Defines names and references as types whose values have been validated once and can be trusted afterwards.

Each constructor takes the text and the name of its parameter. It raises MissingParameter when the text is absent or
empty, and InvalidParameter when it is too long or has a character that is not allowed
(docs/compatibility.md#ids-and-names and docs/compatibility.md#errors).
"""

import re
from collections.abc import Set
from functools import lru_cache
from typing import cast

import msgspec

from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, RelationName, Revision, TypeName
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.errors import InvalidParameter, MissingParameter

__all__ = [
    "KEYWORDS",
    "MAX_ID_LENGTH",
    "MAX_NAME_LENGTH",
    "WILDCARD",
    "ObjectId",
    "ObjectRef",
    "PolicyName",
    "RelationName",
    "Revision",
    "Subject",
    "TypeName",
    "are_object_ids",
    "object_id",
    "object_id_or_wildcard",
    "object_ref",
    "policy_name",
    "relation_name",
    "type_name",
]

MAX_NAME_LENGTH = 64
"""Limits the characters in the name of an object type or of a relation."""
MAX_ID_LENGTH = 1_024
"""Limits the characters in an object id."""

ID_CHARACTER = r"[A-Za-z0-9_\-.@|:+=/,~%$!(){}&;]"
"""Matches one character of an object id: a regular expression that JSON Schema reads alike."""

KEYWORDS = frozenset(RULE_OPERATORS)
"""Lists what `inheritIf` accepts besides a relation; no relation can have one of these names."""

NAME_MESSAGE = "can only contain lower-case alphanumeric characters and/or '-' and '_'"
ID_MESSAGE = "can only contain letters A-Z and a-z, digits, and the characters _ - . @ | : + = / , ~ % $ ! ( ) { } & ;"
DOTS = (".", "..")
DOTS_MESSAGE = "cannot be '.' or '..', which mean something else in a path"

_TYPE_NAME = re.compile(r"[a-z0-9_-]+")
_RELATION_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_OBJECT_ID = re.compile(ID_CHARACTER + "+")
_ID_BYTES = bytes(code for code in range(128) if _OBJECT_ID.fullmatch(chr(code)))


# Structs are created five times as fast as dataclasses, and every check creates some. Without cycles, they are of no
# interest to the garbage collector.
class ObjectRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identifies one object, whether or not it exists. Sorts by type, then by id, bytewise."""

    type: TypeName
    id: ObjectId


class Subject(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identifies one object, or with a relation the userset of all that have the relation on it. The id may be
    WILDCARD."""

    type: TypeName
    id: ObjectId
    relation: RelationName | None = None


@lru_cache(maxsize=1_024)  # a batch names few types many times
def type_name(text: str | None, parameter: str) -> TypeName:
    return TypeName(_match_text(_TYPE_NAME, text, parameter, MAX_NAME_LENGTH, NAME_MESSAGE))


@lru_cache(maxsize=1_024)
def relation_name(text: str | None, parameter: str) -> RelationName:
    """Returns the text as the name of a relation.

    Raises InvalidParameter for a keyword too, because `anyOf` could not be distinguished from the operator.
    """
    name = _match_text(_RELATION_NAME, text, parameter, MAX_NAME_LENGTH, NAME_MESSAGE)
    if name in KEYWORDS:
        raise InvalidParameter(parameter, f"'{name}' is a keyword and cannot be the name of a relation")
    return RelationName(name)


def policy_name(text: str | None, parameter: str) -> PolicyName:
    return PolicyName(_match_text(_RELATION_NAME, text, parameter, MAX_NAME_LENGTH, NAME_MESSAGE))


def object_id(text: str | None, parameter: str) -> ObjectId:
    id = _match_text(_OBJECT_ID, text, parameter, MAX_ID_LENGTH, ID_MESSAGE)
    if id in DOTS:
        raise InvalidParameter(parameter, DOTS_MESSAGE)
    return ObjectId(id)


def object_id_or_wildcard(text: str | None, parameter: str) -> ObjectId:
    # First what almost every id is, because a request may have thousands.
    if text and len(text) <= MAX_ID_LENGTH and _OBJECT_ID.fullmatch(text) and text not in DOTS:
        return ObjectId(text)
    return WILDCARD if text == WILDCARD else object_id(text, parameter)


def are_object_ids(texts: Set[str | None]) -> bool:
    """Returns whether each of these texts is valid for `object_id`, looking at all of them together."""
    if None in texts or "" in texts or not texts.isdisjoint(DOTS):
        return False
    ids = cast(Set[str], texts)
    together = "".join(ids)
    if not together.isascii() or together.encode("ascii").translate(None, _ID_BYTES):
        return False
    return len(together) <= MAX_ID_LENGTH or max(map(len, ids)) <= MAX_ID_LENGTH


def object_ref(of_type: str | None, id: str | None) -> ObjectRef:
    """Returns the reference that a request body gives as `objectType` and `objectId`, validated in this order."""
    return ObjectRef(type_name(of_type, "objectType"), object_id(id, "objectId"))


def _match_text(pattern: re.Pattern[str], text: str | None, parameter: str, longest: int, message: str) -> str:
    if not text:
        raise MissingParameter(parameter)
    if len(text) > longest:
        raise InvalidParameter(parameter, f"must be at most {longest} characters long")
    if not pattern.fullmatch(text):
        raise InvalidParameter(parameter, message)
    return text
