"""Translates expressions of CEL, the language of conditions and caveats, to the language of policies.

What is translated means the same, or is unknown where CEL reports an error. Everything else is refused with its offset:
members of maps, whose absence is an error there and nil here; integer division; functions that only CEL has.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

MAX_TOKENS = 2_000
"""Limits the words and signs of an expression: a policy has at most 4 KiB."""

_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*)"
    r"|(?P<number>(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?)(?![A-Za-z_0-9])"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?![\"'])"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*<>!?:.,()\[\]])"
)
_METHODS = {"startsWith": "startsWith", "endsWith": "endsWith", "contains": "contains", "matches": "matches"}
_FUNCTIONS = {"timestamp": "date", "duration": "duration"}
_SAME = frozenset({"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "!", "?", ":", "in"})
_COMPARISONS = frozenset({"==", "!=", "<=", ">=", "<", ">", "in"})
_ARITHMETIC = frozenset({"+", "-", "*", "!"})
_LITERALS = frozenset({"true", "false"})
_STRING = re.compile(r"\\(?![\\\"'abfnrtv])")


class CelRefusal(Exception):
    """Reports what cannot be expressed, at an offset of the expression."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class CelToken(NamedTuple):
    """Holds a word or a sign of an expression."""

    kind: str
    text: str
    offset: int


_END = CelToken("end", "", 0)


class _OpenBracket(NamedTuple):
    """Holds what closes a bracket, where its operand began in what is written, what to append behind it, and whether
    there was a comparison before it."""

    end: str
    begin: int
    closing: str
    was_comparing: bool


def read_cel_tokens(expression: str) -> list[CelToken]:
    """Returns the words and signs of an expression. Raises CelRefusal."""
    tokens: list[CelToken] = []
    offset = 0
    while offset < len(expression):
        found = _TOKEN.match(expression, offset)
        if found is None:
            raise CelRefusal(f"'{expression[offset : offset + 20]}' cannot be expressed", offset)
        if found.lastgroup != "blank":
            tokens.append(CelToken(found.lastgroup or "", found[0], offset))
        if len(tokens) > MAX_TOKENS:
            raise CelRefusal(f"is longer than {MAX_TOKENS} words and signs", offset)
        offset = found.end()
    return tokens


class CelTranslator:
    """Translates one expression, from left to right and without recursion: a policy has the same operators with the
    same precedence, so that only calls of methods move. `references` render the parameters, `types` are theirs."""

    def __init__(self, types: Mapping[str, str], references: Callable[[str], str]) -> None:
        self._types = types
        self._references = references
        self._tokens: list[CelToken] = []
        self._place = 0
        self._written: list[str] = []
        self._brackets: list[_OpenBracket] = []
        self._is_comparing = False
        self._operand = -1
        """Holds where the operand that ended just now began in `_written`; -1 behind an operator."""

    def translate(self, expression: str) -> str:
        """Returns the expression as that of a policy. Raises CelRefusal."""
        self._tokens = read_cel_tokens(expression)
        while self._place < len(self._tokens):
            self._read(self._tokens[self._place])
        if self._brackets or not self._written:
            raise CelRefusal("ends too early", len(expression))
        return "".join(self._written).strip()

    def _peek(self, ahead: int = 1) -> CelToken:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def _read(self, token: CelToken) -> None:
        if token.kind in ("number", "string"):
            self._add_operand(self._read_literal(token))
        elif token.kind == "word" and token.text != "in":
            self._read_word(token)
        elif token.text == ".":
            self._read_method(token)
        elif token.text in ("(", "["):
            self._open(token)
        elif token.text in (")", "]"):
            self._close(token)
        elif token.text == ",":
            self._is_comparing = False
            self._add_operator(", ")
        elif token.text in _SAME:
            self._add_sign(token)
        else:
            raise CelRefusal(f"'{token.text}' cannot be expressed", token.offset)

    def _read_literal(self, token: CelToken) -> str:
        if token.kind == "string" and _STRING.search(token.text.replace("\\\\", "")):
            raise CelRefusal("a string with this escape cannot be expressed", token.offset)
        return token.text

    def _add_operand(self, text: str) -> None:
        self._operand = len(self._written)
        self._written.append(text)
        self._place += 1

    def _add_operator(self, text: str) -> None:
        self._operand = -1
        self._written.append(text)
        self._place += 1

    def _add_sign(self, token: CelToken) -> None:
        if token.text in _COMPARISONS and self._is_comparing:
            raise CelRefusal("a second comparison without brackets cannot be expressed", token.offset)
        self._is_comparing = token.text in _COMPARISONS or (self._is_comparing and token.text in _ARITHMETIC)
        is_prefix = token.text == "!" or (token.text == "-" and self._operand < 0)
        self._add_operator(token.text if is_prefix else f" {token.text} ")

    def _read_word(self, token: CelToken) -> None:
        following = self._peek()
        if token.text in _FUNCTIONS and following.text == "(":
            self._place += 1
            self._open(self._tokens[self._place], _FUNCTIONS[token.text])
        elif token.text == "size" and following.text == "(":
            self._read_size()
        elif token.text in _LITERALS:
            self._add_operand(token.text)
        elif token.text in self._types and following.text != "(":
            self._add_operand(self._references(token.text))
        else:
            raise CelRefusal(f"'{token.text}' cannot be expressed", token.offset)

    def _read_size(self) -> None:
        name, end = self._peek(2), self._peek(3)
        if end.text != ")" or not self._types.get(name.text, "").startswith("list"):
            raise CelRefusal("size of anything but a list parameter cannot be expressed", self._peek(0).offset)
        self._add_operand(f"len({self._references(name.text)})")
        self._place += 3

    def _read_method(self, token: CelToken) -> None:
        """Reads `.startsWith(` and the like behind an operand, which becomes the left operand of an operator."""
        method, bracket = self._peek(), self._peek(2)
        if self._operand < 0 or method.text not in _METHODS or bracket.text != "(":
            raise CelRefusal(f"'.{method.text}' cannot be expressed", token.offset)
        start = self._operand
        self._written.insert(start, "(")
        self._written.append(f" {_METHODS[method.text]} ")
        self._place += 2
        self._open(self._tokens[self._place], start=start, closing=")")

    def _open(self, token: CelToken, function: str = "", start: int = -1, closing: str = "") -> None:
        if token.text == "[" and self._operand >= 0:
            raise CelRefusal("an element of a list or map cannot be expressed", token.offset)
        begin = len(self._written) if start < 0 else start
        end = ")" if token.text == "(" else "]"
        self._brackets.append(_OpenBracket(end, begin, closing, self._is_comparing))
        self._is_comparing = False
        self._add_operator(function + token.text)

    def _close(self, token: CelToken) -> None:
        if not self._brackets or self._brackets[-1].end != token.text:
            raise CelRefusal(f"'{token.text}' closes nothing", token.offset)
        bracket = self._brackets.pop()
        self._add_operator(token.text + bracket.closing)
        self._operand = bracket.begin
        self._is_comparing = bracket.was_comparing
