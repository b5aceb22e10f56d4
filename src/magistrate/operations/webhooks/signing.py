"""Signs messages as the Standard Webhooks specification 1.0.0 says, so that its libraries verify them."""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from binascii import Error as DecodeError
from collections.abc import Sequence

from magistrate.errors import InvalidParameter

PREFIX = "whsec_"
VERSION = "v1"
SECRET_BYTES = 32
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
"""Limit the secrets of callers, as the specification says."""


def generate_secret() -> str:
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def read_secret(text: str) -> str:
    """Returns a secret that a caller has chosen. Raises InvalidParameter, which does not show it."""
    try:
        size = len(_decode(text)) if text.startswith(PREFIX) else 0
    except (DecodeError, ValueError):
        size = 0
    if not MIN_SECRET_BYTES <= size <= MAX_SECRET_BYTES:
        sizes = f"{MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes"
        raise InvalidParameter("secret", f"must be {PREFIX} followed by {sizes} in base64")
    return text


def sign(message: str, timestamp: int, body: bytes, by: Sequence[str]) -> str:
    """Returns the signatures by all secrets, separated by blanks. `timestamp` is in seconds since 1970 UTC."""
    content = f"{message}.{timestamp}.".encode() + body
    digests = [hmac.digest(_decode(secret), content, hashlib.sha256) for secret in by]
    return " ".join(f"{VERSION},{b64encode(digest).decode()}" for digest in digests)


def _decode(secret: str) -> bytes:
    return b64decode(secret.removeprefix(PREFIX), validate=True)
