"""Determines who sent a bearer token, and what the token allows."""

from typing import NamedTuple

from magistrate.api.auth.callers import KEYS_AND_TOKENS, ONLY_KEYS, USER, Holder, KeyRing, bearer_token, holder
from magistrate.api.auth.provider import Provider
from magistrate.api.auth.provider_keys import ALGORITHMS
from magistrate.errors import Forbidden, InvalidToken
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import Caller, Scope
from magistrate.operations.sessions import sessions
from magistrate.operations.sessions.bearer_tokens import read_header

CHALLENGE = 'Bearer realm="magistrate"'
"""Says how to authenticate, in every answer 401 (RFC 9110)."""
SESSION = "session"
"""Is the origin of callers with a token of this service."""
USER_SCOPES = frozenset({Scope.CHECK})
"""Holds what the token of a user allows, and that for this user only."""


class Identified(NamedTuple):
    """Holds who makes a request, and the user that a bearer token was made for; None if there is no such user."""

    caller: Caller
    holder: Holder | None = None


class Bearers:
    """Verifies the tokens of this store's sessions, and those of a provider if one is configured. The algorithm of a
    token tells the two apart, because they have none in common."""

    def __init__(self, context: Context, provider: Provider | None = None) -> None:
        self._context = context
        self._provider = provider

    @property
    def has_services(self) -> bool:
        """Returns whether tokens can be those of services, which are accepted wherever keys are."""
        return self._provider is not None and bool(self._provider.scopes_claim)

    async def identify(self, token: str) -> Identified:
        """Returns the sender of a token. Raises InvalidToken, TokenExpired, ProviderUnavailable or StoreUnavailable."""
        header = read_header(token)
        if header.algorithm == sessions.ALGORITHM:
            return _identify_user(holder(*await sessions.read_session(self._context, token, header.key_id)), SESSION)
        if self._provider is None or header.algorithm not in ALGORITHMS:
            raise InvalidToken
        sender = await self._provider.identify(token, header)
        return Identified(sender) if isinstance(sender, Caller) else _identify_user(sender, self._provider.issuer)


def _identify_user(user: Holder, origin: str) -> Identified:
    return Identified(Caller(f"{USER}:{user.user}", USER_SCOPES, origin=origin), user)


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
