"""Where in a text something is wrong, as messages about policies and queries show it."""

from typing import NamedTuple


class Position(NamedTuple):
    """Line and column, both from 1, and the text of the line."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"

    def mark_in(self, shown: str) -> str:
        """The line as it is `shown`, character for character, and below it a sign under the place."""
        return f"\n | {shown}\n | {'.' * (self.column - 1)}^"


def position(text: str, offset: int) -> Position:
    """`offset` in characters, from 0."""
    start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - start + 1, text[start:].partition("\n")[0])
