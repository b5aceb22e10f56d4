"""Converts documents to the JSON of a model, which says the same (docs/models.md#json)."""

import json
from collections.abc import Sequence

from magistrate.engine.model_text.document import (
    GROUPS,
    ModelDocument,
    PolicyDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.model_text.json_bodies import ModelBody, PolicyBody, RuleBody, TypeBody
from magistrate.engine.model_text.versions import exact_document
from magistrate.engine.nesting import fold

SELF = "self"


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
        relations={one.name.text: render_rule_body(one.rule) if one.rule else RuleBody() for one in relations},
        allowed_types={
            one.name.text: [clause.text for clause in one.allowed] for one in relations if one.allowed is not None
        }
        or None,
        description=declared.description or None,
        descriptions={one.name.text: one.description for one in relations if one.description} or None,
    )


def _render_policy(policy: PolicyDeclaration) -> PolicyBody:
    return PolicyBody(
        name=policy.name.text,
        parameters=policy.parameters,
        expression=policy.expression,
        description=policy.description or None,
    )


def render_rule_body(rule: RuleClause) -> RuleBody:
    """Returns the JSON of a rule."""
    body: RuleBody = fold(rule, lambda one: one.rules, _render_clause)
    return body


def _render_clause(rule: RuleClause, rules: Sequence[RuleBody]) -> RuleBody:
    names = [name.text for name in rule.names]
    match rule.kind:
        case "computed":
            return RuleBody(inherit_if=names[0])
        case "arrow" if len(names) == 3:
            return RuleBody(inherit_if=names[0], of_type=names[2], with_relation=names[1])
        case "arrow":
            arrows = [RuleBody(inherit_if=names[0], of_type=one, with_relation=names[1]) for one in names[2:]]
            return RuleBody(inherit_if="anyOf", rules=[*arrows])
        case "for_all":
            return RuleBody(for_all=names[0], of_type=names[2], with_relation=names[1])
        case "policy":
            return RuleBody(policy=names[0])
        case "self":
            return RuleBody(inherit_if=SELF)
        case "nobody":
            return RuleBody()
        case _:
            return RuleBody(inherit_if=GROUPS[rule.kind], rules=[*rules])
