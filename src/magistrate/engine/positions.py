"""Locates faults in a text for messages about policies and queries."""

from typing import NamedTuple


class Position(NamedTuple):
    """Holds the line and column, both from 1, and the text of the line."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"

    def mark_in(self, shown: str) -> str:
        """Returns the line in the form `shown`, character for character, and a mark below the position."""
        return f"\n | {shown}\n | {'.' * (self.column - 1)}^"


def position(text: str, offset: int) -> Position:
    """Returns the position of an offset, which is in characters from 0."""
    start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - start + 1, text[start:].partition("\n")[0])
