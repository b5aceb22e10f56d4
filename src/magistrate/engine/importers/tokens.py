"""Reads the words and signs of a text, with their places."""

import re
from bisect import bisect_right

from magistrate.engine.importers.names import ForeignName, ForeignRefusal, show_name

_LINE_END = re.compile("\n")


class ForeignTokens:
    """Reads a text from the beginning to the end. `token` is the next word or sign, empty at the end, and `kind` is its
    kind; `starts_line` tells whether only blanks are before it in its line.

    The pattern has a group for each kind; it matches at every place. Blanks and comments are skipped; `remark` is the
    text of the last one of the kind `remark` directly before the token, or empty."""

    def __init__(self, text: str, file: str, pattern: re.Pattern[str], line: int = 1, column: int = 1) -> None:
        """`line` and `column` are where the text begins in the file; each of its lines begins in the same column."""
        self.text = text
        self.file = file
        self._first_line = line
        self.margin = column - 1
        self._pattern = pattern
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._end = 0
        self.offset = 0
        self.token = self.kind = self.remark = ""
        self.starts_line = True
        self.skip_to(0)

    def skip_to(self, offset: int) -> None:
        """Goes to the first token behind an offset."""
        self._end = offset
        self.remark = ""
        self.advance(is_jump=True)

    def advance(self, is_jump: bool = False) -> None:
        """Goes to the next token."""
        if not is_jump:
            self.remark = ""
        self.starts_line = self._end == 0
        while found := self._pattern.match(self.text, self._end):
            self._end = found.end()
            kind = found.lastgroup or ""
            if kind == "remark":
                self.remark = found[0]
            elif kind == "blank":
                self.starts_line = self.starts_line or "\n" in found[0]
            elif kind != "comment":
                self.token, self.kind, self.offset = found[0], kind, found.start()
                return
        self.token = self.kind = ""
        self.offset = len(self.text)
        self.starts_line = True

    @property
    def at(self) -> ForeignName:
        """Returns the place of the token."""
        return self.locate(self.offset, self.token)

    def locate(self, offset: int, name: str = "") -> ForeignName:
        """Returns the place of an offset."""
        line = bisect_right(self._starts, offset)
        column = offset - self._starts[line - 1] + 1 + self.margin
        return ForeignName(name, self.file, line + self._first_line - 1, column)

    def accept(self, token: str) -> bool:
        """Goes past a token, if it is the next one; returns whether it was."""
        is_next = self.token == token
        if is_next:
            self.advance()
        return is_next

    def demand(self, token: str, context: str) -> None:
        """Goes past a token. Raises ForeignRefusal if another one is next."""
        if not self.accept(token):
            raise self.refuse("unexpected_token", f"expected {token} {context}, found {self.show_next()}")

    def take_name(self, described: str) -> ForeignName:
        """Returns the next word, and goes past it. Raises ForeignRefusal if no word is next."""
        if self.kind != "word":
            raise self.refuse("missing_name", f"expected {described}, found {self.show_next()}")
        name = self.at
        self.advance()
        return name

    def show_next(self) -> str:
        """Returns the next token as messages show it."""
        return f"'{show_name(self.token)}'" if self.token else "the end of the file"

    def refuse(self, code: str, message: str) -> ForeignRefusal:
        """Returns the refusal at the next token."""
        return ForeignRefusal(self.at, code, message)


def read_parameter_type(tokens: ForeignTokens) -> str:
    """Reads the type of a parameter: `string`, `list<string>`, `list<map<any>>`."""
    containers: list[str] = []
    of_type = tokens.take_name("the type of the parameter").text
    while tokens.accept("<"):
        containers.append(of_type)
        of_type = tokens.take_name("the type of the elements").text
    for _ in containers:
        tokens.demand(">", "behind the type of the elements")
    return "<".join([*containers, of_type]) + ">" * len(containers)
