"""Verifies the JSON Web Tokens that callers send in place of a key.

No claim of a token is trusted before its signature is verified. The holder of the key chooses the key and the algorithm
for that, never the token: its header only helps to find the key (RFC 8725)."""

import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import jwt
import msgspec
from jwt.types import Options

from magistrate.errors import InvalidToken, TokenExpired

T = TypeVar("T")

MAX_TOKEN_LENGTH = 16_384
"""Limits a token in characters. Ours have 7,000 at most; those of providers that list groups have more."""


class TokenHeader(msgspec.Struct, frozen=True):
    """Holds the header of a token, which is not verified."""

    algorithm: str = msgspec.field(name="alg")
    key_id: str | None = msgspec.field(name="kid", default=None)


class _Issued(msgspec.Struct, frozen=True):
    """Holds the claim of a token that says who issued it, which is not verified."""

    issuer: str = msgspec.field(name="iss", default="")


_HEADER = msgspec.json.Decoder(TokenHeader)
_ISSUED = msgspec.json.Decoder(_Issued)


class Expected(NamedTuple):
    """Holds the values that claims are compared with: `iss`, `aud` (or one of several there), and the times. Clocks may
    differ by `leeway_seconds`; `iat` may be ahead by `iat_ahead_seconds`, because it says when a token was made, not
    when it is valid, and a clock that is behind must not refuse new ones."""

    issuer: str
    audience: str
    leeway_seconds: int = 0
    iat_ahead_seconds: int = 86_400


LAST_TIME = 253_402_300_799
"""Marks the last second of the year 9999; a later time in a token is an error of its issuer."""

# The times are checked here because PyJWT accepts strings and booleans as numbers.
_OPTIONS: Options = {
    "require": ["exp", "iss", "aud"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_sub": False,
}


def read_header(token: str) -> TokenHeader:
    """Reads only the header, so that refusing an unsigned token costs next to nothing. Raises InvalidToken."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise InvalidToken
    return _read_part(token, 0, _HEADER)


def read_issuer(token: str) -> str:
    """Returns who issued a token, as it says itself: what it is verified with depends on that. Raises InvalidToken."""
    return _read_part(token, 1, _ISSUED).issuer


def _read_part(token: str, place: int, decoder: msgspec.json.Decoder[T]) -> T:
    part = token.split(".")[place]
    try:
        return decoder.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise InvalidToken from None


def verify_claims(token: str, key: Any, algorithm: str, expected: Expected) -> Mapping[str, Any]:
    """Returns the claims of a token that was signed with this key, by this algorithm.

    Raises TokenExpired if the only fault is that the token has expired, InvalidToken for anything else."""
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            options=_OPTIONS,
            issuer=expected.issuer,
            audience=expected.audience,
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise InvalidToken from None
    _check_times(claims, expected, time.time())
    return claims


def _check_times(claims: Mapping[str, Any], expected: Expected, now: float) -> None:
    """Raises TokenExpired for a token that has expired, InvalidToken for one that is not valid yet or whose times are
    malformed."""
    begun = {"nbf": expected.leeway_seconds, "iat": expected.iat_ahead_seconds}
    times = {name: claims[name] for name in ("exp", *begun) if name in claims}
    if not all(map(_is_time, times.values())):
        raise InvalidToken
    if any(times[name] > now + ahead for name, ahead in begun.items() if name in times):
        raise InvalidToken
    if times["exp"] <= now - expected.leeway_seconds:
        raise TokenExpired


def _is_time(claim: object) -> bool:
    """Returns whether the claim is a number of seconds since 1970 within four-digit years. NaN is refused: it compares
    with nothing."""
    return isinstance(claim, int | float) and not isinstance(claim, bool) and 0 <= claim <= LAST_TIME


def sign_token(claims: Mapping[str, Any], secret: str, algorithm: str, key_id: str) -> str:
    payload = msgspec.json.encode(claims)  # compact, and without escapes for non-ASCII characters
    return jwt.PyJWS().encode(payload, secret, algorithm, {"kid": key_id})
