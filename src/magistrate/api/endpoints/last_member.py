"""Takes the last member of a JSON body off, which is large in some requests and likely to come again."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from magistrate.api.json_decoders import build_decoder

B = TypeVar("B")
M = TypeVar("M")
V = TypeVar("V")

_BLANKS = b" \t\r\n"


class LastMember(Generic[B, M, V]):
    """Describes a member that clients send last in bodies of the type B.

    `decoder` is for an M, an object with this member alone, and `read` returns the value of one, or None if that is not
    kept. `join` returns a body that has no such member with this value.
    """

    def __init__(self, name: str, of_type: type[M], read: Callable[[M], V | None], join: Callable[[B, V], B]) -> None:
        self.decoder: msgspec.json.Decoder[M] = build_decoder(of_type)
        self.read = read
        self.join = join
        self._quoted_name = f'"{name}"'.encode()

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


AnyLastMember = LastMember[Any, Any, Any]
