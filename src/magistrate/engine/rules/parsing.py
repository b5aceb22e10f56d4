"""Parses a rule from its JSON form."""

from collections.abc import Container, Sequence
from functools import partial

from magistrate.engine.names import RelationName
from magistrate.engine.nesting import fold
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.arrow import Arrow
from magistrate.engine.rules.computed import Computed
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.for_all import ForAll
from magistrate.engine.rules.policy_rule import PolicyRule
from magistrate.engine.rules.rule import Rule, RuleDefinition
from magistrate.engine.rules.self_rule import SelfRule
from magistrate.engine.terms import policy_name, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter

_FOR_ALL = "forAll"
_POLICY = "policy"


def read_rule(definition: RuleDefinition | None, defined: Container[str] = ()) -> Rule:
    """Returns the rule a form describes; None reads as the empty rule. `defined` are the relations of its object type:
    where one is called `self`, that word names the relation.

    Raises InvalidParameter or MissingParameter with the bare member name, for the first fault in written order. Types
    and relations that are named need not exist."""
    rule: Rule = fold(definition, _branches, partial(_rule, SelfRule.keyword in defined))
    return rule


def _branches(definition: RuleDefinition | None) -> Sequence[RuleDefinition | None]:
    """Returns the forms within a form. Raises what is wrong with a form that has some or must have."""
    if definition is None or not definition.inherit_if or not (definition.for_all is definition.policy is None):
        return ()
    if definition.rules is not None and not definition.rules:
        raise InvalidParameter("rules", "must be greater than or equal to 1")
    if definition.inherit_if not in RULE_OPERATORS:
        return ()
    if definition.rules is None:
        raise MissingParameter("rules")
    return definition.rules


def _rule(names_self: bool, definition: RuleDefinition | None, branches: Sequence[Rule]) -> Rule:
    if definition is None:
        return Direct()
    if definition.policy is not None:
        return _policy_rule(definition)
    if definition.for_all is not None:
        return _quantifier(definition)
    if not definition.inherit_if:
        return _without_condition(definition)
    if definition.inherit_if in RULE_OPERATORS:
        return RULE_OPERATORS[definition.inherit_if](tuple(branches))
    relation = _condition(definition.inherit_if)
    if definition.of_type or definition.with_relation:
        return Arrow(
            relation,
            type_name(definition.of_type, "ofType"),
            relation_name(definition.with_relation, "withRelation"),
        )
    return SelfRule() if relation == SelfRule.keyword and not names_self else Computed(relation)


def _quantifier(definition: RuleDefinition) -> ForAll:
    if definition.inherit_if is not None or definition.rules is not None:
        raise InvalidParameter(_FOR_ALL, "cannot be combined with inheritIf or rules")
    return ForAll(
        relation_name(definition.for_all, _FOR_ALL),
        type_name(definition.of_type, "ofType"),
        relation_name(definition.with_relation, "withRelation"),
    )


def _policy_rule(definition: RuleDefinition) -> PolicyRule:
    others = (definition.inherit_if, definition.rules, definition.for_all, definition.of_type, definition.with_relation)
    if any(other is not None for other in others):
        raise InvalidParameter(_POLICY, "cannot be combined with other members")
    return PolicyRule(policy_name(definition.policy, _POLICY))


def _without_condition(definition: RuleDefinition) -> Rule:
    if definition.rules is not None or definition.of_type or definition.with_relation:
        raise MissingParameter("inheritIf")
    return Direct()


def _condition(text: str) -> RelationName:
    try:
        return relation_name(text, "inheritIf")
    except InvalidParameter:
        keywords = ", ".join(map(repr, RULE_OPERATORS))
        raise InvalidParameter("inheritIf", f"can only be {keywords}, or a valid relation name") from None
