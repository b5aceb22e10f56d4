"""Who a bearer token was made for."""

from magistrate.api.auth import Holder, holder
from magistrate.api.provider import Provider
from magistrate.api.provider_keys import ALGORITHMS
from magistrate.errors import InvalidToken
from magistrate.operations import sessions
from magistrate.operations.bearer_tokens import read_head
from magistrate.operations.context import Context


class Bearers:
    """Tokens of sessions on this store, and those of a provider if there is one. Which of the two a token can be
    follows from its algorithm: they have none in common."""

    def __init__(self, context: Context, provider: Provider | None = None) -> None:
        self._context = context
        self._provider = provider

    async def holder(self, token: str) -> Holder:
        """Raises InvalidToken, TokenExpired, ProviderUnavailable, StoreUnavailable."""
        head = read_head(token)
        if head.algorithm == sessions.ALGORITHM:
            session = await sessions.read_session(self._context, token, head.key_id)
            return holder(*session)
        if self._provider is None or head.algorithm not in ALGORITHMS:
            raise InvalidToken
        return await self._provider.holder(token, head)
