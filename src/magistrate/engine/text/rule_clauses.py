"""Converts between the rules of the engine and their clauses in texts.

A clause says where each of its names was written, and an arrow may reach several types, which takes a rule for each.
JSON is that of the rules (engine/rules/parsing.py), so both forms of a model are read by one reader.
"""

from collections.abc import Sequence

from magistrate.engine.names import PolicyName, RelationName, TypeName
from magistrate.engine.nesting import fold
from magistrate.engine.rules import find_operator
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.arrow import Arrow
from magistrate.engine.rules.computed import Computed
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.for_all import ForAll
from magistrate.engine.rules.policy_rule import PolicyRule
from magistrate.engine.rules.rule import Rule
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.rules.self_rule import SelfRule
from magistrate.engine.text.document import NameAt, RuleClause


def build_rule(clause: RuleClause) -> Rule:
    """Returns the rule that a clause says."""
    rule: Rule = fold(clause, lambda inner: inner.rules, _build_one_rule)
    return rule


def _build_one_rule(clause: RuleClause, rules: Sequence[Rule]) -> Rule:
    names = [name.text for name in clause.names]
    match clause.kind:
        case "computed":
            return Computed(RelationName(names[0]))
        case "arrow":
            arrows = [
                Arrow(RelationName(names[0]), TypeName(type_name), RelationName(names[1])) for type_name in names[2:]
            ]
            return arrows[0] if len(arrows) == 1 else AnyOf(tuple(arrows))
        case "for_all":
            return ForAll(RelationName(names[0]), TypeName(names[2]), RelationName(names[1]))
        case "policy":
            return PolicyRule(PolicyName(names[0]))
        case "self":
            return SelfRule()
        case "nobody":
            return Direct()
    operator = find_operator(clause.kind)
    assert operator is not None
    return operator(tuple(rules))


def build_clause(rule: Rule, line: int, column: int) -> RuleClause:
    """Returns the clause of a rule, all of which was written there."""

    def build(rule: Rule, rules: Sequence[RuleClause]) -> RuleClause:
        kind, names = _name(rule)
        clause = RuleClause(
            kind, tuple(NameAt(name, line, column) for name in names), [*rules], line=line, column=column
        )
        return _join_arrows(clause) if isinstance(rule, AnyOf) else clause

    clause: RuleClause = fold(rule, lambda inner: inner.rules, build)
    return clause


def _name(rule: Rule) -> tuple[str, Sequence[str]]:
    """Returns the kind of the clause of a rule, and the names in it."""
    match rule:
        case RuleOperator():
            return rule.words.text, ()
        case Computed(relation):
            return "computed", (relation,)
        case Arrow(relation, of_type, link):
            return "arrow", (relation, link, of_type)
        case ForAll(relation, of_type, link):
            return "for_all", (relation, link, of_type)
        case PolicyRule(name):
            return "policy", (name,)
        case SelfRule():
            return "self", ()
    return "nobody", ()


def _join_arrows(group: RuleClause) -> RuleClause:
    """Returns a group, or if it says the same, one arrow with several types."""
    arrows = group.rules
    links = {(arrow.kind, *(name.text for name in arrow.names[:2])) for arrow in arrows}
    types = {name.text: name for arrow in arrows for name in arrow.types}
    if len(links) > 1 or arrows[0].kind != "arrow" or not len(types) == len(arrows) > 1:
        return group
    return RuleClause("arrow", (*arrows[0].names[:2], *types.values()), line=group.line, column=group.column)
