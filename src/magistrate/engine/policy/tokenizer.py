"""Splits a policy into tokens: names, numbers, strings and signs."""

import re
from collections.abc import Iterator

import msgspec

from magistrate.engine.policy.literals import read_string, render_string
from magistrate.engine.policy.node import Refusal

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
    **{
        text: text
        for text in (
            "not",
            "!",
            "let",
            "|",
            "=",
            ";",
            "..",
            "??",
            "?",
            "?.",
            ".",
            "#",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
        )
    },
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
