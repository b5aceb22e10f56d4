"""Decides when two values are equal, and when one is in another.

Values of different kinds are different, never an error; numbers are equal if they are the same number, so 1 equals 1.0
but not true. Context values may be nested as deep as JSON allows, hence no recursion here.
"""

from typing import Any

from magistrate.engine.policy.kinds import LIST, MAP, NUMBER
from magistrate.engine.policy.run import Fault, PolicyRun

_CONTAINERS = LIST | MAP

_SHORT_TEXT = 256
"""Limits the characters up to which comparing texts is not charged."""


def equal(run: PolicyRun, left: Any, right: Any) -> bool:
    if type(left) not in _CONTAINERS:
        return _scalars_equal(run, left, right)
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        kind, other = type(left), type(right)
        if (kind is list or kind is range) and (other is list or other is range):
            same = len(left) == len(right)
            if same:
                run.charge(len(left))
                pairs.extend(zip(left, right, strict=True))
        elif kind is dict and other is dict:
            same = len(left) == len(right) and _pair_members(run, left, right, pairs)
        else:
            same = _scalars_equal(run, left, right)
        if not same:
            return False
    return True


def contains_value(run: PolicyRun, sought: Any, among: Any) -> bool:
    """Returns whether a list has the element, or a map the key. Nothing is in nil, and nil is no key."""
    if type(among) is list:
        return _in_list(run, sought, among)
    if type(among) is range:
        return (type(sought) is int or (type(sought) is float and sought.is_integer())) and int(sought) in among
    if type(among) is dict and type(sought) is str:
        run.charge_text(len(sought))
        return sought in among
    if among is None or (type(among) is dict and sought is None):
        return False
    raise Fault('"in" needs a list, or a string and a map')


def _in_list(run: PolicyRun, sought: Any, among: list[Any]) -> bool:
    if type(sought) is str and len(sought) <= _SHORT_TEXT:
        run.charge(len(among) // 8)  # Python's own search suffices: a text is equal to no other kind of value
        return sought in among
    for element in among:
        run.charge(4)
        if equal(run, sought, element):
            return True
    return False


def _pair_members(run: PolicyRun, left: dict[str, Any], right: dict[str, Any], pairs: list[tuple[Any, Any]]) -> bool:
    for key, value in left.items():
        run.charge(1 + len(key) // _SHORT_TEXT)
        if key not in right:
            return False
        pairs.append((value, right[key]))
    return True


def _scalars_equal(run: PolicyRun, left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return type(left) in NUMBER and type(right) in NUMBER and bool(left == right)
    if type(left) is str and len(left) == len(right):
        run.charge_text(len(left))
    return bool(left == right)
