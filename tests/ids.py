"""Ids that are hard on what reads, writes, sorts or carries them, and what is said of texts that are none."""

import unicodedata

from hypothesis import strategies as st

from magistrate.engine.id_ranges import RANGES

STRANGE_IDS = [
    *("a/b", "/", "//a//", "ann+home@x.org", "/todos/{id}", "aGVsbG8=/+", "urn:a:b%2Fc", "$(a,b);~!&", "%"),
    *("o'brien@example.com", "'", "''", "?", "a?b=c&d", "josé", "日本", "Ω/½,x²", "\u0301", "x\u0323\u0301", "नमस्ते"),
    *("\U0001d400\U00020000", "\uffdc\U00010000", "é" * 512, "日" * 341, "\U00020000" * 256),
]
"""Ids with signs of grammars, quotation marks, letters, marks and numbers of many scripts, and of the greatest
length."""

ASCII = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.@|:+=/,~%$!(){}&;'?"
ID_WORDS = (
    "can only contain letters, marks and numbers of Unicode 14.0 and the characters "
    "_ - . @ | : + = / , ~ % $ ! ( ) { } & ; ' ?"
)


def id_message(character: str, position: int) -> str:
    """What is said of the first character that no id may have."""
    return f"{ID_WORDS}; it has U+{ord(character):04X} at position {position}"


def _is_short(text: str) -> bool:
    return 1 <= len(text.encode()) <= 1_024 and text not in (".", "..")


def _read_range(written: str) -> tuple[int, int]:
    first, _, last = written.partition("-")
    return int(first, 16), int(last or first, 16)


_LETTERS = st.sampled_from([*map(_read_range, RANGES.split())]).flatmap(lambda bounds: st.integers(*bounds)).map(chr)

ids = (
    st.text(st.sampled_from(ASCII) | _LETTERS, min_size=1, max_size=1_024)
    .map(lambda text: unicodedata.normalize("NFC", text))
    .filter(_is_short)
)
"""Strategy of all ids: characters beyond ASCII come from all ranges alike."""
