"""Compiles comparisons of a variable with literals, which most policies consist of.

The type of the variable in the context is known, so that nothing is left to look at while they are evaluated.
"""

import operator
from collections.abc import Callable
from typing import Any

from magistrate.engine.policy.node import Evaluate, PolicyNode
from magistrate.engine.policy.run import PolicyRun
from magistrate.engine.policy.types import FLOAT, STRING

_SHORT_TEXT = 256
"""Limits the characters up to which looking for a text is not charged."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare_variable(left: PolicyNode, sign: str, right: PolicyNode) -> Evaluate | None:
    """Returns what compares a variable with a literal; None for operands it does not know."""
    name, literal = left.variable, right.literal
    assert name is not None
    if left.type is FLOAT and type(literal) in (int, float) and sign in _COMPARE:
        return _compare_number(name, _COMPARE[sign], float(literal))
    if left.type is not STRING:
        return None
    if sign in ("==", "!=") and type(literal) is str:
        return _compare_text(name, literal, sign == "==")
    is_among_texts = sign == "in" and right.members and all(type(member) is str for member in right.members)
    return _find_among(name, frozenset(right.members or ())) if is_among_texts else None


def _compare_number(name: str, compare: Callable[[Any, Any], bool], literal: float) -> Evaluate:
    def evaluate(
        run: PolicyRun, name: str = name, compare: Callable[[Any, Any], bool] = compare, literal: float = literal
    ) -> bool:
        return compare(float(run.context[name]), literal)

    return evaluate


def _compare_text(name: str, literal: str, is_equality: bool) -> Evaluate:
    def evaluate(run: PolicyRun, name: str = name, literal: str = literal, is_equality: bool = is_equality) -> bool:
        return (run.context[name] == literal) is is_equality

    return evaluate


def _find_among(name: str, literals: frozenset[Any]) -> Evaluate:
    def evaluate(run: PolicyRun, name: str = name, literals: frozenset[Any] = literals) -> bool:
        text = run.context[name]
        if len(text) > _SHORT_TEXT:
            run.charge_text(len(text))
        return text in literals

    return evaluate
