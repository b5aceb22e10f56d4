"""Reads the words and signs of expressions of CEL."""

import re
from typing import NamedTuple

from magistrate.engine.foreign.cel.pieces import CelRefusal

MAX_TOKENS = 2_000
"""Limits the words and signs of an expression: a policy has at most 4 KiB."""

_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*)"
    r"|(?P<double>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+))(?![A-Za-z_0-9])"
    r"|(?P<integer>(?:0x[0-9a-fA-F]+|\d+)[uU]?)(?![A-Za-z_0-9])"
    r"|(?P<string>[rR]?(?:\"\"\"(?:\\[\s\S]|[^\\])*?\"\"\"|'''(?:\\[\s\S]|[^\\])*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?![\"'])"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])"
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
        found = _TOKEN.match(expression, offset)
        if found is None:
            raise CelRefusal(f"'{expression[offset : offset + 20]}' cannot be expressed", offset)
        if found.lastgroup != "blank":
            tokens.append(CelToken(found.lastgroup or "", found[0], offset))
        if len(tokens) > MAX_TOKENS:
            raise CelRefusal(f"is longer than {MAX_TOKENS} words and signs", offset)
        offset = found.end()
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

    def resolve(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 1 and escape in _ESCAPED:
            return _ESCAPED[escape]
        code = -1 if len(escape) == 1 else int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise CelRefusal("a string with this escape cannot be expressed", token.offset)
        return chr(code)

    return _ESCAPE.sub(resolve, text)
