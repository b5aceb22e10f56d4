"""Validates tuples and checks by an authorization model, and converts them to warrants and checks of ours."""

from typing import NamedTuple

from magistrate.engine.importers.names import STABLE, show_name
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.openfga.documents import AllowedUser, DocumentRelation, DocumentType, OpenFgaDocument
from magistrate.engine.openfga.ids import encode_id
from magistrate.engine.openfga.tuples import INVALID, NamedObject, NamedTupleKey, NamedUser
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


def require_writable(document: OpenFgaDocument, key: NamedTupleKey, takes_implicit: bool = False) -> None:
    """Raises OpenFgaRefusal unless a model allows a tuple; one that always holds only if it `takes_implicit`."""
    relation = find_relation(document, key.object.type, key.relation)
    require_user(document, key.user)
    user = AllowedUser(key.user.type, key.user.relation, key.user.is_wildcard)
    if relation.direct is None or user not in relation.allowed:
        name = f"{show_name(key.object.type)}#{show_name(key.relation)}"
        raise OpenFgaRefusal(INVALID, f"{name} cannot be given to {show_name(key.user.type)} in this form")
    if key.user == (*key.object, key.relation) and not takes_implicit:
        raise OpenFgaRefusal(INVALID, "the tuple always holds, and cannot be written")
