"""Encrypts the keys that session tokens are signed with, as they are kept in the store.

The cipher is AES-256-GCM with a random nonce for each key. A key is bound to its id and time, so that rows cannot be
exchanged. See docs/decisions/0031-signing-keys-can-be-encrypted.md."""

import binascii
import os
import re
import stat
from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from magistrate.errors import InvalidSetting, SigningKeysLocked

SEALED_PREFIX = "aes256gcm:"
"""Marks secrets in the store that are encrypted. Unencrypted secrets are hex digits."""
KEY_BYTES = 32
MAX_FILE_BYTES = 65_536

_NONCE_BYTES = 12
_HEX = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Sealing:
    """Encrypts with the first of its keys, and decrypts with any. Without keys it leaves secrets as they are."""

    keys: Sequence[bytes] = field(default=(), repr=False)

    def seal(self, secret: str, bound_to: str) -> str:
        if not self.keys:
            return secret
        nonce = os.urandom(_NONCE_BYTES)
        sealed = AESGCM(self.keys[0]).encrypt(nonce, secret.encode(), bound_to.encode())
        return SEALED_PREFIX + b64encode(nonce + sealed).decode()

    def unseal(self, kept: str, bound_to: str) -> str:
        """Returns the decrypted secret; one that is not encrypted is returned as it is. Raises SigningKeysLocked if
        none of the keys decrypts it."""
        if not kept.startswith(SEALED_PREFIX):
            return kept
        for key in self.keys:
            if (secret := _decrypt(key, kept, bound_to)) is not None:
                return secret
        raise SigningKeysLocked(has_keys=bool(self.keys))

    def is_current(self, kept: str, bound_to: str) -> bool:
        """Returns whether a secret is stored as `seal` would store it now."""
        if not self.keys:
            return not kept.startswith(SEALED_PREFIX)
        return kept.startswith(SEALED_PREFIX) and _decrypt(self.keys[0], kept, bound_to) is not None


UNSEALED = Sealing()


def read_sealing(path: str) -> Sealing:
    """Returns the keys of a file, one per line, each 64 hex digits or base64 of 32 bytes; blank lines and lines that
    begin with `#` are ignored. Raises InvalidSetting, also if other users can read the file."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            _check_mode(path, os.fstat(file.fileno()))
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidSetting(f"secret_key_file: {path} cannot be read: {error.strerror}") from error
    lines = [line.strip() for line in content.removeprefix(BOM_UTF8).decode("latin-1").splitlines()]
    keys = tuple(_read_key(path, line) for line in lines if line and not line.startswith("#"))
    if not keys or len(content) > MAX_FILE_BYTES:
        raise InvalidSetting(f"secret_key_file: {path} must hold a key or some; `openssl rand -base64 32` makes one")
    return Sealing(keys)


def _open_without_waiting(path: str, flags: int) -> int:
    """Opens a file for `open`. A pipe is opened as well if nobody writes to it, so that it can be refused."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_mode(path: str, status: os.stat_result) -> None:
    """Raises InvalidSetting if other users can read the file. A group may read a file of root, because containers are
    given secrets in this way."""
    if not stat.S_ISREG(status.st_mode):
        raise InvalidSetting(f"secret_key_file: {path} must be a regular file, for each worker reads it")
    allowed = 0o640 if status.st_uid == 0 else 0o600
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077 & ~allowed:
        raise InvalidSetting(f"secret_key_file: others can use {path} (mode {mode:04o}); run `chmod 600 {path}`")


def _read_key(path: str, line: str) -> bytes:
    try:
        key = bytes.fromhex(line) if _HEX.fullmatch(line) else b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidSetting(
            f"secret_key_file: each line of {path} must be 64 hex digits or base64 of {KEY_BYTES} bytes; "
            "`openssl rand -base64 32` makes one"
        )
    return key


def _decrypt(key: bytes, kept: str, bound_to: str) -> str | None:
    """Returns the secret, or None if it was encrypted with another key, bound to something else, or modified."""
    try:
        content = b64decode(kept.removeprefix(SEALED_PREFIX), validate=True)
        return AESGCM(key).decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], bound_to.encode()).decode()
    except (InvalidTag, ValueError):
        return None
