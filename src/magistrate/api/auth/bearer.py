"""Determines who sent a bearer token, one of this service or of an external provider, which users receive where they
log in, and services where they authenticate; and what the token allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from magistrate.api.auth.callers import KEYS_AND_TOKENS, ONLY_KEYS, USER, Holder, KeyRing, bearer_token, holder
from magistrate.api.auth.provider_keys import ALGORITHMS, FetchedKeys
from magistrate.engine.names import ObjectId
from magistrate.engine.terms import object_id
from magistrate.errors import Forbidden, InvalidParameter, InvalidToken, MissingParameter
from magistrate.operations.keys.callers import Caller, Scope, expand_scopes
from magistrate.operations.sessions import sessions
from magistrate.operations.sessions.bearer_tokens import Expected, TokenHeader, read_header, read_issuer, verify_claims
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.stores import DEFAULT_STORE

LEEWAY_SECONDS = 10
"""Bounds the difference between the provider's clock and ours."""
MICROSECONDS_PER_SECOND = 1_000_000
IAT_AHEAD_SECONDS = 300
"""Bounds how far in the future the `iat` claim of a token may be, to allow for clocks that are not synchronized."""


SCOPE_PREFIX = "magistrate:"
"""Begins the scopes in a token that are meant for this service: those of others may have the same names."""
SERVICE = "service"
"""Begins the actor of a service."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Represents a token provider. The claims `iss` and `aud` must equal `issuer` and `audience`. The claims named by
    `user_claim` and `tenant_claim` hold the user and the tenant; `tenant_claim` is empty if tokens name none. The claim
    named by `scopes_claim` holds the scopes of a service; if the name is empty, all tokens are those of users."""

    keys: FetchedKeys
    issuer: str
    audience: str
    user_claim: str
    tenant_claim: str
    scopes_claim: str = ""

    async def identify(self, token: str, header: TokenHeader) -> Holder | Caller:
        """Returns the user that a token was made for, or the service if it has scopes. Raises InvalidToken,
        TokenExpired or ProviderUnavailable."""
        claims = await self._claims(token, header)
        scopes = _read_scopes(claims.get(self.scopes_claim)) if self.scopes_claim else None
        if scopes:
            actor = f"{SERVICE}:{_id(claims.get(self.user_claim))}"
            until = round((claims["exp"] + LEEWAY_SECONDS) * MICROSECONDS_PER_SECOND)
            return Caller(actor, scopes, origin=self.issuer, valid_until=until)
        tenant = claims.get(self.tenant_claim) if self.tenant_claim else None
        return holder(_id(claims.get(self.user_claim)), None if tenant is None else _id(tenant), {})

    async def _claims(self, token: str, header: TokenHeader) -> Mapping[str, Any]:
        expected = Expected(self.issuer, self.audience, LEEWAY_SECONDS, IAT_AHEAD_SECONDS)
        for key in await self.keys.fitting(header):
            try:
                return verify_claims(token, key.key, key.algorithm, expected)
            except InvalidToken:
                continue
        raise InvalidToken


def _read_scopes(claim: object) -> frozenset[Scope]:
    """Returns the scopes in a claim, which is an array of texts, or one text with blanks (RFC 8693, section 4.2)."""
    texts = claim.split(" ") if isinstance(claim, str) else claim
    if not isinstance(texts, list):
        return frozenset()
    named = [text for text in texts if isinstance(text, str) and text.startswith(SCOPE_PREFIX)]
    return expand_scopes(text.removeprefix(SCOPE_PREFIX) for text in named)


def _id(claim: object) -> ObjectId:
    try:
        return object_id(claim if isinstance(claim, str) else None, "")
    except (MissingParameter, InvalidParameter):
        raise InvalidToken from None


CHALLENGE = 'Bearer realm="magistrate"'
"""Says how to authenticate, in every answer 401 (RFC 9110)."""
SESSION = "session"
"""Is the origin of callers with a token of this service."""
USER_SCOPES = frozenset({Scope.CHECK})
"""Holds what the token of a user allows, and that for this user only."""


class Identified(NamedTuple):
    """Holds who makes a request, the user that a bearer token was made for, None if there is no such user, and the id
    of the store that a ticket was made for."""

    caller: Caller
    holder: Holder | None = None
    store: str | None = None


class Bearers:
    """Verifies the tokens of sessions, each with the keys of the store that issued it, and those of a provider if one
    is configured, which are about the store `default`. The algorithm of a token tells the two apart, because they have
    none in common."""

    def __init__(self, stores: StoreContexts, provider: Provider | None = None) -> None:
        self._stores = stores
        self._provider = provider

    @property
    def has_services(self) -> bool:
        """Returns whether tokens can be those of services, which are accepted wherever keys are."""
        return self._provider is not None and bool(self._provider.scopes_claim)

    async def identify(self, token: str) -> Identified:
        """Returns the sender of a token. Raises InvalidToken, TokenExpired, ProviderUnavailable or StoreUnavailable."""
        header = read_header(token)
        if header.algorithm == sessions.ALGORITHM:
            issuer = self._stores.find_issuer(read_issuer(token))
            if issuer is None:
                raise InvalidToken
            claims = await sessions.read_session(self._stores.open_context(issuer.number), token, header.key_id)
            return _identify_user(holder(*claims), SESSION, issuer.number)
        if self._provider is None or header.algorithm not in ALGORITHMS:
            raise InvalidToken
        sender = await self._provider.identify(token, header)
        return Identified(sender) if isinstance(sender, Caller) else _identify_user(sender, self._provider.issuer)


def _identify_user(user: Holder, origin: str, store: int = DEFAULT_STORE) -> Identified:
    return Identified(Caller(f"{USER}:{user.user}", USER_SCOPES, origin=origin, store=store), user)


async def identify_caller(keys: KeyRing, bearers: Bearers, header: str | None, takes_bearer: bool) -> Identified:
    """Returns who sent an Authorization header. The token of a user is accepted only if `takes_bearer`. Raises
    Unauthenticated, Forbidden, ProviderUnavailable or StoreUnavailable."""
    token = bearer_token(header) if takes_bearer or bearers.has_services else None
    if token is None:
        return Identified(await keys.authenticate(header, KEYS_AND_TOKENS if takes_bearer else ONLY_KEYS))
    identified = await bearers.identify(token)
    if identified.holder is not None and not takes_bearer:
        raise Forbidden("the token of a user can only be used for checks")
    return identified
