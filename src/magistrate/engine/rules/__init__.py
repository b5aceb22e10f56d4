"""Defines the operators and the leaves of rules, a file each; other code treats them alike (docs/extending.md)."""

from collections.abc import Iterator

from magistrate.engine.nesting import fold
from magistrate.engine.rules.all_of import AllOf
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.none_of import NoneOf
from magistrate.engine.rules.rule import Dependency, Rule, RuleDefinition
from magistrate.engine.rules.rule_operator import RuleOperator

RULE_OPERATORS: dict[str, type[RuleOperator]] = {
    operator.keyword: operator
    for operator in (
        AnyOf,
        AllOf,
        NoneOf,
    )
}
"""Registers every operator over rules by its keyword."""


def render_rule(rule: Rule) -> RuleDefinition:
    """Returns the rule as JSON, as `read_rule` reads it."""
    definition: RuleDefinition = fold(rule, lambda one: one.rules, lambda one, definitions: one.render(definitions))
    return definition


def dependencies(rule: Rule) -> Iterator[Dependency]:
    """Yields every relation that the rule looks at, in written order, repeated if written twice.

    Two noneOf around a rule do not cancel out: what rests on itself through them has no least meaning either. Below an
    operator that is not monotone every rule counts as negated, because it is decided after all of its rules."""
    waiting = [(rule, False)]
    while waiting:
        one, negated = waiting.pop()
        own = one.dependency()
        if own is not None:
            yield Dependency(own.type, own.relation, negated)
        waiting += [(inner, negated or not one.is_monotone) for inner in reversed(one.rules)]
