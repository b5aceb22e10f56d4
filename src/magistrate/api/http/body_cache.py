"""Decodes the bodies of requests, and keeps the values of those that are likely to come again.

These are small bodies, because many clients make the same checks again, and a large last member of a body, such as the
groups in a user's token, which come with every check of that user. A member is kept when it comes for the second time:
to keep those that come once would fill the memory, and take as long again as reading them.
"""

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from magistrate.api.bounded_cache import BoundedCache
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.request_values import decode_body
from magistrate.engine.warrants.plain_warrants import PlainRuns
from magistrate.errors import InvalidRequest

B = TypeVar("B")
M = TypeVar("M")
MemberValue = TypeVar("MemberValue")

_BLANKS, _TEXT_BLANKS = b" \t\r\n", " \t\r\n"
_COLON = re.compile(r"[ \t\r\n]*+:[ \t\r\n]*+")


def _read_no_text(text: str, begin: int, end: int, max_depth: int) -> None:
    return None


class LastMember(Generic[B, M, MemberValue]):
    """Describes a member that clients send last in bodies of the type B.

    `decoder` is for an M, an object with this member alone, and `read` returns the value of one, or None if that is not
    kept. `read_text` returns the same value for the text of a member, given where it begins and ends and how many
    levels it may nest, or None if it has to be decoded. `join` returns a body that has no such member with this value.
    """

    def __init__(
        self,
        name: str,
        of_type: type[M],
        read: Callable[[M], MemberValue | None],
        join: Callable[[B, MemberValue], B],
        read_text: Callable[[str, int, int, int], MemberValue | None] = _read_no_text,
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

    def read(self, member: bytes, max_depth: int) -> MemberValue | None:
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


MAX_BODY_BYTES = 512
"""Limits the size of a body whose value is kept."""
MAX_MEMBER_BYTES = 16_384
"""Limits the size of a member whose value is kept (16 KiB)."""
BYTES_OF_A_BODY, BYTES_FOR_A_BYTE, BYTES_FOR_AN_OBJECT = 900, 14, 170
"""Estimate what a body and its value take, above what was measured for the worst bodies: those with many short texts,
and those with many objects in objects."""
MEMBER_FACTOR, BYTES_OF_A_RUN = 3, 800
"""Estimate what a member and its value take: a multiple of the bytes of the member, and what each run of alike warrants
adds."""
BODIES_PART, MEMBERS_PART, KEYS_PART = 0.4, 0.5, 0.1
"""Divide the bytes between bodies, members, and the keys of members that came once."""


MEMBER_ENDS = 96
"""Counts the bytes at both ends of a member that it is found by. To hash all of them would take longer than to compare
them with those of the only member that is kept with these ends. The subject of the groups in a token is at the end."""

BYTES_OF_A_KEY = 700
"""Estimates what the key of a member takes: as measured, in a cache."""

MemberKey = tuple[msgspec.json.Decoder[Any], int, bytes, bytes]
"""Holds the decoder, the length and both ends of a member."""


BodyKey = tuple[msgspec.json.Decoder[Any], bytes]
"""Holds the decoder and the bytes of a body."""


class KnownBodies:
    """Keeps the values of `bodies`, and of last `members`, by their decoder and their bytes, up to a number of bytes in
    all. The values are frozen."""

    def __init__(self, max_bytes: int) -> None:
        self.bodies: BoundedCache[BodyKey, Any] = BoundedCache(int(BODIES_PART * max_bytes), _measure_body)
        self.members: BoundedCache[MemberKey, tuple[bytes, PlainRuns]] = BoundedCache(
            int(MEMBERS_PART * max_bytes), _measure_member
        )
        self._member_keys: BoundedCache[MemberKey, bool] = BoundedCache(int(KEYS_PART * max_bytes), _measure_key)
        """Holds the keys of members that came."""

    def measure(self) -> int:
        """Returns an estimate of the bytes that all of it takes."""
        return self.bodies.bytes + self.members.bytes + self._member_keys.bytes

    def decode(
        self,
        body: bytes,
        decoder: msgspec.json.Decoder[Any],
        max_depth: int,
        last_member: AnyLastMember | None,
        is_strict: bool = False,
    ) -> Any:
        """Returns the value of a body. Raises like `decode_body`; `is_strict` is the same in all calls."""
        if len(body) <= MAX_BODY_BYTES:
            key, bodies = (decoder, body), self.bodies
            value = bodies.get(key)
            if value is not None:
                bodies.move_to_end(key)
                return value
        if last_member is not None and not is_strict:
            value = self._join(body, decoder, max_depth, last_member)
            if value is not None:
                self._keep(body, decoder, value)
                return value
        return self._decode_whole(body, decoder, max_depth, is_strict)

    def _decode_whole(
        self, body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int, is_strict: bool = False
    ) -> Any:
        value = decode_body(body, decoder, max_depth, is_strict)
        self._keep(body, decoder, value)
        return value

    def _keep(self, body: bytes, decoder: msgspec.json.Decoder[Any], value: Any) -> None:
        if len(body) <= MAX_BODY_BYTES:
            self.bodies.keep((decoder, body), value)

    def _join(
        self, body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int, last_member: AnyLastMember
    ) -> Any | None:
        """Returns the value of a body that ends in this member, or None if it does not, if the value of the member is
        not kept, or if something is not valid."""
        parts = last_member.split(body)
        if parts is None or len(parts[1]) > MAX_MEMBER_BYTES:
            return None
        try:
            value = self._read_member(parts[1], max_depth, last_member)
            others = None if value is None else self.bodies.get((decoder, parts[0]))
            if others is None and value is not None:
                others = self._decode_whole(parts[0], decoder, max_depth)
            if others is None or getattr(others, "strict", False):
                return None  # the member may have members that are not known
            return last_member.join(others, value)
        except InvalidRequest:
            return None

    def _read_member(self, member: bytes, max_depth: int, last_member: AnyLastMember) -> Any | None:
        if len(member) <= MAX_BODY_BYTES:
            return last_member.read(member, max_depth)
        key = (last_member.decoder, len(member), member[:MEMBER_ENDS], member[-MEMBER_ENDS:])
        cached = self.members.get(key)
        if cached is not None and cached[0] == member:
            self.members.move_to_end(key)
            return cached[1]
        value = last_member.read(member, max_depth)
        if value is not None and self._has_come_before(key):
            self.members.keep(key, (member, value))
        return value

    def _has_come_before(self, key: MemberKey) -> bool:
        """Returns whether a member was found by this key before, and remembers that one was now."""
        if key in self._member_keys:
            self._member_keys.move_to_end(key)
            return True
        self._member_keys.keep(key, True)
        return False


def _measure_body(key: BodyKey, value: object) -> int:
    body = key[1]
    return BYTES_OF_A_BODY + BYTES_FOR_A_BYTE * len(body) + BYTES_FOR_AN_OBJECT * body.count(b"{")


def _measure_member(key: MemberKey, kept: tuple[bytes, PlainRuns]) -> int:
    member, value = kept
    return BYTES_OF_A_BODY + MEMBER_FACTOR * len(member) + BYTES_OF_A_RUN * len(value.runs)


def _measure_key(key: MemberKey, value: bool) -> int:
    return BYTES_OF_A_KEY
