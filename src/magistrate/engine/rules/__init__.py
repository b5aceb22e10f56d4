"""Defines the rule operators, one file each, and parses a rule from its JSON form.

A new operator is one file beside these and one row in COMBINATIONS (or a branch in `_rule` if it is not a keyword).
"""

from collections.abc import Iterator, Sequence

from magistrate.engine.nesting import fold
from magistrate.engine.rules.all_of import AllOf
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.arrow import Arrow
from magistrate.engine.rules.combination import Combination
from magistrate.engine.rules.computed import Computed
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.none_of import NoneOf
from magistrate.engine.rules.rule import Dependency, Rule, RuleForm
from magistrate.engine.terms import RelationName, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter

COMBINATIONS: dict[str, type[Combination]] = {rule.keyword: rule for rule in (AnyOf, AllOf, NoneOf)}

INHERIT_IF_MESSAGE = "can only be 'anyOf', 'allOf', 'noneOf', or a valid relation name"


def read_rule(form: RuleForm | None) -> Rule:
    """Returns the rule a form describes; None reads as the empty rule.

    Raises InvalidParameter or MissingParameter with the bare member name, for the first fault in written order. Types
    and relations that are named need not exist."""
    return fold(form, _branches, _rule)


def rule_form(rule: Rule) -> RuleForm:
    """Returns the rule as JSON, as `read_rule` reads it."""
    form: RuleForm = fold(rule, lambda one: one.rules, lambda one, forms: one.form(forms))
    return form


def dependencies(rule: Rule) -> Iterator[Dependency]:
    """Yields every relation that the rule looks at, in written order, repeated if written twice.

    Two noneOf around a rule do not cancel out: what rests on itself through them has no least meaning either."""
    waiting = [(rule, False)]
    while waiting:
        one, negated = waiting.pop()
        own = one.dependency()
        if own is not None:
            yield Dependency(own.type, own.relation, negated)
        waiting += [(inner, negated or one.negates) for inner in reversed(one.rules)]


def _branches(form: RuleForm | None) -> Sequence[RuleForm | None]:
    """Returns the forms within a form. Raises what is wrong with a form that has some or must have."""
    if form is None or not form.inherit_if:
        return ()
    if form.rules is not None and not form.rules:
        raise InvalidParameter("rules", "must be greater than or equal to 1")
    if form.inherit_if not in COMBINATIONS:
        return ()
    if form.rules is None:
        raise MissingParameter("rules")
    return form.rules


def _rule(form: RuleForm | None, branches: Sequence[Rule]) -> Rule:
    if form is None:
        return Direct()
    if not form.inherit_if:
        return _without_condition(form)
    if form.inherit_if in COMBINATIONS:
        return COMBINATIONS[form.inherit_if](tuple(branches))
    relation = _condition(form.inherit_if)
    if form.of_type or form.with_relation:
        return Arrow(
            relation,
            type_name(form.of_type, "ofType"),
            relation_name(form.with_relation, "withRelation"),
        )
    return Computed(relation)


def _without_condition(form: RuleForm) -> Rule:
    if form.rules is not None or form.of_type or form.with_relation:
        raise MissingParameter("inheritIf")
    return Direct()


def _condition(text: str) -> RelationName:
    try:
        return relation_name(text, "inheritIf")
    except InvalidParameter:
        raise InvalidParameter("inheritIf", INHERIT_IF_MESSAGE) from None
