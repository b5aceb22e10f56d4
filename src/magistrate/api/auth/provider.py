"""Verifies the tokens of an external provider, which users receive where they log in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from magistrate.api.auth.callers import Holder, holder
from magistrate.api.auth.fetched_keys import FetchedKeys
from magistrate.engine.terms import ObjectId, object_id
from magistrate.errors import InvalidParameter, InvalidToken, MissingParameter
from magistrate.operations.sessions.bearer_tokens import Expected, TokenHeader, verify_claims

LEEWAY_SECONDS = 10
"""Bounds the difference between the provider's clock and ours."""
IAT_AHEAD_SECONDS = 300
"""Bounds how far in the future the `iat` claim of a token may be, to allow for clocks that are not synchronized."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Represents a token provider. The claims `iss` and `aud` must equal `issuer` and `audience`. The claims named by
    `user_claim` and `tenant_claim` hold the user and the tenant; `tenant_claim` is empty if tokens name none."""

    keys: FetchedKeys
    issuer: str
    audience: str
    user_claim: str
    tenant_claim: str

    async def holder(self, token: str, header: TokenHeader) -> Holder:
        """Returns the holder of a token. Raises InvalidToken, TokenExpired or ProviderUnavailable."""
        claims = await self._claims(token, header)
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


def _id(claim: object) -> ObjectId:
    try:
        return object_id(claim if isinstance(claim, str) else None, "")
    except (MissingParameter, InvalidParameter):
        raise InvalidToken from None
