"""Translates the operators of CEL, given the types of their operands."""

from collections.abc import Callable, Mapping, Sequence

from magistrate.engine.foreign.cel.pieces import (
    AND,
    COMPARISON,
    OPEN,
    OPERAND,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    CelRefusal,
    Piece,
    call,
)
from magistrate.engine.foreign.cel.types import (
    ANY,
    NULL,
    NUMBERS,
    SCALARS,
    describe_type,
    element_of,
    is_list,
    is_map,
    join_types,
    may_equal,
)

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
_SUMS: Mapping[tuple[str, str], str] = {
    **{(number, number): number for number in NUMBERS},
    ("string", "string"): "string",
    ("timestamp", "duration"): "timestamp",
    ("duration", "timestamp"): "timestamp",
    ("duration", "duration"): "duration",
}
_DIFFERENCES: Mapping[tuple[str, str], str] = {
    **{(number, number): number for number in NUMBERS},
    ("timestamp", "timestamp"): "duration",
    ("timestamp", "duration"): "timestamp",
    ("duration", "duration"): "duration",
}
_PRODUCTS: Mapping[tuple[str, str], str] = {(number, number): number for number in NUMBERS}
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
    return Piece(text, of_type, left.offset, level, can_fail or left.can_fail or right.can_fail)


def _negate(piece: Piece) -> Piece:
    return Piece(f"!{piece.within(OPERAND)}", "bool", piece.offset, UNARY, piece.can_fail)


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
    return _calculate(sign, left, right, _SUMS)


def _calculate(sign: str, left: Piece, right: Piece, results: Mapping[tuple[str, str], str]) -> Piece | None:
    """Returns an operation on values that stay of their kind. Numbers of any type are floating-point numbers there, so
    that CEL does not take them together with integers."""
    result = results.get((left.type, right.type))
    if result is not None:
        return _infix(sign, left, right, result, can_fail=result != "string")
    types = {left.type, right.type}
    if ANY not in types or types & {*_INTEGERS} or not types - {ANY} <= _ORDERED:
        return None
    return _infix(sign, left, right, ANY, can_fail=True)


def _subtract(sign: str, left: Piece, right: Piece) -> Piece | None:
    difference = _calculate(sign, left, right, _DIFFERENCES)
    if difference is None or difference.type != "uint":
        return difference
    return call("convert", "uint", difference, '"uint"', can_fail=True)


def _multiply(sign: str, left: Piece, right: Piece) -> Piece | None:
    return _calculate(sign, left, right, _PRODUCTS)


def _divide(sign: str, left: Piece, right: Piece) -> Piece | None:
    if left.type == right.type and left.type in _INTEGERS:
        return call("div", left.type, left, right, can_fail=True)
    return _calculate(sign, left, right, _PRODUCTS)


def _take_remainder(sign: str, left: Piece, right: Piece) -> Piece | None:
    is_integer = left.type == right.type and left.type in _INTEGERS
    return _infix(sign, left, right, left.type, can_fail=True) if is_integer else None


_OPERATORS: Mapping[str, Operator] = {
    **dict.fromkeys(("==", "!="), _compare),
    **dict.fromkeys(("<", "<=", ">", ">="), _order),
    "in": _search,
    "+": _add,
    "-": _subtract,
    "*": _multiply,
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
    return Piece(text, "bool", operands[0].offset, level, can_fail)


def choose(condition: Piece, then: Piece, otherwise: Piece) -> Piece:
    """Returns what becomes of `a ? b : c`. Raises CelRefusal."""
    condition = demand_bool(condition, "?")
    if not may_equal(then.type, otherwise.type):
        types = f"{describe_type(then.type)} or {describe_type(otherwise.type)}"
        raise CelRefusal(f"a value that is {types} cannot be expressed", otherwise.offset)
    text = f"{condition.within(OR)} ? {then.within(OR)} : {otherwise.within(OR)}"
    of_type = join_types((then.type, otherwise.type))
    can_fail = condition.can_fail or then.can_fail or otherwise.can_fail
    return Piece(text, of_type, condition.offset, OPEN, can_fail)


def negate_bool(operand: Piece) -> Piece:
    return _negate(demand_bool(operand, "!"))


def negate_number(operand: Piece, offset: int) -> Piece:
    """Returns what becomes of `-a`. Raises CelRefusal."""
    if operand.type not in ("int", "double", ANY):
        raise CelRefusal(f"'-' of {describe_type(operand.type)} cannot be expressed", offset)
    if operand.literal == 2**63:
        return Piece("(-9223372036854775807 - 1)", "int", offset)
    can_fail = operand.can_fail or operand.literal is None
    return Piece(f"-{operand.within(OPERAND)}", operand.type, offset, UNARY, can_fail)


def demand_bool(operand: Piece, sign: str) -> Piece:
    """Returns an operand that must be a bool, which can fail if its type is not known. Raises CelRefusal."""
    if operand.type not in ("bool", ANY):
        raise CelRefusal(f"'{sign}' of {describe_type(operand.type)} cannot be expressed", operand.offset)
    return operand._replace(can_fail=operand.can_fail or operand.type == ANY)
