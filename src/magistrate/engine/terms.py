"""Defines names and references as types whose values have been validated once and can be trusted afterwards.

Each constructor takes the text and the name of its parameter. It raises MissingParameter when the text is absent or
empty, and InvalidParameter when it is too long or has a character that is not allowed
(docs/compatibility.md#ids-and-names and docs/compatibility.md#errors).
"""

import re
from collections.abc import Container, Mapping, Set
from functools import lru_cache
from typing import cast

import msgspec

from magistrate.engine.id_characters import are_ids, describe_id_fault, is_id
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.errors import InvalidParameter, MissingParameter

MAX_NAME_LENGTH = 64
"""Limits the characters in the name of an object type or of a relation."""
KEYWORDS = RULE_OPERATORS.keys()
"""Lists what `inheritIf` accepts besides a relation; no relation can have one of these names."""

NAME_MESSAGE = "can only contain lower-case alphanumeric characters and/or '-' and '_'"

_TYPE_NAME = re.compile(r"[a-z0-9_-]+")
_RELATION_NAME = re.compile(r"[a-zA-Z0-9_-]+")


# Structs are created five times as fast as dataclasses, and every check creates some. Without cycles, they are of no
# interest to the garbage collector.
class ObjectRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identifies one object, whether or not it exists. Sorts by type, then by id, bytewise."""

    type: TypeName
    id: ObjectId


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


def userset_relation(text: str | None, parameter: str) -> str:
    """Returns the relation of a subject, the empty text if it is no userset."""
    return relation_name(text, parameter) if text else ""


def policy_name(text: str | None, parameter: str) -> PolicyName:
    return PolicyName(_match_text(_RELATION_NAME, text, parameter, MAX_NAME_LENGTH, NAME_MESSAGE))


def object_id(text: str | None, parameter: str) -> ObjectId:
    if not text:
        raise MissingParameter(parameter)
    if not is_id(text):
        raise InvalidParameter(parameter, describe_id_fault(text))
    return ObjectId(text)


def object_id_or_wildcard(text: str | None, parameter: str) -> ObjectId:
    if text and is_id(text):  # first what almost every id is, because a request may have thousands
        return ObjectId(text)
    return WILDCARD if text == WILDCARD else object_id(text, parameter)


def are_object_ids(texts: Set[str | None]) -> bool:
    """Returns whether each of these texts is valid for `object_id`, looking at all of them together."""
    return None not in texts and are_ids(cast(Set[str], texts))


def object_ref(of_type: str | None, written_id: str | None) -> ObjectRef:
    """Returns the reference that a request body gives as `objectType` and `objectId`, validated in this order."""
    return ObjectRef(type_name(of_type, "objectType"), object_id(written_id, "objectId"))


def _match_text(pattern: re.Pattern[str], text: str | None, parameter: str, longest: int, message: str) -> str:
    if not text:
        raise MissingParameter(parameter)
    if len(text) > longest:
        raise InvalidParameter(parameter, f"must be at most {longest} characters long")
    if not pattern.fullmatch(text):
        raise InvalidParameter(parameter, message)
    return text


MAX_DESCRIPTION_LENGTH = 2_000
"""Limits a description, in characters."""


def read_description(text: str | None, parameter: str) -> str:
    """Returns the description; the empty text stands for none. Raises InvalidParameter if it is too long, or cannot be
    stored."""
    if text is not None and len(text) > MAX_DESCRIPTION_LENGTH:
        raise InvalidParameter(parameter, f"must be at most {MAX_DESCRIPTION_LENGTH} characters long")
    if text is not None and "\0" in text:  # PostgreSQL cannot store it
        raise InvalidParameter(parameter, "must not contain the character NUL")
    return text or ""


def read_descriptions(texts: Mapping[str, str] | None, relations: Container[str]) -> Mapping[RelationName, str]:
    """Returns the descriptions of relations, in written order, without empty ones. Raises InvalidParameter for
    the first that is not valid, or not of one of these relations."""
    descriptions: dict[RelationName, str] = {}
    for relation, text in (texts or {}).items():
        if relation not in relations:
            raise InvalidParameter("descriptions", f"'{relation}' is not a relation of the object type")
        if description := read_description(text, "descriptions"):
            descriptions[RelationName(relation)] = description
    return descriptions
