"""Implements consistency tokens: a write returns one, so that a later read can request data at least as fresh
(docs/compatibility.md#tokens).

A token is 28 URL-safe characters: base64 of a version byte (1), the 8 bytes of the store id, the revision in 8 bytes,
and the CRC-32 of all these, big-endian throughout. The checksum is no secret; it distinguishes our tokens from other
strings, such as tokens of the old hosted service that clients have cached."""

from dataclasses import dataclass

from magistrate.engine.terms import Revision
from magistrate.errors import InvalidParameter
from magistrate.operations.opaque_tokens import TokenCodec, compute_crc
from magistrate.store.contract import Identity

LATEST = "latest"

_VERSION = b"\x01"
_LENGTH = 28
_TOKENS = TokenCodec(compute_crc, check_bytes=4)
"""Marks a token. It needs no key, so that a token of another store can be distinguished from other texts."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Requires that a read is answered at `revision` or later, and if `newest` at the newest there is; `header` is
    where the caller said so."""

    header: str
    revision: Revision
    newest: bool = False

    def demand(self, answered_at: Revision) -> None:
        """Raises InvalidParameter if the newest revision of the store is older: then the token is from the future."""
        if answered_at < self.revision:
            raise InvalidParameter(self.header, "the token is of a revision that this store has not reached")


NO_DEMAND = Freshness("", Revision(0))


def write_token(identity: Identity, revision: Revision) -> str:
    content = _VERSION + bytes.fromhex(identity.store_id) + revision.to_bytes(8, "big")
    return _TOKENS.encode(content)


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
    return Freshness(header, Revision(int.from_bytes(content[9:17], "big")))


def read_revision(identity: Identity, parameter: str, text: str) -> Revision:
    """Returns the revision of a token, which may be one that the store has not reached.

    Raises InvalidParameter for any other text, and for the token of another store."""
    if _decode_token(text) is None:
        raise InvalidParameter(parameter, "must be a token, as in the header Service-Token of an answer")
    return read_token(identity, parameter, text).revision


def _decode_token(text: str) -> bytes | None:
    content = _TOKENS.decode(text) if len(text) == _LENGTH else None
    return content if content is not None and content[:1] == _VERSION else None
