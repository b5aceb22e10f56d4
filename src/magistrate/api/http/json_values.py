"""Renders values as bytes: JSON bodies that end with a newline, and timestamps."""

import math
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from magistrate.operations.history.times import render_time as render_time
from magistrate.operations.scheduling import checkpoint, is_time_up

ELEMENTS_AT_ONCE = 50
"""Limits the elements that are rendered before the time slice may end: with the most meta, a few milliseconds."""

_ENCODER = msgspec.json.Encoder()


def render_json(value: object) -> bytes:
    """Returns the value and a newline."""
    return _ENCODER.encode_lines([value])  # msgspec 0.22.0 never frees a `tuple`


class AnswerMemory(Protocol):
    """Counts the bytes of an answer."""

    async def reserve(self, size: int) -> None:
        """Waits until there is space for `size` more bytes. Raises Overloaded."""
        ...


async def render_in_steps(value: object, memory: AnswerMemory | None = None) -> bytes | bytearray:
    """Returns what `render_json` does. Other requests run between the elements of a long array, which the value is or
    has as a member: a thousand objects may have tens of megabytes. Raises Overloaded if there is no space in `memory`
    for them."""
    member, elements = _find_elements(value)
    if len(elements) <= ELEMENTS_AT_ONCE:
        return render_json(value)
    before, after = b"[", b"]\n"
    if isinstance(value, msgspec.Struct):
        mark = secrets.token_hex(16)  # what callers wrote may have an array of the same name
        before, after = render_json(msgspec.structs.replace(value, **{member: [mark]})).split(f'"{mark}"'.encode())
    body, reserved = bytearray(before + b"]"), 0
    for start in range(0, len(elements), ELEMENTS_AT_ONCE):
        if start and is_time_up():
            await checkpoint()
        end = len(body) - 1
        if memory is not None:
            await memory.reserve(end - reserved)
            reserved = end
        _ENCODER.encode_into(elements[start : start + ELEMENTS_AT_ONCE], body, end)
        if start:
            body[end] = ord(",")
        else:
            del body[end]
    body += after[1:]
    return body


def _find_elements(value: object) -> tuple[str, Sequence[object]]:
    """Returns the longest array that a value is or has as a member, and the attribute that holds it."""
    if isinstance(value, list):
        return "", value
    arrays: dict[str, Sequence[object]] = {"": ()}
    if isinstance(value, msgspec.Struct):
        members = ((name, getattr(value, name)) for name in value.__struct_fields__)
        arrays |= {name: member for name, member in members if isinstance(member, list)}
    return max(arrays.items(), key=lambda item: len(item[1]))


T = TypeVar("T")

MAX_DECIMAL_CHARACTERS = 4_096
"""Limits the characters of a decimal: a single one of 8 MiB would take 50 ms in one step. A 64-bit number needs 767
digits at most."""


def build_decoder(of_type: type[T]) -> msgspec.json.Decoder[T]:
    """Returns a decoder for values of this type. It raises ValidationError for a decimal that is out of range."""
    return msgspec.json.Decoder(of_type, float_hook=read_decimal)


def read_decimal(text: str) -> float:
    """Returns the value of a decimal in JSON. Raises ValueError if it is too large, or too long to be read."""
    value = float(text) if len(text) <= MAX_DECIMAL_CHARACTERS else math.inf
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


_ANYTHING: msgspec.json.Decoder[Any] = build_decoder(object)


def decode_json(content: bytes | str) -> Any:
    """Returns the value of any JSON. Raises msgspec.DecodeError, and for bytes also UnicodeDecodeError."""
    return _ANYTHING.decode(content)


MAX_ESCAPES = 32_768
"""Limits the escapes in one match; about half a millisecond."""
PIECE_BYTES = 262_144
"""Sets the size of the pieces that are searched at once (256 KiB); other threads can run between two of them."""
BLANKS = b" \t\r\n"

# Possessive, so that a long string leaves nothing to return to, and an unterminated one is scanned once. What is in
# between is taken as a whole, which is ten times as fast as looking for the next string at each place.
_CHARACTERS = rb'[^"\\]*+(?:\\.[^"\\]*+){0,%d}+' % MAX_ESCAPES
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
    if end <= PIECE_BYTES:
        start = end - len(body.lstrip(BLANKS))
        return start, start + len(body.strip(BLANKS))
    while start < end:
        piece = body[start : start + PIECE_BYTES]
        stripped = piece.lstrip(BLANKS)
        start += len(piece) - len(stripped)
        if stripped:
            break
    while start < end:
        piece = body[max(start, end - PIECE_BYTES) : end]
        stripped = piece.rstrip(BLANKS)
        end -= len(piece) - len(stripped)
        if stripped:
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
