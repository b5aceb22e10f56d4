"""Defines the built-in functions, one row each. Those that take closures are in predicates.py."""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any

from magistrate.engine.policy import texts
from magistrate.engine.policy.access import element_of
from magistrate.engine.policy.kinds import (
    ANY,
    ARRAY,
    BOOL,
    DURATION,
    FLOAT,
    INT,
    LIST,
    MAP,
    NUMBER,
    STRING,
    TIME,
    Kinds,
)
from magistrate.engine.policy.node import (
    NOT_LITERAL,
    Evaluate,
    PolicyNode,
    Refusal,
    compose_node,
    literal_node,
    require,
)
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import (
    Duration,
    Time,
    as_whole,
    finite,
    read_date,
    read_duration,
    time_at,
    whole,
)

_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_LONGEST_NUMBER = 100

_TYPES: dict[type, str] = {
    NoneType: "nil",
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    list: "array",
    range: "array",
    dict: "map",
    Time: "time.Time",
    Duration: "time.Duration",
}


@dataclass(frozen=True, slots=True)
class Function:
    """Describes a built-in function. `apply` takes the run and the values of the arguments, whose kinds have been
    checked; it may raise Fault.

    The last `optional` parameters can be left out. If it `repeats`, the last parameter takes one argument or more. If
    it `reads` its only argument, a text, `apply` gets the parsed value; a literal is parsed when the policy is
    compiled."""

    parameters: tuple[Kinds, ...]
    result: Kinds
    apply: Callable[..., Any]
    optional: int = 0
    repeats: bool = False
    reads: Callable[[str], Any] | None = None


def expires_in(run: PolicyRun, duration: Duration) -> bool:
    """Returns whether now is before the creation of the warrant plus the duration."""
    return run.now * 1_000 < run.warrant.created_at * 1_000 + duration.nanoseconds


def _length(run: PolicyRun, value: Any) -> int:
    return len(value)


def _to_int(run: PolicyRun, value: Any) -> int:
    """Returns the value as an integer, rounded towards zero."""
    if type(value) is str:
        run.charge(3 + len(value) // 2)
        if not _WHOLE.fullmatch(value):
            raise Fault("the string is no integer")
        return whole(int(value))
    return whole(int(finite(value)))


def _to_float(run: PolicyRun, value: Any) -> float:
    if type(value) is str and (len(value) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(value)):
        raise Fault("the string is no number")
    run.charge(3 + len(value) // 2 if type(value) is str else 0)
    return finite(float(value))


def _to_string(run: PolicyRun, value: Any) -> str:
    """Returns the value as a string. Whole numbers are written without a point, whether they are integers or not."""
    if type(value) is bool:
        return "true" if value else "false"
    run.charge(0 if type(value) is str else 6)
    if type(value) is float and not (value.is_integer() and abs(value) < 1e15):
        return repr(finite(value))
    return value if type(value) is str else str(whole(int(value)))


def _round(run: PolicyRun, value: float) -> float:
    """Rounds half away from zero."""
    towards_zero = float(math.trunc(finite(value)))
    return towards_zero + math.copysign(1, value) if abs(value - towards_zero) >= 0.5 else towards_zero


def _numbers_in(run: PolicyRun, elements: Any) -> Any:
    run.charge(len(elements))
    for element in elements:
        if type(element) not in NUMBER:
            raise Fault("the list must have numbers only")
    return elements


def _expand(run: PolicyRun, values: tuple[Any, ...]) -> list[Any]:
    """Returns numbers and lists of numbers as one list, with at least one number."""
    numbers: list[Any] = []
    for value in values:
        numbers.extend(_numbers_in(run, value if type(value) in LIST else [value]))
    if not numbers:
        raise Fault("an empty list has no least or greatest number")
    return numbers


def _sum(run: PolicyRun, elements: Any) -> Any:
    total = sum(_numbers_in(run, elements))
    return whole(total) if type(total) is int else finite(total)


def _mean(run: PolicyRun, elements: Any) -> float:
    """Returns the mean; that of an empty list is 0."""
    return finite(sum(_numbers_in(run, elements)) / (len(elements) or 1))


def _get(run: PolicyRun, value: Any, index: Any) -> Any:
    """Returns what [] would give, but nil beyond the end of a list."""
    if type(value) in LIST and type(index) in NUMBER and not -len(value) <= as_whole(index) < len(value):
        return None
    return element_of(run, value, index)


def _as_list(run: PolicyRun, members: Any) -> list[Any]:
    run.charge(len(members))
    return list(members)


FUNCTIONS: dict[str, Function] = {
    "len": Function((STRING | LIST | MAP,), INT, _length),
    "type": Function((ANY,), STRING, lambda run, value: _TYPES[type(value)]),
    "int": Function((NUMBER | STRING,), INT, _to_int),
    "float": Function((NUMBER | STRING,), FLOAT, _to_float),
    "string": Function((BOOL | NUMBER | STRING,), STRING, _to_string),
    "abs": Function((NUMBER,), NUMBER, lambda run, value: whole(abs(value)) if type(value) is int else abs(value)),
    "ceil": Function((NUMBER,), FLOAT, lambda run, value: float(math.ceil(finite(value)))),
    "floor": Function((NUMBER,), FLOAT, lambda run, value: float(math.floor(finite(value)))),
    "round": Function((NUMBER,), FLOAT, _round),
    "min": Function((NUMBER | LIST,), NUMBER, lambda run, *values: min(_expand(run, values)), repeats=True),
    "max": Function((NUMBER | LIST,), NUMBER, lambda run, *values: max(_expand(run, values)), repeats=True),
    "sum": Function((LIST,), NUMBER, _sum),
    "mean": Function((LIST,), FLOAT, _mean),
    "lower": Function((STRING,), STRING, texts.lower),
    "upper": Function((STRING,), STRING, texts.upper),
    "trim": Function((STRING, STRING), STRING, texts.trim, optional=1),
    "trimPrefix": Function((STRING, STRING), STRING, texts.trim_prefix),
    "trimSuffix": Function((STRING, STRING), STRING, texts.trim_suffix),
    "hasPrefix": Function((STRING, STRING), BOOL, texts.has_prefix),
    "hasSuffix": Function((STRING, STRING), BOOL, texts.has_suffix),
    "indexOf": Function((STRING, STRING), INT, texts.index_of),
    "split": Function((STRING, STRING, NUMBER), ARRAY, texts.split, optional=1),
    "replace": Function((STRING, STRING, STRING, NUMBER), STRING, texts.replace, optional=1),
    "join": Function((LIST, STRING), STRING, texts.join, optional=1),
    "first": Function((LIST,), ANY, lambda run, elements: elements[0] if elements else None),
    "last": Function((LIST,), ANY, lambda run, elements: elements[-1] if elements else None),
    "get": Function((LIST | MAP, NUMBER | STRING), ANY, _get),
    "keys": Function((MAP,), ARRAY, lambda run, members: _as_list(run, members.keys())),
    "values": Function((MAP,), ARRAY, lambda run, members: _as_list(run, members.values())),
    "now": Function((), TIME, lambda run: time_at(run.now * 1_000)),
    "date": Function((STRING,), TIME, lambda run, time: time, reads=read_date),
    "duration": Function((STRING,), DURATION, lambda run, duration: duration, reads=read_duration),
    "expiresIn": Function((STRING,), BOOL, expires_in, reads=read_duration),
}


def compile_call(name: str, arguments: list[PolicyNode], offset: int) -> PolicyNode:
    """Compiles a call. Raises Refusal for an unknown function, a wrong number of arguments, or one that cannot work."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise Refusal(f"unknown function {name}", offset)
    _check_number(name, function, len(arguments), offset)
    parameters = _parameters_for(function, len(arguments))
    for parameter, argument in zip(parameters, arguments, strict=True):
        require(argument.kinds, parameter, name, argument.offset)
    if function.reads:
        return _compile_reader(function, function.reads, arguments[0], offset)
    evaluates = [argument.evaluate for argument in arguments]
    return compose_node(_call(name, function, parameters, evaluates), function.result, offset, *arguments)


def _check_number(name: str, function: Function, given: int, offset: int) -> None:
    most = len(function.parameters)
    least = most - function.optional
    if given < least or (given > most and not function.repeats):
        wanted = f"{least} or more" if function.repeats else str(most) if least == most else f"{least} to {most}"
        raise Refusal(f"wrong number of arguments for {name}: expected {wanted}, got {given}", offset)


def _parameters_for(function: Function, given: int) -> tuple[Kinds, ...]:
    return function.parameters * given if function.repeats else function.parameters[:given]


def _call(name: str, function: Function, parameters: tuple[Kinds, ...], evaluates: list[Evaluate]) -> Evaluate:
    apply = function.apply

    def evaluate(run: PolicyRun) -> Any:
        values = [argument(run) for argument in evaluates]
        for value, parameter in zip(values, parameters, strict=True):
            if type(value) not in parameter:
                raise Fault(f"{name} does not take this kind")
        return apply(run, *values)

    return evaluate


def _compile_reader(function: Function, reads: Callable[[str], Any], argument: PolicyNode, offset: int) -> PolicyNode:
    if argument.literal is not NOT_LITERAL:
        try:
            argument = literal_node(reads(argument.literal), argument.offset)
        except Fault as fault:
            raise Refusal(str(fault), argument.offset) from fault
        apply, read = function.apply, argument.literal
        return compose_node(lambda run: apply(run, read), function.result, offset, argument)
    text = argument.evaluate

    def evaluate(run: PolicyRun) -> Any:
        written = text(run)
        if type(written) is not str:
            raise Fault("only a string can be read")
        run.charge(3 * len(written))
        return function.apply(run, reads(written))

    return compose_node(evaluate, function.result, offset, argument)
