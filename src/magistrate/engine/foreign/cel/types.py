"""Names the types of CEL as they are written: `list<map<int>>`.

The keys of maps are strings. A type is one text, whatever is nested in it, so that nothing here recurses.
"""

from collections.abc import Iterable

from magistrate.engine.policy.value_types import INNERMOST, find_value_type

ANY = "any"
NULL = "null"
NUMBERS = ("int", "uint", "double")
SCALARS = frozenset(INNERMOST) - {ANY}


def is_list(of_type: str) -> bool:
    return of_type.startswith("list<")


def is_map(of_type: str) -> bool:
    return of_type.startswith("map<")


def element_of(of_type: str) -> str:
    """Returns the type of the elements of a list or the values of a map; of anything else it is any."""
    return of_type[of_type.index("<") + 1 : -1] if "<" in of_type else ANY


def normalize_type(text: str) -> str | None:
    """Returns the type of a parameter, with that of the elements of all lists and maps, or None if it is unknown."""
    found = find_value_type(text)
    if found is None or found.is_optional:
        return None
    return "<".join(found.chain) + ">" * (len(found.chain) - 1)


def may_equal(left: str, right: str) -> bool:
    """Returns whether values of these types can be compared with `==`."""
    if NULL in (left, right) or (left in NUMBERS and right in NUMBERS):
        return True
    for one, other in zip(_list_words(left), _list_words(right), strict=False):
        if ANY in (one, other):
            return True
        if one != other:
            return False
    return True


def join_types(types: Iterable[str]) -> str:
    """Returns the type that values of all these types have."""
    distinct = set(types)
    return distinct.pop() if len(distinct) == 1 else ANY


def describe_type(of_type: str) -> str:
    """Returns the type with its article, as messages show it."""
    article = "an" if of_type[0] in "aeiou" and of_type != "uint" else "a"
    return "a value of type any" if of_type == ANY else "null" if of_type == NULL else f"{article} {of_type}"


def _list_words(of_type: str) -> list[str]:
    return of_type.rstrip(">").split("<")
