"""Represents what a part of an expression of CEL becomes in the language of policies."""

from typing import Any, NamedTuple

OPEN, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, OPERAND = range(8)
"""Name how tightly a part binds, in both languages: the higher, the tighter."""


class CelRefusal(Exception):
    """Reports what cannot be expressed, at an offset of the expression."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Piece(NamedTuple):
    """Holds the text of a part, its type in CEL, and where it began. `can_fail` tells whether evaluating it may be an
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
    """Returns the call of a function of the policy language; unless told otherwise, it can fail if an argument can."""
    pieces = [argument for argument in arguments if isinstance(argument, Piece)]
    texts = [argument.text if isinstance(argument, Piece) else argument for argument in arguments]
    fails = any(piece.can_fail for piece in pieces)
    offset = pieces[0].offset if pieces else offset
    return Piece(f"{name}({', '.join(texts)})", of_type, offset, can_fail=fails or bool(can_fail))
