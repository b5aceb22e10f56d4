"""Decides which types the binary operators take, as the checker of Go `expr` 1.15 does."""

from collections.abc import Callable
from functools import lru_cache

from magistrate.engine.policy.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    NIL,
    NOT_BOOL,
    RANGE,
    STRING,
    TIME,
    StaticType,
    TypeRule,
    is_any,
    is_assignable,
    is_comparable,
    is_duration,
    is_integer,
    is_map,
    is_number,
    is_slice,
    is_string,
    is_struct,
    is_time,
)

Rule = Callable[[StaticType, StaticType], StaticType | None]
"""Returns the type of the result for the types of the operands; None if the operator does not take them."""


def _fits(left: StaticType, right: StaticType, *type_rules: TypeRule) -> bool:
    """Returns whether one operand may have any type and the other too, or one that fits a type_rule."""
    if is_any(left):
        return is_any(right) or any(type_rule(right) for type_rule in type_rules)
    return is_any(right) and any(type_rule(left) for type_rule in type_rules)


def _equality(left: StaticType, right: StaticType) -> StaticType | None:
    return BOOL if is_comparable(left, right) else None


def _order(left: StaticType, right: StaticType) -> StaticType | None:
    alike = any(type_rule(left) and type_rule(right) for type_rule in (is_number, is_string, is_time))
    return BOOL if alike or _fits(left, right, is_number, is_string, is_time) else None


def _combine(left: StaticType, right: StaticType) -> StaticType:
    if left.kind == right.kind:
        return left
    return FLOAT if "float64" in (left.kind, right.kind) else INT


def _sum(left: StaticType, right: StaticType) -> StaticType | None:
    if is_number(left) and is_number(right):
        return _combine(left, right)
    if is_string(left) and is_string(right):
        return STRING
    if (left is TIME and right is DURATION) or (left is DURATION and right is TIME):
        return TIME
    return NOT_BOOL if _fits(left, right, is_number, is_string, is_time, is_duration) else None


def _difference(left: StaticType, right: StaticType) -> StaticType | None:
    if is_number(left) and is_number(right):
        return _combine(left, right)
    if left is TIME and right in (TIME, DURATION):
        return DURATION if right is TIME else TIME
    return NOT_BOOL if _fits(left, right, is_number, is_time) else None


def _product(left: StaticType, right: StaticType) -> StaticType | None:
    if is_number(left) and is_number(right):
        return _combine(left, right)
    return NOT_BOOL if _fits(left, right, is_number) else None


def _quotient(left: StaticType, right: StaticType) -> StaticType | None:
    return FLOAT if (is_number(left) and is_number(right)) or _fits(left, right, is_number) else None


def _remainder(left: StaticType, right: StaticType) -> StaticType | None:
    if is_integer(left) and is_integer(right):
        return _combine(left, right)
    return NOT_BOOL if _fits(left, right, is_integer) else None


def _interval(left: StaticType, right: StaticType) -> StaticType | None:
    return RANGE if (is_integer(left) and is_integer(right)) or _fits(left, right, is_integer) else None


def _texts(left: StaticType, right: StaticType) -> StaticType | None:
    return BOOL if (is_string(left) and is_string(right)) or _fits(left, right, is_string) else None


def _membership(left: StaticType, right: StaticType) -> StaticType | None:
    if is_any(right) or ((is_string(left) or is_any(left)) and is_struct(right)):
        return BOOL
    if is_map(right):
        assert right.key is not None
        return BOOL if left is NIL or is_any(left) or is_assignable(left, right.key) else None
    if is_slice(right):
        return _equality(left, right.element) if right.element is not None else None
    return BOOL if is_any(left) and is_string(right) else None


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("==", "!="), _equality),
    **dict.fromkeys(("<", "<=", ">", ">="), _order),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches"), _texts),
    **dict.fromkeys(("/", "**", "^"), _quotient),
    "in": _membership,
    "..": _interval,
    "+": _sum,
    "-": _difference,
    "*": _product,
    "%": _remainder,
}


@lru_cache(maxsize=4_096)
def result_type(name: str, left: StaticType, right: StaticType) -> StaticType | None:
    """Returns the type of the operator's result for operands of these types; None if it does not take them. There are
    few combinations, and a long policy has thousands of operators."""
    return _RULES[name](left, right)
