"""Makes texts that callers wrote safe to show: characters that a terminal obeys, or that hide or reorder others, are
written as escapes. Letters, marks, numbers, signs and blanks of all languages stay as they are."""

import re
import unicodedata

_VISIBLE_CATEGORY = "Zs"
"""Is the category of blanks, which Python counts as not printable."""
_IN_JSON = re.compile(r"[^\n\x20-\x7e]")


def printable(text: str) -> str:
    """Returns the text as one line: with escapes for line ends, too, and for tabs, which would shift columns."""
    if text.isprintable():
        return text
    return "".join(sign if _is_visible(sign) else _escape(sign) for sign in text)


def printable_lines(text: str) -> str:
    """Returns a text of several lines, each of which is safe; tabs stay."""
    if text.isprintable():
        return text
    return "".join(sign if sign in "\n\t" or _is_visible(sign) else _escape(sign) for sign in text)


def printable_json(document: str) -> str:
    """Returns a JSON document with the same values."""
    return _IN_JSON.sub(lambda match: match[0] if _is_visible(match[0]) else _escape_json(match[0]), document)


def _is_visible(sign: str) -> bool:
    return sign.isprintable() or unicodedata.category(sign) == _VISIBLE_CATEGORY


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def _escape_json(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place] << 8 | units[place + 1]:04x}" for place in range(0, len(units), 2))
