"""Finds where the members of a model in JSON were written, for messages."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"|[\[\]{}:]')
_LINE_END = re.compile("\n")

MAX_DEPTH = 4
"""Limits the depth to which members are found: `objectTypes`, an element, `relations` and a relation."""


class LineStarts:
    """Knows where the lines of a text begin."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def find_place(self, offset: int) -> tuple[int, int]:
        """Returns the line and the column, both from 1, of an offset in characters from 0."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class JsonPositions:
    """Knows the line and the column of each type, policy and relation of a model in valid JSON. `repeated` has the
    offset of each member that is written again, by its path."""

    def __init__(self, text: str) -> None:
        self._lines = LineStarts(text)
        self._offsets: dict[str, int] = {}
        self.repeated: dict[str, int] = {}
        for path, offset in _find_members(text):
            if path in self._offsets:
                self.repeated[path] = offset
            self._offsets[path] = offset
        # An array of object types is a model without policies.
        self._root = "objectTypes" if text.lstrip().startswith("[") else ""

    def locate(self, path: str) -> tuple[int, int]:
        """Returns the position of what a path names, or of what is around it: both from 1."""
        path = path.removeprefix(self._root)
        while path and path not in self._offsets:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.locate_offset(self._offsets.get(path, 0))

    def locate_offset(self, offset: int) -> tuple[int, int]:
        """Returns the position of an offset, which is in characters from 0."""
        return self._lines.find_place(offset)


def _find_members(text: str) -> Iterator[tuple[str, int]]:
    """Yields the path and the offset of each member and element down to MAX_DEPTH."""
    paths: list[str] = []
    places: list[int] = []  # of the next element of an array; -1 in an object
    key, key_offset, depth = "", 0, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token[0] == '"':
            key, key_offset = token[1:-1], match.start()
        elif token == ":" and depth <= MAX_DEPTH:
            yield _join(paths[-1], key), key_offset
        elif token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                continue
            path = ""
            if depth > 1 and places[-1] >= 0:
                path = f"{paths[-1]}[{places[-1]}]"
                places[-1] += 1
                yield path, match.start()
            elif depth > 1:
                path = _join(paths[-1], key)
            paths.append(path)
            places.append(0 if token == "[" else -1)
        elif token in "]}":
            if depth <= MAX_DEPTH:
                paths.pop()
                places.pop()
            depth -= 1


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


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
