"""Encodes opaque tokens: consistency tokens, cursors and the ids of events.

A token is the URL-safe base64, without padding, of a content and of check bytes computed from it. The check bytes tell
our tokens from other texts; whether they can be forged depends on how they are computed. Each text stands for one
sequence of bytes and the other way round, so tokens can be compared as texts."""

import binascii
import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

Check = Callable[[bytes, bytes], bytes]
"""Computes the check bytes of a content with a key."""

_TEXT = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TokenCodec:
    """Encodes one kind of tokens. Its check bytes are `check_bytes` long, and precede the content if `check_is_first`,
    otherwise follow it."""

    check: Check
    check_bytes: int
    check_is_first: bool = False

    def encode(self, content: bytes, key: bytes = b"") -> str:
        check = self.check(content, key)
        return _encode_text(check + content if self.check_is_first else content + check)

    def decode(self, text: str, key: bytes = b"") -> bytes | None:
        """Returns the content, or None if the text is no token of this kind, encoded with this key."""
        decoded = decode_text(text)
        if decoded is None:
            return None
        if self.check_is_first:
            check, content = decoded[: self.check_bytes], decoded[self.check_bytes :]
        else:
            content, check = decoded[: -self.check_bytes], decoded[-self.check_bytes :]
        return content if hmac.compare_digest(check, self.check(content, key)) else None


def decode_text(text: str) -> bytes | None:
    """Returns the bytes that a text stands for, or None if no bytes are encoded as this text."""
    if not _TEXT.fullmatch(text):
        return None
    try:
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
    return decoded if _encode_text(decoded) == text else None


def compute_crc(content: bytes, key: bytes) -> bytes:
    """Returns the CRC-32 of both, big-endian. Whoever knows the key can compute it, and it may not be a secret: this
    detects damage and other texts, not forgery."""
    return binascii.crc32(content + key).to_bytes(4, "big")


def compute_mac(content: bytes, key: bytes) -> bytes:
    """Returns 8 bytes of the keyed BLAKE2b, which only those who know the key can compute."""
    return hashlib.blake2b(content, digest_size=8, key=key).digest()


def _encode_text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
