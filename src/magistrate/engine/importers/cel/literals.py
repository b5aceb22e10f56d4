"""Renders values that a relationship gives as literals of the policy language."""

from collections.abc import Iterator
from typing import Any

from magistrate.engine.policy.layouts import render_time
from magistrate.engine.policy.named_policies import NO_WARRANT
from magistrate.engine.policy.rendering import RFC_3339, render_duration
from magistrate.engine.policy.run import PolicyRun
from magistrate.engine.policy.tokens import render_string
from magistrate.engine.policy.value_types import find_value_type, read_value
from magistrate.engine.policy.values import LISTS, MIN_WHOLE, TEXT_MAPS, Duration, Time, values_in, values_of

READERS = {"timestamp": "date({})", "duration": "duration({})", "ipaddress": 'as({}, "ipaddress")'}
"""Maps the types that are written as texts to what reads a text that is one for certain."""


def read_literal(value: Any, of_type: str) -> Any:
    """Returns a value as one of the type. Raises Fault or ArithmeticError if it is none."""
    found = find_value_type(of_type)
    assert found is not None
    return read_value(PolicyRun({}, NO_WARRANT, 0), value, found.chain)


def render_literal(value: Any, of_type: str) -> str:
    """Returns the literal of a value of the type. Raises Fault or ArithmeticError if it is none."""
    read = read_literal(value, of_type)
    if of_type in READERS:
        return READERS[of_type].format(render_string(value))
    # Policies refuse literals of types that can never be equal, which a value of any type may be compared with.
    return f'as({_render_value(read)}, "any")' if of_type == "any" else _render_value(read)


def _render_value(read: Any) -> str:
    pieces: list[str] = []
    stack: list[Iterator[Any]] = [iter((read,))]
    while stack:
        child = next(stack[-1], stack)
        if child is stack:
            stack.pop()
        elif isinstance(child, _Written):
            pieces.append(child)
        elif type(child) in LISTS or type(child) in TEXT_MAPS:
            stack.append(_list_pieces(child))
        else:
            pieces.append(_render_scalar(child))
    return "".join(pieces)


class _Written(str):
    """Holds text that is rendered already."""

    __slots__ = ()


def _list_pieces(container: Any) -> Iterator[Any]:
    is_map = type(container) in TEXT_MAPS
    yield _Written("{" if is_map else "[")
    keys = [*container] if is_map else []
    for place, value in enumerate(values_in(container) if is_map else values_of(container)):
        yield _Written(", " if place else "")
        yield _Written(f"{render_string(keys[place])}: " if is_map else "")
        yield value
    yield _Written("}" if is_map else "]")


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
