"""Maps the ids of OpenFGA, which may have any printable character, to ids that we have, and back.

An id that is one of ours stays as it is. In others, each character that no id of ours has is written as the bytes of
its UTF-8 in hex, as in URLs: `a*` is `a%2A`. A `%` that could be taken for the beginning of such a byte is written
likewise."""

import re
import unicodedata
from urllib.parse import quote, unquote

from magistrate.engine.id_characters import DOTS, NFC, SIGNS, has_id_characters, is_id
from magistrate.engine.names import ObjectId

PERCENT = "%"
_ESCAPES = re.compile("(?:%[0-9A-F]{2})+")
_AMBIGUOUS = re.compile("%(?=[0-9A-F]{2})")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_SIGNS = frozenset(SIGNS)


def encode_id(text: str) -> ObjectId | None:
    """Returns the id that we have for one of OpenFGA, None if it would be too long."""
    if PERCENT not in text and is_id(text):
        return ObjectId(text)
    encoded = "".join(map(_encode_character, _AMBIGUOUS.sub("%25", text)))
    if encoded in DOTS:
        encoded = f"%2E{encoded[1:]}"
    if not unicodedata.is_normalized(NFC, encoded):
        encoded = _NOT_ASCII.sub(lambda character: quote(character[0]), encoded)
    return ObjectId(encoded) if is_id(encoded) else None


def _encode_character(character: str) -> str:
    if character.isascii():
        return character if character.isalnum() or character in _SIGNS else f"%{ord(character):02X}"
    return character if has_id_characters(character) else quote(character, errors="surrogatepass")


def decode_id(text: str) -> str:
    """Returns the id of OpenFGA that one of ours stands for."""
    if PERCENT not in text:
        return text
    # Not `unquote(text)`, which takes small letters for hex as well: `%0a*` is `%0a%2A`.
    decoded = _ESCAPES.sub(lambda escapes: unquote(escapes[0], errors="surrogateescape"), text)
    return decoded if encode_id(decoded) == text else text
