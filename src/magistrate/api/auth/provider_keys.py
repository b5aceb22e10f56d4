"""Fetches the public keys of a token provider, which may replace them at any time, and reads them from PEM or from a
JSON Web Key Set (RFC 7517).

Keys are fetched periodically in the background, so that no check waits for it. They are also fetched when a token names
an unknown key, but at a limited rate, because anybody can send such tokens.

A key is used with one algorithm only, which follows from its type: RS256 for RSA, ES256 for the curve P-256. So no
token can choose another algorithm, or have a public key taken for a secret."""

import asyncio
import math
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jwt
import msgspec
import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from magistrate.api.http.json_values import build_decoder
from magistrate.errors import InvalidSetting, ProviderUnavailable
from magistrate.log import end_outage
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


PAUSE_SECONDS = 10.0
"""Sets the minimum time between the starts of two fetches."""
KEPT_SECONDS = 86_400.0
"""Limits how long keys are used after the last successful fetch (a day)."""

_FAILURES = (OSError, ValueError, msgspec.MsgspecError, RecursionError)

log = structlog.get_logger()


class KeyOrigin(Protocol):
    """Fetches keys from a source, which is read every `every_seconds`."""

    every_seconds: float

    async def content(self) -> bytes:
        """Returns PEM or a key set. Raises OSError or ValueError."""
        ...

    async def close(self) -> None: ...


class KeyFile:
    """Reads keys from a file, as a KeyOrigin."""

    every_seconds = PAUSE_SECONDS

    def __init__(self, path: str) -> None:
        self._path = path

    async def content(self) -> bytes:
        return await asyncio.to_thread(read_limited, self._path)

    async def close(self) -> None:
        """Does nothing, because no resource is held."""


class FetchedKeys:
    """Holds the keys of one provider."""

    def __init__(self, origin: KeyOrigin, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._origin = origin
        self._monotonic = monotonic
        self._keys: Sequence[ProviderKey] = ()
        self._fetched_at = -math.inf
        self._tried_at = -math.inf
        self._failure: Exception | None = None
        """Holds the error of the last fetch, or None if it succeeded."""
        self._fetching = asyncio.Lock()

    async def fitting(self, header: TokenHeader) -> Sequence[ProviderKey]:
        """Returns the keys that a token with this head may be signed with. Raises ProviderUnavailable."""
        keys = self._get_cached(header)
        if not keys:
            await self._fetch()
            keys = self._get_cached(header)
        if not keys and self._failure is not None:
            raise ProviderUnavailable("the keys of the token provider cannot be fetched") from self._failure
        return keys

    async def keep_fresh(self) -> None:
        """Fetches the keys periodically, and closes the origin when it ends. It must run once, as a background task."""
        try:
            while True:
                await self._fetch()
                await asyncio.sleep(self._origin.every_seconds if self._failure is None else PAUSE_SECONDS)
        finally:
            await self._origin.close()

    def _get_cached(self, header: TokenHeader) -> Sequence[ProviderKey]:
        if self._monotonic() - self._fetched_at > KEPT_SECONDS:
            return ()
        return [key for key in self._keys if key.fits(header)]

    async def _fetch(self) -> None:
        """Fetches the keys unless a fetch was started recently. A caller that arrives during a fetch waits for it."""
        async with self._fetching:
            now = self._monotonic()
            if now - self._tried_at < PAUSE_SECONDS:
                return
            self._tried_at = now
            self._failure = TimeoutError("the fetch was given up")  # kept if the fetch is cancelled
            try:
                self._keys = read_keys(await self._origin.content())
            except _FAILURES as error:
                self._failure = error
                log.warning(
                    "the keys of the token provider cannot be fetched", outage="token provider", cause=repr(error)
                )
            else:
                self._fetched_at, self._failure = now, None
                end_outage("token provider")
                if not self._keys:
                    log.warning("the token provider has no key for RS256 or ES256")
