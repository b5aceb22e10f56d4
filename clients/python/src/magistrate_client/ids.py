"""Says which texts can be the id of an object, as the service does (docs/compatibility.md#ids-and-names)."""

from __future__ import annotations

import re
import unicodedata

MAX_ID_BYTES = 1_024
_SIGNS = "_-.@|:+=/,~%$!(){}&;'?"
_ASCII_ID = re.compile(rf"[A-Za-z0-9{re.escape(_SIGNS)}]*")
_DOTS = (".", "..")


def is_id(text: str) -> bool:
    """Returns whether a text can be the id of an object. `*` cannot.

    Python may know letters of a newer Unicode than the service, which then refuses them."""
    if not text or text in _DOTS:
        return False
    if text.isascii():
        return len(text) <= MAX_ID_BYTES and _ASCII_ID.fullmatch(text) is not None
    return (
        len(text) <= MAX_ID_BYTES  # before what takes longer
        and all(_is_id_character(character) for character in text)
        and len(text.encode()) <= MAX_ID_BYTES
        and unicodedata.is_normalized("NFC", text)
    )


def _is_id_character(character: str) -> bool:
    return character in _SIGNS or unicodedata.category(character)[0] in "LMN"
