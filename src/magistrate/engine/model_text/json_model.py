"""Reads the JSON of a model into a document (docs/models.md#json)."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from magistrate.engine.model_text.declaring import MAX_DESCRIPTION_LENGTH
from magistrate.engine.model_text.document import (
    PARAMETER_TYPES,
    AllowedClause,
    ModelDocument,
    NameAt,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    RuleKind,
    TypeDeclaration,
)
from magistrate.engine.model_text.expressions import find_end, write_expression
from magistrate.engine.model_text.json_bodies import PolicyBody, RuleBody, TypeBody
from magistrate.engine.model_text.json_members import ModelMembers
from magistrate.engine.model_text.json_rendering import SELF
from magistrate.engine.nesting import fold
from magistrate.engine.suggestions import suggest_name
from magistrate.engine.terms import policy_name, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter

T = TypeVar("T")
Locate = Callable[[str], tuple[int, int]]
"""Returns the line and the column of what a path names, such as `objectTypes[3].relations.viewer`."""

_ALLOWED = re.compile(r"([a-z0-9_-]{1,64})(:\*)?(?:#([A-Za-z0-9_-]{1,64}))?")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS: Mapping[str, RuleKind] = {"anyOf": "any_of", "allOf": "all_of", "noneOf": "none_of"}


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
            policy = _read_policy(policy_body, path, locate)
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
        for key, text in (body.descriptions or {}).items():
            description = _read_description(text, f"{path}.descriptions.{key}")
            self._find(declared, key, "descriptions").description = description
        return declared

    def _find(self, declared: TypeDeclaration, key: str, member: str) -> RelationDeclaration:
        if key not in declared.relations:
            hint = suggest_name(key[:64], declared.relations)
            raise InvalidParameter(f"{self._path}.{member}", f"{key[:64]} is no relation of the type{hint}")
        return declared.relations[key]

    def _read_relation(self, key: str, rule: RuleBody | None) -> RelationDeclaration:
        path = f"{self._path}.relations"
        if not key:
            raise InvalidParameter(path, "the name of a relation must not be empty")
        self._at = self._locate(f"{path}.{key}")
        relation = RelationDeclaration(NameAt(relation_name(key, path), *self._at))
        read = fold(rule, lambda one: _list_rules(one, f"{path}.{key}"), self._read_rule(f"{path}.{key}"))
        if read.kind != "nobody":
            relation.rule, relation.inherit = read, relation.name
        return relation

    def _read_allowed(self, key: str, texts: Sequence[str]) -> list[AllowedClause]:
        path = f"{self._path}.allowedTypes"
        line, column = self._locate(f"{path}.{key}")
        allowed: dict[str, AllowedClause] = {}
        for text in texts:
            found = _ALLOWED.fullmatch(text)
            if found is None:
                message = f"{text[:64]!r} is not like user, user:*, group#member or group:*#member"
                raise InvalidParameter(f"{path}.{key}", message)
            if text in allowed:
                raise InvalidParameter(f"{path}.{key}", f"{text} is there twice")
            relation = NameAt(relation_name(found[3], f"{path}.{key}"), line, column) if found[3] else None
            allowed[text] = AllowedClause(NameAt(found[1], line, column), bool(found[2]), relation)
        return [*allowed.values()]

    def _read_rule(self, path: str) -> Callable[[RuleBody | None, Sequence[RuleClause]], RuleClause]:
        at = self._at

        def read(body: RuleBody | None, rules: Sequence[RuleClause]) -> RuleClause:
            clause = _read_clause(body, rules, path, SELF in self._body.relations)
            clause.line, clause.column = at
            clause.names = tuple(name._replace(line=at[0], column=at[1]) for name in clause.names)
            return clause

        return read


def _list_rules(body: RuleBody | None, path: str) -> Sequence[RuleBody | None]:
    """Returns the rules in a rule, after checking which members it has. Raises InvalidParameter."""
    if body is None:
        return ()
    if [bool(body.inherit_if), body.for_all is not None, body.policy is not None].count(True) > 1:
        raise InvalidParameter(path, "a rule has one of the members inheritIf, forAll and policy")
    if body.rules is not None and not body.rules:
        raise InvalidParameter(f"{path}.rules", "must be greater than or equal to 1")
    if body.inherit_if not in _KINDS:
        return ()
    if body.rules is None:
        raise MissingParameter(f"{path}.rules")
    return body.rules


def _read_clause(body: RuleBody | None, rules: Sequence[RuleClause], path: str, has_self: bool) -> RuleClause:
    """Returns one rule, given those in it. Raises InvalidParameter."""
    if body is None:
        return RuleClause("nobody")
    if body.policy is not None:
        return RuleClause("policy", (NameAt(policy_name(body.policy, f"{path}.policy")),))
    if body.for_all is not None:
        return RuleClause("for_all", _read_link(body.for_all, body, path, "forAll"))
    if not body.inherit_if:
        if body.rules is not None or body.of_type or body.with_relation:
            raise MissingParameter(f"{path}.inheritIf")
        return RuleClause("nobody")
    if body.inherit_if in _KINDS:
        return _join_arrows(RuleClause(_KINDS[body.inherit_if], rules=[*rules]))
    if body.of_type or body.with_relation:
        return RuleClause("arrow", _read_link(body.inherit_if, body, path, "inheritIf"))
    if body.inherit_if == SELF and not has_self:
        return RuleClause("self")
    return RuleClause("computed", (NameAt(relation_name(body.inherit_if, f"{path}.inheritIf")),))


def _read_link(relation: str, body: RuleBody, path: str, member: str) -> tuple[NameAt, ...]:
    return (
        NameAt(relation_name(relation, f"{path}.{member}")),
        NameAt(relation_name(body.with_relation, f"{path}.withRelation")),
        NameAt(type_name(body.of_type, f"{path}.ofType")),
    )


def _join_arrows(group: RuleClause) -> RuleClause:
    """Returns a group, or if it says the same, one arrow with several types: JSON has a rule for each type."""
    first = group.rules[0]
    if group.kind != "any_of" or len(group.rules) < 2 or any(len(one.names) != 3 for one in group.rules):
        return group
    links = {(one.kind, one.relation.text, one.link.text) for one in group.rules}
    types = {one.types[0].text: one.types[0] for one in group.rules}
    if first.kind != "arrow" or len(links) > 1 or len(types) < len(group.rules):
        return group
    return RuleClause("arrow", (*first.names[:2], *types.values()))


def _read_policy(body: PolicyBody, path: str, locate: Locate) -> PolicyDeclaration:
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
