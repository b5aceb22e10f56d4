"""Who may call: `Authorization: ApiKey <key>`, on some routes also `Authorization: Bearer <token>`
(docs/compatibility.md#sessions)."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from magistrate.engine.terms import ObjectId, Subject, TypeName
from magistrate.errors import Unauthenticated

SCHEME, BEARER_SCHEME = "ApiKey", "Bearer"
ONLY_KEYS, KEYS_AND_TOKENS = (SCHEME,), (SCHEME, BEARER_SCHEME)
USER = TypeName("user")
TENANT = "tenant"
"""The variable of policies that names it."""


class Holder(msgspec.Struct, frozen=True):
    """Who shows a bearer token: the user it was made for. `context` is what it says for policies to read, its tenant
    among it."""

    user: ObjectId
    context: Mapping[str, Any]

    @property
    def subject(self) -> Subject:
        return Subject(USER, self.user)

    def overlay_context(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What policies read of a context that the holder gave: what the token says wins, and which tenant it is only
        the token can say."""
        return {**{name: value for name, value in given.items() if name != TENANT}, **self.context}


def holder(user: ObjectId, tenant: ObjectId | None, context: Mapping[str, Any]) -> Holder:
    return Holder(user, context if tenant is None else {**context, TENANT: tenant})


def bearer_token(header: str | None) -> str | None:
    """The token in an Authorization header; None if it has none, or is malformed."""
    scheme, _, token = (header or "").partition(" ")
    return token if scheme == BEARER_SCHEME and token and " " not in token else None


def key_digest(key: str) -> str:
    """SHA-256 in hex: all that is ever kept of a key. Keys we make have 256 random bits, so that no salt is
    needed."""
    return hashlib.sha256(key.encode("latin-1")).hexdigest()


class KeyRing:
    """The digests of all keys that are good now."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = tuple(digests)

    def actor(self, header: str | None, schemes: Sequence[str] = ONLY_KEYS) -> str:
        """What the change log calls the holder of the key in an Authorization header: `key-` and 8 hex digits of its
        digest. `schemes`: what might have been there as well.

        Every known key is compared, each in constant time. Raises Unauthenticated.
        """
        scheme, _, key = (header or "").partition(" ")
        if not scheme or not key or " " in key:
            raise Unauthenticated("Invalid authorization header: invalid format")
        if scheme != SCHEME:
            prefixes = ", ".join(schemes)
            raise Unauthenticated(
                f"Invalid authorization header: authorization header prefix must be one of: {prefixes}"
            )
        given = key_digest(key)
        known = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(known):
            raise Unauthenticated("Invalid API key")
        return f"key-{given[:8]}"
