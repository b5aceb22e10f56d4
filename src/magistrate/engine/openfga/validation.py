"""Validates tuples and checks by an authorization model, and converts them to warrants and checks of ours."""

from typing import NamedTuple

from magistrate.engine.importers.names import STABLE, show_name
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.openfga.conditions import DocumentCondition
from magistrate.engine.openfga.documents import AllowedUser, DocumentRelation, DocumentType, OpenFgaDocument
from magistrate.engine.openfga.ids import encode_id
from magistrate.engine.openfga.tuples import (
    INVALID,
    MIN_CONDITION_CHARACTERS,
    NamedCondition,
    NamedObject,
    NamedTupleKey,
    NamedUser,
)
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.errors import OpenFgaRefusal


class StoredNames(NamedTuple):
    """Holds what a tuple is here."""

    object: ObjectRef
    relation: RelationName
    subject: Subject


def convert_object(named: NamedObject) -> ObjectRef:
    """Returns the object here. Raises OpenFgaRefusal if its id would be too long."""
    return ObjectRef(TypeName(STABLE.name_type(named.type)), _convert_id(named.id))


def convert_user(user: NamedUser) -> Subject:
    """Returns the subject here. Raises OpenFgaRefusal if its id would be too long."""
    user_id = WILDCARD if user.is_wildcard else _convert_id(user.id)
    relation = STABLE.name_relation(user.relation) if user.relation else ""
    return Subject(TypeName(STABLE.name_type(user.type)), user_id, relation)


def _convert_id(text: str) -> ObjectId:
    encoded = encode_id(text)
    if encoded is None:
        raise OpenFgaRefusal(INVALID, f"the id {show_name(text)} is too long with its escaped characters")
    return encoded


def name_stored(key: NamedTupleKey) -> StoredNames:
    """Returns the names of the warrant of a tuple, whether or not a model has them. Raises OpenFgaRefusal."""
    return StoredNames(convert_object(key.object), RelationName(STABLE.name_link(key.relation)), convert_user(key.user))


class UndefinedCodes(NamedTuple):
    """Holds the codes of errors about types and relations that a model does not define."""

    type: str = INVALID
    relation: str = INVALID


OF_CHECKS = UndefinedCodes()
OF_LISTS = UndefinedCodes("type_not_found", "relation_not_found")
"""Holds those of lists of objects and users."""


def find_type(document: OpenFgaDocument, name: str, codes: UndefinedCodes = OF_CHECKS) -> DocumentType:
    """Returns a type of a model. Raises OpenFgaRefusal."""
    if name not in document.types:
        raise OpenFgaRefusal(codes.type, f"type {show_name(name)} is not defined")
    return document.types[name]


def find_relation(
    document: OpenFgaDocument, of_type: str, relation: str, codes: UndefinedCodes = OF_CHECKS
) -> DocumentRelation:
    """Returns a relation of a model. Raises OpenFgaRefusal."""
    declared = find_type(document, of_type, codes)
    if relation not in declared.relations:
        raise OpenFgaRefusal(codes.relation, f"relation {show_name(relation)} of {show_name(of_type)} is not defined")
    return declared.relations[relation]


def require_user(document: OpenFgaDocument, user: NamedUser) -> None:
    """Raises OpenFgaRefusal unless a model defines the type of a user, and its relation if it is a userset."""
    if user.relation:
        find_relation(document, user.type, user.relation)
    else:
        find_type(document, user.type)


def find_policy(
    document: OpenFgaDocument, key: NamedTupleKey, condition: NamedCondition | None, takes_implicit: bool = False
) -> str:
    """Returns the policy of the warrant of a tuple, the empty text without a condition. Raises OpenFgaRefusal unless
    the model allows the tuple; one that always holds only if it `takes_implicit`."""
    relation = find_relation(document, key.object.type, key.relation)
    require_user(document, key.user)
    described = None if condition is None else _find_condition(document, condition.name)
    name = "" if condition is None else condition.name
    user = AllowedUser(key.user.type, key.user.relation, key.user.is_wildcard, name)
    if relation.direct is None or user not in relation.allowed:
        shown = f"{show_name(key.object.type)}#{show_name(key.relation)}"
        with_condition = f"with condition {show_name(name)}" if name else "without a condition"
        described_user = f"{show_name(key.user.type)} in this form {with_condition}"
        raise OpenFgaRefusal(INVALID, f"{shown} cannot be given to {described_user}")
    if key.user == (*key.object, key.relation) and not takes_implicit:
        raise OpenFgaRefusal(INVALID, "the tuple always holds, and cannot be written")
    return "" if described is None or condition is None else described.render(condition.context)


def _find_condition(document: OpenFgaDocument, name: str) -> DocumentCondition:
    described = document.conditions.get(name)
    if described is None or len(name) < MIN_CONDITION_CHARACTERS:
        raise OpenFgaRefusal(INVALID, f"condition {show_name(name)} is not defined")
    return described
