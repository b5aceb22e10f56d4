"""The rule operators, and how a rule is read from its JSON form.

A new operator is one file beside these and one row in COMBINATIONS (or a branch in `read_rule` if it is no keyword).
"""

from magistrate.engine.rules.all_of import AllOf
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.combination import Combination
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.none_of import NoneOf
from magistrate.engine.rules.rule import Rule, RuleForm
from magistrate.engine.rules.same_object import SameObject
from magistrate.engine.rules.through import Through
from magistrate.engine.terms import RelationName, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter

COMBINATIONS: dict[str, type[Combination]] = {rule.keyword: rule for rule in (AnyOf, AllOf, NoneOf)}

INHERIT_IF_MESSAGE = "can only be 'anyOf', 'allOf', 'noneOf', or a valid relation name"


def read_rule(form: RuleForm | None) -> Rule:
    """The rule a form describes; None reads as the empty rule.

    Raises InvalidParameter or MissingParameter with the bare member name, in the order and with the words of contract
    section 3. Types and relations that are named need not exist.
    """
    if form is None:
        return Direct()
    if not form.inherit_if:
        return _without_condition(form)
    if form.rules is not None and not form.rules:
        raise InvalidParameter("rules", "must be greater than or equal to 1")
    if form.inherit_if in COMBINATIONS:
        return COMBINATIONS[form.inherit_if](_branches(form))
    relation = _condition(form.inherit_if)
    if form.of_type or form.with_relation:
        return Through(
            relation,
            type_name(form.of_type, "ofType"),
            relation_name(form.with_relation, "withRelation"),
        )
    return SameObject(relation)


def _without_condition(form: RuleForm) -> Rule:
    if form.rules is not None or form.of_type or form.with_relation:
        raise MissingParameter("inheritIf")
    return Direct()


def _branches(form: RuleForm) -> tuple[Rule, ...]:
    if form.rules is None:
        raise MissingParameter("rules")
    return tuple(read_rule(branch) for branch in form.rules)


def _condition(text: str) -> RelationName:
    try:
        return relation_name(text, "inheritIf")
    except InvalidParameter:
        raise InvalidParameter("inheritIf", INHERIT_IF_MESSAGE) from None
