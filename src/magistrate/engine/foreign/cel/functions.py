"""Translates the functions and methods of CEL, OpenFGA and SpiceDB, given the types of their arguments."""

from collections.abc import Callable, Mapping, Sequence

from magistrate.engine.foreign.cel.literals import READERS, read_literal
from magistrate.engine.foreign.cel.pieces import COMPARISON, OPERAND, SUM, CelRefusal, Piece, call
from magistrate.engine.foreign.cel.types import ANY, NUMBERS, describe_type, element_of, is_list, is_map
from magistrate.engine.policy.literals import render_string
from magistrate.engine.policy.patterns import find_pattern_fault
from magistrate.engine.policy.run import Fault

Function = Callable[[str, Sequence[Piece]], Piece | None]
"""Returns what becomes of a call; None if there is no such function for these arguments."""

_TEXT_OPERATORS = ("startsWith", "endsWith", "contains")
_CONVERTED: Mapping[str, frozenset[str]] = {
    "int": frozenset({"int", "uint", "double", "string", "timestamp", "duration"}),
    "uint": frozenset({"int", "uint", "double", "string"}),
    "double": frozenset({"int", "uint", "double", "string"}),
    "string": frozenset({"string", "bool", "timestamp", "duration", *NUMBERS}),
    "bool": frozenset({"bool", "string"}),
    "timestamp": frozenset({"timestamp", "string", "int"}),
    "duration": frozenset({"duration", "string"}),
    "ipaddress": frozenset({"ipaddress", "string"}),
}
"""Maps the functions that convert a value to the types that they take."""

_CALENDAR_UNITS: Mapping[str, tuple[str, int]] = {
    "getFullYear": ("year", 0),
    "getMonth": ("month", 1),
    "getDate": ("day", 0),
    "getDayOfMonth": ("day", 1),
    "getDayOfYear": ("yearday", 1),
    "getDayOfWeek": ("weekday", 0),
    "getHours": ("hour", 0),
    "getMinutes": ("minute", 0),
    "getSeconds": ("second", 0),
    "getMilliseconds": ("millisecond", 0),
}
"""Maps methods of timestamps to the unit of the date, and what is subtracted from it."""

_DURATION_UNITS: Mapping[str, int] = {
    "getHours": 3_600_000_000_000,
    "getMinutes": 60_000_000_000,
    "getSeconds": 1_000_000_000,
    "getMilliseconds": 1_000_000,
}


def call_function(name: str, arguments: Sequence[Piece], offset: int) -> Piece:
    """Returns what becomes of `name(…)`. Raises CelRefusal."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise CelRefusal(f"function {name} cannot be expressed", offset)
    return _demand(function(name, arguments), name, arguments, offset)._replace(offset=offset)


def call_method(receiver: Piece, name: str, arguments: Sequence[Piece], offset: int) -> Piece:
    """Returns what becomes of `receiver.name(…)`. Raises CelRefusal."""
    function = _METHODS.get(name)
    if function is None:
        raise CelRefusal(f"'.{name}' cannot be expressed", offset)
    return _demand(function(name, (receiver, *arguments)), f".{name}", (receiver, *arguments), offset)


def _demand(piece: Piece | None, name: str, arguments: Sequence[Piece], offset: int) -> Piece:
    if piece is None:
        types = " and ".join(describe_type(argument.type) for argument in arguments) or "nothing"
        raise CelRefusal(f"'{name}' of {types} cannot be expressed", offset)
    return piece


def select_member(base: Piece, name: str, offset: int) -> Piece:
    """Returns what becomes of `base.name`. Raises CelRefusal."""
    if not is_map(base.type) and base.type != ANY:
        raise CelRefusal(f"'.{name}' of {describe_type(base.type)} cannot be expressed", offset)
    return _take_element(base, render_string(name))._replace(is_selected=True)


def take_index(base: Piece, index: Piece, offset: int) -> Piece:
    """Returns what becomes of `base[index]`. Raises CelRefusal."""
    keys = ("string",) if is_map(base.type) else ("int", "uint") if is_list(base.type) else ("string", *NUMBERS)
    if base.type != ANY and not is_map(base.type) and not is_list(base.type):
        raise CelRefusal(f"an element of {describe_type(base.type)} cannot be expressed", offset)
    if index.type not in keys and index.type != ANY:
        raise CelRefusal(f"an element at {describe_type(index.type)} cannot be expressed", index.offset)
    return _take_element(base, index.text)


def _take_element(base: Piece, key: str) -> Piece:
    """Returns the element of an element as one call, which is nested less deeply."""
    path, keys = (base, (key,)) if base.path is None else (base.path, (*base.keys, key))
    found = call("at", element_of(base.type), path, *keys, can_fail=True)
    return found._replace(path=path, keys=keys)


def test_presence(member: Piece, offset: int) -> Piece:
    """Returns what becomes of `has(a.b)`. Raises CelRefusal for anything but a member."""
    if not member.is_selected or member.path is None:
        raise CelRefusal("'has' takes a member such as a.b", offset)
    *before, key = member.keys
    owner = call("at", ANY, member.path, *before, can_fail=True) if before else member.path
    return call("has", "bool", owner, key, can_fail=owner.type == ANY)


def _measure(name: str, arguments: Sequence[Piece]) -> Piece | None:
    if len(arguments) != 1:
        return None
    of_type = arguments[0].type
    if not (of_type in ("string", ANY) or is_list(of_type) or is_map(of_type)):
        return None
    return call("size", "int", *arguments, can_fail=of_type == ANY)


def _compare_texts(name: str, arguments: Sequence[Piece]) -> Piece | None:
    if len(arguments) != 2 or any(argument.type not in ("string", ANY) for argument in arguments):
        return None
    text, sought = arguments
    can_fail = any(argument.can_fail or argument.type == ANY for argument in arguments)
    written = f"{text.within(COMPARISON + 1)} {name} {sought.within(COMPARISON + 1)}"
    return Piece(written, "bool", text.offset, COMPARISON, can_fail)


def _match(name: str, arguments: Sequence[Piece]) -> Piece | None:
    piece = _compare_texts(name, arguments)
    if piece is None:
        return None
    pattern = arguments[1].literal
    if isinstance(pattern, str) and (fault := find_pattern_fault(pattern)):
        raise CelRefusal(fault, arguments[1].offset)
    return piece._replace(can_fail=piece.can_fail or pattern is None)


def _convert(name: str, arguments: Sequence[Piece]) -> Piece | None:
    if len(arguments) != 1 or arguments[0].type not in _CONVERTED[name] | {ANY}:
        return None
    [argument] = arguments
    if argument.type == name:
        return argument
    if argument.type == "string" and argument.literal is not None and name in READERS:
        return _read_literal(name, argument)
    return call("convert", name, argument, f'"{name}"', can_fail=True)


def _read_literal(name: str, argument: Piece) -> Piece:
    try:
        read_literal(argument.literal, name)
    except (Fault, ArithmeticError) as fault:
        raise CelRefusal(f"{argument.text} cannot be expressed as {name}: {fault}", argument.offset) from None
    return Piece(READERS[name].format(argument.text), name, argument.offset)


def _erase_type(name: str, arguments: Sequence[Piece]) -> Piece | None:
    return call("as", ANY, *arguments, '"any"') if len(arguments) == 1 else None


def _take_unit(name: str, arguments: Sequence[Piece]) -> Piece | None:
    """Returns what becomes of `.getHours()` and the like."""
    receiver, *zone = arguments
    if len(zone) > 1 or any(argument.type not in ("string", ANY) for argument in zone):
        return None
    if receiver.type == "duration":
        if zone or name not in _DURATION_UNITS:
            return None
        nanoseconds = f"{receiver.within(OPERAND)}.Nanoseconds()"
        return call("div", "int", receiver._replace(text=nanoseconds), f"{_DURATION_UNITS[name]}")
    if receiver.type != "timestamp":
        return None
    unit, first = _CALENDAR_UNITS[name]
    piece = call("datePart", "int", receiver, f'"{unit}"', *zone, can_fail=bool(zone))
    return piece._replace(text=f"{piece.text} - {first}", level=SUM) if first else piece


def _search_network(name: str, arguments: Sequence[Piece]) -> Piece | None:
    types = [argument.type for argument in arguments]
    if len(types) != 2 or types[0] != "ipaddress" or types[1] not in ("string", ANY):
        return None
    return call("inCIDR", "bool", *arguments, can_fail=True)


def _compare_trees(name: str, arguments: Sequence[Piece]) -> Piece | None:
    if len(arguments) != 2 or any(not is_map(argument.type) and argument.type != ANY for argument in arguments):
        return None
    return call("isSubtree", "bool", *arguments, can_fail=any(argument.type == ANY for argument in arguments))


_FUNCTIONS: Mapping[str, Function] = {
    "size": _measure,
    "matches": _match,
    "dyn": _erase_type,
    **dict.fromkeys(_CONVERTED, _convert),
}
_METHODS: Mapping[str, Function] = {
    "size": _measure,
    "matches": _match,
    **dict.fromkeys(_TEXT_OPERATORS, _compare_texts),
    **dict.fromkeys(_CALENDAR_UNITS, _take_unit),
    "in_cidr": _search_network,
    "isSubtreeOf": _compare_trees,
}
