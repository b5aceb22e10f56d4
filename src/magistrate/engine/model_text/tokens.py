"""Reads the words and signs of one line."""

import re

from magistrate.engine.model_text.document import NameAt
from magistrate.engine.model_text.faults import StatementRefusal

TOKEN = re.compile(r"[A-Za-z0-9_-]++|//[^\n]*+|[^ \t\r\n]")
"""Matches a word, a comment, or any other character."""

_WORD = re.compile(r"[A-Za-z0-9_-]+")


class LineReader:
    """Reads a line of a text from left to right. `token` is the next word or sign, empty at the end of the line, and
    `column` is where it begins, from 1."""

    __slots__ = ("_end", "_line_end", "_start", "_text", "_tokens", "column", "line", "token")

    def __init__(self, text: str, line: int, start: int, offset: int, line_end: int) -> None:
        """`start` is the offset of the line, `offset` that of its first word."""
        self.line = line
        self._text = text
        self._start = start
        self._line_end = line_end
        self._tokens = TOKEN.finditer(text, offset, line_end)
        self._end = offset
        self.advance()

    def advance(self) -> None:
        """Goes to the next token. A comment is where the line ends."""
        found = next(self._tokens, None)
        if found is None:
            self._end_here()
            return
        self.token = found[0]
        if self.token.startswith("//"):
            self._end_here()
            return
        self.column = found.start() - self._start + 1
        self._end = found.end()

    def _end_here(self) -> None:
        self.token = ""
        self.column = self._end - self._start + 1

    def take(self, token: str) -> bool:
        """Goes past a token, if it is the next one; returns whether it was."""
        is_next = self.token == token
        if is_next:
            self.advance()
        return is_next

    def demand(self, token: str, context: str) -> None:
        """Goes past a token. Raises StatementRefusal if another one is next."""
        if not self.take(token):
            raise self.refuse("unexpected_token", f"expected {token} {context}, found {self.next_token}")

    def take_name(self, kind: str) -> NameAt:
        """Returns the next word. Raises StatementRefusal if no word is next; `kind` says what it would be."""
        if not _WORD.match(self.token):
            raise self.refuse("missing_name", f"expected {kind}, found {self.next_token}")
        name = NameAt(self.token, self.line, self.column)
        self.advance()
        return name

    def demand_end(self) -> None:
        """Raises StatementRefusal unless the line ends here."""
        if self.token:
            raise self.refuse("unexpected_token", f"expected the end of the line, found {self.next_token}")

    @property
    def remaining(self) -> str:
        """Returns the line from the next token on."""
        return self._text[self._start + self.column - 1 : self._line_end]

    def find_last(self, sign: str) -> int:
        """Returns the column of the last such character of the line, or 0."""
        return max(0, self._text.rfind(sign, self._start, self._line_end) - self._start + 1)

    @property
    def next_token(self) -> str:
        """Returns the next token as messages show it."""
        if not self.token:
            return "the end of the line"
        if self.token.isprintable():
            return f"'{self.token[:64]}'"
        return f"the character U+{ord(self.token[0]):04X}"

    def refuse(self, code: str, message: str, suggestion: str = "") -> StatementRefusal:
        """Returns the error at the next token."""
        return StatementRefusal(code, message, self.column, suggestion)
