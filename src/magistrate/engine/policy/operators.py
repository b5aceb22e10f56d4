"""Implements the operators on values whose types are known only now, and says which static types they take."""

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from magistrate.engine.policy import texts
from magistrate.engine.policy.equality import contains_value, equal, plain_number
from magistrate.engine.policy.node import Apply
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.texts import matches
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


def _numbers(on_whole: Callable[[int, int], Any], on_any: Callable[[float, float], Any], is_whole: bool) -> Table:
    """Returns the table for numbers: two integers give an integer if `is_whole`, any other two numbers a float."""

    def ints(run: PolicyRun, left: int, right: int) -> Any:
        return whole(on_whole(left, right))

    def floats(run: PolicyRun, left: float, right: float) -> Any:
        return finite(on_any(float(left), float(right)))

    return {
        (int, int): ints if is_whole else floats,
        (int, float): floats,
        (float, int): floats,
        (float, float): floats,
    }


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
    **_numbers(operator.add, operator.add, True),
    (str, str): _join,
    (Time, Duration): lambda run, a, b: _time(run, a, b.nanoseconds),
    (Duration, Time): lambda run, a, b: _time(run, b, a.nanoseconds),
    (Duration, Duration): lambda run, a, b: _duration(run, a.nanoseconds + b.nanoseconds),
}
_SUBTRACT: Table = {
    **_numbers(operator.sub, operator.sub, True),
    (Time, Time): lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds),
    (Time, Duration): lambda run, a, b: _time(run, a, -b.nanoseconds),
    (Duration, Duration): lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds),
}

_MULTIPLY: Table = {
    **_numbers(operator.mul, operator.mul, True),
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

    alike = ((int, int), (float, float), (Time, Time), (Duration, Duration))
    mixed = ((int, float), (float, int))
    return _by_kinds({**dict.fromkeys(alike, by_value), **dict.fromkeys(mixed, by_float), (str, str): by_text})


def _on_texts(apply: Callable[[PolicyRun, str, str], bool]) -> Apply:
    return _by_kinds({(str, str): apply})


OPERATORS: dict[str, Apply] = {
    "==": equal,
    "!=": lambda run, left, right: not equal(run, left, right),
    "<": _order(operator.lt),
    "<=": _order(operator.le),
    ">": _order(operator.gt),
    ">=": _order(operator.ge),
    "in": contains_value,
    "contains": _on_texts(texts.contains),
    "startsWith": _on_texts(texts.has_prefix),
    "endsWith": _on_texts(texts.has_suffix),
    "matches": _on_texts(matches),
    "..": _interval,
    "+": _by_kinds(_ADD),
    "-": _by_kinds(_SUBTRACT),
    "*": _by_kinds(_MULTIPLY),
    "/": _by_kinds(_numbers(operator.truediv, operator.truediv, False)),
    "%": _by_kinds({(int, int): _remainder}),
    "**": _by_kinds(_numbers(_power, _power, False)),
    "^": _by_kinds(_numbers(_power, _power, False)),
}
"""Lists the binary operators, except the logical ones and `??`, which do not evaluate both operands. They raise Fault,
or ArithmeticError, for operands they cannot take."""


def opposite(apply: Apply) -> Apply:
    """Returns the negation of an operator: `not in`, `not contains`."""
    return lambda run, left, right: not apply(run, left, right)


Rule = Callable[[StaticType, StaticType], StaticType | None]
"""Returns the type of the result for the types of the operands; None if the operator does not take them."""


def _fits(left: StaticType, right: StaticType, *type_rules: TypeRule) -> bool:
    """Returns whether one operand may have any type and the other too, or one that fits a type_rule."""
    if is_any(left):
        return is_any(right) or any(type_rule(right) for type_rule in type_rules)
    return is_any(right) and any(type_rule(left) for type_rule in type_rules)


def _equality(left: StaticType, right: StaticType) -> StaticType | None:
    return BOOL if is_comparable(left, right) else None


def _order_type(left: StaticType, right: StaticType) -> StaticType | None:
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


def _remainder_type(left: StaticType, right: StaticType) -> StaticType | None:
    if is_integer(left) and is_integer(right):
        return _combine(left, right)
    return NOT_BOOL if _fits(left, right, is_integer) else None


def _interval_type(left: StaticType, right: StaticType) -> StaticType | None:
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
    **dict.fromkeys(("<", "<=", ">", ">="), _order_type),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches"), _texts),
    **dict.fromkeys(("/", "**", "^"), _quotient),
    "in": _membership,
    "..": _interval_type,
    "+": _sum,
    "-": _difference,
    "*": _product,
    "%": _remainder_type,
}


@lru_cache(maxsize=4_096)
def result_type(name: str, left: StaticType, right: StaticType) -> StaticType | None:
    """Returns the type of the operator's result for operands of these types; None if it does not take them. There are
    few combinations, and a long policy has thousands of operators."""
    return _RULES[name](left, right)
