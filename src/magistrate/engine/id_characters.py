"""Defines which characters an id may have, and describes what is wrong with one
(docs/decisions/0089-ids-have-the-letters-of-one-version-of-unicode.md).

All interpreters agree: the categories are those of RANGES, and characters that were assigned in one
version of Unicode have the same normal forms in all later ones, so `unicodedata` of any of them finds NFC."""

import re
import sys
import unicodedata
from array import array
from collections.abc import Set
from typing import Final

from pyroaring import BitMap

from magistrate.engine.id_ranges import RANGES, VERSION

MAX_ID_LENGTH = 1_024
"""Limits the characters in an object id, and the bytes of them in UTF-8."""

ID_CHARACTER = r"""[^\x00-\x20"#*<>\[\\\]^`\x7f-\xa0]"""
"""Matches one character of an object id: a regular expression that JSON Schema reads alike in all languages. It is
exact for ASCII; beyond, it has more than the letters, marks and numbers, for which there is no such expression."""

SIGNS = "_-.@|:+=/,~%$!(){}&;'?"
ID_MESSAGE = (
    f"can only contain letters, marks and numbers of Unicode {VERSION.removesuffix('.0')} and the characters "
    f"{' '.join(SIGNS)}"
)
DOTS = (".", "..")
DOTS_MESSAGE = "cannot be '.' or '..', which mean something else in a path"

NFC: Final = "NFC"

_ASCII_BYTES = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in SIGNS)
_PLAIN_ID = re.compile(rf"(?!\.\.?\Z)[{re.escape(_ASCII_BYTES.decode())}]{{1,{MAX_ID_LENGTH}}}")
"""Matches an id in ASCII, as most are."""
_CODE_POINTS = f"utf-32-{'le' if sys.byteorder == 'little' else 'be'}"


def _read_ranges() -> BitMap:
    codes = BitMap(_ASCII_BYTES)
    for written in RANGES.split():
        first, _, last = written.partition("-")
        codes.add_range(int(first, 16), int(last or first, 16) + 1)
    codes.run_optimize()
    return codes


_CODES = _read_ranges()


def is_id(text: str) -> bool:
    """Returns whether a text is an id."""
    if _PLAIN_ID.fullmatch(text):
        return True
    return not text.isascii() and len(text) <= MAX_ID_LENGTH and has_id_characters(text) and _is_short_and_normal(text)


def are_ids(texts: Set[str]) -> bool:
    """Returns whether each of these texts is an id, looking at all of them together."""
    if "" in texts or not texts.isdisjoint(DOTS):
        return False
    together = "".join(texts)
    if together.isascii() and together.encode("ascii").translate(None, _ASCII_BYTES):
        return False
    if len(together) > MAX_ID_LENGTH and max(map(len, texts)) > MAX_ID_LENGTH:
        return False
    return together.isascii() or (has_id_characters(together) and all(map(_is_short_and_normal, texts)))


def has_id_characters(text: str) -> bool:
    """Returns whether a text has no character that an id cannot have. It takes some nanoseconds for each."""
    return BitMap(array("I", text.encode(_CODE_POINTS, "surrogatepass"))) <= _CODES


def _is_short_and_normal(text: str) -> bool:
    return len(text.encode()) <= MAX_ID_LENGTH and unicodedata.is_normalized(NFC, text)


def describe_id_fault(text: str) -> str:
    """Returns what is wrong with a text that is no id and is not empty."""
    if len(text) > MAX_ID_LENGTH:
        return f"must be at most {MAX_ID_LENGTH} characters long"
    for position, character in enumerate(text, 1):
        if ord(character) not in _CODES:
            return f"{ID_MESSAGE}; it has {_name(character)} at position {position}"
    if text in DOTS:
        return DOTS_MESSAGE
    length = len(text.encode())
    if length > MAX_ID_LENGTH:
        return f"must be at most {MAX_ID_LENGTH} bytes long in UTF-8; it has {length}"
    normal = unicodedata.normalize(NFC, text)
    pairs = enumerate(zip(text, normal, strict=False), 1)
    position, written, normal = next((at, own, other) for at, (own, other) in pairs if own != other)
    fault = f"must be in the normal form {NFC} of Unicode"
    return f"{fault}, which has {_name(normal)} at position {position}, not {_name(written)}"


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
