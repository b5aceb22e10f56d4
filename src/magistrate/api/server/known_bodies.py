"""Decodes the bodies of requests, and keeps the values of those that are likely to come again.

These are small bodies, because many clients make the same checks again, and a large last member of a body, such as the
groups in a user's token, which come with every check of that user. A member is kept when it comes for the second time:
to keep those that come once would fill the memory, and take as long again as reading them.
"""

from typing import Any

import msgspec

from magistrate.api.endpoints.last_member import AnyLastMember
from magistrate.api.parse import decode_body
from magistrate.errors import InvalidRequest

MOST_BODIES, MOST_BODY_BYTES = 4_000, 512
"""Limit the bodies whose values are kept, and the size of each: at most some 10 MB for all."""
MOST_MEMBER_BYTES, MOST_MEMBERS_BYTES = 16_384, 8_388_608
"""Limit the size of a member whose value is kept (16 KiB), and of all that are kept (8 MiB): the groups of 700 users
who have a hundred each, or of 7,000 who have ten. The values take up to as much again."""


MEMBER_ENDS = 96
"""Counts the bytes at both ends of a member that it is found by. To hash all of them would take longer than to compare
them with those of the only member that is kept with these ends. The subject of the groups in a token is at the end."""

MemberKey = tuple[msgspec.json.Decoder[Any], int, bytes, bytes]
"""Holds the decoder, the length and both ends of a member."""


class KnownBodies:
    """Keeps the values of `bodies`, and of last `members`, by their decoder and their bytes. The values are frozen."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[msgspec.json.Decoder[Any], bytes], Any] = {}
        self.members: dict[MemberKey, tuple[bytes, Any]] = {}
        self._member_bytes = 0
        self._member_keys: set[MemberKey] = set()
        """Holds the keys of members that came, at most MOST_BODIES."""

    def decode(
        self, body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int, last_member: AnyLastMember | None
    ) -> Any:
        """Returns the value of a body. Raises like `decode_body`."""
        value = self.bodies.get((decoder, body)) if len(body) <= MOST_BODY_BYTES else None
        if value is None and last_member is not None:
            value = self._join(body, decoder, max_depth, last_member)
            if value is not None:
                self._keep(body, decoder, value)
        return self._decode_whole(body, decoder, max_depth) if value is None else value

    def _decode_whole(self, body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int) -> Any:
        value = self.bodies.get((decoder, body)) if len(body) <= MOST_BODY_BYTES else None
        if value is None:
            value = decode_body(body, decoder, max_depth)
            self._keep(body, decoder, value)
        return value

    def _keep(self, body: bytes, decoder: msgspec.json.Decoder[Any], value: Any) -> None:
        if len(body) <= MOST_BODY_BYTES:
            if len(self.bodies) >= MOST_BODIES:
                self.bodies.clear()
            self.bodies[decoder, body] = value

    def _join(
        self, body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int, last_member: AnyLastMember
    ) -> Any | None:
        """Returns the value of a body that ends in this member, or None if it does not, if the value of the member is
        not kept, or if something is not valid."""
        parts = last_member.split(body)
        if parts is None or len(parts[1]) > MOST_MEMBER_BYTES:
            return None
        try:
            value = self._read_member(parts[1], max_depth, last_member)
            return None if value is None else last_member.join(self._decode_whole(parts[0], decoder, max_depth), value)
        except InvalidRequest:
            return None

    def _read_member(self, member: bytes, max_depth: int, last_member: AnyLastMember) -> Any | None:
        if len(member) <= MOST_BODY_BYTES:
            return last_member.read(member, max_depth)
        key = (last_member.decoder, len(member), member[:MEMBER_ENDS], member[-MEMBER_ENDS:])
        known = self.members.get(key)
        if known is not None and known[0] == member:
            return known[1]
        value = last_member.read(member, max_depth)
        if value is not None and self._has_come_before(key):
            if known is None:
                if self._member_bytes + len(member) > MOST_MEMBERS_BYTES:
                    self.members.clear()
                    self._member_bytes = 0
                self._member_bytes += len(member)
            self.members[key] = (member, value)
        return value

    def _has_come_before(self, key: MemberKey) -> bool:
        """Returns whether a member was found by this key before, and remembers that one was now."""
        if key in self._member_keys:
            return True
        if len(self._member_keys) >= MOST_BODIES:
            self._member_keys.clear()
        self._member_keys.add(key)
        return False
