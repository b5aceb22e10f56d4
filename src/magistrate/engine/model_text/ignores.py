"""Reads the comments that silence lint: `// lint: ignore CODE`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from magistrate.engine.model_text.document import NameAt
from magistrate.engine.model_text.lines import TextLine

_IGNORE = re.compile(r"//+[ \t]*lint:[ \t]*ignore[ \t]+([A-Za-z0-9_, \t-]+)")
_CODE = re.compile(r"[A-Za-z0-9_-]+")


class IgnoredCode(NamedTuple):
    """Represents a code that is silenced from the line `first` to the line `last`."""

    code: NameAt
    first: int
    last: int


def read_ignores(text: str, lines: Sequence[TextLine]) -> Iterator[IgnoredCode]:
    """Yields the codes that comments silence, in written order.

    A comment behind a statement is about that line. One on a line of its own is about the next statement and all that
    is nested below it; before the version, about the whole text."""
    last_lines = _find_last_lines(lines)
    waiting: list[NameAt] = []
    for line in lines:
        if line.kind in ("comment", "description"):
            waiting += _read_codes(text, line)
        elif line.kind in ("statement", "policy"):
            first, last = line.number, last_lines[line.number]
            if text.startswith("version", line.start):
                first, last = 0, lines[-1].last
            yield from (IgnoredCode(code, first, last) for code in waiting)
            waiting = []
            if line.kind == "statement":
                yield from (IgnoredCode(code, line.number, line.number) for code in _read_codes(text, line))


def _read_codes(text: str, line: TextLine) -> Iterator[NameAt]:
    comment = text.find("//", line.start, line.end)
    found = _IGNORE.match(text, comment, line.end) if comment >= 0 else None
    if found is not None:
        for code in _CODE.finditer(text, found.start(1), found.end(1)):
            yield NameAt(code[0], line.number, code.start() - line.offset + 1)


def _find_last_lines(lines: Sequence[TextLine]) -> Mapping[int, int]:
    """Returns the last line that is nested below each statement, by the number of its line."""
    found: dict[int, int] = {}
    open_statements: list[TextLine] = []
    last = 0
    for line in lines:
        if line.kind in ("statement", "policy"):
            while open_statements and open_statements[-1].level >= line.level:
                found[open_statements.pop().number] = last
            open_statements.append(line)
            last = line.last
    found.update((line.number, last) for line in open_statements)
    return found


class IgnoredLines:
    """Tells which codes are silenced on which lines, in constant time however many comments there are."""

    def __init__(self, ignored: Sequence[IgnoredCode], codes: Sequence[str], last: int) -> None:
        """`codes` are all that exist, `last` is the number of the last line."""
        changes = {code: [0] * (last + 2) for code in codes if any(one.code.text == code for one in ignored)}
        for one in ignored:
            if one.code.text in changes:
                changes[one.code.text][one.first] += 1
                changes[one.code.text][one.last + 1] -= 1
        self._counts = {code: [*accumulate(steps)] for code, steps in changes.items()}

    def covers(self, code: str, line: int) -> bool:
        """Returns whether a code is silenced on a line."""
        return code in self._counts and self._counts[code][line] > 0
