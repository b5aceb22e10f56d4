"""Issues and reads sessions: tokens with which a user's own device can check what that user may do
(docs/compatibility.md#sessions)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from magistrate.engine.names import ObjectId
from magistrate.errors import InvalidToken
from magistrate.operations.context import Context
from magistrate.operations.sessions.bearer_tokens import Expected, sign_token, verify_claims
from magistrate.store.contract.lists import Snapshot

CHECKS, DASHBOARD = "sess", "ssdash"
"""Names the purposes of a session. The purpose is the audience of its tokens: those for a dashboard are not accepted
here."""

ALGORITHM = "HS256"

DEFAULT_TTL_SECONDS = 86_400
"""Sets the default lifetime to a day."""

MICROSECONDS_PER_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Session:
    """Represents a requested session. `further` claims are for the reader of the token, a dashboard."""

    kind: str
    user: ObjectId
    tenant: ObjectId | None
    context: Mapping[str, Any]
    ttl_seconds: int
    further: Mapping[str, str] = field(default_factory=dict)


async def begin_session(ctx: Context, session: Session) -> Snapshot[str]:
    """Returns the token of a new session. Raises StoreUnavailable."""
    signing = await ctx.caches.session_keys.signing()
    now, key = ctx.now(), signing.value
    claims = {
        "iss": ctx.store.identity.store_id,
        "aud": session.kind,
        "sub": session.user,
        "iat": now // MICROSECONDS_PER_SECOND,
        "exp": -(-now // MICROSECONDS_PER_SECOND) + session.ttl_seconds,
        **({"tenant": session.tenant} if session.tenant is not None else {}),
        **({"context": session.context} if session.context else {}),
        **session.further,
    }
    return Snapshot(signing.revision, sign_token(claims, key.secret, ALGORITHM, key.id))


class SessionClaims(NamedTuple):
    """Holds the claims of a token about its bearer."""

    user: ObjectId
    tenant: ObjectId | None
    context: Mapping[str, Any]


async def read_session(ctx: Context, token: str, key_id: str | None) -> SessionClaims:
    """Returns the claims of a token that is valid for checks and names this key.

    Raises InvalidToken, TokenExpired, StoreUnavailable.
    """
    key = await ctx.caches.session_keys.find(key_id or "")
    if key is None:
        raise InvalidToken
    claims = verify_claims(token, key.secret, ALGORITHM, Expected(ctx.store.identity.store_id, CHECKS))
    return SessionClaims(claims["sub"], claims.get("tenant"), claims.get("context", {}))
