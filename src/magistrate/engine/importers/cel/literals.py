"""Renders values that a relationship gives as literals of the policy language."""

from collections.abc import Iterator
from typing import Any

from magistrate.engine.policy.layouts import render_time
from magistrate.engine.policy.rendering import RFC_3339, TextPiece, join_pieces, render_duration
from magistrate.engine.policy.run import PolicyRun
from magistrate.engine.policy.tokens import render_string
from magistrate.engine.policy.value_types import find_value_type, read_value
from magistrate.engine.policy.values import MIN_WHOLE, TEXT_MAPS, Duration, Time, values_in, values_of
from magistrate.engine.warrants.warrant import NO_WARRANT

READERS = {"timestamp": "date({})", "duration": "duration({})", "ipaddress": 'as({}, "ipaddress")'}
"""Maps the types that are written as texts to what reads a text that is one for certain."""


def read_literal(value: Any, of_type: str) -> Any:
    """Returns a value as one of the type. Raises Fault or ArithmeticError if it is none."""
    value_type = find_value_type(of_type)
    assert value_type is not None
    return read_value(value_type.chain, PolicyRun({}, NO_WARRANT, 0), value)


def render_literal(value: Any, of_type: str) -> str:
    """Returns the literal of a value of the type. Raises Fault or ArithmeticError if it is none."""
    read = read_literal(value, of_type)
    if of_type in READERS:
        return READERS[of_type].format(render_string(value))
    # Policies refuse literals of types that can never be equal, which a value of any type may be compared with.
    return f'as({_render_value(read)}, "any")' if of_type == "any" else _render_value(read)


def _render_value(read: Any) -> str:
    return join_pieces(read, lambda container, _: _list_pieces(container), _render_scalar)


def _list_pieces(container: Any) -> Iterator[Any]:
    is_map = type(container) in TEXT_MAPS
    yield TextPiece("{" if is_map else "[")
    keys = [*container] if is_map else []
    for place, value in enumerate(values_in(container) if is_map else values_of(container)):
        yield TextPiece(", " if place else "")
        yield TextPiece(f"{render_string(keys[place])}: " if is_map else "")
        yield value
    yield TextPiece("}" if is_map else "]")


def _render_scalar(value: Any) -> str:
    kind = type(value)
    if value is None:
        return "nil"
    if kind is bool:
        return "true" if value else "false"
    if kind is str:
        return render_string(value)
    if kind is Time:
        return READERS["timestamp"].format(render_string(render_time(value, RFC_3339)))
    if kind is Duration:
        return READERS["duration"].format(render_string(render_duration(value)))
    if kind is int and value == MIN_WHOLE:
        return f"({MIN_WHOLE + 1} - 1)"  # the number without its sign is out of range
    if kind is int or kind is float:
        return f"({value!r})" if value < 0 else repr(value)
    return READERS["ipaddress"].format(render_string(str(value)))
