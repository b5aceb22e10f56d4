"""Reads the number of a revision from its token (docs/consistency.md#order-of-tokens)."""

import binascii
from base64 import urlsafe_b64decode

VERSIONS = (1, 2)
BEGIN, END = 9, 17
"""Bound the number: the version is one byte, and the store eight."""


def read_revision(token: str) -> int:
    """Returns the number of the revision. Raises ValueError for a text that is no token."""
    try:
        decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as error:
        raise ValueError(f"{token!r} is no token") from error
    if len(decoded) < END or decoded[0] not in VERSIONS:
        raise ValueError(f"{token!r} is no token")
    return int.from_bytes(decoded[BEGIN:END], "big")
