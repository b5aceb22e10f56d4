"""Splits a policy into tokens: names, numbers, strings and signs."""

import re
from collections.abc import Iterator

import msgspec

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


END = "end"
"""Names the kind of the last token."""

# No text is scanned more than twice, because what follows the blanks always matches: unreadable text takes all that
# follows with it. Before Python 3.11.5, a possessive group whose alternatives contain loops matches too much.
_TOKEN = re.compile(
    r"""
    ((?:\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*\*/)*)        # blanks and comments
    (?:((?:[^\W\d]|\$)[\w$]*+                             # a name
    |"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+'           # a string
    |0[xX][0-9a-fA-F][0-9a-fA-F_]*+|0[oO][0-7][0-7_]*+|0[bB][01][01_]*+  # a number
    |(?:[0-9][0-9_]*+)?\.[0-9][0-9_]*+(?:[eE][+-]?[0-9]++)?
    |[0-9][0-9_]*+(?:[eE][+-]?[0-9]++)?
    |==|!=|<=|>=|&&|\|\||\?\.(?![0-9])|\?\?|\.\.|\*\*|/(?!\*)|[()\[\]{},:;|=\#<>?.!+\-*%^]
    |\Z)
    |([\s\S]++))
    """,
    re.VERBOSE,
)

_KINDS = {
    **dict.fromkeys(("true", "false", "nil"), "constant"),
    **dict.fromkeys(("or", "||"), "or"),
    **dict.fromkeys(("and", "&&"), "and"),
    **dict.fromkeys(("==", "!=", "<=", ">=", "<", ">"), "comparison"),
    **dict.fromkeys(("in", "contains", "startsWith", "endsWith", "matches"), "relation"),
    **dict.fromkeys("+-", "sign"),
    **dict.fromkeys("*/%", "product"),
    **dict.fromkeys(("**", "^"), "power"),
    "": END,
    **{sign: sign for sign in ("not", "let", *"!|=;?.#()[]{},:", "..", "??", "?.")},
}
"""Maps the tokens that have a single spelling by their text."""

WORDS = frozenset({"name", "constant", "relation", "not", "let", "or", "and"})
"""Lists the kinds that can name a member. Of the last two only the words can: `is_word` distinguishes them."""


class Token(msgspec.Struct, frozen=True, gc=False):
    """Represents a token. `offset` is where it begins, in characters from 0."""

    kind: str
    text: str
    offset: int

    @property
    def is_word(self) -> bool:
        return self.kind in WORDS and self.text not in ("||", "&&")


def read_tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of a policy; the last is of the kind END. Raises Refusal at the first text that is no token."""
    offset = 0
    for blanks, word, rest in _TOKEN.findall(text):
        offset += len(blanks)
        if rest:
            yield from _read_rest(rest, offset)
        yield Token(_KINDS.get(word) or _kind(word), word, offset)
        offset += len(word)
        if not word:
            return  # after blanks, the end is found twice


def _kind(word: str) -> str:
    first = word[0]
    if first in "\"'":
        return "string"
    if first not in ".0123456789":
        return "name"
    if word[1:2] in tuple("xXoObB"):
        return "hexadecimal"
    return "integer" if word.replace("_", "").isdecimal() else "decimal"


def _read_rest(rest: str, offset: int) -> Iterator[Token]:
    """Yields the tokens of unreadable text up to the fault. Raises Refusal."""
    if rest.startswith("/*"):  # an unterminated comment
        yield Token("product", "/", offset)
        sign = "**" if rest.startswith("/**") else "*"
        yield Token(_KINDS[sign], sign, offset + 1)
    raise _refuse_character(rest[0], offset)


def refuse_token(token: Token) -> Refusal:
    """Returns the error for a token that cannot stand where it does, in the words of the Go server."""
    if token.kind == END:
        return Refusal("unexpected token EOF", max(token.offset - 1, 0))
    value = read_string(token.text, token.offset) if token.kind == "string" else token.text
    return Refusal(f"unexpected token {_go_kind(token)}({render_string(value)})", token.offset)


def _go_kind(token: Token) -> str:
    """Returns the Go server's name for a token of this kind; clients compare messages that contain it."""
    if token.kind in ("integer", "hexadecimal", "decimal"):
        return "Number"
    if token.kind == "string":
        return "String"
    if token.kind in "()[]{}":
        return "Bracket"
    return "Identifier" if token.kind in ("name", "constant") else "Operator"


def _refuse_character(character: str, offset: int) -> Refusal:
    if character == "&":
        return Refusal(f'unexpected token Operator("{character}")', offset)
    if character in "'\"":
        return Refusal("the string is not terminated", offset)
    shown = f" '{character}'" if character.isprintable() else ""
    return Refusal(f"unrecognized character U+{ord(character):04X}{shown}", offset)
