"""Tokens of an outside provider, which users have from where they log in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from magistrate.api.auth import Holder, holder
from magistrate.api.fetched_keys import FetchedKeys
from magistrate.engine.terms import ObjectId, object_id
from magistrate.errors import InvalidParameter, InvalidToken, MissingParameter
from magistrate.operations.bearer_tokens import Expected, TokenHead, verify_claims

LEEWAY_SECONDS = 10
"""So much its clock may differ from ours."""
IAT_AHEAD_SECONDS = 300
"""So much later than now a token may say that it was made: enough for clocks that nobody sets."""


@dataclass(frozen=True, slots=True)
class Provider:
    """`issuer` and `audience` are what the claims `iss` and `aud` must be. The user is the text in the claim that
    `user_claim` names, the tenant likewise; `tenant_claim` is empty if tokens say none."""

    keys: FetchedKeys
    issuer: str
    audience: str
    user_claim: str
    tenant_claim: str

    async def holder(self, token: str, head: TokenHead) -> Holder:
        """Raises InvalidToken, TokenExpired, ProviderUnavailable."""
        claims = await self._claims(token, head)
        tenant = claims.get(self.tenant_claim) if self.tenant_claim else None
        return holder(_id(claims.get(self.user_claim)), None if tenant is None else _id(tenant), {})

    async def _claims(self, token: str, head: TokenHead) -> Mapping[str, Any]:
        expected = Expected(self.issuer, self.audience, LEEWAY_SECONDS, IAT_AHEAD_SECONDS)
        for key in await self.keys.fitting(head):
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
