"""Who may call: `Authorization: ApiKey <key>` (contract section 8)."""

import hashlib
import hmac
from collections.abc import Iterable

from magistrate.errors import Unauthenticated

SCHEME = "ApiKey"


def key_digest(key: str) -> str:
    """SHA-256 in hex: all that is ever kept of a key. Keys we make have 256 random bits, so that no salt is
    needed."""
    return hashlib.sha256(key.encode("latin-1")).hexdigest()


class KeyRing:
    """The digests of all keys that are good now."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = tuple(digests)

    def actor(self, header: str | None) -> str:
        """What the change log calls the holder of the key in an Authorization header: `key-` and 8 hex digits of its
        digest.

        Every known key is compared, each in constant time. Raises Unauthenticated.
        """
        scheme, _, key = (header or "").partition(" ")
        if not scheme or not key or " " in key:
            raise Unauthenticated("Invalid authorization header: invalid format")
        if scheme != SCHEME:
            raise Unauthenticated(f"Invalid authorization header: authorization header prefix must be one of: {SCHEME}")
        given = key_digest(key)
        known = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(known):
            raise Unauthenticated("Invalid API key")
        return f"key-{given[:8]}"
