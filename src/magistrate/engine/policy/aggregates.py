"""Implements the functions on lists, maps and numbers. Each charges for what it reads and for what it
makes."""

from collections.abc import Callable
from typing import Any

from magistrate.engine.policy import texts
from magistrate.engine.policy.access import element_of
from magistrate.engine.policy.equality import equal_values, hashable, plain_number
from magistrate.engine.policy.operators import OPERATORS
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import (
    LISTS,
    MAPS,
    TEXT_MAPS,
    AnyMap,
    Byte,
    GroupMap,
    Int64,
    MadeList,
    MadeMap,
    Pairs,
    divide,
    finite,
    json_value,
    values_in,
    values_of,
    whole,
)

_ADDABLE = frozenset({int, float, Int64})
_SORTABLE = frozenset({int, float, str, Int64})


def length(run: PolicyRun, value: Any) -> int:
    return texts.length(run, value) if type(value) is str else len(value)


def _numbers_in(run: PolicyRun, elements: Any) -> Any:
    run.charge(len(elements))
    for element in elements:
        if type(element) not in _ADDABLE:
            raise Fault("the list must have numbers only")
    return values_of(elements)


def total(run: PolicyRun, elements: Any) -> Any:
    result = sum(_numbers_in(run, elements))
    return whole(int(result)) if type(result) is not float else finite(result)


def mean(run: PolicyRun, elements: Any) -> float:
    """Returns the mean; that of an empty list is 0."""
    return finite(float(sum(map(float, _numbers_in(run, elements)))) / (len(elements) or 1))


def median(run: PolicyRun, elements: Any) -> float:
    """Returns the median; that of an empty list is 0."""
    ordered = sorted(map(float, _numbers_in(run, elements)))
    run.charge(2 * len(ordered))
    if not ordered:
        return 0.0
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else finite((ordered[middle - 1] + ordered[middle]) / 2)


def _extreme(sign: str) -> Callable[..., Any]:
    is_passed = OPERATORS[sign].apply

    def apply(run: PolicyRun, *values: Any) -> Any:
        extreme = None
        for value in values:
            if extreme is None or is_passed(run, extreme, value):
                extreme = value
        return extreme

    return apply


least, greatest = _extreme(">"), _extreme("<")


def absolute(run: PolicyRun, value: Any) -> Any:
    if type(value) is Byte:
        return value
    return abs(value) if type(value) is float else whole(abs(int(value)))


def find_element(run: PolicyRun, value: Any, index: Any) -> Any:
    """Returns what [] would give, but nil where that is an error."""
    try:
        return element_of(run, value, index)
    except Fault:
        run.charge(0)  # to be without steps is an error everywhere
        return None


def take(run: PolicyRun, elements: Any, count: Any) -> Any:
    """Returns the first elements, all if there are fewer."""
    if type(count) not in (int, Int64) or count < 0:
        raise Fault("only a number of elements can be taken")
    if count > len(elements):
        return elements
    run.charge(0 if type(elements) is range else count // 8)
    taken = elements[:count]
    return taken if type(elements) is range else type(elements)(taken)


def keys(run: PolicyRun, members: Any) -> MadeList:
    run.charge(len(members))
    return MadeList([key for _, key in members] if isinstance(members, GroupMap) else members)


def values(run: PolicyRun, members: Any) -> MadeList:
    run.charge(len(members))
    return MadeList(values_in(members))


def to_pairs(run: PolicyRun, members: Any) -> Pairs:
    run.charge(3 * len(members))
    return Pairs([MadeList(pair) for pair in zip(keys(run, members), values_in(members), strict=True)])


def from_pairs(run: PolicyRun, pairs: Any) -> AnyMap:
    run.charge(3 * len(pairs))
    members = AnyMap()
    for pair in pairs:
        if type(pair) not in LISTS or len(pair) != 2:
            raise Fault("a pair is a list of two elements")
        key, value = values_of(pair)
        members[type(key), hashable(key)] = value
    return members


def sort(run: PolicyRun, elements: Any, direction: str = "asc") -> MadeList:
    return _order_by(run, elements, "", direction)


def sort_by(run: PolicyRun, elements: Any, field: str, direction: str = "asc") -> MadeList:
    """Sorts maps by one of their members; other elements by themselves."""
    return _order_by(run, elements, field, direction)


def _order_by(run: PolicyRun, elements: Any, field: str, direction: str) -> MadeList:
    if direction not in ("asc", "desc"):
        raise Fault('the direction is "asc" or "desc"')
    run.charge(len(elements) * (2 + len(elements).bit_length() // 2))
    copied = MadeList(values_of(elements))
    sorted_by = [_sort_key(element, field) for element in copied]
    if len(sorted_by) < 2:
        return copied
    kinds = set(map(type, sorted_by))
    if len(kinds) > 1 or not kinds <= _SORTABLE:
        raise Fault("only numbers of one kind, or strings, can be sorted")
    if kinds == {str}:
        run.charge_text(sum(map(len, sorted_by)) * len(elements).bit_length())
    order = sorted(range(len(elements)), key=sorted_by.__getitem__, reverse=direction == "desc")
    return MadeList([copied[index] for index in order])


def _sort_key(element: Any, field: str) -> Any:
    if type(element) is not dict and type(element) is not MadeMap:
        return element
    if field not in element:
        raise Fault("the map has no such member to sort by")
    return json_value(element[field]) if type(element) is dict else element[field]


def has_member(run: PolicyRun, value: Any, key: str) -> bool:
    """Returns whether a map has the member. Other values have none, except lists, for which Fault is raised."""
    run.charge_text(len(key))
    if type(value) in LISTS or (type(value) in MAPS and type(value) not in TEXT_MAPS):
        raise Fault("only a map of strings has members")
    return type(value) in TEXT_MAPS and key in value


def list_elements(run: PolicyRun, value: Any) -> Any:
    """Returns the elements of a list, or the keys of a map."""
    if type(value) in LISTS:
        return value
    run.charge(len(value))
    return MadeList(value)


def include_value(run: PolicyRun, among: Any, sought: Any) -> bool:
    """Returns whether a list has an element equal to the value, or a map has the key."""
    if type(among) in TEXT_MAPS:
        return type(sought) is str and has_member(run, among, sought)
    for element in values_of(among):
        run.charge(4)
        if equal_values(run, element, sought):
            return True
    return False


def is_subtree(run: PolicyRun, inner: Any, outer: Any) -> bool:
    """Returns whether every member of the first map is in the second one, those of maps within it included."""
    pairs = [(inner, outer)]
    while pairs:
        tree, other = pairs.pop()
        for key, value in tree.items():
            run.charge(2 + len(key) // 16)
            if key not in other:
                return False
            other_value = other[key]
            if type(value) in TEXT_MAPS and type(other_value) in TEXT_MAPS:
                pairs.append((value, other_value))
            elif not equal_values(run, json_value(value), json_value(other_value)):
                return False
    return True


def concatenate(run: PolicyRun, *lists: Any) -> MadeList:
    run.charge(sum(map(len, lists)) // 4)
    return MadeList([element for elements in lists for element in values_of(elements)])


def divide_integers(run: PolicyRun, dividend: Any, divisor: Any) -> int:
    left, right = plain_number(dividend), plain_number(divisor)
    if type(left) is not int or type(right) is not int:
        raise Fault("only integers have an integer quotient")
    return whole(divide(left, right))
