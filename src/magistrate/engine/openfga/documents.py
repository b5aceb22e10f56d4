"""Reads authorization models as OpenFGA's API has them, refuses what it refuses, and converts them to ours."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from magistrate.engine.importers.conversion import convert_model
from magistrate.engine.importers.names import STABLE, Faults, show_name
from magistrate.engine.importers.openfga_models import read_openfga_json
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.openfga.conditions import (
    INVALID_MODEL,
    DocumentCondition,
    check_conditions,
    describe_condition,
)
from magistrate.engine.openfga.faults import find_fault
from magistrate.engine.openfga.tuples import INVALID, RELATION, RESERVED, TYPE
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.text.json_documents import build_content
from magistrate.engine.warrants.warrant import WarrantPattern, warrant_names
from magistrate.errors import InvalidParameter, OpenFgaRefusal

MAX_DOCUMENT_BYTES = 262_144
MAX_TYPES = 100
MAX_NESTING = 50
"""Limits how deep the rewrites of a relation nest."""
TOO_LARGE = "exceeded_entity_limit"
_SCHEMAS, _FORMER_SCHEMAS = ("1.1", "1.2"), ("1.0",)
_GROUPS = ("union", "intersection")
_OPERANDS_OF_DIFFERENCE = {"base": "difference_base_missing_value", "subtract": "subtract_base_missing_value"}
_CAMEL = {"computed_userset": "computedUserset", "tuple_to_userset": "tupleToUserset"}


class AllowedUser(msgspec.Struct, frozen=True, gc=False):
    """Represents users that a relation may be given to: `user`, `user:*` or `team#member`, each with the name of a
    condition, or without one."""

    type: str
    relation: str = ""
    is_wildcard: bool = False
    condition: str = ""


class DocumentRelation(msgspec.Struct, frozen=True):
    """Holds what a relation is called here, and if tuples give it, the relation that these have here. `allowed` are the
    users that it may be given to."""

    name: RelationName
    direct: RelationName | None
    allowed: frozenset[AllowedUser]
    rewrite: Mapping[str, Any]
    is_only_direct: bool


class DocumentType(msgspec.Struct, frozen=True):
    """Holds what a type is called here, and its relations by the names that they have there."""

    name: TypeName
    relations: Mapping[str, DocumentRelation]


class OpenFgaDocument(msgspec.Struct, frozen=True, weakref=True):
    """Holds an authorization model: `text` is what is stored and answered, `types` and `conditions` are by the names
    that they have there, and `object_types` and `policies` are the model that we have for it."""

    text: str
    types: Mapping[str, DocumentType]
    object_types: tuple[ObjectType, ...]
    conditions: Mapping[str, DocumentCondition] = {}
    policies: tuple[NamedPolicy, ...] = ()

    def list_conditional(self) -> frozenset[WarrantPattern]:
        """Returns the patterns of warrants that the model allows with a condition only."""
        return frozenset(pattern for pattern, names in self.list_conditions().items() if "" not in names)

    def list_conditions(self) -> Mapping[WarrantPattern, frozenset[str]]:
        """Returns the policies with which the model allows warrants of each pattern, the empty text for none; nothing
        if it has no conditions."""
        listed: dict[WarrantPattern, set[str]] = {}
        for of_type in self.types.values() if self.conditions else ():
            for relation in of_type.relations.values():
                for allowed in relation.allowed:
                    name = self.conditions[allowed.condition].name if allowed.condition else ""
                    listed.setdefault(_build_pattern(of_type, relation, allowed), set()).add(name)
        return {pattern: frozenset(names) for pattern, names in listed.items()}


def _build_pattern(of_type: DocumentType, relation: DocumentRelation, allowed: AllowedUser) -> WarrantPattern:
    return WarrantPattern(
        warrant_names(
            *(of_type.name, "", relation.direct or "", STABLE.name_type(allowed.type)),
            WILDCARD if allowed.is_wildcard else "",
            STABLE.name_relation(allowed.relation) if allowed.relation else "",
        )
    )


def read_document(schema: object, definitions: object, conditions: object) -> OpenFgaDocument:
    """Returns the authorization model with these members. Raises OpenFgaRefusal."""
    if schema not in (*_SCHEMAS, *_FORMER_SCHEMAS):
        raise OpenFgaRefusal(INVALID, "schema_version must be 1.1 or 1.2")
    if schema in _FORMER_SCHEMAS:
        raise OpenFgaRefusal(INVALID_MODEL, "schema_version 1.0 is not supported; write the model in 1.1")
    if not isinstance(definitions, list) or not definitions:
        raise OpenFgaRefusal("type_definitions_too_few_items", "type_definitions must have at least one type")
    if len(definitions) > MAX_TYPES:
        raise OpenFgaRefusal(TOO_LARGE, f"a model has at most {MAX_TYPES} types; this one has {len(definitions)}")
    check_conditions(conditions or {})
    for definition in definitions:
        _check_definition(definition)
    document = {"schema_version": schema, "type_definitions": definitions, "conditions": conditions or {}}
    text = msgspec.json.encode(document).decode()
    return _build(document, text, is_new=True)


def load_document(text: str) -> OpenFgaDocument:
    """Returns an authorization model as it is stored."""
    return _build(msgspec.json.decode(text), text, is_new=False)


def _build(document: Mapping[str, Any], text: str, is_new: bool) -> OpenFgaDocument:
    faults = Faults()
    foreign = read_openfga_json(document, text, "", faults)
    if is_new and not faults.total and (fault := find_fault(foreign)) is not None:
        raise OpenFgaRefusal(INVALID_MODEL, fault)
    converted = convert_model(foreign, faults, STABLE)
    if faults.kept:
        first = faults.kept[0]
        raise OpenFgaRefusal(INVALID_MODEL, f"{first.message} ({first.code})")
    try:
        content = build_content(converted.document)
    except InvalidParameter as fault:
        raise OpenFgaRefusal(INVALID_MODEL, f"{fault.parameter} {fault.message}") from None
    types = {}
    for definition in document["type_definitions"]:
        name = definition["type"]
        rewrites = definition.get("relations") or {}
        relations = {
            relation: _describe_relation(foreign, name, relation, rewrite) for relation, rewrite in rewrites.items()
        }
        types[name] = DocumentType(TypeName(STABLE.name_type(name)), relations)
    described = {name: describe_condition(condition) for name, condition in foreign.conditions.items()}
    return OpenFgaDocument(text, types, tuple(content.types), described, tuple(content.policies))


def _describe_relation(
    foreign: ForeignModel, of_type: str, relation: str, rewrite: Mapping[str, Any]
) -> DocumentRelation:
    declared = foreign.types[of_type].relations[relation]
    users = [
        AllowedUser(
            each.type.text,
            each.relation.text if each.relation else "",
            each.is_wildcard,
            condition=each.condition.text if each.condition else "",
        )
        for each in declared.allowed
    ]
    return DocumentRelation(
        RelationName(STABLE.name_relation(relation)),
        RelationName(STABLE.name_link(relation)) if users else None,
        frozenset(users),
        rewrite,
        declared.rewrite.kind == "direct",
    )


def _check_definition(definition: object) -> None:
    """Raises OpenFgaRefusal for a type that is not written as one. Gives members the names that answers have."""
    if not isinstance(definition, dict) or not isinstance(name := definition.get("type"), str):
        raise OpenFgaRefusal(INVALID, "each element of type_definitions must have a type")
    if not TYPE.fullmatch(name) or name in RESERVED:
        raise OpenFgaRefusal("type_invalid_pattern", f"'{show_name(name)}' is no name of a type")
    relations = definition.get("relations") or {}
    if not isinstance(relations, dict):
        raise OpenFgaRefusal(INVALID, f"relations of {show_name(name)} must be an object")
    for relation, rewrite in relations.items():
        if not RELATION.fullmatch(relation) or relation in RESERVED:
            raise OpenFgaRefusal("relations_invalid_pattern", f"'{show_name(relation)}' is no name of a relation")
        _check_assignable(definition, relation, has_this=_check_rewrite(rewrite, f"{name}#{relation}"))


def _check_assignable(definition: Mapping[str, Any], relation: str, has_this: bool) -> None:
    """Raises OpenFgaRefusal unless a relation has assignable types if, and only if, tuples give it."""
    name = definition["type"]
    metadata = definition.get("metadata") or {}
    of_relations = metadata.get("relations") if isinstance(metadata, dict) else None
    described = of_relations.get(relation) if isinstance(of_relations, dict) else None
    assignable = described.get("directly_related_user_types") if isinstance(described, dict) else None
    if has_this and not assignable:
        raise OpenFgaRefusal(INVALID_MODEL, f"{name}#{relation} is assignable, but no types are listed for it")
    if assignable and not has_this:
        raise OpenFgaRefusal(INVALID_MODEL, f"{name}#{relation} has assignable types, but is not assignable")


def _check_rewrite(rewrite: object, path: str) -> bool:
    """Returns whether tuples give a relation with this rewrite. Raises OpenFgaRefusal."""
    has_this = False
    for nested, depth in _walk_rewrites(rewrite, path):
        if depth > MAX_NESTING:
            raise OpenFgaRefusal(INVALID_MODEL, f"{path} nests deeper than {MAX_NESTING} levels")
        has_this = has_this or "this" in nested
    return has_this


def _walk_rewrites(rewrite: object, path: str) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yields all rewrites in one, and how deep they are nested. Each has one member then, with its name in answers."""
    waiting: list[tuple[object, int]] = [(rewrite, 1)]
    while waiting:
        written, depth = waiting.pop()
        if not isinstance(written, dict):
            raise OpenFgaRefusal(INVALID, f"the rewrite of {path} must be an object")
        rewrites: dict[str, object] = written
        present = {_CAMEL.get(kind, kind): body for kind, body in rewrites.items() if body is not None}
        written.clear()
        written.update(present)
        if len(present) != 1:
            raise OpenFgaRefusal(INVALID_MODEL, f"the rewrite of {path} must have one member")
        yield present, depth
        [(kind, body)] = present.items()
        waiting += [(operand, depth + 1) for operand in _list_operands(kind, body, path)]


def _list_operands(kind: str, body: object, path: str) -> list[object]:
    if not isinstance(body, dict):
        raise OpenFgaRefusal(INVALID, f"{kind} of {path} must be an object")
    if kind == "tupleToUserset" and "computed_userset" in body:
        body["computedUserset"] = body.pop("computed_userset")
    if kind == "difference":
        for member, code in _OPERANDS_OF_DIFFERENCE.items():
            if body.get(member) is None:
                raise OpenFgaRefusal(code, f"the difference of {path} has no {member}")
        return [body["base"], body["subtract"]]
    if kind not in _GROUPS:
        return []
    operands = body.get("child")
    if not isinstance(operands, list) or len(operands) < 2:  # a group of one is refused there
        raise OpenFgaRefusal(INVALID_MODEL, f"the {kind} of {path} must have at least two children")
    return operands
