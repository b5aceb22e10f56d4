"""JSON Web Tokens that callers show in the place of a key.

Nothing in a token is believed before its signature is verified. With which key and algorithm that is done is up to
whoever holds the key, never to the token: what a token says of itself only helps to find the key (RFC 8725)."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

import jwt
import msgspec
from jwt.types import Options

from magistrate.errors import InvalidToken, TokenExpired

MAX_TOKEN_LENGTH = 16_384
"""Characters. Ours have 7,000 at the most; those of providers that list groups have more."""


class TokenHead(msgspec.Struct, frozen=True):
    """What a token says of itself."""

    algorithm: str = msgspec.field(name="alg")
    key_id: str | None = msgspec.field(name="kid", default=None)


_HEAD = msgspec.json.Decoder(TokenHead)


class Expected(NamedTuple):
    """What the claims `iss`, `aud` (or one of several there) and `exp` are held against; by so much clocks may
    differ."""

    issuer: str
    audience: str
    leeway_seconds: int = 0


# `iat` says nothing about whether a token is good; a clock that is behind would refuse new ones for it.
_OPTIONS: Options = {"require": ["exp", "iss", "aud"], "verify_iat": False, "verify_sub": False}


def read_head(token: str) -> TokenHead:
    """Looks at nothing else, so that it costs next to nothing to refuse what nobody signed. Raises InvalidToken."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise InvalidToken
    head = token.partition(".")[0]
    try:
        return _HEAD.decode(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise InvalidToken from None


def verified_claims(token: str, key: Any, algorithm: str, expected: Expected) -> Mapping[str, Any]:
    """The claims of a token that was signed with this key, by this algorithm.

    Raises TokenExpired if all that is wrong with its signature and times is that the latter are over, InvalidToken for
    anything else."""
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            options=_OPTIONS,
            issuer=expected.issuer,
            audience=expected.audience,
            leeway=expected.leeway_seconds,
        )
    except jwt.ExpiredSignatureError:
        raise TokenExpired from None
    except jwt.PyJWTError:
        raise InvalidToken from None
    return claims


def signed_token(claims: Mapping[str, Any], secret: str, algorithm: str, key_id: str) -> str:
    payload = msgspec.json.encode(claims)  # compact, and without escapes for what is not ASCII
    return jwt.PyJWS().encode(payload, secret, algorithm, {"kid": key_id})
