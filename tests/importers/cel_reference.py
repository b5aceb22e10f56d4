"""Decides conditions by the reference implementation of CEL (see decision 85)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # it comes without a py.typed

from magistrate.engine.policy.run import Fault
from magistrate.engine.policy.values import read_duration

_TYPES = {
    "string": cel.Type.STRING,
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "bool": cel.Type.BOOL,
    "timestamp": cel.Type.TIMESTAMP,
    "duration": cel.Type.DURATION,
    "any": cel.Type.DYN,
}


def build_type(of_type: str) -> cel.Type:
    if of_type.startswith("list<"):
        return cel.Type.List(build_type(of_type[5:-1]))
    if of_type.startswith("map<"):
        return cel.Type.Map(cel.Type.STRING, build_type(of_type[4:-1]))
    return _TYPES[of_type]


def read_number(value: Any) -> float:
    if type(value) not in (int, float, str):
        raise ValueError
    return float(value)


def read_integer(value: Any) -> int:
    number = read_number(value)
    if number != int(number):
        raise ValueError
    return int(value) if isinstance(value, str) else int(number)


def read_unsigned(value: Any) -> int:
    number = read_integer(value)
    if number < 0:
        raise ValueError
    return number


def read_any(value: Any) -> Any:
    if isinstance(value, list):
        return [read_any(element) for element in value]
    if isinstance(value, dict):
        return {key: read_any(member) for key, member in value.items()}
    return float(value) if type(value) is int else value


def read_time(text: str) -> datetime:
    if "T" not in text:
        raise ValueError
    return datetime.fromisoformat(text).astimezone(UTC)


def demand(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError
        return value

    return read


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "string": demand(str),
    "bool": demand(bool),
    "int": read_integer,
    "uint": read_unsigned,
    "double": read_number,
    "timestamp": lambda value: read_time(demand(str)(value)),
    "duration": lambda value: timedelta(microseconds=read_duration(value).nanoseconds // 1_000),
    "any": read_any,
}


def read_as(value: Any, of_type: str) -> Any:
    """The value of a context as OpenFGA and SpiceDB hand it to CEL. Raises ValueError or Fault if it is none."""
    if of_type.startswith("list<"):
        return [read_as(element, of_type[5:-1]) for element in demand(list)(value)]
    if of_type.startswith("map<"):
        return {key: read_as(member, of_type[4:-1]) for key, member in demand(dict)(value).items()}
    return _READERS[of_type](value)


@cache
def environment(parameters: tuple[tuple[str, str], ...]) -> cel.Env:
    return cel.NewEnv(variables={name: build_type(of_type) for name, of_type in parameters})


def decide_there(expression: str, parameters: Mapping[str, str], context: Mapping[str, Any]) -> bool | None:
    compiled = environment((*parameters.items(),)).compile(expression)
    try:
        values = {name: read_as(value, parameters[name]) for name, value in context.items()}
        result = compiled.eval(data=values)
    except (ValueError, Fault, RuntimeError):
        return None
    return bool(result.value()) if result.type() == cel.Type.BOOL else None
