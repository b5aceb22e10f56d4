"""Authenticates callers by `Authorization: ApiKey <key>` or `Authorization: Bearer <key>` and, on some routes,
`Authorization: Bearer <token>` (docs/compatibility.md#sessions)."""

import hmac
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.subjects import Subject
from magistrate.errors import InvalidToken, Unauthenticated
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.operations.keys.callers import ALL_SCOPES, Caller, expand_scopes
from magistrate.store.contract.keys import StoredKey

SCHEME, BEARER_SCHEME = "ApiKey", "Bearer"
ONLY_KEYS, KEYS_AND_TOKENS = (SCHEME,), (SCHEME, BEARER_SCHEME)
_SCHEMES = {scheme.lower(): scheme for scheme in KEYS_AND_TOKENS}
_HEADER = re.compile(r"[ \t]*+([^ \t]++)[ \t]++([^ \t]++)[ \t]*+")
USER = TypeName("user")
DOTS_OF_TOKEN = 2
"""Sets the number of dots in a JSON Web Token. A bearer credential with any other number of dots is a key."""
OPERATOR = "key-"
"""Begins the actors of the keys that an operator configures, which 8 hex digits of the digest follow. No stored key may
have such a name."""
INVALID_KEY = "Invalid API key"
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

    def overlay_context(self, context: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the context that policies read, given the holder's own. Claims of the token take precedence, and only
        the token can name the tenant."""
        return {**{name: value for name, value in context.items() if name != TENANT}, **self.context}


def holder(user: ObjectId, tenant: ObjectId | None, context: Mapping[str, Any]) -> Holder:
    return Holder(user, context if tenant is None else {**context, TENANT: tenant})


def bearer_token(header: str | None) -> str | None:
    """Returns the token in an Authorization header, or None if it holds a key, or nothing, or is malformed."""
    scheme, credential = _split_header(header or "")
    return credential if scheme == BEARER_SCHEME and _is_token(credential) else None


def _split_header(header: str) -> tuple[str, str]:
    """Returns the scheme of an Authorization header as it is written here, whatever the case of its letters, and the
    credential (RFC 9110, section 11.4). Both are empty if the header is malformed."""
    matched = _HEADER.fullmatch(header)
    if matched is None:
        return "", ""
    return _SCHEMES.get(matched[1].lower(), matched[1]), matched[2]


def _is_token(credential: str) -> bool:
    return credential.count(".") == DOTS_OF_TOKEN


class KnownSecret(NamedTuple):
    """Holds the digest of a secret, its holder, and the time until which it is good."""

    digest: str
    caller: Caller
    until: int


KnownSecrets = Mapping[str, KnownSecret]
"""Maps digests to secrets."""
_NO_SECRETS: KnownSecrets = {}


def list_secrets(keys: Iterable[StoredKey], store: int) -> KnownSecrets:
    """Returns the secrets of stored keys of a store by their digests: of each the current one, and the one before if
    there is one."""
    secrets: dict[str, KnownSecret] = {}
    for key in keys:
        object_types = None if key.object_types is None else frozenset(key.object_types)
        caller = Caller(key.name, expand_scopes(key.scopes, store), object_types, key.id, store=store)
        expires_at = ALWAYS if key.expires_at is None else key.expires_at
        secrets[key.digest] = KnownSecret(key.digest, caller, expires_at)
        if key.previous_digest is not None and key.previous_until is not None:
            until = min(key.previous_until, expires_at)
            secrets[key.previous_digest] = KnownSecret(key.previous_digest, caller, until)
    return secrets


class KeyRing:
    """Holds all keys that are currently valid: those of the operator, which may do everything, and the stored ones.

    `now` returns microseconds since 1970 UTC. A request with the key of the one before costs a single comparison, and
    nothing is noted then: the first one after each call of `take_uses` stands for the others."""

    _last_header = ""
    _last_caller: Caller | None = None
    """Hold the header that was accepted last and its caller: most requests of a service come with the same key."""
    _memo_until = ALWAYS
    _by_key: dict[tuple[int, str | None], list[KnownSecret]] | None = None
    """Has the secrets by the stores and ids of their keys, once somebody wants to know."""
    look_up: Callable[[], Awaitable[None]] | None = None
    """Looks up the keys that are not known here. Raises nothing."""

    def __init__(self, now: Callable[[], int], digests: Iterable[str] = (), stored: KnownSecrets = _NO_SECRETS) -> None:
        self._now = now
        self._uses: dict[tuple[int, str], int] = {}
        self.replace(digests, stored)

    def replace(self, digests: Iterable[str], stored: KnownSecrets = _NO_SECRETS) -> None:
        """Makes these keys valid, and no others, from the next request on. `digests` are those of the operator."""
        callers = {digest: Caller(f"{OPERATOR}{digest[:8]}", ALL_SCOPES, origin=digest) for digest in digests}
        self._operators = tuple(callers.items())
        self._stored = stored
        self._by_key = None
        self._end_memo()

    def identify(self, header: str | None, schemes: Sequence[str] = ONLY_KEYS) -> Caller:
        """Returns the holder of the key in an Authorization header. `schemes` names the schemes of the errors of the
        route: a bearer token is refused here, a bearer key is taken like any other.

        Compares digests in constant time. Raises Unauthenticated."""
        caller = self._search(header, schemes)
        if isinstance(caller, Unauthenticated):
            raise caller
        return caller

    async def authenticate(self, header: str | None, schemes: Sequence[str] = ONLY_KEYS) -> Caller:
        """Returns what `identify` does, but looks up a key that is not known here before it is refused. Raises
        Unauthenticated."""
        caller = self._search(header, schemes)
        if isinstance(caller, Caller):
            return caller
        if self.look_up is not None:
            await self.look_up()
        return self.identify(header, schemes)

    def _search(self, header: str | None, schemes: Sequence[str]) -> Caller | Unauthenticated:
        """Returns the holder of the key, or the error if nobody holds it. Raises Unauthenticated for what is no
        key."""
        if header is None:
            raise Unauthenticated(f"Missing header Authorization: send `Authorization: {schemes[0]} <key>`")
        if self._last_caller is not None and header.isascii() and hmac.compare_digest(header, self._last_header):
            return self._last_caller
        scheme, key = _split_header(header)
        if not scheme:
            raise Unauthenticated("Invalid authorization header: invalid format")
        if scheme != SCHEME and (scheme != BEARER_SCHEME or _is_token(key)):
            prefixes = ", ".join(schemes)
            raise Unauthenticated(
                f"Invalid authorization header: authorization header prefix must be one of: {prefixes}"
            )
        caller = self._find(key_digest(key))
        if caller is None:
            # A browser library compares the message that a route for tokens answers to whatever is no token.
            return InvalidToken() if scheme in schemes and scheme == BEARER_SCHEME else Unauthenticated(INVALID_KEY)
        if header.isascii():
            self._last_header, self._last_caller = header, caller
        return caller

    def is_in_force(self, caller: Caller) -> bool:
        """Returns whether the key or token of a caller that was identified is still valid, for as much as it was
        then."""
        if caller.valid_until is not None:
            return self._now() < caller.valid_until
        if caller.key_id is None:
            return any(caller == operator for _, operator in self._operators)
        if self._by_key is None:
            self._by_key = defaultdict(list)
            for secret in self._stored.values():
                self._by_key[secret.caller.store, secret.caller.key_id].append(secret)
        now = self._now()
        secrets = self._by_key.get((caller.store, caller.key_id), ())
        return any(secret.caller == caller and now < secret.until for secret in secrets)

    def take_uses(self) -> Mapping[tuple[int, str], int]:
        """Returns when stored keys were used since the last call, by their stores and ids."""
        uses, self._uses = self._uses, {}
        self._end_memo()
        return uses

    def return_uses(self, uses: Mapping[tuple[int, str], int]) -> None:
        """Takes back uses that could not be written."""
        self._uses = {**uses, **self._uses}

    def end_expired(self) -> None:
        """Makes the keys that have expired invalid, which has to be called every second or so."""
        if self._now() >= self._memo_until:
            self._end_memo()

    def _end_memo(self) -> None:
        self._last_header, self._last_caller, self._memo_until = "", None, ALWAYS

    def _find(self, digest: str) -> Caller | None:
        matches = [
            (hmac.compare_digest(digest, operator_digest), caller) for operator_digest, caller in self._operators
        ]
        for is_equal, caller in matches:
            if is_equal:
                return caller
        # How long the search takes reveals something about a digest, but nothing about the keys that have it.
        secret = self._stored.get(digest)
        now = self._now()
        if secret is None or not hmac.compare_digest(digest, secret.digest) or now >= secret.until:
            return None
        self._memo_until = secret.until
        if secret.caller.key_id is not None:
            self._uses[secret.caller.store, secret.caller.key_id] = now
        return secret.caller
