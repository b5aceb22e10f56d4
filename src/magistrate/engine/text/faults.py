"""Defines what is wrong with a model, and how it is shown: the position, the line and a mark below it."""

from typing import NamedTuple

from magistrate.engine.text.positions import Position

MAX_FAULTS = 100
"""Limits the faults that are reported at once."""
MAX_CHARACTERS_SHOWN = 120
"""Limits the characters of a line that a message shows."""


class ModelFault(NamedTuple):
    """Represents an error, or a warning if `is_error` is false. `line` and `column` count from 1, and are 0 if the
    model was not written as text. `suggestion` is what to write instead, or empty."""

    code: str
    message: str
    line: int = 0
    column: int = 0
    suggestion: str = ""
    is_error: bool = True

    def describe(self) -> str:
        """Returns the message with the suggestion."""
        return f"{self.message}; did you mean {self.suggestion}?" if self.suggestion else self.message

    def render(self) -> dict[str, str | int]:
        """Returns the fault as JSON; members that say nothing are left out."""
        place: dict[str, str | int] = {"line": self.line, "column": self.column} if self.line else {}
        hint = {"suggestion": self.suggestion} if self.suggestion else {}
        return {**place, "code": self.code, "message": self.message, **hint}


class StatementRefusal(Exception):
    """Reports what is wrong with the statement that is being read, at a column of its line."""

    def __init__(self, code: str, message: str, column: int, suggestion: str = "") -> None:
        super().__init__(message)
        self.fault = ModelFault(code, message, column=column, suggestion=suggestion)


def show_line(text: str, line: int, column: int) -> str:
    """Returns a line of the text, or what surrounds the column if it is long, and a mark below the column."""
    if not line:
        return ""
    shown = _find_line(text, line).rstrip("\r")
    start = max(0, column - 1 - MAX_CHARACTERS_SHOWN // 2) if len(shown) > MAX_CHARACTERS_SHOWN else 0
    before, after = "…" if start else "", "…" if len(shown) > start + MAX_CHARACTERS_SHOWN else ""
    excerpt = f"{before}{shown[start : start + MAX_CHARACTERS_SHOWN]}{after}"
    printable = "".join(sign if sign.isprintable() else " " for sign in excerpt)
    return Position(line, column - start + len(before), printable).mark_in(printable)


def _find_line(text: str, line: int) -> str:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def describe_fault(text: str, fault: ModelFault, name: str = "") -> str:
    """Returns `model.txt:3:5: error unknown_keyword: …` with the line and a mark."""
    name = f"{name}:" if name else ""
    place = f"{fault.line}:{fault.column}:" if fault.line else ""
    separator = " " if name or place else ""
    kind = "error" if fault.is_error else "warning"
    shown = show_line(text, fault.line, fault.column)
    return f"{name}{place}{separator}{kind} {fault.code}: {fault.describe()}{shown}"
