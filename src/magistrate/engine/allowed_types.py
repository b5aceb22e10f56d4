"""Defines allowed types: which subjects the warrants of a relation may name (docs/concepts.md#allowed-types).

An allowed type is the text of a subject without its id, and compared exactly: `user` is one user, `user:*` is every
user, `team#member` is a userset, and `team:*#member` is the userset of every team.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NewType, Protocol

from magistrate.engine.names import TypeName, WarrantNames
from magistrate.engine.terms import WILDCARD, RelationName, relation_name, type_name
from magistrate.errors import InvalidParameter

AllowedType = NewType("AllowedType", str)

ALLOWED_TYPES = "allowedTypes"
"""Names the member of an object type that has them, by relation."""

AllowedTypes = Mapping[RelationName, Sequence[AllowedType]]
"""Maps relations to their allowed types. A relation that is absent allows every subject; one without any is given by
its rule alone."""

EXAMPLES = "user, user:*, team#member or team:*#member"


def render_subject_type(subject_type: str, subject_id: str, subject_relation: str) -> AllowedType:
    """Returns the allowed type that a subject needs; a relation that is the empty text is absent."""
    wildcard = ":*" if subject_id == WILDCARD else ""
    return AllowedType(f"{subject_type}{wildcard}#{subject_relation}" if subject_relation else subject_type + wildcard)


def read_allowed_types(given: Mapping[str, Sequence[str]] | None, relations: Container[str]) -> AllowedTypes:
    """Returns the allowed types of an object type with these relations. Raises InvalidParameter for the first fault."""
    found: dict[RelationName, Sequence[AllowedType]] = {}
    for relation, texts in (given or {}).items():
        if relation not in relations:
            raise InvalidParameter(ALLOWED_TYPES, f"'{relation}' is not a relation of the object type")
        allowed: dict[AllowedType, None] = {}
        for one in map(_read_allowed_type, texts):
            if one in allowed:
                raise InvalidParameter(ALLOWED_TYPES, f"'{one}' is there twice for {relation}")
            allowed[one] = None
        found[RelationName(relation)] = tuple(allowed)
    return found


def _read_allowed_type(text: str) -> AllowedType:
    subject, hash_sign, relation = text.partition("#")
    of_type, colon, id = subject.partition(":")
    try:
        type_name(of_type, ALLOWED_TYPES)
        if hash_sign:
            relation_name(relation, ALLOWED_TYPES)
    except InvalidParameter:
        of_type = ""
    if not of_type or (colon and id != WILDCARD):
        raise InvalidParameter(ALLOWED_TYPES, f"'{text}' is not of the form {EXAMPLES}") from None
    return AllowedType(text)


def split_allowed_type(subject_type: str) -> tuple[str, str]:
    """Returns the type and the relation that an allowed type names; the relation may be the empty text."""
    subject, _, relation = subject_type.partition("#")
    return subject.partition(":")[0], relation


def find_allowed(defined: "DefinedType | None", relation: str, subject_type: str) -> Sequence[AllowedType] | None:
    """Returns the allowed types of a relation if they do not have this one; None if it is allowed."""
    allowed = None if defined is None else defined.find_allowed_types(RelationName(relation))
    return allowed if allowed is not None and subject_type not in allowed else None


class DefinedType(Protocol):
    """Represents what is known of an object type when a warrant on one of its objects is written."""

    @property
    def relations(self) -> Container[str]: ...

    def find_allowed_types(self, relation: RelationName) -> Sequence[AllowedType] | None:
        """Returns the allowed types of a relation, or None if it allows every subject."""
        ...


def allows_subject(types: Mapping[TypeName, DefinedType], names: WarrantNames) -> bool:
    """Returns whether the types allow the subject of a warrant or of a pattern."""
    defined = types.get(names.object_type)
    if defined is None:
        return True
    subject_type = render_subject_type(names.subject_type, names.subject_id, names.subject_relation)
    return find_allowed(defined, names.relation, subject_type) is None


def describe_allowed(object_type: str, relation: str, subject_type: str, allowed: Iterable[str]) -> str:
    """Returns the message for a warrant that is not allowed."""
    texts = ", ".join(allowed)
    if not texts:
        return f"{object_type}#{relation} cannot be given by a warrant: it is given by its rule alone"
    return f"{object_type}#{relation} cannot be given to {subject_type}: it allows {texts}"
