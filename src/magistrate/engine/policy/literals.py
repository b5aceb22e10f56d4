"""Parses and renders the numbers, strings and names of policies."""

import re

from magistrate.engine.policy.node import Refusal
from magistrate.engine.policy.values import MAX_WHOLE

RESERVED = frozenset(
    {"true", "false", "nil", "and", "or", "not", "in", "contains", "startsWith", "endsWith", "matches", "let"}
)
"""Lists the words that cannot be variables."""

_SAFE_DIGITS = 19
"""Limits the digits of decimals that fit in 64 bits without a check: those with fewer digits do."""

_BASES = {"0x": 16, "0o": 8, "0b": 2}
_NAME = re.compile(r"[^\W\d]\w*")  # the language also has `$` in names; contexts that are policies never had

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_ESCAPED = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\ud800-\udfff]')


def is_variable(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def read_integer(text: str, offset: int) -> int:
    """Returns the value of an integer: decimal, hexadecimal after `0x`, octal after `0o` or binary after `0b`; `_` may
    stand between digits."""
    if len(text) < _SAFE_DIGITS and text.isdecimal():
        return int(text)
    digits = text.replace("_", "").lower()
    value = int(digits, _BASES.get(digits[:2], 10))
    if value > MAX_WHOLE:
        raise Refusal(f"the number {text[:40]} is out of range", offset)
    return value


def read_decimal(text: str, offset: int) -> float:
    value = float(text.replace("_", ""))
    if value == float("inf"):
        raise Refusal(f"the number {text[:40]} is out of range", offset)
    return value


def read_string(text: str, offset: int) -> str:
    """Returns the characters between the quotes, with escapes resolved as in Go."""

    if "\\" not in text:
        return text[1:-1]

    def resolve_escape(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in _ESCAPED:
            return _ESCAPED[escape]
        code = _code(escape)
        if code is None:
            raise Refusal("unknown escape in a string", offset + 1 + match.start())
        return chr(code)

    return _ESCAPE.sub(resolve_escape, text[1:-1])


def _code(escape: str) -> int | None:
    """Returns the code point that an escape names, None if it names none."""
    if len(escape) == 1:
        return None
    code = int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
    return code if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None


def render_string(text: str) -> str:
    """Returns the text as a string of the language, in double quotes."""
    return '"' + _TO_ESCAPE.sub(_escape_character, text) + '"'


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    return "\\" + character if character in '"\\' else f"\\u{ord(character):04x}"
