"""Defines the functions that Go `expr` does not have, one row each.

They do what conditions of OpenFGA and SpiceDB need and is otherwise no error, or another value, in the language: an
absent member, an index from the end, a quotient, characters instead of bytes, the calendar in a time zone, addresses.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NamedTuple

from magistrate.engine.policy.access import demand_element
from magistrate.engine.policy.equality import equal_values, plain_number
from magistrate.engine.policy.layouts import load_zone, render_time
from magistrate.engine.policy.rendering import RFC_3339, in_unit, render_float
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.types import (
    ANY,
    ARRAY,
    BOOL,
    INT,
    StaticType,
    TypeRule,
    is_address,
    is_integer,
    is_map,
    is_slice,
    is_string,
    is_time,
)
from magistrate.engine.policy.value_types import (
    read_address,
    read_double,
    read_duration_value,
    read_timestamp,
    uint_of,
)
from magistrate.engine.policy.values import (
    LISTS,
    MAPS,
    NUMBERS,
    TEXT_MAPS,
    Duration,
    MadeList,
    Time,
    calendar,
    divide,
    finite,
    json_value,
    time_at,
    values_of,
    whole,
)


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


_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_NETWORK = re.compile(r"[0-9A-Fa-f:.]{2,45}/(0|[1-9]\d{0,2})", re.ASCII)
_SECOND = 1_000_000_000
_STEPS_OF_PARSING = 60
_STEPS_OF_RENDERING = 20
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def count_elements(run: PolicyRun, value: Any) -> int:
    """Returns the number of characters, elements or members."""
    return len(value)


def has_member(run: PolicyRun, value: Any, key: str) -> bool:
    """Returns whether a map has the member. Other values have none, except lists, for which Fault is raised."""
    run.charge_text(len(key))
    if type(value) in LISTS or (type(value) in MAPS and type(value) not in TEXT_MAPS):
        raise Fault("only a map of strings has members")
    return type(value) in TEXT_MAPS and key in value


def list_elements(run: PolicyRun, value: Any) -> Any:
    """Returns the elements of a list, or the keys of a map."""
    if type(value) in LISTS:
        return value
    run.charge(len(value))
    return MadeList(value)


def include_value(run: PolicyRun, among: Any, sought: Any) -> bool:
    """Returns whether a list has an element equal to the value, or a map has the key."""
    if type(among) in TEXT_MAPS:
        return type(sought) is str and has_member(run, among, sought)
    for element in values_of(among):
        run.charge(4)
        if equal_values(run, element, sought):
            return True
    return False


def is_subtree(run: PolicyRun, inner: Any, outer: Any) -> bool:
    """Returns whether every member of the first map is in the second one, those of maps within it included."""
    pairs = [(inner, outer)]
    while pairs:
        tree, other = pairs.pop()
        for key, value in tree.items():
            run.charge(2 + len(key) // 16)
            if key not in other:
                return False
            other_value = other[key]
            if type(value) in TEXT_MAPS and type(other_value) in TEXT_MAPS:
                pairs.append((value, other_value))
            elif not equal_values(run, json_value(value), json_value(other_value)):
                return False
    return True


def concatenate(run: PolicyRun, *lists: Any) -> MadeList:
    run.charge(sum(map(len, lists)) // 4)
    return MadeList([element for elements in lists for element in values_of(elements)])


def divide_integers(run: PolicyRun, dividend: Any, divisor: Any) -> int:
    left, right = plain_number(dividend), plain_number(divisor)
    if type(left) is not int or type(right) is not int:
        raise Fault("only integers have an integer quotient")
    return whole(divide(left, right))


# Times


def _day_of_week(moment: datetime) -> int:
    return moment.isoweekday() % 7


CALENDAR_UNITS: Mapping[str, Callable[[datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month,
    "day": lambda moment: moment.day,
    "yearday": lambda moment: moment.timetuple().tm_yday,
    "weekday": _day_of_week,
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


# Addresses


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


# Conversions


def _to_int(run: PolicyRun, value: Any) -> int:
    if type(value) is str:
        run.charge(3 + len(value) // 2)
        if not _WHOLE.fullmatch(value):
            raise Fault("the string is no integer")
        return whole(int(value))
    if type(value) is Time:
        return value.nanoseconds // _SECOND
    if type(value) is Duration:
        return value.nanoseconds
    if type(value) not in NUMBERS:
        raise Fault("a number is needed")
    return whole(int(finite(value)))


def _to_double(run: PolicyRun, value: Any) -> float:
    plain = plain_number(value)
    return float(plain) if type(plain) is int else read_double(run, plain)


def _to_string(run: PolicyRun, value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        run.charge(_STEPS_OF_RENDERING)
        return render_float(value, -4, "e+", "e-", digits_of_exponent=2, most=6)
    if kind in NUMBERS:
        return str(int(value))
    if kind is Time:
        run.charge(_STEPS_OF_PARSING)
        return render_time(value, RFC_3339)
    if kind is Duration:
        sign = "-" if value.nanoseconds < 0 else ""
        return f"{sign}{in_unit(abs(value.nanoseconds), _SECOND)}s"
    raise Fault("the value has no text form")


def _to_bool(run: PolicyRun, value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is not str or value not in _TRUE | _FALSE:
        raise Fault("the value is no bool")
    return value in _TRUE


def _to_timestamp(run: PolicyRun, value: Any) -> Time:
    plain = plain_number(value)
    return time_at(plain * _SECOND) if type(plain) is int else read_timestamp(run, plain)


_CONVERSIONS: Mapping[str, Callable[[PolicyRun, Any], Any]] = {
    "int": _to_int,
    "uint": lambda run, value: uint_of(_to_int(run, value)),
    "double": _to_double,
    "string": _to_string,
    "bool": _to_bool,
    "timestamp": _to_timestamp,
    "duration": read_duration_value,
    "ipaddress": read_address,
}


def convert_value(run: PolicyRun, value: Any, of_type: str) -> Any:
    """Returns the value as one of the type. Raises Fault if it is none."""
    if of_type not in _CONVERSIONS:
        raise Fault(f"the type is one of {', '.join(_CONVERSIONS)}")
    return _CONVERSIONS[of_type](run, value)


_TEXT = FunctionParameter((is_string,), frozenset({str}))
_TIME = FunctionParameter((is_time,), frozenset({Time}))
_LIST = FunctionParameter((is_slice,), LISTS)
_MAP = FunctionParameter((is_map,), TEXT_MAPS)
_CONTAINER = FunctionParameter((is_slice, is_map), LISTS | TEXT_MAPS)
_SIZED = FunctionParameter((is_string, is_slice, is_map), LISTS | TEXT_MAPS | {str})
_INTEGER = FunctionParameter((is_integer,), NUMBERS)
_ADDRESS = FunctionParameter((is_string, is_address), None)
_VALUE = FunctionParameter(None, None)

OWN_FUNCTIONS: Mapping[str, Function] = {
    "at": Function((_VALUE,), ANY, demand_element, repeats=True, takes_nil=True),
    "has": Function((_VALUE, _TEXT), BOOL, has_member, takes_nil=True),
    "size": Function((_SIZED,), INT, count_elements),
    "elements": Function((_CONTAINER,), ARRAY, list_elements),
    "includes": Function((_CONTAINER, _VALUE), BOOL, include_value, takes_nil=True),
    "equals": Function((_VALUE, _VALUE), BOOL, equal_values, takes_nil=True),
    "isSubtree": Function((_MAP, _MAP), BOOL, is_subtree),
    "concat": Function((_LIST,), ARRAY, concatenate, repeats=True),
    "div": Function((_INTEGER, _INTEGER), INT, divide_integers),
    "datePart": Function((_TIME, _TEXT, _TEXT), INT, take_calendar_unit, 1),
    "inCIDR": Function((_ADDRESS, _TEXT), BOOL, is_in_network),
    "convert": Function((_VALUE, _TEXT), ANY, convert_value, takes_nil=True),
}
"""Maps names to functions. A policy of Go `expr` may give the same names to variables of `let`."""
