"""Implements the operators on values whose types are known only now, and says which static types they take."""

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from magistrate.engine.policy import texts
from magistrate.engine.policy.equality import contains_value, equal, plain_number
from magistrate.engine.policy.node import Apply
from magistrate.engine.policy.run import Fault, PolicyRun
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
    is_integer,
    is_map,
    is_number,
    is_slice,
    is_string,
    is_struct,
    is_time,
)
from magistrate.engine.policy.values import Duration, Time, duration_of, finite, time_at, to_integer, whole

Table = Mapping[tuple[type, type], Apply]
"""Maps the kinds of both operands to the implementation."""

MAX_ELEMENTS = 1_000_000
"""Limits the length of a range; that of Go `expr` is the same."""


def _by_kinds(table: Table) -> Apply:
    def apply(run: PolicyRun, left: Any, right: Any) -> Any:
        function = table.get((type(left), type(right)))
        if function is None:
            left, right = plain_number(left), plain_number(right)
            function = table.get((type(left), type(right)))
            if function is None:
                raise Fault("the operator does not take these kinds")
        return function(run, left, right)

    return apply


def _numbers(compute: Callable[[Any, Any], Any], is_whole: bool) -> Table:
    """Returns the table for numbers: two integers give an integer if `is_whole`, any other two numbers a float."""

    def ints(run: PolicyRun, left: int, right: int) -> Any:
        return whole(compute(left, right))

    def floats(run: PolicyRun, left: float, right: float) -> Any:
        return finite(compute(float(left), float(right)))

    mixed = dict.fromkeys(((int, float), (float, int), (float, float)), floats)
    return {(int, int): ints if is_whole else floats, **mixed}


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError as error:
        raise Fault("the power is not a number") from error


def _remainder(run: PolicyRun, left: int, right: int) -> int:
    """Returns the remainder, which has the sign of the left operand."""
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _interval(run: PolicyRun, first: Any, last: Any) -> range:
    """Computes the range, with both ends included; it is empty if the last is below the first."""
    start, end = to_integer(first), to_integer(last)
    if end - start >= MAX_ELEMENTS - 1:
        raise Fault("the range is too long")
    return range(start, end + 1)


def _join(run: PolicyRun, left: str, right: str) -> str:
    run.charge_text(len(left) + len(right))
    return left + right


def _time(run: PolicyRun, time: Time, nanoseconds: int) -> Time:
    run.charge(8)
    return time_at(time.nanoseconds + nanoseconds, time.offset)


def _duration(run: PolicyRun, nanoseconds: int) -> Duration:
    run.charge(8)
    return duration_of(nanoseconds)


_ADD: Table = {
    **_numbers(operator.add, True),
    (str, str): _join,
    (Time, Duration): lambda run, a, b: _time(run, a, b.nanoseconds),
    (Duration, Time): lambda run, a, b: _time(run, b, a.nanoseconds),
    (Duration, Duration): lambda run, a, b: _duration(run, a.nanoseconds + b.nanoseconds),
}
_SUBTRACT: Table = {
    **_numbers(operator.sub, True),
    (Time, Time): lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds),
    (Time, Duration): lambda run, a, b: _time(run, a, -b.nanoseconds),
    (Duration, Duration): lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds),
}

_MULTIPLY: Table = {
    **_numbers(operator.mul, True),
    (int, Duration): lambda run, by, duration: _duration(run, by * duration.nanoseconds),
    (Duration, int): lambda run, duration, by: _duration(run, by * duration.nanoseconds),
    (Duration, Duration): lambda run, a, b: _duration(run, a.nanoseconds * b.nanoseconds),
    (float, Duration): lambda run, by, duration: finite(by * float(duration.nanoseconds)),
    (Duration, float): lambda run, duration, by: finite(by * float(duration.nanoseconds)),
}


def _order(compare: Callable[[Any, Any], Any]) -> Apply:
    def by_value(run: PolicyRun, left: Any, right: Any) -> bool:
        return bool(compare(left, right))

    def by_float(run: PolicyRun, left: float, right: float) -> bool:
        return bool(compare(float(left), float(right)))

    def by_text(run: PolicyRun, left: str, right: str) -> bool:
        run.charge_text(min(len(left), len(right)))
        return bool(compare(left, right))

    def by_time(run: PolicyRun, left: Time, right: Time) -> bool:
        return bool(compare(left.nanoseconds, right.nanoseconds))

    alike = ((int, int), (float, float), (Duration, Duration))
    mixed = dict.fromkeys(((int, float), (float, int)), by_float)
    return _by_kinds({**dict.fromkeys(alike, by_value), **mixed, (str, str): by_text, (Time, Time): by_time})


def _on_texts(apply: Callable[[PolicyRun, str, str], bool]) -> Apply:
    return _by_kinds({(str, str): apply})


def opposite(apply: Apply) -> Apply:
    """Returns the negation of an operator: `not in`, `not contains`."""
    return lambda run, left, right: not apply(run, left, right)


Rule = Callable[[StaticType, StaticType], StaticType | None]
"""Returns the type of the result for the types of the operands; None if the operator does not take them."""


def _rule(
    of_any: StaticType,
    results: Mapping[TypeRule, StaticType | None],
    pairs: Mapping[tuple[StaticType, StaticType], StaticType] = {},
) -> Rule:
    """Returns the rule for an operator that takes two operands which both meet a type rule of `results`, or a pair of
    types; None stands for the type that has them both. If an operand may have any type, the result has the type
    `of_any`, as long as the other one could be an operand."""

    def can_be_operand(static: StaticType) -> bool:
        return any(type_rule(static) for type_rule in (is_any, *results)) or any(static in pair for pair in pairs)

    def find_result(left: StaticType, right: StaticType) -> StaticType | None:
        for type_rule, result in results.items():
            if type_rule(left) and type_rule(right):
                return result or _combine(left, right)
        if is_any(left) or is_any(right):
            return of_any if can_be_operand(left) and can_be_operand(right) else None
        return pairs.get((left, right))

    return find_result


def _combine(left: StaticType, right: StaticType) -> StaticType:
    if left.kind == right.kind:
        return left
    return FLOAT if "float64" in (left.kind, right.kind) else INT


def _equality(left: StaticType, right: StaticType) -> StaticType | None:
    return BOOL if is_comparable(left, right) else None


def _membership(left: StaticType, right: StaticType) -> StaticType | None:
    if is_any(right) or ((is_string(left) or is_any(left)) and is_struct(right)):
        return BOOL
    if is_map(right):
        assert right.key is not None
        return BOOL if left is NIL or is_any(left) or is_assignable(left, right.key) else None
    if is_slice(right):
        return _equality(left, right.element) if right.element is not None else None
    return BOOL if is_any(left) and is_string(right) else None


class Operator(NamedTuple):
    """Describes a binary operator: its implementation, which raises Fault, or ArithmeticError, for operands it cannot
    take, and the static types that it takes. If it `folds`, its result is known before evaluation if both operands are
    literals."""

    apply: Apply
    rule: Rule
    folds: bool = False


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED = _rule(BOOL, {is_number: BOOL, is_string: BOOL, is_time: BOOL})
_OF_TEXTS = _rule(BOOL, {is_string: BOOL})
_POWER = Operator(_by_kinds(_numbers(_power, False)), _rule(FLOAT, {is_number: FLOAT}), folds=True)

OPERATORS: Mapping[str, Operator] = {
    "==": Operator(equal, _equality, folds=True),
    "!=": Operator(opposite(equal), _equality),
    **{name: Operator(_order(COMPARISONS[name]), _ORDERED) for name in ("<", "<=", ">", ">=")},
    "in": Operator(contains_value, _membership),
    "contains": Operator(_on_texts(texts.contains), _OF_TEXTS),
    "startsWith": Operator(_on_texts(texts.has_prefix), _OF_TEXTS),
    "endsWith": Operator(_on_texts(texts.has_suffix), _OF_TEXTS),
    "matches": Operator(_on_texts(texts.matches), _OF_TEXTS),
    "..": Operator(_interval, _rule(RANGE, {is_integer: RANGE})),
    "+": Operator(
        _by_kinds(_ADD),
        _rule(NOT_BOOL, {is_number: None, is_string: STRING}, {(TIME, DURATION): TIME, (DURATION, TIME): TIME}),
        folds=True,
    ),
    "-": Operator(
        _by_kinds(_SUBTRACT),
        _rule(NOT_BOOL, {is_number: None, is_time: DURATION}, {(TIME, DURATION): TIME}),
        folds=True,
    ),
    "*": Operator(_by_kinds(_MULTIPLY), _rule(NOT_BOOL, {is_number: None}), folds=True),
    "/": Operator(_by_kinds(_numbers(operator.truediv, False)), _rule(FLOAT, {is_number: FLOAT}), folds=True),
    "%": Operator(_by_kinds({(int, int): _remainder}), _rule(NOT_BOOL, {is_integer: None}), folds=True),
    "**": _POWER,
    "^": _POWER,
}
"""Lists the binary operators, except the logical ones and `??`, which do not evaluate both operands."""


@lru_cache(maxsize=4_096)
def result_type(name: str, left: StaticType, right: StaticType) -> StaticType | None:
    """Returns the type of the operator's result for operands of these types; None if it does not take them. There are
    few combinations, and a long policy has thousands of operators."""
    return OPERATORS[name].rule(left, right)
