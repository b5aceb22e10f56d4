"""Finds the tokens of JSON that `parse` needs, in steps that are short whatever the JSON is like.

Threads change between two matches of a regular expression only. A match may pass over any number of ordinary bytes,
8 MiB in 20 ms, but over MOST_ESCAPES escapes only, which take ten times as long: a string with more is passed over in
several matches."""

import re
from collections.abc import Iterator

MOST_ESCAPES = 32_768
"""Limits the escapes in one match; about half a millisecond."""
PIECE_BYTES = 262_144
"""Sets the size of the pieces that are searched at once (256 KiB); other threads can run between two of them."""
BLANKS = b" \t\r\n"

# Possessive, so that a long string leaves nothing to return to, and an unterminated one is scanned once. What is in
# between is taken as a whole, which is ten times as fast as looking for the next string at each place.
_CHARACTERS = rb'[^"\\]*+(?:\\.[^"\\]*+){0,%d}+' % MOST_ESCAPES
_MEMBER_OR_BRACE = re.compile(
    rb'("' + _CHARACTERS + rb'("?+))(?:[ \t\r\n]*+(:))?|([{}])|[^"{}]{1,65536}+',
    re.DOTALL,
)
_STRING_OR_BEGINNING = re.compile(rb'"' + _CHARACTERS + rb'("?+)|([\[{,])|[^"\[{,]{1,65536}+', re.DOTALL)
_REST_OF_STRING = re.compile(_CHARACTERS + rb'("?+)', re.DOTALL)
_COLON = re.compile(rb"[ \t\r\n]*+:")


def find_edges(body: bytes) -> tuple[int, int]:
    """Returns where a body begins and ends without the white space around it: twice the same index if there is nothing
    else. It is passed over in pieces, because stripping 8 MiB at once takes 40 ms."""
    start, end = 0, len(body)
    while start < end:
        piece = body[start : start + PIECE_BYTES]
        left = piece.lstrip(BLANKS)
        start += len(piece) - len(left)
        if left:
            break
    while start < end:
        piece = body[max(start, end - PIECE_BYTES) : end]
        left = piece.rstrip(BLANKS)
        end -= len(piece) - len(left)
        if left:
            break
    return start, end


def find_names_and_braces(body: bytes) -> Iterator[bytes]:
    """Yields the names of the members of valid JSON, as they are written, and the braces around members."""
    at = 0
    while at < len(body):
        for token in _MEMBER_OR_BRACE.finditer(body, at):
            string, is_closed, colon, brace = token.groups()
            if colon:
                yield string
            elif brace:
                yield brace
            elif string and not is_closed:
                break
        else:
            return
        at = _find_end_of_string(body, token.end())
        if _COLON.match(body, at):
            yield body[token.start() : at]


def find_beginnings(body: bytes) -> Iterator[None]:
    """Yields once for each opening bracket and comma outside of strings. The body need not be JSON."""
    at = 0
    while at < len(body):
        for token in _STRING_OR_BEGINNING.finditer(body, at):
            is_closed, beginning = token.groups()
            if beginning:
                yield
            elif is_closed == b"":
                break
        else:
            return
        at = _find_end_of_string(body, token.end())


def _find_end_of_string(body: bytes, at: int) -> int:
    """Returns the index behind the string that the index `at` is in, or that of the end if it is not closed."""
    while (rest := _REST_OF_STRING.match(body, at)) is not None and rest.end() > at:
        at = rest.end()
        if rest[1]:
            break
    return at


def split(body: bytes) -> Iterator[bytes]:
    """Yields a body in pieces of PIECE_BYTES, or of one more where an escape would be divided. JSON has none outside of
    strings."""
    at = 0
    while at < len(body):
        piece = body[at : at + PIECE_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = body[at : at + PIECE_BYTES + 1]
        at += len(piece)
        yield piece
