"""Decides when two values are equal, and when one is in another, as Go `expr` does.

Numbers are equal if they are the same number, so 1 equals 1.0; within lists and maps they must be of the same kind as
well, and all numbers of the context are floats. Values of different kinds are different. Context values may be nested
as deep as JSON allows, hence no recursion here.
"""

from typing import Any

from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.structs import FIELDS
from magistrate.engine.policy.values import (
    LISTS,
    MAPS,
    NAMED_INTEGERS,
    NUMBERS,
    TEXT_MAPS,
    GroupMap,
    MadeList,
    MadeMap,
    Time,
    json_value,
    values_in,
    values_of,
)

_CONTAINERS = LISTS | MAPS
_GO_KINDS: dict[type, type] = {MadeList: list, MadeMap: dict}
"""Maps kinds that are one kind in Go."""

_SHORT_TEXT = 256
"""Limits the characters up to which comparing texts is not charged."""


def equal(run: PolicyRun, left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind in NUMBERS and other in NUMBERS:
        return _numbers_equal(left, right)
    if kind in _CONTAINERS and other in _CONTAINERS:
        return _contents_equal(run, left, right)
    return kind is other and _scalars_equal(run, left, right)


def _numbers_equal(left: float, right: float) -> bool:
    if type(left) is float or type(right) is float:
        return float(left) == float(right)
    return int(left) == int(right)


def _contents_equal(run: PolicyRun, left: Any, right: Any) -> bool:
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        kind = type(left)
        if _GO_KINDS.get(kind, kind) is not _GO_KINDS.get(type(right), type(right)):
            return False
        if kind is range:
            same = left == right
        elif kind in LISTS:
            same = len(left) == len(right)
            if same:
                run.charge(len(left))
                pairs.extend(zip(values_of(left), values_of(right), strict=True))
        elif kind in MAPS:
            same = len(left) == len(right) and _pair_members(run, left, right, pairs)
        elif kind is Time:
            same = left == right and left.offset == right.offset
        else:
            same = _scalars_equal(run, left, right)
        if not same:
            return False
    return True


def equal_values(run: PolicyRun, left: Any, right: Any) -> bool:
    """Returns whether two values are equal when all numbers in them count by what they are: `[1]` equals `[1.0]`.
    Raises Fault for maps whose keys are no strings."""
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        kind, other = type(left), type(right)
        if kind in NUMBERS and other in NUMBERS:
            same = _numbers_equal(left, right)
        elif kind in LISTS and other in LISTS:
            same = len(left) == len(right)
            run.charge(len(left) if same else 0)
            pairs += zip(values_of(left), values_of(right), strict=True) if same else ()
        elif kind in MAPS and other in MAPS:
            if kind not in TEXT_MAPS or other not in TEXT_MAPS:
                raise Fault("only maps of strings can be compared")
            same = len(left) == len(right) and _pair_members(run, left, right, pairs)
        else:
            same = kind is other and _scalars_equal(run, left, right)
        if not same:
            return False
    return True


def contains_value(run: PolicyRun, sought: Any, among: Any) -> bool:
    """Returns whether a list has the element, or a map the key. Nothing is in nil."""
    kind = type(among)
    if kind is range:
        return (type(sought) in NUMBERS) and int(sought) == sought and int(sought) in among
    if kind in LISTS:
        return _in_list(run, sought, among)
    if (kind is dict or kind is MadeMap) and (type(sought) is str or sought is None):
        run.charge_text(len(sought or ""))
        return (sought or "") in among
    if isinstance(among, GroupMap):
        return (type(sought), hashable(sought)) in among
    if among is None:
        return False
    if type(sought) is str and (kind in FIELDS or kind is Time):
        return sought in FIELDS.get(kind, ())
    raise Fault('"in" needs a list, or a string and a map')


def hashable(key: Any) -> Any:
    """Returns the key of a map. Raises Fault for a list or a map, which cannot be one."""
    if type(key) in LISTS or type(key) in MAPS:
        raise Fault("lists and maps cannot be keys")
    return key


def _in_list(run: PolicyRun, sought: Any, among: list[Any]) -> bool:
    if type(sought) is str and len(sought) <= _SHORT_TEXT:
        run.charge(len(among) // 8)  # Python's own search suffices: a text is equal to no other kind of value
        return sought in among
    for element in values_of(among):
        run.charge(4)
        if equal(run, element, sought):
            return True
    return False


def _pair_members(run: PolicyRun, left: Any, right: Any, pairs: list[tuple[Any, Any]]) -> bool:
    for key, value in zip(left, values_in(left), strict=True):
        run.charge(1 + (len(key) // _SHORT_TEXT if type(key) is str else 0))
        if key not in right:
            return False
        other = right[key]
        pairs.append((value, json_value(other) if type(right) is dict else other))
    return True


def _scalars_equal(run: PolicyRun, left: Any, right: Any) -> bool:
    if type(left) is str and len(left) == len(right):
        run.charge_text(len(left))
    return bool(left == right)


def plain_number(value: Any) -> Any:
    """Returns an integer of a named kind as one; other values as they are."""
    return int(value) if type(value) in NAMED_INTEGERS else value
