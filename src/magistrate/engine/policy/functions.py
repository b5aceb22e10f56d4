"""Defines the built-in functions, one row each; those that take closures are in predicates.py.

OWN_FUNCTIONS are those that Go `expr` does not have. They do what conditions of OpenFGA and SpiceDB need and is
otherwise no error, or another value, in the language: an absent member, an index from the end, a quotient, characters
instead of bytes, the calendar in a time zone, addresses.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple

from magistrate.engine.policy import aggregates, texts
from magistrate.engine.policy.access import demand_element
from magistrate.engine.policy.equality import equal_values
from magistrate.engine.policy.layouts import load_zone, read_date
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node, compose_of_all
from magistrate.engine.policy.rendering import read_json, render_json, render_value
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.structs import SubjectView, WarrantView
from magistrate.engine.policy.types import (
    ANY,
    ANY_MAP,
    ARRAY,
    BOOL,
    DURATION,
    FLOAT,
    INT,
    MONTH,
    NIL,
    STRING,
    STRINGS,
    TIME,
    WEEKDAY,
    StaticType,
    TypeRule,
    is_address,
    is_any,
    is_integer,
    is_map,
    is_number,
    is_slice,
    is_string,
    is_time,
)
from magistrate.engine.policy.value_types import convert_value, read_address, read_number_text, read_whole
from magistrate.engine.policy.values import (
    LISTS,
    MAPS,
    NUMBERS,
    TEXT_MAPS,
    AnyMap,
    Byte,
    Duration,
    GroupMap,
    Int64,
    MadeList,
    MadeMap,
    Month,
    Pairs,
    Strings,
    Time,
    Weekday,
    calendar,
    finite,
    read_duration,
    time_at,
)

_MAX_DIGITS = 19
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_NETWORK = re.compile(r"[0-9A-Fa-f:.]{2,45}/(0|[1-9]\d{0,2})", re.ASCII)
_STEPS_OF_PARSING = 60


class FunctionParameter(NamedTuple):
    """Describes a parameter of a function: the types it takes before evaluation, and the kinds during it; None for
    any."""

    type_rules: tuple[TypeRule, ...] | None
    kinds: frozenset[type] | None


Result = StaticType | Callable[[list[StaticType]], StaticType]


class Function(NamedTuple):
    """Describes a built-in function. `apply` takes the run and the values of the arguments, whose kinds have been
    checked; it may raise Fault.

    The last `optional` parameters can be left out. If it `repeats`, the last parameter takes one argument or more. If
    it `takes_nil`, a written nil is an error only when the function is called. If it `reads` its arguments, which are
    texts, `apply` gets the parsed value; literals are parsed when the policy is compiled."""

    parameters: tuple[FunctionParameter, ...]
    result: Result
    apply: Callable[..., Any]
    optional: int = 0
    repeats: bool = False
    takes_nil: bool = False
    reads: Callable[..., Any] | None = None


_TYPES: dict[type, str] = {
    NoneType: "nil",
    bool: "bool",
    **dict.fromkeys((int, Int64), "int"),
    Byte: "uint",
    float: "float",
    str: "string",
    **dict.fromkeys((list, MadeList, range, Strings, Pairs), "array"),
    **dict.fromkeys((dict, MadeMap, GroupMap, AnyMap), "map"),
    Time: "time.Time",
    Duration: "time.Duration",
    Month: "time.Month",
    Weekday: "time.Weekday",
    **dict.fromkeys((ipaddress.IPv4Address, ipaddress.IPv6Address), "ipaddress"),
    **dict.fromkeys((WarrantView, SubjectView), "warrant"),
}


def _is_count(static: StaticType) -> bool:
    return is_integer(static) and static not in (MONTH, WEEKDAY)


def _is_joinable(static: StaticType) -> bool:
    return static in (ARRAY, STRINGS)


_TEXT = FunctionParameter((is_string,), frozenset({str}))
_NUMBER = FunctionParameter((is_number,), NUMBERS)
_NUMBER_OR_TEXT = FunctionParameter((is_number, is_string), NUMBERS | {str})
_COUNT = FunctionParameter((_is_count,), NUMBERS)
_LIST = FunctionParameter((is_slice,), LISTS)
_MAP = FunctionParameter((is_map,), MAPS)
_VALUE = FunctionParameter(None, None)
_TIME = FunctionParameter((is_time,), frozenset({Time}))
_TEXT_MAP = FunctionParameter((is_map,), TEXT_MAPS)
_CONTAINER = FunctionParameter((is_slice, is_map), LISTS | TEXT_MAPS)
_SIZED = FunctionParameter((is_string, is_slice, is_map), LISTS | TEXT_MAPS | {str})
_INTEGER = FunctionParameter((is_integer,), NUMBERS)
_ADDRESS = FunctionParameter((is_string, is_address), None)
_ELEMENTS = FunctionParameter((is_slice,), None)


def expires_in(run: PolicyRun, duration: Duration) -> bool:
    """Returns whether now is before the creation of the warrant plus the duration."""
    return run.now * 1_000 < run.warrant.created_at * 1_000 + duration.nanoseconds


def _to_float(run: PolicyRun, value: Any) -> float:
    return finite(float(read_number_text(run, value) if type(value) is str else value))


def _round(run: PolicyRun, value: float) -> float:
    """Rounds half away from zero."""
    towards_zero = float(math.trunc(finite(value)))
    return towards_zero + math.copysign(1, value) if abs(value - towards_zero) >= 0.5 else towards_zero


def _element_type(arguments: list[StaticType]) -> StaticType:
    return arguments[0].element or ANY


def _type_of_first(arguments: list[StaticType]) -> StaticType:
    return arguments[0]


def _extreme_type(arguments: list[StaticType]) -> StaticType:
    return ANY if any(map(is_any, arguments)) else arguments[0]


def _on_texts(result: StaticType, apply: Callable[..., Any], count: int = 1, optional: int = 0) -> Function:
    return Function((_TEXT,) * count, result, apply, optional, takes_nil=True)


CALENDAR_UNITS: Mapping[str, Callable[[datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month,
    "day": lambda moment: moment.day,
    "yearday": lambda moment: moment.timetuple().tm_yday,
    "weekday": lambda moment: moment.isoweekday() % 7,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
    "millisecond": lambda moment: moment.microsecond // 1_000,
}


def take_calendar_unit(run: PolicyRun, time: Time, unit: str, zone: str = "UTC") -> int:
    """Returns a unit of the date and clock in a time zone. Raises Fault for an unknown unit or zone."""
    run.charge(_STEPS_OF_PARSING)
    if unit not in CALENDAR_UNITS:
        raise Fault(f"the unit is one of {', '.join(CALENDAR_UNITS)}")
    moment = calendar(Time(time.nanoseconds))
    try:
        return CALENDAR_UNITS[unit](moment.astimezone(_find_zone(zone)))
    except OverflowError as error:
        raise Fault("the time is out of range") from error


def _find_zone(name: str) -> Any:
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return load_zone(name or "UTC")
    hours, minutes = int(offset[2]), int(offset[3])
    if hours > 14 or minutes > 59:
        raise Fault("the offset from UTC is out of range")
    difference = timedelta(hours=hours, minutes=minutes)
    return timezone(-difference if offset[1] == "-" else difference)


def is_in_network(run: PolicyRun, address: Any, network: str) -> bool:
    """Returns whether an IP address is in a network such as `10.0.0.0/8`. No IPv4 address is in an IPv6 network, and
    none with a zone in any."""
    run.charge(_STEPS_OF_PARSING)
    if len(network) > 50 or not _NETWORK.fullmatch(network):
        raise Fault("the text is no network in CIDR notation")
    ip_address = read_address(run, address)
    return ip_address in _load_network(network) and getattr(ip_address, "scope_id", None) is None


@lru_cache(maxsize=256)
def _load_network(text: str) -> Any:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise Fault("the text is no network in CIDR notation") from error


OWN_FUNCTIONS: Mapping[str, Function] = {
    "at": Function((_VALUE,), ANY, demand_element, repeats=True, takes_nil=True),
    "has": Function((_VALUE, _TEXT), BOOL, aggregates.has_member, takes_nil=True),
    "size": Function((_SIZED,), INT, lambda run, value: len(value)),
    "elements": Function((_CONTAINER,), ARRAY, aggregates.list_elements),
    "includes": Function((_CONTAINER, _VALUE), BOOL, aggregates.include_value, takes_nil=True),
    "equals": Function((_VALUE, _VALUE), BOOL, equal_values, takes_nil=True),
    "isSubtree": Function((_TEXT_MAP, _TEXT_MAP), BOOL, aggregates.is_subtree),
    "concat": Function((_LIST,), ARRAY, aggregates.concatenate, repeats=True),
    "div": Function((_INTEGER, _INTEGER), INT, aggregates.divide_integers),
    "datePart": Function((_TIME, _TEXT, _TEXT), INT, take_calendar_unit, 1),
    "inCIDR": Function((_ADDRESS, _TEXT), BOOL, is_in_network),
    "convert": Function((_VALUE, _TEXT), ANY, convert_value, takes_nil=True),
}
"""Maps names to functions. A policy of Go `expr` may give the same names to variables of `let`."""

FUNCTIONS: Mapping[str, Function] = {
    "len": Function((FunctionParameter((is_string, is_slice, is_map), LISTS | MAPS | {str}),), INT, aggregates.length),
    "type": Function((_VALUE,), STRING, lambda run, value: _TYPES[type(value)], takes_nil=True),
    "int": Function((_NUMBER_OR_TEXT,), INT, lambda run, value: read_whole(run, value, _MAX_DIGITS)),
    "float": Function((_NUMBER_OR_TEXT,), FLOAT, _to_float),
    "string": Function((_VALUE,), STRING, render_value, takes_nil=True),
    "abs": Function((_NUMBER,), _type_of_first, aggregates.absolute),
    "ceil": Function((_NUMBER,), FLOAT, lambda run, value: float(math.ceil(finite(value)))),
    "floor": Function((_NUMBER,), FLOAT, lambda run, value: float(math.floor(finite(value)))),
    "round": Function((_NUMBER,), FLOAT, _round),
    "min": Function((FunctionParameter((is_number,), None),), _extreme_type, aggregates.least, repeats=True),
    "max": Function((FunctionParameter((is_number,), None),), _extreme_type, aggregates.greatest, repeats=True),
    "sum": Function((_LIST,), ANY, aggregates.total),
    "mean": Function((_LIST,), FLOAT, aggregates.mean),
    "median": Function((_LIST,), FLOAT, aggregates.median),
    "lower": _on_texts(STRING, texts.lower),
    "upper": _on_texts(STRING, texts.upper),
    "trim": _on_texts(STRING, texts.trim, 2, 1),
    "trimPrefix": _on_texts(STRING, texts.trim_prefix, 2, 1),
    "trimSuffix": _on_texts(STRING, texts.trim_suffix, 2, 1),
    "hasPrefix": _on_texts(BOOL, texts.has_prefix, 2),
    "hasSuffix": _on_texts(BOOL, texts.has_suffix, 2),
    "indexOf": _on_texts(INT, texts.index_of, 2),
    "lastIndexOf": _on_texts(INT, texts.last_index_of, 2),
    "split": Function((_TEXT, _TEXT, _COUNT), STRINGS, texts.split, 1, takes_nil=True),
    "splitAfter": Function((_TEXT, _TEXT, _COUNT), STRINGS, texts.split_after, 1, takes_nil=True),
    "replace": Function((_TEXT, _TEXT, _TEXT, _COUNT), STRING, texts.replace, 1, takes_nil=True),
    "repeat": Function((_TEXT, _COUNT), STRING, texts.repeat, takes_nil=True),
    "join": Function(
        (FunctionParameter((_is_joinable,), frozenset({list, MadeList, Strings})), _TEXT),
        STRING,
        texts.join,
        1,
        takes_nil=True,
    ),
    "first": Function((_ELEMENTS,), _element_type, lambda run, elements: aggregates.find_element(run, elements, 0)),
    "last": Function((_ELEMENTS,), _element_type, lambda run, elements: aggregates.find_element(run, elements, -1)),
    "get": Function((_VALUE, _VALUE), ANY, aggregates.find_element),
    "take": Function((_LIST, FunctionParameter((is_integer,), None)), _type_of_first, aggregates.take),
    "keys": Function((_MAP,), ARRAY, aggregates.keys),
    "values": Function((_MAP,), ARRAY, aggregates.values),
    "toPairs": Function((_MAP,), ARRAY, aggregates.to_pairs),
    "fromPairs": Function((_LIST,), ANY_MAP, aggregates.from_pairs),
    "sort": Function((_LIST, _TEXT), ARRAY, aggregates.sort, 1),
    "sortBy": Function((_LIST, _TEXT, _TEXT), ARRAY, aggregates.sort_by, 1),
    "toJSON": Function((_VALUE,), STRING, render_json, takes_nil=True),
    "fromJSON": _on_texts(ANY, read_json),
    "toBase64": _on_texts(STRING, texts.to_base64),
    "fromBase64": _on_texts(STRING, texts.from_base64),
    "now": Function((), TIME, lambda run: time_at(run.now * 1_000)),
    "date": Function((_TEXT, _TEXT, _TEXT), TIME, lambda run, time: time, 2, takes_nil=True, reads=read_date),
    "duration": Function((_TEXT,), DURATION, lambda run, duration: duration, takes_nil=True, reads=read_duration),
    "expiresIn": Function((_TEXT,), BOOL, expires_in, takes_nil=True, reads=read_duration),
    **OWN_FUNCTIONS,
}


def compile_call(name: str, arguments: list[PolicyNode], offset: int) -> PolicyNode:
    """Compiles a call. Raises Refusal for a wrong number of arguments, or one that cannot work."""
    function = FUNCTIONS[name]
    _check_number(name, function, len(arguments), offset)
    parameters = function.parameters * len(arguments) if function.repeats else function.parameters[: len(arguments)]
    for parameter, argument in zip(parameters, arguments, strict=True):
        _check_argument(name, function, parameter, argument)
        if function.repeats and is_any(argument.type):
            break  # Go looks no further, and neither may a refusal
    static = function.result
    if not isinstance(static, StaticType):
        static = static([argument.type for argument in arguments])
    if function.reads:
        return _compile_reader(function, function.reads, arguments, static, offset=offset)
    evaluates = [argument.evaluate for argument in arguments]
    kinds = [parameter.kinds for parameter in parameters]
    return compose_of_all(_call(name, function, kinds, evaluates), static, offset, *arguments)


def _check_argument(name: str, function: Function, parameter: FunctionParameter, argument: PolicyNode) -> None:
    static = argument.type
    if parameter.type_rules is None or is_any(static) or (static is NIL and function.takes_nil):
        return
    if not any(type_rule(static) for type_rule in parameter.type_rules):
        raise Refusal(f"{name} does not take {static.name}", argument.offset)


def _check_number(name: str, function: Function, count: int, offset: int) -> None:
    most = len(function.parameters)
    least = most - function.optional
    if count < least or (count > most and not function.repeats):
        expected = f"{least} or more" if function.repeats else str(most) if least == most else f"{least} to {most}"
        raise Refusal(f"wrong number of arguments for {name}: expected {expected}, got {count}", offset)


def _call(name: str, function: Function, kinds: list[frozenset[type] | None], evaluates: list[Evaluate]) -> Evaluate:
    apply = function.apply

    def evaluate(run: PolicyRun) -> Any:
        values = [argument(run) for argument in evaluates]
        for value, accepted in zip(values, kinds, strict=True):
            if accepted is not None and type(value) not in accepted:
                raise Fault(f"{name} does not take this kind")
        return apply(run, *values)

    return evaluate


def _compile_reader(
    function: Function, reads: Callable[..., Any], arguments: list[PolicyNode], static: StaticType, offset: int
) -> PolicyNode:
    apply = function.apply
    if all(type(argument.literal) is str for argument in arguments):
        try:
            read = reads(*(argument.literal for argument in arguments))
        except Fault as fault:
            return failing_node(str(fault), static, offset, *arguments)
        node = compose_node(lambda run: apply(run, read), static, offset, *arguments)
        if apply is expires_in and read.nanoseconds > 0:
            node.lifetime = -(-read.nanoseconds // 1_000)
        return node
    evaluates = [argument.evaluate for argument in arguments]

    def evaluate(run: PolicyRun) -> Any:
        written = [text(run) for text in evaluates]
        if any(type(text) is not str for text in written):
            raise Fault("only a string can be read")
        run.charge(20 + 3 * sum(map(len, written)))
        return apply(run, reads(*written))

    return compose_of_all(evaluate, static, offset, *arguments)


def failing_node(reason: str, static: StaticType, offset: int, *members: PolicyNode) -> PolicyNode:
    """Returns the node of what is accepted when it is written, and an error whenever it is evaluated."""

    def evaluate(run: PolicyRun) -> Any:
        raise Fault(reason)

    return compose_node(evaluate, static, offset, *members)
