"""Reads the path of a request that a gateway passes on, unless two programs could read it differently.

A path is percent-decoded once. Whoever serves the request may decode it twice, resolve `..`, cut it at `;` or take a
backslash for a slash; so a path in which that would matter is refused as a whole."""

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

MAX_PATH_BYTES = 8_192
"""Limits the path of a request (8 KiB)."""

_WRITTEN = re.compile(rb"/(?:[A-Za-z0-9._~!$&'()*+,=:@/-]|%[0-9A-Fa-f][0-9A-Fa-f])*+")
"""Matches the characters of a path (RFC 3986, section 3.3), without the semicolon."""
_AMBIGUOUS = re.compile(rb"%(?:2[35Ff]|3[BbFf]|5[Cc]|7[Ff]|[01][0-9A-Fa-f])")
"""Matches what must not be encoded in a path: # % / ; ? and backslash, and control characters."""
_SEPARATORS = frozenset("#%/;?\\")
_IGNORED_AT_END = ". "
"""Has the characters that some file systems ignore at the end of a name."""


class ForwardedPath(NamedTuple):
    """Holds the decoded segments of a path, the last of which is empty if the path ends with a slash, and the same as a
    careless reader takes them."""

    segments: tuple[str, ...]
    similar: tuple[str, ...]


def read_path(written: bytes) -> ForwardedPath | None:
    """Returns the path, None if it is ambiguous or too long. The cost is linear in its length."""
    if len(written) > MAX_PATH_BYTES or not _WRITTEN.fullmatch(written) or _AMBIGUOUS.search(written):
        return None
    try:
        text = unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        return None
    if not text.isprintable():
        return None
    segments = text[1:].split("/")
    for segment in segments if text.isascii() else [*segments, *map(_normalize, segments)]:
        if segment and not segment.strip(_IGNORED_AT_END):
            return None  # `.`, `..` and what is taken for one of them
    if "" in segments[:-1] or (not text.isascii() and any(map(_has_hidden_separator, segments))):
        return None
    return ForwardedPath(tuple(segments), list_similar(segments))


def list_similar(segments: "list[str] | tuple[str, ...]") -> tuple[str, ...]:
    """Returns segments without what a careless reader ignores: the case of letters, compatible forms of characters,
    dots and blanks at the end of a segment, and a slash at the end of the path."""
    counted = segments[:-1] if len(segments) > 1 and not segments[-1] else segments
    return tuple([_normalize(segment).casefold().rstrip(_IGNORED_AT_END) for segment in counted])


def _normalize(segment: str) -> str:
    return segment if segment.isascii() else unicodedata.normalize("NFKC", segment)


def _has_hidden_separator(segment: str) -> bool:
    """Returns whether a segment has a separator once compatible characters are replaced."""
    return not _SEPARATORS.isdisjoint(_normalize(segment))
