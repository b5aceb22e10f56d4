"""Defines the JSON of a whole model, as the service reads and writes it (docs/models.md#json)."""

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from magistrate.engine.model.actions import describe_action_fault
from magistrate.engine.model.object_types import ObjectType, SourceDefinition, TypeAdditions, read_object_type
from magistrate.engine.names import suggest_name
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.rules import render_rule
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.parsing import read_rule
from magistrate.engine.rules.rule import Rule, RuleDefinition
from magistrate.engine.terms import MAX_DESCRIPTION_LENGTH, policy_name, relation_name, type_name
from magistrate.engine.text.document import (
    PARAMETER_TYPES,
    ActionDeclaration,
    AllowedClause,
    ModelDocument,
    NameAt,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
    exact_document,
)
from magistrate.engine.text.expressions import find_end, write_expression
from magistrate.engine.text.rule_clauses import build_clause, build_rule
from magistrate.errors import InvalidParameter, MissingParameter


class TypeBody(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents an object type of a model. `created_at`, which answers have, is ignored."""

    type: str
    source: dict[str, Any] | None = None
    relations: dict[str, RuleDefinition | None]
    allowed_types: dict[str, list[str]] | None = None
    actions: dict[str, str] | None = None
    description: str | None = None
    descriptions: dict[str, str] | None = None
    created_at: str | None = None


class PolicyBody(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a named policy of a model. `created_at`, which answers have, is ignored."""

    name: str
    parameters: dict[str, str] | None = None
    expression: str
    description: str | None = None
    created_at: str | None = None


class ModelBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Represents a whole model: its object types and its policies, in order."""

    object_types: list[TypeBody] = []
    policies: list[PolicyBody] = []


B = TypeVar("B")
T = TypeVar("T")

_MEMBERS = ("objectTypes", "policies")
_PLACE = re.compile(r" - at `\$([^`]*)`")
_KEYS = re.compile(r"\[\.\.\.\]")


class ModelMembers(NamedTuple):
    """Holds the types and policies that have the right members, with their paths, and a fault for each other one."""

    types: list[tuple[str, TypeBody]]
    policies: list[tuple[str, PolicyBody]]
    faults: list[InvalidParameter]


def read_members(value: object) -> ModelMembers:
    """Returns what parsed JSON has. An array is one of object types. The parameters of the faults are paths."""
    if isinstance(value, Mapping):
        faults = [*_find_unknown(value)]
        types, policies = (_read_array(value, member, faults) for member in _MEMBERS)
    elif isinstance(value, list):
        types, policies, faults = value, [], []
    else:
        message = "must be an object with objectTypes and policies, or an array of object types"
        return ModelMembers([], [], [InvalidParameter("model", message)])
    return ModelMembers(
        _read_each(types, "objectTypes", _read_type, faults),
        _read_each(policies, "policies", _read_policy, faults),
        faults,
    )


def _find_unknown(value: Mapping[str, object]) -> Iterable[InvalidParameter]:
    for name in value:
        if name not in _MEMBERS:
            yield InvalidParameter(name[:64], f"is not a member of a model{suggest_name(name[:64], _MEMBERS)}")


def _read_array(value: Mapping[str, object], member: str, faults: list[InvalidParameter]) -> list[object]:
    array = value.get(member, [])
    if isinstance(array, list):
        return array
    faults.append(InvalidParameter(member, "must be an array"))
    return []


def _read_each(
    values: Sequence[object], name: str, read: Callable[[object, str], B], faults: list[InvalidParameter]
) -> list[tuple[str, B]]:
    bodies = []
    for place, value in enumerate(values):
        path = f"{name}[{place}]"
        try:
            bodies.append((path, read(value, path)))
        except InvalidParameter as fault:
            faults.append(fault)
    return bodies


def _read_type(value: object, path: str) -> TypeBody:
    relations = value.get("relations") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(relations, Mapping):
        return _convert(value, TypeBody, path)
    body = _convert({**value, "relations": {}}, TypeBody, path)
    for key, rule in relations.items():
        body.relations[key] = None if rule is None else _convert(rule, RuleDefinition, f"{path}.relations.{key}")
    return body


def _read_policy(value: object, path: str) -> PolicyBody:
    return _convert(value, PolicyBody, path)


def _convert(value: object, kind: type[B], path: str) -> B:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        inner = _KEYS.sub("", place[1]) if place else ""
        message = _PLACE.sub("", str(error))
        raise InvalidParameter(f"{path}{inner}", message[0].lower() + message[1:]) from None
    except RecursionError:
        raise InvalidParameter(path, "is nested too deeply") from None


def render_body(document: ModelDocument) -> ModelBody:
    """Returns the JSON of a document. Raises InvalidParameter if its version is older and it would become much too
    large."""
    exact = exact_document(document)
    types = [_render_type(declared) for declared in exact.types.values()]
    return ModelBody(types, [_render_policy(policy) for policy in exact.policies.values()])


def _render_type(declared: TypeDeclaration) -> TypeBody:
    relations = declared.relations.values()
    return TypeBody(
        type=declared.name.text,
        source=json.loads(declared.source) if declared.source else None,
        relations={relation.name.text: _render_rule(relation.rule) for relation in relations},
        allowed_types={
            relation.name.text: [clause.text for clause in relation.allowed]
            for relation in relations
            if relation.allowed is not None
        }
        or None,
        actions={name: action.relation.text for name, action in declared.actions.items()} or None,
        description=declared.description or None,
        descriptions={relation.name.text: relation.description for relation in relations if relation.description}
        or None,
    )


def _render_rule(rule: RuleClause | None) -> RuleDefinition:
    return RuleDefinition() if rule is None else render_rule(build_rule(rule))


def _render_policy(policy: PolicyDeclaration) -> PolicyBody:
    return PolicyBody(
        name=policy.name.text,
        parameters=policy.parameters,
        expression=policy.expression,
        description=policy.description or None,
    )


Locate = Callable[[str], tuple[int, int]]
"""Returns the line and the column of what a path names, such as `objectTypes[3].relations.viewer`."""

_ALLOWED = re.compile(r"([a-z0-9_-]{1,64})(:\*)?(?:#([A-Za-z0-9_-]{1,64}))?")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_body(members: ModelMembers, locate: Locate) -> tuple[ModelDocument, list[InvalidParameter]]:
    """Returns the document of a model in JSON, and what is wrong with it: one fault at most for each type and policy,
    with its path as parameter."""
    document = ModelDocument()
    faults = [*members.faults]
    for path, type_body in members.types:
        try:
            declared = _TypeReader(type_body, path, locate).read()
            _add(document.types, declared.name.text, declared, f"{path}.type")
        except InvalidParameter as fault:
            faults.append(fault)
    for path, policy_body in members.policies:
        try:
            policy = _declare_policy(policy_body, path, locate)
            _add(document.policies, policy.name.text, policy, f"{path}.name")
        except InvalidParameter as fault:
            faults.append(fault)
    return document, faults


def _add(declared: dict[str, T], name: str, value: T, path: str) -> None:
    if name in declared:
        raise InvalidParameter(path, f"{name} is declared twice")
    declared[name] = value


class _TypeReader:
    """Reads one object type. Raises InvalidParameter for the first fault."""

    def __init__(self, body: TypeBody, path: str, locate: Locate) -> None:
        self._body = body
        self._path = path
        self._locate = locate
        self._at = (0, 0)

    def read(self) -> TypeDeclaration:
        body, path = self._body, self._path
        name = NameAt(type_name(body.type, f"{path}.type"), *self._locate(f"{path}.type"))
        declared = TypeDeclaration(name, description=_read_description(body.description, f"{path}.description"))
        declared.source = json.dumps(body.source, ensure_ascii=False, separators=(",", ":")) if body.source else ""
        for key, rule in body.relations.items():
            declared.relations[key] = self._read_relation(key, rule)
        for key, texts in (body.allowed_types or {}).items():
            self._find(declared, key, "allowedTypes").allowed = self._read_allowed(key, texts)
        for name_of_action, target in (body.actions or {}).items():
            declared.actions[name_of_action] = self._read_action(declared, name_of_action, target)
        for key, text in (body.descriptions or {}).items():
            description = _read_description(text, f"{path}.descriptions.{key}")
            self._find(declared, key, "descriptions").description = description
        return declared

    def _read_action(self, declared: TypeDeclaration, name: str, relation: str) -> ActionDeclaration:
        if fault := describe_action_fault(name, declared.relations):
            raise InvalidParameter(f"{self._path}.actions", fault)
        at = self._locate(f"{self._path}.actions.{name}")
        return ActionDeclaration(NameAt(name, *at), NameAt(self._find(declared, relation, "actions").name.text, *at))

    def _find(self, declared: TypeDeclaration, key: str, member: str) -> RelationDeclaration:
        if key not in declared.relations:
            hint = suggest_name(key[:64], declared.relations)
            raise InvalidParameter(f"{self._path}.{member}", f"{key[:64]} is no relation of the type{hint}")
        return declared.relations[key]

    def _read_relation(self, key: str, rule: RuleDefinition | None) -> RelationDeclaration:
        path = f"{self._path}.relations"
        if not key:
            raise InvalidParameter(path, "the name of a relation must not be empty")
        self._at = self._locate(f"{path}.{key}")
        relation = RelationDeclaration(NameAt(relation_name(key, path), *self._at))
        read = _read_rule(rule, self._body.relations, f"{path}.{key}")
        if not isinstance(read, Direct):
            relation.rule, relation.inherit = build_clause(read, *self._at), relation.name
        return relation

    def _read_allowed(self, key: str, texts: Sequence[str]) -> list[AllowedClause]:
        path = f"{self._path}.allowedTypes"
        line, column = self._locate(f"{path}.{key}")
        allowed: dict[str, AllowedClause] = {}
        for text in texts:
            subject_match = _ALLOWED.fullmatch(text)
            if subject_match is None:
                message = f"{text[:64]!r} is not like user, user:*, group#member or group:*#member"
                raise InvalidParameter(f"{path}.{key}", message)
            if text in allowed:
                raise InvalidParameter(f"{path}.{key}", f"{text} is there twice")
            relation = (
                NameAt(relation_name(subject_match[3], f"{path}.{key}"), line, column) if subject_match[3] else None
            )
            allowed[text] = AllowedClause(NameAt(subject_match[1], line, column), bool(subject_match[2]), relation)
        return [*allowed.values()]


def _read_rule(definition: RuleDefinition | None, defined: Container[str], path: str) -> Rule:
    """Returns a rule of the relation at this path. Raises InvalidParameter with the path of the member."""
    try:
        return read_rule(definition, defined)
    except MissingParameter as fault:
        raise MissingParameter(f"{path}.{fault.parameter}") from None
    except InvalidParameter as fault:
        raise fault.within(f"{path}.") from None


def _declare_policy(body: PolicyBody, path: str, locate: Locate) -> PolicyDeclaration:
    name = NameAt(policy_name(body.name, f"{path}.name"), *locate(f"{path}.name"))
    for parameter, of_type in (body.parameters or {}).items():
        if not _PARAMETER.fullmatch(parameter):
            raise InvalidParameter(f"{path}.parameters", f"'{parameter[:64]}' cannot be the name of a parameter")
        if of_type not in PARAMETER_TYPES:
            message = f"'{of_type[:64]}' is not the type of a parameter; the types are {', '.join(PARAMETER_TYPES)}"
            raise InvalidParameter(f"{path}.parameters.{parameter}", message)
    if not body.expression.strip():
        raise MissingParameter(f"{path}.expression")
    written = write_expression(body.expression)
    if find_end(f"{written}}}", 0) != len(written):
        raise InvalidParameter(f"{path}.expression", "has brackets { } that do not match, or is too long")
    description = _read_description(body.description, f"{path}.description")
    return PolicyDeclaration(name, body.parameters or {}, body.expression, description)


def _read_description(text: str | None, path: str) -> str:
    if text and len(text) > MAX_DESCRIPTION_LENGTH:
        raise InvalidParameter(path, f"must be at most {MAX_DESCRIPTION_LENGTH} characters long")
    if text and "\0" in text:
        raise InvalidParameter(path, "cannot have the character U+0000")
    return text or ""


class ModelContent(NamedTuple):
    """Holds what a model consists of, in the order of the document."""

    types: list[ObjectType]
    policies: list[NamedPolicy]


def build_content(document: ModelDocument) -> ModelContent:
    """Returns the types and policies of a document. Raises InvalidParameter, with the path of the fault in the JSON of
    the model, for the first that could not be written."""
    body = render_body(document)
    types = _build_each(body.object_types, "objectTypes", _build_type)
    return ModelContent(types, _build_each(body.policies, "policies", _build_policy))


def _build_each(bodies: Sequence[B], name: str, build: Callable[[B], T]) -> list[T]:
    built = []
    for place, body in enumerate(bodies):
        try:
            built.append(build(body))
        except InvalidParameter as fault:
            raise fault.within(f"{name}[{place}].") from None
    return built


def _build_type(body: TypeBody) -> ObjectType:
    source = None if body.source is None else _convert_rendered(body.source, SourceDefinition, "source")
    allowed = {relation: tuple(texts) for relation, texts in (body.allowed_types or {}).items()}
    additions = TypeAdditions(allowed or None, body.actions, body.description, body.descriptions)
    return read_object_type(body.type, source, body.relations, additions)


def _build_policy(body: PolicyBody) -> NamedPolicy:
    return read_named_policy(body.name, body.parameters, body.expression, body.description)


def _convert_rendered(value: Mapping[str, Any], kind: type[B], parameter: str) -> B:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidParameter(parameter, str(error)) from None
