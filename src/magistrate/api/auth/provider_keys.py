"""Reads the public keys of a token provider from PEM or from a JSON Web Key Set (RFC 7517).

A key is used with one algorithm only, which follows from its type: RS256 for RSA, ES256 for the curve P-256. So no
token can choose another algorithm, or have a public key taken for a secret."""

from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from magistrate.api.http.json_values import build_decoder
from magistrate.errors import InvalidSetting
from magistrate.operations.sessions.bearer_tokens import TokenHeader

ALGORITHMS = ("RS256", "ES256")
MIN_RSA_BITS = 2_048
"""Sets the minimum length of RSA keys (NIST SP 800-131A)."""
MAX_KEYS_BYTES = 262_144
"""Limits the size of a key file or key set (256 KiB)."""

_PEM = b"-----BEGIN "
_READERS = {"RSA": RSAAlgorithm.from_jwk, "EC": ECAlgorithm.from_jwk}


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """Represents a public key. If `id` is None, because the provider gives none, tokens with any key id may be signed
    with it."""

    id: str | None
    algorithm: str
    key: RSAPublicKey | EllipticCurvePublicKey

    def fits(self, header: TokenHeader) -> bool:
        return self.algorithm == header.algorithm and (
            self.id is None or header.key_id is None or self.id == header.key_id
        )


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


def read_keys(content: bytes) -> tuple[ProviderKey, ...]:
    """Returns every usable key; keys of other types and encryption keys are skipped.

    Raises ValueError if the content is neither PEM nor a key set."""
    content = content.removeprefix(BOM_UTF8)
    if content.lstrip().startswith(_PEM):
        return _usable(None, _pem_key(content))
    keys = build_decoder(_KeySet).decode(content).keys
    return tuple(key for entry in keys for key in _entry_keys(entry))


def read_limited(path: str) -> bytes:
    """Returns the content of a file. Raises OSError, or ValueError if it is longer than MAX_KEYS_BYTES."""
    with open(path, "rb") as file:
        content = file.read(MAX_KEYS_BYTES + 1)
    if len(content) > MAX_KEYS_BYTES:
        raise ValueError(f"it is longer than {MAX_KEYS_BYTES} bytes")
    return content


def read_key_file(path: str) -> tuple[ProviderKey, ...]:
    """Returns the keys of a file, at least one. Raises InvalidSetting."""
    try:
        keys = read_keys(read_limited(path))
    except OSError as error:
        raise InvalidSetting(f"jwt_keys: {path} cannot be read: {error.strerror}") from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise InvalidSetting(f"jwt_keys: {path} is neither a public key in PEM nor a JWKS: {error}") from error
    if not keys:
        raise InvalidSetting(f"jwt_keys: {path} has no key for RS256 (2048 bits or more) or ES256")
    return keys


def _pem_key(content: bytes) -> object:
    if content.count(_PEM) > 1:
        raise ValueError("it has more than one key; several can be in a key set")
    try:
        return load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("it is no public key in PEM") from None


def _entry_keys(entry: dict[str, Any]) -> tuple[ProviderKey, ...]:
    read, key_id = _READERS.get(str(entry.get("kty"))), entry.get("kid")
    # A published private key may have been used by anybody.
    if read is None or "d" in entry or entry.get("use", "sig") != "sig" or not isinstance(key_id, str | None):
        return ()
    try:
        keys = _usable(key_id, read(entry))
    except (jwt.PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return ()
    return tuple(key for key in keys if entry.get("alg", key.algorithm) == key.algorithm)


def _usable(key_id: str | None, key: object) -> tuple[ProviderKey, ...]:
    if isinstance(key, RSAPublicKey) and key.key_size >= MIN_RSA_BITS:
        return (ProviderKey(key_id, "RS256", key),)
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return (ProviderKey(key_id, "ES256", key),)
    return ()
