"""Reads the words and signs of expressions of CEL."""

import re
from typing import NamedTuple

from magistrate.engine.importers.cel.pieces import CelRefusal
from magistrate.engine.text.expressions import find_end

MAX_TOKENS = 2_000
"""Limits the words and signs of an expression: a policy has at most 4 KiB."""

_LONG = r"(?:\"\"\"(?:\\[\s\S]|[^\\])*?\"\"\"|'''(?:\\[\s\S]|[^\\])*?''')"
_LONG_RAW = r"[rR](?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?''')"
_SHORT = r"(?:\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
_SHORT_RAW = r"[rR](?:\"[^\"\n]*\"|'[^'\n]*')"
_STRING = f"{_LONG_RAW}|{_LONG}|{_SHORT_RAW}|{_SHORT}"
_UNTERMINATED = rf"(?!{_LONG_RAW}|{_LONG})[rR]?(?:\"\"\"|''')[\s\S]*"
"""Takes all that follows, so that the end of a string that has none is searched once."""

_TOKEN = re.compile(
    rf"(?P<unterminated>{_UNTERMINATED})|(?P<string>{_STRING})"
    r"|(?P<blank>\s+|//[^\n]*)"
    r"|(?P<double>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+))(?![A-Za-z_0-9])"
    r"|(?P<integer>(?:0x[0-9a-fA-F]+|\d+)[uU]?)(?![A-Za-z_0-9])"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?![\"'])"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])"
)
_STEP = re.compile(
    rf"{_UNTERMINATED}|{_STRING}|\"(?:\\.|[^\"\\\n])*|'(?:\\.|[^'\\\n])*|//[^\n]*|[A-Za-z_][A-Za-z0-9_]*|[{{}}]"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|[\s\S])")
_ESCAPED = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{character: character for character in "\\?\"'`"},
}


class CelToken(NamedTuple):
    """Holds a word or a sign of an expression."""

    kind: str
    text: str
    offset: int


def read_cel_tokens(expression: str) -> list[CelToken]:
    """Returns the words and signs of an expression, and behind them one of the kind `end`. Raises CelRefusal."""
    tokens: list[CelToken] = []
    offset = 0
    while offset < len(expression):
        match = _TOKEN.match(expression, offset)
        if match is None or match.lastgroup == "unterminated":
            raise CelRefusal(f"'{expression[offset : offset + 20]}' cannot be expressed", offset)
        if match.lastgroup != "blank":
            tokens.append(CelToken(match.lastgroup or "", match[0], offset))
        if len(tokens) > MAX_TOKENS:
            raise CelRefusal(f"is longer than {MAX_TOKENS} words and signs", offset)
        offset = match.end()
    return [*tokens, CelToken("end", "", len(expression))]


def read_cel_string(token: CelToken) -> str:
    """Returns the text of a string. Raises CelRefusal for an escape that CEL does not have."""
    written = token.text
    is_raw = written[0] in "rR"
    written = written[is_raw:]
    quotes = 3 if written[:3] in ('"""', "'''") and len(written) >= 6 else 1
    text = written[quotes:-quotes]
    if is_raw or "\\" not in text:
        return text

    def resolve(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 1 and escape in _ESCAPED:
            return _ESCAPED[escape]
        code = -1 if len(escape) == 1 else int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise CelRefusal("a string with this escape cannot be expressed", token.offset)
        return chr(code)

    return _ESCAPE.sub(resolve, text)


def find_cel_end(text: str, start: int) -> int | None:
    """Returns the offset of the bracket that ends the expression that begins at an offset, or None."""
    return find_end(text, start, _STEP)
