"""Defines the operators: the kinds each takes, the kind of its result, and its implementation.

A table of kinds is both the static rule and the run-time dispatch of an operator, so the two cannot disagree.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from magistrate.engine.policy import texts
from magistrate.engine.policy.equality import contains_value, equal
from magistrate.engine.policy.kinds import ANY, BOOL, LIST, MAP, NIL, NOTHING, STRING, Kinds
from magistrate.engine.policy.node import Apply
from magistrate.engine.policy.patterns import matches
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import Duration, Time, as_whole, duration_of, finite, time_at, whole

Table = Mapping[tuple[type, type], tuple[type, Apply]]
"""Maps the kinds of both operands to the kind of the result and the implementation."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Describes an operator. `rows` are kinds of the left operand, of the right, and of the result; operands that fit
    no row cannot work.

    `apply` raises Fault, or ArithmeticError, for operands it cannot take."""

    apply: Apply
    rows: tuple[tuple[Kinds, Kinds, Kinds], ...]

    def result(self, left: Kinds, right: Kinds) -> Kinds:
        """Returns the kinds of the result; none if the operator cannot work."""
        fitting = [result for lefts, rights, result in self.rows if lefts & left and rights & right]
        return NOTHING.union(*fitting)


def _by_kinds(table: Table) -> Operator:
    def apply(run: PolicyRun, left: Any, right: Any) -> Any:
        row = table.get((type(left), type(right)))
        if row is None:
            raise Fault("the operator does not take these kinds")
        return row[1](run, left, right)

    rows = tuple(
        (frozenset({left}), frozenset({right}), frozenset({result})) for (left, right), (result, _) in table.items()
    )
    return Operator(apply, rows)


def _numbers(on_whole: Callable[[int, int], Any], on_any: Callable[[float, float], Any], whole_result: type) -> Table:
    """Returns the table for numbers: two integers give `whole_result`, any other two numbers a float."""

    def ints(run: PolicyRun, left: int, right: int) -> Any:
        return whole(on_whole(left, right))

    def floats(run: PolicyRun, left: float, right: float) -> Any:
        return finite(on_any(left, right))

    return {
        (int, int): (whole_result, ints if whole_result is int else floats),
        (int, float): (float, floats),
        (float, int): (float, floats),
        (float, float): (float, floats),
    }


def _product(left: int, right: int) -> int:
    # The context may hold numbers of thousands of digits, which take long to multiply.
    return whole(left) * whole(right)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError as error:
        raise Fault("the power is not a number") from error


def _remainder(run: PolicyRun, left: float, right: float) -> int:
    """Returns the remainder, which has the sign of the left operand."""
    dividend, divisor = as_whole(left), as_whole(right)
    remainder = abs(dividend) % abs(divisor)
    return -remainder if dividend < 0 else remainder


def _interval(run: PolicyRun, first: float, last: float) -> range:
    """Returns the range with both ends included; it is empty if the last is below the first."""
    start, end = as_whole(first), as_whole(last)
    whole(end - start + 1)  # Python itself limits the length to this
    return range(start, end + 1)


def _join(run: PolicyRun, left: str, right: str) -> str:
    run.charge_text(len(left) + len(right))
    return left + right


def _time(run: PolicyRun, nanoseconds: int) -> Time:
    run.charge(8)
    return time_at(nanoseconds)


def _duration(run: PolicyRun, nanoseconds: int) -> Duration:
    run.charge(8)
    return duration_of(nanoseconds)


def _multiple(run: PolicyRun, duration: Duration, by: float) -> Duration:
    return _duration(run, int(duration.nanoseconds * finite(by)))


_ADD: Table = {
    **_numbers(operator.add, operator.add, int),
    (str, str): (str, _join),
    (Time, Duration): (Time, lambda run, a, b: _time(run, a.nanoseconds + b.nanoseconds)),
    (Duration, Time): (Time, lambda run, a, b: _time(run, a.nanoseconds + b.nanoseconds)),
    (Duration, Duration): (Duration, lambda run, a, b: _duration(run, a.nanoseconds + b.nanoseconds)),
}
_SUBTRACT: Table = {
    **_numbers(operator.sub, operator.sub, int),
    (Time, Time): (Duration, lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds)),
    (Time, Duration): (Time, lambda run, a, b: _time(run, a.nanoseconds - b.nanoseconds)),
    (Duration, Duration): (Duration, lambda run, a, b: _duration(run, a.nanoseconds - b.nanoseconds)),
}
_MULTIPLY: Table = {
    **_numbers(_product, operator.mul, int),
    (Duration, int): (Duration, _multiple),
    (Duration, float): (Duration, _multiple),
    (int, Duration): (Duration, lambda run, by, duration: _multiple(run, duration, by)),
    (float, Duration): (Duration, lambda run, by, duration: _multiple(run, duration, by)),
}
_NUMBER_PAIRS = ((int, int), (int, float), (float, int), (float, float))


def _order(compare: Callable[[Any, Any], Any]) -> Operator:
    def by_value(run: PolicyRun, left: Any, right: Any) -> bool:
        return bool(compare(left, right))

    def by_text(run: PolicyRun, left: str, right: str) -> bool:
        run.charge_text(min(len(left), len(right)))
        return bool(compare(left, right))

    pairs = (*_NUMBER_PAIRS, (Time, Time), (Duration, Duration))
    table: Table = {**dict.fromkeys(pairs, (bool, by_value)), (str, str): (bool, by_text)}
    return _by_kinds(table)


def _on_numbers(result: type, apply: Apply) -> Operator:
    table: Table = dict.fromkeys(_NUMBER_PAIRS, (result, apply))
    return _by_kinds(table)


def _on_texts(apply: Callable[[PolicyRun, str, str], bool]) -> Operator:
    return _by_kinds({(str, str): (bool, apply)})


OPERATORS: dict[str, Operator] = {
    "==": Operator(equal, ((ANY, ANY, BOOL),)),
    "!=": Operator(lambda run, left, right: not equal(run, left, right), ((ANY, ANY, BOOL),)),
    "<": _order(operator.lt),
    "<=": _order(operator.le),
    ">": _order(operator.gt),
    ">=": _order(operator.ge),
    "in": Operator(contains_value, ((ANY, LIST | NIL, BOOL), (STRING | NIL, MAP, BOOL))),
    "contains": _on_texts(texts.contains),
    "startsWith": _on_texts(texts.has_prefix),
    "endsWith": _on_texts(texts.has_suffix),
    "matches": _on_texts(matches),
    "..": _on_numbers(range, _interval),
    "+": _by_kinds(_ADD),
    "-": _by_kinds(_SUBTRACT),
    "*": _by_kinds(_MULTIPLY),
    "/": _by_kinds(_numbers(operator.truediv, operator.truediv, float)),
    "%": _on_numbers(int, _remainder),
    "**": _by_kinds(_numbers(_power, _power, float)),
    "^": _by_kinds(_numbers(_power, _power, float)),
}
"""Lists the binary operators, except the logical ones and `??`, which do not evaluate both operands."""


@lru_cache(maxsize=4_096)
def result_kinds(name: str, left: Kinds, right: Kinds) -> Kinds:
    """Returns the kinds of the operator's result for operands of these kinds; none if it cannot work. There are few
    combinations, and a long policy has thousands of operators."""
    return OPERATORS[name].result(left, right)


def opposite(apply: Apply) -> Apply:
    """Returns the negation of an operator: `not in`, `not contains`."""
    return lambda run, left, right: not apply(run, left, right)
