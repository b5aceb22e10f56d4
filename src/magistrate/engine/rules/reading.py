"""Parses a rule from its JSON form."""

from collections.abc import Sequence

from magistrate.engine.nesting import fold
from magistrate.engine.rules import COMBINATIONS
from magistrate.engine.rules.arrow import Arrow
from magistrate.engine.rules.computed import Computed
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.rule import Rule, RuleForm
from magistrate.engine.terms import RelationName, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter

INHERIT_IF_MESSAGE = f"can only be {', '.join(map(repr, COMBINATIONS))}, or a valid relation name"


def read_rule(form: RuleForm | None) -> Rule:
    """Returns the rule a form describes; None reads as the empty rule.

    Raises InvalidParameter or MissingParameter with the bare member name, for the first fault in written order. Types
    and relations that are named need not exist."""
    return fold(form, _branches, _rule)


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
