"""Defines the operators and the leaves of rules, a file each; other code treats them alike (docs/extending.md)."""

from collections.abc import Iterable, Iterator

from magistrate.engine.nesting import fold
from magistrate.engine.rules.all_of import AllOf
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.none_of import NoneOf
from magistrate.engine.rules.rule import Dependency, Rule, RuleDefinition
from magistrate.engine.rules.rule_operator import RuleOperator


class IncompleteOperator(TypeError):
    """Says which member an operator lacks."""


def build_registry(operators: Iterable[type[RuleOperator]]) -> dict[str, type[RuleOperator]]:
    """Returns the operators by keyword. Raises IncompleteOperator for one that lacks a member of the interface or has a
    keyword or a word of another one."""
    registry: dict[str, type[RuleOperator]] = {}
    for operator in operators:
        for member in list_missing_members(operator):
            raise IncompleteOperator(f"the operator {operator.__name__} lacks {member}")
        for other in registry.values():
            for word in {other.keyword, other.words.text} & {operator.keyword, operator.words.text}:
                raise IncompleteOperator(f"the operator {operator.__name__} lacks a word of its own for {word}")
        registry[operator.keyword] = operator
    return registry


def list_missing_members(operator: type[RuleOperator]) -> Iterator[str]:
    """Yields the members of the interface that an operator does not define."""
    yield from (name for name in RuleOperator.__annotations__ if not hasattr(operator, name))
    for name in vars(RuleOperator):
        if getattr(getattr(operator, name), "__isabstractmethod__", False):
            yield name
    if not getattr(operator, "is_monotone", True) and operator.bounds is RuleOperator.bounds:
        yield "bounds, because it is not monotone"


RULE_OPERATORS = build_registry((AnyOf, AllOf, NoneOf))
"""Registers every operator over rules by its keyword. Whatever depends on which operators there are looks them up when
it needs them, so that one that is added later counts everywhere."""


def find_operator(word: str) -> type[RuleOperator] | None:
    """Returns the operator that this word names in texts of models, or None."""
    return next((operator for operator in RULE_OPERATORS.values() if operator.words.text == word), None)


def render_rule(rule: Rule) -> RuleDefinition:
    """Returns the rule as JSON, as `read_rule` reads it."""
    definition: RuleDefinition = fold(
        rule, lambda inner: inner.rules, lambda inner, definitions: inner.render(definitions)
    )
    return definition


def dependencies(rule: Rule) -> Iterator[Dependency]:
    """Yields every relation that the rule looks at, in written order, repeated if written twice.

    Two noneOf around a rule do not cancel out: what depends on itself through them has no least meaning either. Below
    an operator that is not monotone every rule counts as negated, because it is decided after all of its rules."""
    waiting = [(rule, False)]
    while waiting:
        branch, negated = waiting.pop()
        own = branch.dependency()
        if own is not None:
            yield Dependency(own.type, own.relation, negated)
        waiting += [(inner, negated or not branch.is_monotone) for inner in reversed(branch.rules)]
