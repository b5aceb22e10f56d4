"""Defines the static types of policies: what is known of a value before the policy is evaluated.

The rules are those of the checker of Go `expr` 1.15. A variable has the type of its value in the context at hand; one
that the context lacks, an element of a list and a member of a map may have any type. An operand whose type cannot work
refuses the whole policy, wherever in it the operand stands.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from operator import is_
from types import NoneType
from typing import Any

import msgspec


class StaticType(msgspec.Struct, frozen=True, eq=False):
    """Represents a type by the name and the kind that it has in Go. `element` is that of the values of lists and
    maps, `key` that of the keys of maps. Each type exists once."""

    name: str
    kind: str
    element: "StaticType | None" = None
    key: "StaticType | None" = None


ANY = StaticType("interface {}", "interface")
NOT_BOOL = StaticType("interface {}", "interface")
"""Stands for ANY where the value cannot be a bool, such as a sum: alone it is no policy."""

NIL = StaticType("<nil>", "nil")
BOOL = StaticType("bool", "bool")
INT = StaticType("int", "int")
INT64 = StaticType("int64", "int64")
FLOAT = StaticType("float64", "float64")
STRING = StaticType("string", "string")
MAP = StaticType("map[string]interface {}", "map", ANY, STRING)
ANY_MAP = StaticType("map[interface {}]interface {}", "map", ANY, ANY)
TIME = StaticType("time.Time", "struct")
DURATION = StaticType("time.Duration", "int64")
MONTH = StaticType("time.Month", "int")
WEEKDAY = StaticType("time.Weekday", "int")
IP_ADDRESS = StaticType("ipaddress", "ipaddress")
WARRANT = StaticType("warrant", "struct")
SUBJECT = StaticType("subject", "ptr")
FUNCTION = StaticType("func", "func")


@lru_cache(maxsize=4_096)
def slice_of(element: StaticType) -> StaticType:
    """Returns the type of lists of such elements."""
    if element is NOT_BOOL:
        return slice_of(ANY)
    return StaticType(f"[]{element.name}", "slice", element)


@lru_cache(maxsize=4_096)
def map_of(element: StaticType) -> StaticType:
    """Returns the type of maps from strings to such values."""
    return MAP if element is ANY else StaticType(f"map[string]{element.name}", "map", element, STRING)


ARRAY = slice_of(ANY)
STRINGS = slice_of(STRING)
RANGE = slice_of(INT)
GROUPS = StaticType("map[interface {}][]interface {}", "map", ARRAY, ANY)

TYPES_OF_VALUES: dict[type, StaticType] = {
    NoneType: NIL,
    bool: BOOL,
    int: FLOAT,
    float: FLOAT,
    str: STRING,
    list: ARRAY,
    dict: MAP,
}
"""Maps the Python types of context values to their static types. All numbers of JSON are floats."""

TypeRule = Callable[[StaticType], bool]


def _of_kinds(*kinds: str) -> TypeRule:
    return lambda static: static.kind in kinds


is_any = _of_kinds("interface")
is_bool = _of_kinds("bool")
is_integer = _of_kinds("int", "int64")
is_number = _of_kinds("int", "int64", "float64")
is_string = _of_kinds("string")
is_slice = _of_kinds("slice")
is_map = _of_kinds("map")
is_struct = _of_kinds("struct", "ptr")
is_address = _of_kinds("ipaddress")
is_time: TypeRule = partial(is_, TIME)


def is_assignable(static: StaticType, target: StaticType) -> bool:
    return static is target or target.kind == "interface"


def is_comparable(left: StaticType, right: StaticType | None) -> bool:
    """Returns whether the two can be compared with `==`."""
    if right is None or left is NIL or right is NIL or left.kind == right.kind:
        return True
    return (is_number(left) and is_number(right)) or is_any(left) or is_any(right)


def join_types(then: StaticType, otherwise: StaticType) -> StaticType:
    """Returns the type of a value that has one type or the other."""
    if then is NIL or otherwise is NIL:
        return otherwise if then is NIL else then
    if is_assignable(then, otherwise):
        return then
    return ANY if may_be_bool(then) or may_be_bool(otherwise) else NOT_BOOL


def may_be_bool(static: StaticType) -> bool:
    return static is BOOL or static is ANY


def type_of_value(value: Any) -> StaticType:
    """Returns the type of a literal."""
    return INT if type(value) is int else TYPES_OF_VALUES[type(value)]
