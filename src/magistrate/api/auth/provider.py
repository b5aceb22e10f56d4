"""Verifies the tokens of an external provider, which users receive where they log in, and services where they
authenticate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from magistrate.api.auth.callers import Holder, holder
from magistrate.api.auth.fetched_keys import FetchedKeys
from magistrate.engine.names import ObjectId
from magistrate.engine.terms import object_id
from magistrate.errors import InvalidParameter, InvalidToken, MissingParameter
from magistrate.operations.keys.callers import Caller, Scope, expand_scopes
from magistrate.operations.sessions.bearer_tokens import Expected, TokenHeader, verify_claims

LEEWAY_SECONDS = 10
"""Bounds the difference between the provider's clock and ours."""
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
            return Caller(f"{SERVICE}:{_id(claims.get(self.user_claim))}", scopes, origin=self.issuer)
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
