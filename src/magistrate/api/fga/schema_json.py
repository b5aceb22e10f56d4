"""Converts the JSON of schemas of `/fga/v1` to that of models, and back (docs/fga-v1.md#schemas).

In schemas up to version 0.3, as in texts, `group` in `allowed_types` also allows all usersets of groups if there is
none of them; version 1.0 allows exactly what is written down.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import structs

from magistrate.api.fga.names import rename_in_error
from magistrate.engine.nesting import fold
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.document import ModelDocument, NameAt, RelationDeclaration, TypeDeclaration
from magistrate.engine.text.json_documents import ModelMembers, PolicyBody, TypeBody, read_body
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter

LANGUAGE = "expr"


class FgaRuleDefinition(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a rule: `{}`, or an object with one of the members inherit_if, for_all and policy. It has a
    struct of its own because its members are called differently from those of v2."""

    inherit_if: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[FgaRuleDefinition] | None" = None
    for_all: str | None = None
    policy: str | None = None


class FgaRelationDefinition(FgaRuleDefinition, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a relation: the members of its rule, and with `allowed_types` the subjects that warrants may give it
    to; all subjects if that is absent."""

    allowed_types: list[str] | None = None


class FgaTypeBody(msgspec.Struct, omit_defaults=True):
    """Represents a resource type to create or replace."""

    type: str | None = None
    relations: dict[str, FgaRelationDefinition | None] | None = None


class FgaParameterBody(msgspec.Struct):
    """Represents a parameter of a policy; `type` is string, integer, boolean, float, array or map."""

    name: str
    type: str


class FgaPolicyBody(msgspec.Struct, omit_defaults=True):
    """Represents a named policy to create or replace. `language` is always `expr`."""

    name: str | None = None
    description: str | None = None
    language: str | None = None
    parameters: list[FgaParameterBody] | None = None
    expression: str | None = None


def read_document(
    types: Iterable[tuple[str, FgaTypeBody]],
    policies: Iterable[tuple[str, FgaPolicyBody]] = (),
    version: str = "0.3",
    others: Mapping[str, Iterable[str]] | None = None,
) -> ModelDocument:
    """Returns the document of these types and policies, each of which comes with its path. `others` are relations by
    type that the model has besides. Raises InvalidParameter for the first fault."""
    members = ModelMembers(
        [(path, _convert_type(body)) for path, body in types],
        [(path, _convert_policy(body, path)) for path, body in policies],
        [],
    )
    document, faults = read_body(members, lambda path: (0, 0))
    if faults:
        raise rename_in_error(faults[0])
    document.version = version
    for name, relations in (others or {}).items():
        declared = {relation: RelationDeclaration(NameAt(relation)) for relation in relations}
        document.types.setdefault(name, TypeDeclaration(NameAt(name), declared))
    return document


def render_fga_type(body: TypeBody) -> FgaTypeBody:
    allowed = body.allowed_types or {}
    relations: dict[str, FgaRelationDefinition | None] = {
        name: _render_relation(rule, allowed.get(name)) for name, rule in body.relations.items()
    }
    return FgaTypeBody(type=body.type, relations=relations)


def render_fga_policy(body: PolicyBody) -> FgaPolicyBody:
    parameters = [FgaParameterBody(name, of_type) for name, of_type in (body.parameters or {}).items()]
    return FgaPolicyBody(body.name, body.description, LANGUAGE, parameters, expression=body.expression)


def _convert_type(body: FgaTypeBody) -> TypeBody:
    relations = body.relations or {}
    return TypeBody(
        type=body.type or "",
        relations={
            name: None if definition is None else _convert_relation(definition, relations)
            for name, definition in relations.items()
        },
        allowed_types={
            name: definition.allowed_types
            for name, definition in relations.items()
            if definition is not None and definition.allowed_types is not None
        },
    )


def _convert_relation(definition: FgaRuleDefinition, names: Container[str]) -> RuleDefinition:
    """Returns the rule of a relation; `names` has the relations of its type."""
    body: RuleDefinition = fold(definition, lambda inner: inner.rules or (), partial(_convert_rule, names))
    return body


def _convert_rule(names: Container[str], rule: FgaRuleDefinition, rules: Sequence[RuleDefinition]) -> RuleDefinition:
    inherit_if = None if rule.inherit_if is None else _read_operator(rule.inherit_if)
    # The API of Warrant has relations with these names: without rules, they are no groups.
    if rule.rules is None and (rule.inherit_if in names or rule.with_relation is not None):
        inherit_if = rule.inherit_if
    inner: list[RuleDefinition | None] | None = None if rule.rules is None else [*rules]
    return RuleDefinition(inherit_if, rule.of_type, rule.with_relation, inner, for_all=rule.for_all, policy=rule.policy)


def _read_operator(name: str) -> str:
    """Returns the operator of v2 that a name means here; the name itself if it is that of a relation. Raises
    InvalidParameter for an operator that cannot be said."""
    if name in RULE_OPERATORS and RULE_OPERATORS[name].words.fga is None:
        raise InvalidParameter("inherit_if", f"/fga/v1 cannot say {name}; write the model at /v2/model")
    return next((keyword for keyword, operator in RULE_OPERATORS.items() if operator.words.fga == name), name)


def _render_operator(keyword: str) -> str:
    """Returns the name of an operator here, or the keyword itself if it is the name of a relation. Raises
    InvalidRequest for an operator that cannot be said."""
    operator = RULE_OPERATORS.get(keyword)
    if operator is not None and operator.words.fga is None:
        raise InvalidRequest(f"the model has a rule with {keyword}, which /fga/v1 cannot say; read it at /v2/model")
    return keyword if operator is None or operator.words.fga is None else operator.words.fga


def _convert_policy(body: FgaPolicyBody, path: str) -> PolicyBody:
    if body.language not in (None, LANGUAGE):
        raise InvalidParameter(f"{path}.language", f"can only be {LANGUAGE}")
    if not body.expression:
        raise MissingParameter(f"{path}.expression")
    return PolicyBody(
        name=body.name or "",
        parameters=read_policy_parameters(body, f"{path}.parameters"),
        expression=body.expression,
        description=body.description,
    )


def read_policy_parameters(body: FgaPolicyBody, path: str) -> dict[str, str]:
    """Returns the types of the parameters of a policy. Raises InvalidParameter if one is there twice."""
    types: dict[str, str] = {}
    for parameter in body.parameters or ():
        if parameter.name in types:
            raise InvalidParameter(path, f"'{parameter.name[:64]}' is there twice")
        types[parameter.name] = parameter.type
    return types


def _render_relation(rule: RuleDefinition | None, allowed: list[str] | None) -> FgaRelationDefinition:
    definition: FgaRuleDefinition = fold(rule, _list_rules, _render_rule)
    return FgaRelationDefinition(**structs.asdict(definition), allowed_types=allowed)


def _list_rules(rule: RuleDefinition | None) -> Sequence[RuleDefinition | None]:
    return () if rule is None else rule.rules or ()


def _render_rule(rule: RuleDefinition | None, rules: Sequence[FgaRuleDefinition]) -> FgaRuleDefinition:
    if rule is None:
        return FgaRuleDefinition()
    inherit_if = None if rule.inherit_if is None else _render_operator(rule.inherit_if)
    inner = None if rule.rules is None else [*rules]
    return FgaRuleDefinition(
        inherit_if, rule.of_type, rule.with_relation, inner, for_all=rule.for_all, policy=rule.policy
    )
