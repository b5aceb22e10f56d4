"""Who a bearer token was made for."""

from magistrate.api.auth import Holder, holder
from magistrate.errors import InvalidToken
from magistrate.operations import sessions
from magistrate.operations.bearer_tokens import read_head
from magistrate.operations.context import Context


class Bearers:
    """Tokens of sessions on this store."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def holder(self, token: str) -> Holder:
        """Raises InvalidToken, TokenExpired, StoreUnavailable."""
        head = read_head(token)
        if head.algorithm != sessions.ALGORITHM:
            raise InvalidToken
        session = await sessions.read_session(self._context, token, head.key_id)
        return holder(session.user, session.tenant, session.context)
