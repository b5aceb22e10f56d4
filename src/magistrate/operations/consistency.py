"""Implements consistency tokens: a write returns one, so that a later read can request data at least as fresh
(docs/compatibility.md#tokens).

A token is 34 URL-safe characters: base64 of a version byte (2), the 8 bytes of the store id, the revision in 8 bytes,
the bits of the revision in 4, and the CRC-32 of all these, big-endian throughout. One without bits has version 1 and 28
characters: earlier versions made those, and they are still made where the bits are not kept. The checksum is no secret;
it distinguishes our tokens from other strings, such as tokens of the old hosted service that clients have cached."""

import asyncio
import binascii
import hashlib
import hmac
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, NotReplicated, RevisionLost
from magistrate.store.contract.revisions import Presence, RevisionId, RevisionStore
from magistrate.store.contract.stored_rows import Identity

Check = Callable[[bytes, bytes], bytes]
"""Computes the check bytes of a content with a key."""

_TEXT = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TokenCodec:
    """Encodes one kind of tokens. Its check bytes are `check_bytes` long, and precede the content if `check_is_first`,
    otherwise follow it."""

    check: Check
    check_bytes: int
    check_is_first: bool = False

    def encode(self, content: bytes, key: bytes = b"") -> str:
        check = self.check(content, key)
        return _encode_text(check + content if self.check_is_first else content + check)

    def decode(self, text: str, key: bytes = b"") -> bytes | None:
        """Returns the content, or None if the text is no token of this kind, encoded with this key."""
        decoded = decode_text(text)
        if decoded is None:
            return None
        if self.check_is_first:
            check, content = decoded[: self.check_bytes], decoded[self.check_bytes :]
        else:
            content, check = decoded[: -self.check_bytes], decoded[-self.check_bytes :]
        return content if hmac.compare_digest(check, self.check(content, key)) else None


def decode_text(text: str) -> bytes | None:
    """Returns the bytes that a text stands for, or None if no bytes are encoded as this text."""
    if not _TEXT.fullmatch(text):
        return None
    try:
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
    return decoded if _encode_text(decoded) == text else None


def compute_crc(content: bytes, key: bytes) -> bytes:
    """Returns the CRC-32 of both, big-endian. Whoever knows the key can compute it, and it may not be a secret: this
    detects damage and other texts, not forgery."""
    return binascii.crc32(content + key).to_bytes(4, "big")


def compute_mac(content: bytes, key: bytes) -> bytes:
    """Returns 8 bytes of the keyed BLAKE2b, which only those who know the key can compute."""
    return hashlib.blake2b(content, digest_size=8, key=key).digest()


def _encode_text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


LATEST = "latest"

GRACE_SECONDS = 0.1
"""Limits how long a revision is waited for that is ahead of the newest: a standby can show a commit before the primary
does."""
LOOK_EVERY_SECONDS = 0.02

_LENGTHS = {1: 17, 2: 21}
"""Maps the versions of tokens to the bytes of their content."""
_MAX_CHARACTERS = 34
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


def write_token(identity: Identity, revision_id: RevisionId) -> str:
    version = b"\x01" if revision_id.bits is None else b"\x02"
    bits = b"" if revision_id.bits is None else revision_id.bits.to_bytes(4, "big")
    return _TOKENS.encode(version + bytes.fromhex(identity.store_id) + revision_id.revision.to_bytes(8, "big") + bits)


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
    content = _TOKENS.decode(text) if len(text) <= _MAX_CHARACTERS else None
    return content if content and len(content) == _LENGTHS.get(content[0]) else None


async def require_stored(store: RevisionStore, revision_id: RevisionId) -> None:
    """Raises RevisionLost unless the store holds this write, or will within GRACE_SECONDS; NotReplicated if that cannot
    be known, on a standby that lags. Takes no statement if the write is known.

    What was read before this is called, at the same revision or later, was read from a store that held the write."""
    store.known.demands += 1
    given_up_at = time.monotonic() + GRACE_SECONDS
    while not store.known.holds(revision_id):
        presence = await store.locate(revision_id)
        if presence is Presence.STORED:
            return
        if presence is Presence.REPLACED:
            raise RevisionLost
        if time.monotonic() >= given_up_at:
            raise RevisionLost if store.read_only is None else NotReplicated
        await asyncio.sleep(LOOK_EVERY_SECONDS)
