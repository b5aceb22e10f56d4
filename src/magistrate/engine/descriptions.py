"""Defines descriptions: texts for people, of object types, relations and policies, without effect on decisions."""

from collections.abc import Container, Mapping

from magistrate.engine.names import RelationName
from magistrate.errors import InvalidParameter

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


def read_descriptions(given: Mapping[str, str] | None, relations: Container[str]) -> Mapping[RelationName, str]:
    """Returns the descriptions of relations, in written order, without empty ones. Raises InvalidParameter for
    the first that is not valid, or not of one of these relations."""
    descriptions: dict[RelationName, str] = {}
    for relation, text in (given or {}).items():
        if relation not in relations:
            raise InvalidParameter("descriptions", f"'{relation}' is not a relation of the object type")
        if description := read_description(text, "descriptions"):
            descriptions[RelationName(relation)] = description
    return descriptions
