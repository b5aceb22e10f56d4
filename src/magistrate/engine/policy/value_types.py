"""Reads values as the types of conditions, `as(at, "timestamp")`, `as(tags, "map<list<string>>")`, and converts them.

A type is written as containers around one innermost type, so that it is a chain of words: `list<map<int>>` is `list`,
`map`, `int`. Values are read along that chain, without recursion.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

import ipaddress
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.equality import plain_number
from magistrate.engine.policy.layouts import read_date, render_time
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node
from magistrate.engine.policy.rendering import RFC_3339, in_unit, render_float
from magistrate.engine.policy.run import Fault, NotingRun, PolicyRun
from magistrate.engine.policy.types import (
    ANY,
    BOOL,
    DURATION,
    FLOAT,
    INT,
    IP_ADDRESS,
    MAP,
    STRING,
    TIME,
    StaticType,
    map_of,
    slice_of,
)
from magistrate.engine.policy.values import (
    LISTS,
    NUMBERS,
    TEXT_MAPS,
    Duration,
    IpAddress,
    MadeList,
    MadeMap,
    Time,
    finite,
    json_value,
    read_duration,
    time_at,
    to_integer,
    values_in,
    values_of,
    whole,
)

LONGEST_TYPE = 2_000
"""Limits the characters of a type that is written out."""

_TYPE = re.compile(r"(?P<containers>(?:(?:list|map)<)*)(?P<innermost>[a-z]+)(?P<ends>>*)(?P<optional>\?)?")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_RFC_3339_LAYOUT = "2006-01-02T15:04:05Z07:00"
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_LONGEST_NUMBER = 100
_LONGEST_ADDRESS = 100
_MAX_DIGITS = 40
_SECOND = 1_000_000_000
_STEPS_OF_RENDERING, _STEPS_OF_RENDERING_TIME = 20, 60
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_STEPS_OF_A_TEXT = 20


class ValueType(NamedTuple):
    """Represents a type that is written out: its words from the outermost inwards, and its static type. A variable of
    an optional one may be missing."""

    chain: tuple[str, ...]
    static: StaticType
    is_optional: bool


def read_string_value(run: PolicyRun, value: Any) -> str:
    if type(value) is not str:
        raise Fault("a string is needed")
    return value


def read_bool(run: PolicyRun, value: Any) -> bool:
    if type(value) is not bool:
        raise Fault("a bool is needed")
    return value


def read_int(run: PolicyRun, value: Any) -> int:
    """Returns the integer that a number, or a number in a text, is. Raises Fault if it has a fraction."""
    number = _read_number(run, value)
    if number != int(number):
        raise Fault("the number is no integer")
    return whole(int(number))


def read_uint(run: PolicyRun, value: Any) -> int:
    number = read_int(run, value)
    if number < 0:
        raise Fault("the number is negative")
    return number


def read_double(run: PolicyRun, value: Any) -> float:
    return finite(float(_read_number(run, value)))


def read_timestamp(run: PolicyRun, value: Any) -> Time:
    """Returns the time that a text in RFC 3339 is."""
    if type(value) is Time:
        return value
    _charge_text(run, value)
    if not _RFC_3339.fullmatch(value):
        raise Fault("the text is no time in RFC 3339")
    return read_date(value, _RFC_3339_LAYOUT)


def read_duration_value(run: PolicyRun, value: Any) -> Duration:
    if type(value) is Duration:
        return value
    _charge_text(run, value)
    return read_duration(value)


def read_address(run: PolicyRun, value: Any) -> IpAddress:
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return value
    _charge_text(run, value)
    try:
        if len(value) > _LONGEST_ADDRESS:
            raise ValueError
        return ipaddress.ip_address(value)
    except ValueError as error:
        raise Fault("the text is no IP address") from error


def _charge_text(run: PolicyRun, value: Any) -> None:
    if type(value) is not str:
        raise Fault("only a string can be read")
    run.charge(_STEPS_OF_A_TEXT + 3 * len(value))


def read_number_text(run: PolicyRun, text: str) -> str:
    """Returns a text that is a number. Raises Fault for others."""
    run.charge(3 + len(text) // 2)
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise Fault("the string is no number")
    return text


def read_whole(run: PolicyRun, value: Any, max_digits: int) -> int:
    """Returns a number, rounded towards zero, or the integer in a text."""
    if type(value) is not str:
        return to_integer(value)
    run.charge(3 + len(value) // 2)
    if not _WHOLE.fullmatch(value) or len(value.lstrip("+-")) > max_digits:
        raise Fault("the string is no integer")
    return whole(int(value))


def _read_number(run: PolicyRun, value: Any) -> Any:
    """Returns a number that `int` and `float` take, and that is exact if it was written in a text."""
    if type(value) is str:
        number = Decimal(read_number_text(run, value))
        if number.adjusted() > _LONGEST_NUMBER * 4:
            raise Fault("the number is out of range")
        return number
    if type(value) is int or type(value) is float:
        return finite(json_value(value))
    raise Fault("a number is needed")


def _to_int(run: PolicyRun, value: Any) -> int:
    if type(value) is Time:
        return value.nanoseconds // _SECOND
    return value.nanoseconds if type(value) is Duration else read_whole(run, value, _MAX_DIGITS)


def _to_uint(run: PolicyRun, value: Any) -> int:
    number = _to_int(run, value)
    if number < 0:
        raise Fault("the number is out of range")
    return number


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
        run.charge(_STEPS_OF_RENDERING_TIME)
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


class _Innermost(NamedTuple):
    """Describes an innermost type: its static type, those of variables that may hold it, what reads it, and what
    converts other values to it; None if nothing does."""

    static: StaticType
    variables: frozenset[StaticType]
    read: Callable[[PolicyRun, Any], Any]
    convert: Callable[[PolicyRun, Any], Any] | None


_TEXT = frozenset({STRING})
_NUMERIC = frozenset({FLOAT, STRING, INT})

INNERMOST: Mapping[str, _Innermost] = {
    "string": _Innermost(STRING, _TEXT, read_string_value, _to_string),
    "bool": _Innermost(BOOL, frozenset({BOOL}), read_bool, _to_bool),
    "int": _Innermost(INT, _NUMERIC, read_int, _to_int),
    "uint": _Innermost(INT, _NUMERIC, read_uint, _to_uint),
    "double": _Innermost(FLOAT, _NUMERIC, read_double, _to_double),
    "timestamp": _Innermost(TIME, frozenset({STRING, TIME}), read_timestamp, _to_timestamp),
    "duration": _Innermost(DURATION, frozenset({STRING, DURATION}), read_duration_value, read_duration_value),
    "ipaddress": _Innermost(IP_ADDRESS, frozenset({STRING, IP_ADDRESS}), read_address, read_address),
    "any": _Innermost(ANY, frozenset(), lambda run, value: value, None),
}
"""Lists the types of values other than lists and maps."""


def convert_value(run: PolicyRun, value: Any, of_type: str) -> Any:
    """Returns the value as one of the type. Raises Fault if it is none."""
    convert = INNERMOST[of_type].convert if of_type in INNERMOST else None
    if convert is None:
        raise Fault("there is no conversion to this type")
    return convert(run, value)


@lru_cache(maxsize=256)
def find_value_type(text: str) -> ValueType | None:
    """Returns the type that is written so, None if there is none. `list` and `map` alone may hold anything."""
    match = _TYPE.fullmatch(text) if len(text) <= LONGEST_TYPE else None
    if match is None:
        return None
    chain = [*match["containers"].split("<")[:-1], match["innermost"]]
    if len(chain) - 1 != len(match["ends"]):
        return None
    if chain[-1] in ("list", "map"):
        chain.append("any")
    if chain[-1] not in INNERMOST:
        return None
    static = INNERMOST[chain[-1]].static
    for container in reversed(chain[:-1]):
        static = slice_of(static) if container == "list" else map_of(static)
    return ValueType((*chain,), static, match["optional"] is not None)


def fits(chain: tuple[str, ...], static: StaticType) -> bool:
    """Returns whether a value of a static type may be read as the type."""
    if static is ANY or chain[0] == "any" or static.kind == "interface":
        return True
    if chain[0] in ("list", "map"):
        return static.kind == ("slice" if chain[0] == "list" else MAP.kind)
    return static in INNERMOST[chain[0]].variables


def read_value(chain: tuple[str, ...], run: PolicyRun, value: Any) -> Any:
    """Returns the value as the type; numbers, times and the like within lists and maps are read, too. Raises Fault if
    it does not fit."""
    holder = [value]
    waiting: list[tuple[Any, Any, int]] = [(holder, 0, 0)]
    while waiting:
        container, key, depth = waiting.pop()
        word, value = chain[depth], container[key]
        if word not in ("list", "map"):
            container[key] = INNERMOST[word].read(run, value)
            continue
        if not (type(value) in LISTS if word == "list" else type(value) in TEXT_MAPS):
            raise Fault(f"a {word} is needed")
        if chain[depth + 1] == "any":
            continue
        run.charge(2 * len(value))
        container[key] = copied = _copy(value)
        keys = range(len(copied)) if word == "list" else copied
        waiting += [(copied, inner, depth + 1) for inner in keys]
    return holder[0]


def find_reader(chain: tuple[str, ...]) -> Callable[[PolicyRun, Any], Any]:
    """Returns what reads a value as the type: see `read_value`."""
    return partial(read_value, chain) if len(chain) > 1 else INNERMOST[chain[0]].read


def _copy(container: Any) -> Any:
    if type(container) in LISTS:
        return MadeList(values_of(container))
    return MadeMap(zip(container, values_in(container), strict=True))


READ_AS = "as"


def read_as(arguments: list[PolicyNode], offset: int, environment: Environment) -> PolicyNode:
    """Compiles a call. Raises Refusal for a type that is not written out, and a value that is never one of the
    type."""
    if len(arguments) != 2:
        raise Refusal(f"wrong number of arguments for {READ_AS}: expected 2, got {len(arguments)}", offset)
    source, written = arguments
    value_type = find_value_type(written.literal) if type(written.literal) is str else None
    if value_type is None:
        raise Refusal(f'{READ_AS} needs a type such as "list<string>"', written.offset)
    if source.read_name is not None and environment.types is not None:
        return _read_variable(source, source.read_name, written.literal, value_type, environment=environment)
    _check_type(source.type, value_type, source)
    evaluate, read = source.evaluate, find_reader(value_type.chain)
    if source.read_name is not None:
        evaluate = _demand_variable(source.read_name, evaluate)
    return compose_node(lambda run: read(run, evaluate(run)), value_type.static, offset, *arguments)


def _check_type(static: StaticType, value_type: ValueType, source: PolicyNode) -> None:
    if not fits(value_type.chain, static):
        raise Refusal(f'{READ_AS} "{value_type.chain[0]}" does not take {static.name}', source.offset)


def _demand_variable(name: str, evaluate: Evaluate) -> Evaluate:
    """Returns what evaluates a variable, which may also note that it is absent, and is an error then."""

    def evaluate_present(run: PolicyRun) -> Any:
        value = evaluate(run)
        if name not in run.context:
            raise Fault(f"{name} is missing")
        return value

    return evaluate_present


def _read_variable(
    source: PolicyNode, name: str, written: str, value_type: ValueType, environment: Environment
) -> PolicyNode:
    """Compiles the reading of a variable when the types of the context are known."""
    if environment.has_member(name):
        if source.type is not ANY:
            _check_type(source.type, value_type, source)
        key = (name, written)
        environment.typed[key] = _read_once(key, source.evaluate, find_reader(value_type.chain))
        return PolicyNode(environment.typed[key], value_type.static, source.offset, weight=2)
    if not value_type.is_optional:
        if not environment.notes_absent:
            raise Refusal(f"{name} is missing", source.offset)
        environment.lacking.append(name)
    return PolicyNode(_demand_variable(name, source.evaluate), value_type.static, source.offset, weight=2)


def _read_once(key: tuple[str, str], evaluate: Evaluate, read: Callable[[PolicyRun, Any], Any]) -> Evaluate:
    def evaluate_once(run: PolicyRun, key: tuple[str, str] = key) -> Any:
        if run.typed is None:
            run.typed = {}
        elif key in run.typed:
            return run.typed[key]
        run.typed[key] = value = read(run, evaluate(run))
        return value

    return evaluate_once


def read_first(environment: Environment, evaluate: Evaluate) -> Evaluate:
    """Returns what reads the variables of a policy before it evaluates it. It notes all that are lacking, unless one
    that is there has another type."""
    readers, lacking = [*environment.typed.values()], environment.lacking
    if not readers and not lacking:
        return evaluate

    def evaluate_typed(run: PolicyRun) -> Any:
        for read in readers:
            read(run)
        if lacking:
            assert isinstance(run, NotingRun)
            run.absent += lacking
            raise Fault(f"{lacking[0]} is missing")
        return evaluate(run)

    return evaluate_typed
