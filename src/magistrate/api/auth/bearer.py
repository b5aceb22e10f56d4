"""Determines the user that a bearer token was made for."""

from magistrate.api.auth.callers import Holder, holder
from magistrate.api.auth.provider import Provider
from magistrate.api.auth.provider_keys import ALGORITHMS
from magistrate.errors import InvalidToken
from magistrate.operations.context import Context
from magistrate.operations.sessions import sessions
from magistrate.operations.sessions.bearer_tokens import read_header


class Bearers:
    """Verifies the tokens of this store's sessions, and those of a provider if one is configured. The algorithm of a
    token tells the two apart, because they have none in common."""

    def __init__(self, context: Context, provider: Provider | None = None) -> None:
        self._context = context
        self._provider = provider

    async def holder(self, token: str) -> Holder:
        """Returns the holder of a token. Raises InvalidToken, TokenExpired, ProviderUnavailable or StoreUnavailable."""
        header = read_header(token)
        if header.algorithm == sessions.ALGORITHM:
            session = await sessions.read_session(self._context, token, header.key_id)
            return holder(*session)
        if self._provider is None or header.algorithm not in ALGORITHMS:
            raise InvalidToken
        return await self._provider.holder(token, header)
