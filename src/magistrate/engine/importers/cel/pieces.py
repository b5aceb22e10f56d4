"""Represents what a part of an expression of CEL becomes in the language of policies."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from magistrate.engine.policy.value_types import INNERMOST, find_value_type

OPEN, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, OPERAND = range(8)
"""Name how tightly a part binds, in both languages: the higher, the tighter."""


class CelRefusal(Exception):
    """Reports what cannot be expressed, at an offset of the expression."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Piece(NamedTuple):
    """Holds the text of a part, its type in CEL, and where it began. `can_fail` says whether evaluating it may be an
    error. `path` is what `at(…)` reads a member of, and `keys` where, if the part is that; `literal` is the value of a
    string or a number that is written out."""

    text: str
    type: str
    offset: int
    level: int = OPERAND
    can_fail: bool = False
    path: "Piece | None" = None
    keys: tuple[str, ...] = ()
    is_selected: bool = False
    literal: Any = None

    def within(self, level: int) -> str:
        """Returns the text as an operand of something that binds this tightly, in brackets if needed."""
        return self.text if self.level >= level else f"({self.text})"


def call(name: str, of_type: str, *arguments: "Piece | str", can_fail: bool | None = None, offset: int = 0) -> Piece:
    """Returns the call of a function of the policy language; by default, it can fail if an argument can."""
    pieces = [argument for argument in arguments if isinstance(argument, Piece)]
    texts = [argument.text if isinstance(argument, Piece) else argument for argument in arguments]
    fails = any(piece.can_fail for piece in pieces)
    offset = pieces[0].offset if pieces else offset
    return Piece(f"{name}({', '.join(texts)})", of_type, offset, can_fail=fails or bool(can_fail))


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
    value_type = find_value_type(text)
    if value_type is None or value_type.is_optional:
        return None
    return "<".join(value_type.chain) + ">" * (len(value_type.chain) - 1)


def may_equal(left: str, right: str) -> bool:
    """Returns whether values of these types can be compared with `==`."""
    if NULL in (left, right) or (left in NUMBERS and right in NUMBERS):
        return True
    for word, other_word in zip(_list_words(left), _list_words(right), strict=False):
        if ANY in (word, other_word):
            return True
        if word != other_word:
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
