"""Takes the last member of a JSON body off, which is large in some requests and likely to come again."""

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from magistrate.api.json_decoders import build_decoder
from magistrate.api.parse import decode_body

B = TypeVar("B")
M = TypeVar("M")
V = TypeVar("V")

_BLANKS, _TEXT_BLANKS = b" \t\r\n", " \t\r\n"
_COLON = re.compile(r"[ \t\r\n]*+:[ \t\r\n]*+")


def _read_no_text(text: str, begin: int, end: int, max_depth: int) -> None:
    return None


class LastMember(Generic[B, M, V]):
    """Describes a member that clients send last in bodies of the type B.

    `decoder` is for an M, an object with this member alone, and `read` returns the value of one, or None if that is not
    kept. `read_text` returns the same value for the text of a member, given where it begins and ends and how many
    levels it may nest, or None if it has to be decoded. `join` returns a body that has no such member with this value.
    """

    def __init__(
        self,
        name: str,
        of_type: type[M],
        read: Callable[[M], V | None],
        join: Callable[[B, V], B],
        read_text: Callable[[str, int, int, int], V | None] = _read_no_text,
    ) -> None:
        self.decoder: msgspec.json.Decoder[M] = build_decoder(of_type)
        self.join = join
        self._read = read
        self._read_text = read_text
        self._quoted_name = f'"{name}"'.encode()
        self._opening = f'{{"{name}"'

    def split(self, body: bytes) -> tuple[bytes, bytes] | None:
        """Returns the body without its last member, and an object with that member alone, or None if it is not certain
        that this is the last one, that there are others, and that none of these has the same name.

        If both are valid, the second with this member alone, then the body is valid and has the members of both: the
        first then ends, without its brace, behind a member of the outermost object.
        """
        at = body.find(self._quoted_name)
        others = body[:at].rstrip(_BLANKS) if at > 0 else b""
        if not others.endswith(b",") or others[:-1].rstrip(_BLANKS).endswith(b"{"):
            return None
        if b"\\" in others:  # an escape may be part of the name
            return None
        return others[:-1] + b"}", b"{" + body[at:]

    def read(self, member: bytes, max_depth: int) -> V | None:
        """Returns the value of an object with this member alone, as `split` returns it, or None if that is not kept.
        Raises like `decode_body`."""
        try:
            text = member.decode()
        except UnicodeDecodeError:
            text = ""
        place = self._find_value(text)
        value = None if place is None else self._read_text(text, *place, max_depth - 1)
        return self._read(decode_body(member, self.decoder, max_depth)) if value is None else value

    def _find_value(self, text: str) -> tuple[int, int] | None:
        """Returns where the value of the member begins and ends in the text of an object with this member alone, or
        None if that is not seen. The text need not be JSON."""
        colon = _COLON.match(text, len(self._opening))
        trimmed = text.rstrip(_TEXT_BLANKS)  # the same, without a copy, if there are none
        if colon is None or not text.startswith(self._opening) or not trimmed.endswith("}"):
            return None
        end = len(trimmed) - 1
        if trimmed[end - 1] in _TEXT_BLANKS:
            end = len(trimmed[:end].rstrip(_TEXT_BLANKS))
        return colon.end(), end


AnyLastMember = LastMember[Any, Any, Any]
