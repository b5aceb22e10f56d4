"""Implements consistency tokens: a write returns one, so that a later read can request data at least as fresh
(docs/compatibility.md#tokens).

A token is 34 URL-safe characters: base64 of a version byte (2), the 8 bytes of the store id, the revision in 8 bytes,
the bits of the revision in 4, and the CRC-32 of all these, big-endian throughout. One without bits has version 1 and 28
characters: earlier versions made those, and they are still made where the bits are not kept. The checksum is no secret;
it distinguishes our tokens from other strings, such as tokens of the old hosted service that clients have cached."""

import asyncio
import time
from dataclasses import dataclass

from magistrate.engine.terms import Revision
from magistrate.errors import InvalidParameter, RevisionLost
from magistrate.operations.opaque_tokens import TokenCodec, compute_crc
from magistrate.store.contract import Identity, Presence, RevisionId, RevisionStore

LATEST = "latest"

GRACE_SECONDS = 0.1
"""Limits how long a revision is waited for that is ahead of the newest: a standby can show a commit before the primary
does."""
LOOK_EVERY_SECONDS = 0.02

_LENGTHS = {1: 17, 2: 21}
"""Maps the versions of tokens to the bytes of their content."""
_MOST_CHARACTERS = 34
_TOKENS = TokenCodec(compute_crc, check_bytes=4)
"""Marks a token. It needs no key, so that a token of another store can be distinguished from other texts."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Requires that a read is answered at `revision` or later, which is the one with these `bits`, and if `newest` at
    the newest there is; `header` is where the caller said so. Without bits, the revision is taken by its number."""

    header: str
    revision: Revision
    newest: bool = False
    bits: int | None = None

    @property
    def id(self) -> RevisionId:
        """Returns the write that the caller has seen."""
        return RevisionId(self.revision, self.bits)

    def demand(self, answered_at: Revision) -> None:
        """Raises RevisionLost if the newest revision of the store is older."""
        if answered_at < self.revision:
            raise RevisionLost


NO_DEMAND = Freshness("", Revision(0))


def write_token(identity: Identity, id: RevisionId) -> str:
    version = b"\x01" if id.bits is None else b"\x02"
    bits = b"" if id.bits is None else id.bits.to_bytes(4, "big")
    return _TOKENS.encode(version + bytes.fromhex(identity.store_id) + id.revision.to_bytes(8, "big") + bits)


def is_token(text: str) -> bool:
    """Returns whether the text is well-formed: `latest`, or a token of some Magistrate store."""
    return text == LATEST or _decode_token(text) is not None


def read_token(identity: Identity, header: str, text: str) -> Freshness:
    """Returns the freshness that a text requires; a text that is not one of our tokens requires nothing.

    Raises InvalidParameter naming the header if the token is of another store.
    """
    if text == LATEST:
        return Freshness(header, Revision(0), newest=True)
    content = _decode_token(text)
    if content is None:
        return NO_DEMAND
    if content[1:9].hex() != identity.store_id:
        raise InvalidParameter(header, "the token is of another store")
    bits = int.from_bytes(content[17:], "big") if content[17:] else None
    return Freshness(header, Revision(int.from_bytes(content[9:17], "big")), bits=bits)


def read_revision(identity: Identity, parameter: str, text: str) -> RevisionId:
    """Returns the write that a token names, which the store may not hold.

    Raises InvalidParameter for any other text, and for the token of another store."""
    if _decode_token(text) is None:
        raise InvalidParameter(parameter, "must be a token, as in the header Service-Token of an answer")
    return read_token(identity, parameter, text).id


def _decode_token(text: str) -> bytes | None:
    content = _TOKENS.decode(text) if len(text) <= _MOST_CHARACTERS else None
    return content if content and len(content) == _LENGTHS.get(content[0]) else None


async def require_stored(store: RevisionStore, id: RevisionId) -> None:
    """Raises RevisionLost unless the store holds this write, or will within GRACE_SECONDS. Takes no statement if the
    write is known.

    What was read before this is called, at the same revision or later, was read from a store that held the write."""
    store.known.demands += 1
    given_up_at = time.monotonic() + GRACE_SECONDS
    while not store.known.holds(id):
        presence = await store.locate(id)
        if presence is Presence.STORED:
            return
        if presence is Presence.REPLACED or time.monotonic() >= given_up_at:
            raise RevisionLost
        await asyncio.sleep(LOOK_EVERY_SECONDS)
