"""Makes and reads the continuation tokens of OpenFGA's API: opaque texts that belong to one list of one store."""

import base64
import binascii
import hashlib
import hmac
from typing import Any

from magistrate.errors import OpenFgaRefusal
from magistrate.store.contract.stored_rows import Identity

INVALID_TOKEN = "invalid_continuation_token"
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 50, 100
MAX_TOKEN_CHARACTERS = 5_120
_DIGEST_BYTES = 12


def write_continuation(identity: Identity, of_list: str, position: str) -> str:
    """Returns the token of a position in a list of a store."""
    content = position.encode()
    return base64.urlsafe_b64encode(_sign(identity, of_list, content) + content).decode()


def read_continuation(identity: Identity, of_list: str, token: object) -> str:
    """Returns the position of a token, the empty text if there is none. Raises OpenFgaRefusal for a token that nobody
    was given for this list."""
    if token is None or token == "":
        return ""
    try:
        raw = base64.b64decode(token.encode("ascii"), b"-_", validate=True) if isinstance(token, str) else b""
    except (binascii.Error, UnicodeError):
        raw = b""
    signature, content = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    if not content or not hmac.compare_digest(signature, _sign(identity, of_list, content)):
        raise OpenFgaRefusal(INVALID_TOKEN, "the continuation token is not one of this list")
    return content.decode()


def _sign(identity: Identity, of_list: str, content: bytes) -> bytes:
    key = bytes.fromhex(identity.cursor_key)
    return hashlib.blake2b(of_list.encode() + b"\0" + content, key=key, digest_size=_DIGEST_BYTES).digest()


def read_page_size(value: Any) -> int:
    """Returns the number of rows of a page, given as a number or its text. Raises OpenFgaRefusal."""
    if value is None or value == "":
        return DEFAULT_PAGE_SIZE
    try:
        size = float(value) if not isinstance(value, bool) else 0.0
    except (TypeError, ValueError):
        raise OpenFgaRefusal("validation_error", "page_size must be a number") from None
    if not size.is_integer() or not 1 <= size <= MAX_PAGE_SIZE:
        raise OpenFgaRefusal("page_size_invalid", f"page_size must be 1 to {MAX_PAGE_SIZE}")
    return int(size)
