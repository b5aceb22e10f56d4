"""Authenticates callers by `Authorization: ApiKey <key>` or `Authorization: Bearer <key>` and, on some routes,
`Authorization: Bearer <token>` (docs/compatibility.md#sessions)."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from magistrate.engine.terms import ObjectId, Subject, TypeName
from magistrate.errors import InvalidToken, Unauthenticated

SCHEME, BEARER_SCHEME = "ApiKey", "Bearer"
ONLY_KEYS, KEYS_AND_TOKENS = (SCHEME,), (SCHEME, BEARER_SCHEME)
USER = TypeName("user")
DOTS_OF_TOKEN = 2
"""Sets the number of dots in a JSON Web Token. A bearer credential with any other number of dots is a key."""
TENANT = "tenant"
"""Names the policy variable that holds the tenant."""


class Holder(msgspec.Struct, frozen=True):
    """Represents the user that a bearer token was made for. `context` holds the claims that policies can read,
    including the tenant."""

    user: ObjectId
    context: Mapping[str, Any]

    @property
    def subject(self) -> Subject:
        return Subject(USER, self.user)

    def overlay_context(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the context that policies read, given the holder's own. Claims of the token take precedence, and only
        the token can name the tenant."""
        return {**{name: value for name, value in given.items() if name != TENANT}, **self.context}


def holder(user: ObjectId, tenant: ObjectId | None, context: Mapping[str, Any]) -> Holder:
    return Holder(user, context if tenant is None else {**context, TENANT: tenant})


def bearer_token(header: str | None) -> str | None:
    """Returns the token in an Authorization header, or None if it holds a key, or nothing, or is malformed."""
    scheme, _, token = (header or "").partition(" ")
    return token if scheme == BEARER_SCHEME and _is_token(token) and " " not in token else None


def _is_token(credential: str) -> bool:
    return credential.count(".") == DOTS_OF_TOKEN


def key_digest(key: str) -> str:
    """Returns the SHA-256 of a key in hex, which is all that is ever stored of a key. The keys generated here have 256
    random bits, so no salt is needed."""
    return hashlib.sha256(key.encode("latin-1")).hexdigest()


class KeyRing:
    """Holds the digests of all keys that are currently valid."""

    def __init__(self, digests: Iterable[str]) -> None:
        self.replace(digests)

    def replace(self, digests: Iterable[str]) -> None:
        """Makes these keys valid, and no others, from the next request on."""
        self._digests = tuple(digests)
        self._last_header, self._last_actor = "", ""
        """Hold the header that was accepted last and its actor: most requests of a service come with the same key."""

    def actor(self, header: str | None, schemes: Sequence[str] = ONLY_KEYS) -> str:
        """Returns the name under which the change log records the holder of the key in an Authorization header: `key-`
        and 8 hex digits of its digest. `schemes` names the schemes of the errors of the route: a bearer token is
        refused here, a bearer key is taken like any other.

        Compares every known key, each in constant time. Raises Unauthenticated."""
        header = header or ""
        if self._last_actor and header.isascii() and hmac.compare_digest(header, self._last_header):
            return self._last_actor
        scheme, _, key = header.partition(" ")
        if not scheme or not key or " " in key:
            raise Unauthenticated("Invalid authorization header: invalid format")
        if scheme != SCHEME and (scheme != BEARER_SCHEME or _is_token(key)):
            prefixes = ", ".join(schemes)
            raise Unauthenticated(
                f"Invalid authorization header: authorization header prefix must be one of: {prefixes}"
            )
        given = key_digest(key)
        known = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(known):
            # A browser library compares the message that a route for tokens answers to whatever is no token.
            raise InvalidToken if scheme in schemes and scheme == BEARER_SCHEME else Unauthenticated("Invalid API key")
        actor = f"key-{given[:8]}"
        if header.isascii():
            self._last_header, self._last_actor = header, actor
        return actor
