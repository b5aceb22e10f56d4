"""Translates the operators of CEL, given the types of their operands."""

from collections.abc import Callable, Mapping, Sequence

from magistrate.engine.importers.cel.literals import READERS, read_literal
from magistrate.engine.importers.cel.pieces import (
    AND,
    ANY,
    COMPARISON,
    NULL,
    NUMBERS,
    OPEN,
    OPERAND,
    OR,
    PRODUCT,
    SCALARS,
    SUM,
    UNARY,
    CelRefusal,
    Piece,
    call,
    describe_type,
    element_of,
    is_list,
    is_map,
    join_types,
    may_equal,
)
from magistrate.engine.policy.run import Fault
from magistrate.engine.policy.texts import find_pattern_fault
from magistrate.engine.policy.tokens import render_string

LEVELS: Mapping[str, int] = {
    "||": OR,
    "&&": AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
}
"""Maps the binary operators to how tightly they bind."""

Operator = Callable[[str, Piece, Piece], Piece | None]
"""Returns what becomes of the operation; None if CEL has none for these types."""

_ORDERED = frozenset({"string", "timestamp", "duration", *NUMBERS})
_NUMERIC: Mapping[tuple[str, str], str] = {(number, number): number for number in NUMBERS}
_RESULTS: Mapping[str, Mapping[tuple[str, str], str]] = {
    "+": {
        **_NUMERIC,
        ("string", "string"): "string",
        ("timestamp", "duration"): "timestamp",
        ("duration", "timestamp"): "timestamp",
        ("duration", "duration"): "duration",
    },
    "-": {
        **_NUMERIC,
        ("timestamp", "timestamp"): "duration",
        ("timestamp", "duration"): "timestamp",
        ("duration", "duration"): "duration",
    },
    "*": _NUMERIC,
    "/": _NUMERIC,
}
"""Maps the types of operands to that of the result."""
_INTEGERS = ("int", "uint")


def combine(sign: str, left: Piece, right: Piece, offset: int) -> Piece:
    """Returns what becomes of an operation other than `&&` and `||`. Raises CelRefusal."""
    piece = _OPERATORS[sign](sign, left, right)
    if piece is None:
        types = f"{describe_type(left.type)} and {describe_type(right.type)}"
        raise CelRefusal(f"'{sign}' of {types} cannot be expressed", offset)
    return piece


def _infix(sign: str, left: Piece, right: Piece, of_type: str, can_fail: bool = False) -> Piece:
    level = LEVELS[sign]
    # Comparisons are not chained, although the languages agree on what that means: few readers do.
    text = f"{left.within(level + (level == COMPARISON))} {sign} {right.within(level + 1)}"
    return Piece(text, of_type, left.offset, level, can_fail=can_fail or left.can_fail or right.can_fail)


def _negate(piece: Piece) -> Piece:
    return Piece(f"!{piece.within(OPERAND)}", "bool", piece.offset, UNARY, can_fail=piece.can_fail)


def _compare(sign: str, left: Piece, right: Piece) -> Piece | None:
    if not may_equal(left.type, right.type):
        return None
    types = {left.type, right.type}
    if NULL in types or (types & SCALARS and left.type != right.type) or types <= SCALARS:
        return _infix(sign, left, right, "bool")
    same = call("equals", "bool", left, right)
    return same if sign == "==" else _negate(same)


def _order(sign: str, left: Piece, right: Piece) -> Piece | None:
    types = {left.type, right.type}
    are_numbers = types <= {*NUMBERS}
    if not (are_numbers or (types <= _ORDERED and len(types) == 1) or (ANY in types and types <= _ORDERED | {ANY})):
        return None
    return _infix(sign, left, right, "bool", can_fail=ANY in types)


def _search(sign: str, left: Piece, right: Piece) -> Piece | None:
    if right.type == ANY:
        return call("includes", "bool", right, left, can_fail=True)
    if is_map(right.type):
        if left.type == "string":
            return _infix(sign, left, right, "bool")
        return call("includes", "bool", right, left) if left.type == ANY else None
    if not is_list(right.type) or not may_equal(left.type, element_of(right.type)):
        return None
    if left.type in SCALARS and element_of(right.type) in SCALARS:
        return _infix(sign, left, right, "bool")
    return call("includes", "bool", right, left)


def _add(sign: str, left: Piece, right: Piece) -> Piece | None:
    if is_list(left.type) or is_list(right.type):
        if not all(is_list(piece.type) or piece.type == ANY for piece in (left, right)):
            return None
        return call("concat", join_types((left.type, right.type)), left, right, can_fail=ANY in (left.type, right.type))
    return _calculate(sign, left, right)


def _calculate(sign: str, left: Piece, right: Piece) -> Piece | None:
    """Returns an operation on values that stay of their kind. Numbers of any type are floating-point numbers there, so
    that CEL does not take them together with integers."""
    result = _RESULTS[sign].get((left.type, right.type))
    if result is not None:
        return _infix(sign, left, right, result, can_fail=result != "string")
    types = {left.type, right.type}
    if ANY not in types or types & {*_INTEGERS} or not types - {ANY} <= _ORDERED:
        return None
    return _infix(sign, left, right, ANY, can_fail=True)


def _subtract(sign: str, left: Piece, right: Piece) -> Piece | None:
    difference = _calculate(sign, left, right)
    if difference is None or difference.type != "uint":
        return difference
    return call("convert", "uint", difference, '"uint"', can_fail=True)


def _divide(sign: str, left: Piece, right: Piece) -> Piece | None:
    if left.type == right.type and left.type in _INTEGERS:
        return call("div", left.type, left, right, can_fail=True)
    return _calculate(sign, left, right)


def _take_remainder(sign: str, left: Piece, right: Piece) -> Piece | None:
    is_integer = left.type == right.type and left.type in _INTEGERS
    return _infix(sign, left, right, left.type, can_fail=True) if is_integer else None


_OPERATORS: Mapping[str, Operator] = {
    **dict.fromkeys(("==", "!="), _compare),
    **dict.fromkeys(("<", "<=", ">", ">="), _order),
    "in": _search,
    "+": _add,
    "-": _subtract,
    "*": _calculate,
    "/": _divide,
    "%": _take_remainder,
}


def connect(sign: str, operands: Sequence[Piece]) -> Piece:
    """Returns what becomes of `a && b && …` or `a || b || …`. Raises CelRefusal for an operand that is no bool.

    In CEL, an operand decides whatever the others are, errors included; the operators of policies evaluate their
    operands from left to right, and any error ends that."""
    operands = [demand_bool(operand, sign) for operand in operands]
    can_fail = any(operand.can_fail for operand in operands)
    if any(operand.can_fail for operand in operands[:-1]):
        return call("anyOf" if sign == "||" else "allOf", "bool", *operands)
    level = LEVELS[sign]
    text = f" {sign} ".join(operand.within(level + 1) for operand in operands)
    return Piece(text, "bool", operands[0].offset, level, can_fail=can_fail)


def choose(condition: Piece, then: Piece, otherwise: Piece) -> Piece:
    """Returns what becomes of `a ? b : c`. Raises CelRefusal."""
    condition = demand_bool(condition, "?")
    if not may_equal(then.type, otherwise.type):
        types = f"{describe_type(then.type)} or {describe_type(otherwise.type)}"
        raise CelRefusal(f"a value that is {types} cannot be expressed", otherwise.offset)
    text = f"{condition.within(OR)} ? {then.within(OR)} : {otherwise.within(OR)}"
    of_type = join_types((then.type, otherwise.type))
    can_fail = condition.can_fail or then.can_fail or otherwise.can_fail
    return Piece(text, of_type, condition.offset, OPEN, can_fail=can_fail)


def negate_bool(operand: Piece) -> Piece:
    return _negate(demand_bool(operand, "!"))


def negate_number(operand: Piece, offset: int) -> Piece:
    """Returns what becomes of `-a`. Raises CelRefusal."""
    if operand.type not in ("int", "double", ANY):
        raise CelRefusal(f"'-' of {describe_type(operand.type)} cannot be expressed", offset)
    if operand.literal == 2**63:
        return Piece("(-9223372036854775807 - 1)", "int", offset)
    can_fail = operand.can_fail or operand.literal is None
    return Piece(f"-{operand.within(OPERAND)}", operand.type, offset, UNARY, can_fail=can_fail)


def demand_bool(operand: Piece, sign: str) -> Piece:
    """Returns an operand that must be a bool, which can fail if its type is not known. Raises CelRefusal."""
    if operand.type not in ("bool", ANY):
        raise CelRefusal(f"'{sign}' of {describe_type(operand.type)} cannot be expressed", operand.offset)
    return operand._replace(can_fail=operand.can_fail or operand.type == ANY)


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
    element = call("at", element_of(base.type), path, *keys, can_fail=True)
    return element._replace(path=path, keys=keys)


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
    return Piece(written, "bool", text.offset, COMPARISON, can_fail=can_fail)


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
