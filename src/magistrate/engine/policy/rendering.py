"""Renders values as text, and reads JSON.

`string` renders as `%v` of Go, and `toJSON` as its JSON encoder with an indentation of two blanks. Values may be nested
as deep as JSON allows, hence no recursion here.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.policy.layouts import render_time
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.structs import METHODS
from magistrate.engine.policy.values import (
    LISTS,
    NUMBERS,
    TEXT_MAPS,
    Duration,
    Month,
    Time,
    Weekday,
    finite,
    json_value,
    values_of,
)

_TEXT_FORMAT = "2006-01-02 15:04:05.999999999 -0700 MST"
RFC_3339 = "2006-01-02T15:04:05.999999999Z07:00"
_NAMED = frozenset({Month, Weekday})
_CHARACTERS_FOR_A_STEP = 4


class TextPiece(NamedTuple):
    """Holds text that is rendered already."""

    text: str


def join_pieces(
    value: Any, open_container: Callable[[Any, int], Iterator[Any]], render_scalar: Callable[[Any], str]
) -> str:
    """Returns the text of a value, without recursion. Of a list or map, `open_container` yields pieces and values,
    given how deep it stands, from 1."""
    texts: list[str] = []
    stack: list[Iterator[Any]] = [iter((value,))]
    while stack:
        child = next(stack[-1], stack)
        if child is stack:
            stack.pop()
        elif isinstance(child, TextPiece):
            texts.append(child.text)
        elif type(child) in LISTS or type(child) in TEXT_MAPS:
            stack.append(open_container(child, len(stack)))
        else:
            texts.append(render_scalar(child))
    return "".join(texts)


def render_value(run: PolicyRun, value: Any) -> str:
    """Returns the value in text form: `2.5`, `[1 2]`, `map[a:1]`."""

    def open_container(container: Any, depth: int) -> Iterator[Any]:
        run.charge(1 + len(container))
        return _map_pieces(container) if type(container) in TEXT_MAPS else _list_pieces(container)

    return value if type(value) is str else join_pieces(value, open_container, partial(_render_scalar, run))


def _list_pieces(elements: Any) -> Iterator[Any]:
    yield TextPiece("[")
    for index, element in enumerate(values_of(elements)):
        if index:
            yield TextPiece(" ")
        yield element
    yield TextPiece("]")


def _map_pieces(members: Any) -> Iterator[Any]:
    yield TextPiece("map[")
    for index, key in enumerate(sorted(members)):
        yield TextPiece(f"{' ' if index else ''}{key}:")
        yield _member(members, key)
    yield TextPiece("]")


def _member(members: Any, key: str) -> Any:
    return json_value(members[key]) if type(members) is dict else members[key]


def _render_scalar(run: PolicyRun, value: Any) -> str:
    kind = type(value)
    if value is None:
        return "<nil>"
    if kind is bool:
        return "true" if value else "false"
    if kind is str:
        run.charge_text(len(value))
        return str(value)
    if kind in _NAMED:
        return str(METHODS[kind]["String"].apply(value))
    if kind is Duration:
        return render_duration(value)
    if kind is Time:
        return render_time(value, _TEXT_FORMAT)
    if kind not in NUMBERS:
        raise Fault("the value has no text form")
    return render_float(value, -4, "e+", "e-", digits_of_exponent=2) if kind is float else str(int(value))


def render_float(value: float, least: int, plus: str, minus: str, digits_of_exponent: int, most: int = 21) -> str:
    """Returns a float in the shortest digits that are read as the same; with an exponent if it is below `least`, or
    `most` or more."""
    sign, digits, exponent = Decimal(repr(finite(value))).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    if value and not least <= point - 1 < most:
        fraction = "." + written[1:] if len(written) > 1 else ""
        scale = f"{abs(point - 1):0{digits_of_exponent}d}"
        shown = f"{written[0]}{fraction}{plus if point > 0 else minus}{scale}"
    elif point <= 0:
        shown = "0" if written == "0" else "0." + "0" * -point + written
    else:
        shown = written[:point].ljust(point, "0") + ("." + written[point:] if len(written) > point else "")
    return "-" * sign + shown


def render_duration(duration: Duration) -> str:
    """Returns the duration as Go writes it: `1h30m0s`, `1.5s`, `20ms`."""
    nanoseconds = abs(duration.nanoseconds)
    sign = "-" if duration.nanoseconds < 0 else ""
    if nanoseconds < 1_000_000_000:
        unit, size = next(
            pair for pair in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)) if nanoseconds >= pair[1] or not nanoseconds
        )
        return sign + in_unit(nanoseconds, size) + unit if nanoseconds else "0s"
    hours, nanoseconds = divmod(nanoseconds, 3_600_000_000_000)
    minutes, nanoseconds = divmod(nanoseconds, 60_000_000_000)
    seconds = in_unit(nanoseconds, 1_000_000_000) + "s"
    return sign + (f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else "") + seconds


def in_unit(nanoseconds: int, size: int) -> str:
    whole, rest = divmod(nanoseconds, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else str(whole)


def read_json(run: PolicyRun, text: str) -> Any:
    """Returns the value of a text of JSON. Raises Fault if it is none."""
    run.charge(len(text) // _CHARACTERS_FOR_A_STEP)
    try:
        return json_value(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise Fault("the string is no JSON") from error


def render_json(run: PolicyRun, value: Any) -> str:
    """Returns the value as indented JSON. Raises Fault for a value that has none."""

    def open_container(container: Any, depth: int) -> Iterator[Any]:
        run.charge(1 + len(container) * (1 + depth // 8))
        return _json_pieces(container, depth)

    return join_pieces(value, open_container, partial(_json_scalar, run))


def _json_pieces(container: Any, depth: int) -> Iterator[Any]:
    is_map = type(container) in TEXT_MAPS
    opening, closing = "{}" if is_map else "[]"
    if not len(container):
        yield TextPiece(opening + closing)
        return
    indentation = "\n" + "  " * depth
    yield TextPiece(opening)
    for index, element in enumerate(sorted(container) if is_map else values_of(container)):
        yield TextPiece(("," if index else "") + indentation)
        if is_map:
            yield from (element, TextPiece(": "), _member(container, element))
        else:
            yield element
    yield TextPiece(indentation[:-2] + closing)


def _json_scalar(run: PolicyRun, value: Any) -> str:
    kind = type(value)
    if kind is float:
        return render_float(value, -6, "e+", "e-", digits_of_exponent=1)
    if kind in NUMBERS or kind in _NAMED:
        return str(int(value))
    if kind is Duration:
        return str(value.nanoseconds)
    if kind is Time:
        return f'"{render_time(value, RFC_3339)}"'
    if kind is str:
        run.charge_text(4 * len(value))
        return _json_string(value)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    raise Fault("the value has no JSON form")


def _json_string(text: str) -> str:
    try:
        written = msgspec.json.encode(text).decode()
    except UnicodeEncodeError as error:
        raise Fault("the text is not valid Unicode") from error
    for character, escape in _ESCAPED:
        written = written.replace(character, escape)
    return written


_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
