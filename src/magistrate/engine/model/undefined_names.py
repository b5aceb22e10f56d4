"""Finds the names in rules that the model does not define. Such a rule is accepted, because types may be written in any
order, but it never holds (docs/compatibility.md#rules)."""

from collections.abc import Container, Iterable, Iterator, Mapping

from magistrate.engine.model.object_types import (
    AllowedTypes,
    DefinedType,
    describe_allowed,
    find_allowed,
)
from magistrate.engine.names import TypeName, suggest_name
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.rules.self_rule import SelfRule
from magistrate.engine.subjects import render_allowed_type, split_allowed_type
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.errors import InvalidParameter, NotAllowed

Relations = Mapping[str, RuleDefinition | None]


def find_undefined_names(
    model: Mapping[str, Relations],
    types: Iterable[str],
    policies: Container[str] | None = None,
    visible: Container[str] | None = None,
) -> Iterator[str]:
    """Yields a sentence for each use of an undefined name in the rules of these types, in written order. Without
    `policies`, those that rules name are not looked at, and with `visible`, names on other object types."""
    for of_type in types:
        for relation, rule in model[of_type].items():
            waiting = [rule]
            while waiting:
                definition = waiting.pop()
                if definition is not None and definition.inherit_if in RULE_OPERATORS:
                    waiting += reversed(definition.rules or ())
                elif definition is not None and definition.policy is not None:
                    if policies is not None and definition.policy not in policies:
                        yield f"{of_type}#{relation}: policy {definition.policy} is not defined"
                elif definition is not None:
                    for fault in _faults_of_rule(model, of_type, definition, visible):
                        yield f"{of_type}#{relation}: {fault}"


def find_undefined_allowed_types(
    model: Mapping[str, Relations],
    allowed: Mapping[TypeName, AllowedTypes],
    visible: Container[str] | None = None,
) -> Iterator[str]:
    """Yields a sentence for each undefined name in these allowed types, which are by object type, in written order.
    `visible` is as in `find_undefined_names`."""
    for of_type, types_by_relation in allowed.items():
        for relation, texts in types_by_relation.items():
            for named_type, named_relation in map(split_allowed_type, texts):
                relations = model.get(named_type)
                if visible is not None and named_type not in visible:
                    continue
                if relations is None:
                    fault = f"object type {named_type} is not defined{suggest_name(named_type, model)}"
                    yield f"{of_type}#{relation}: {fault}"
                elif named_relation and named_relation not in relations:
                    yield f"{of_type}#{relation}: {_describe_relation(named_type, named_relation, relations)}"


def _faults_of_rule(
    model: Mapping[str, Relations], of_type: str, rule: RuleDefinition, visible: Container[str] | None
) -> Iterator[str]:
    """Yields what is undefined in a rule that is no combination of others."""
    own = model[of_type]
    named = rule.inherit_if or rule.for_all
    if not named or (named == SelfRule.keyword and not rule.of_type and named not in own):
        return
    if rule.with_relation and rule.with_relation not in own:
        yield _describe_relation(of_type, rule.with_relation, own)
    named_type = rule.of_type or of_type
    relations = model.get(named_type)
    if visible is not None and named_type not in visible:
        return
    if relations is None:
        yield f"object type {named_type} is not defined{suggest_name(named_type, model)}"
    elif named not in relations:
        yield _describe_relation(named_type, named, relations)


def _describe_relation(of_type: str, relation: str, relations: Relations) -> str:
    return f"relation {relation} is not defined on {of_type}{suggest_name(relation, relations)}"


def find_names_fault(names: WarrantNames, defined: Mapping[TypeName, DefinedType]) -> InvalidParameter | None:
    """Returns why a warrant with these names is not valid with these object types, or None."""
    object_type = defined.get(names.object_type)
    if object_type is None:
        return InvalidParameter("objectType", "the object type does not exist.")
    if names.relation not in object_type.relations:
        return InvalidParameter("relation", "the relation does not exist on the specified object type.")
    subject_type = render_allowed_type(names.subject_type, names.subject_id, names.subject_relation)
    allowed = find_allowed(object_type, names.relation, subject_type)
    if allowed is None:
        return None
    return NotAllowed("subject", describe_allowed(names.object_type, names.relation, subject_type, allowed), allowed)
