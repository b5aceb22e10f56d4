"""Defines what a store promises about the keys of callers, as a part of store.py. Every sentence has a test in
tests/store/test_keys.py."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import Snapshot


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Holds a key: ('0197a6...', 'billing', 'magistrate_Vd3x', '9f86d0...', ('check', 'query'), ('invoice',),
    1763683200000000, 'key-5f0c9a31').

    `prefix` is the beginning of the key, by which people recognize it, and `digest` its SHA-256 in hex. `object_types`
    is None if the key is valid for all. Times are in microseconds since 1970 UTC. The key that was replaced by the last
    rotation has `previous_digest`, and is good until `previous_until`."""

    id: str
    name: str
    prefix: str
    digest: str
    scopes: tuple[str, ...]
    object_types: tuple[str, ...] | None
    created_at: int
    created_by: str
    last_used_at: int | None = None
    expires_at: int | None = None
    previous_digest: str | None = None
    previous_until: int | None = None


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """Holds all stored keys, by id, the newest revision, and the version of the keys."""

    revision: Revision
    version: int
    keys: tuple[StoredKey, ...]


@dataclass(frozen=True, slots=True)
class NewSecret:
    """Holds what a rotation stores: the prefix and digest of the new key, and the time until which the old one is
    good."""

    prefix: str
    digest: str
    previous_until: int


class KeyStore(Protocol):
    """Describes the part of a store that handles the keys of callers. Keys are not versioned: writing them makes no
    revision and no row in the change log, so that nothing stays of a key that is deleted."""

    async def keys_version(self) -> int:
        """Returns the version of the keys, which grows with every call below that writes, except `note_key_uses`.
        Takes one lookup."""
        ...

    async def list_keys(self) -> StoredKeys: ...

    async def create_key(self, new: StoredKey, most: int) -> Revision:
        """Stores the key, and returns the newest revision. Raises Conflict if a key has this name, or if there are
        `most` keys already."""
        ...

    async def rotate_key(self, key_id: str, new: NewSecret) -> Snapshot[StoredKey]:
        """Replaces the secret of a key. Of earlier secrets, only the last one stays valid. Raises NotFound."""
        ...

    async def delete_key(self, key_id: str) -> Revision:
        """Deletes the key, and returns the newest revision. Raises NotFound."""
        ...

    async def note_key_uses(self, uses: Mapping[str, int], pause: int) -> None:
        """Records when keys were used last, by id, unless that was recorded less than `pause` microseconds before.
        Keys that do not exist are ignored."""
        ...

    async def key_digests(self) -> Iterable[str]:
        """Returns the SHA-256 in hex of every key that was stored by `keep_key_digest` or `replace_key_digests`."""
        ...

    async def keep_key_digest(self, digest: str, at: int) -> bool:
        """Stores the digest if the store has none yet, and returns whether it did."""
        ...

    async def replace_key_digests(self, digest: str, at: int) -> int:
        """Stores the digest in place of all others, at once, and returns how many there were."""
        ...


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Holds a key: ('5f0c9a31b2d4e687', '9d1e...', 1763683200000000). `id` is 16 hex digits and not secret; `secret`
    is 64 hex digits; `created_at` is in microseconds since 1970 UTC."""

    id: str
    secret: str = field(repr=False)
    created_at: int


KeptKeys = Snapshot[tuple[SessionKey, ...]]
"""Holds every stored key, the newest first."""


class SessionKeyStore(Protocol):
    """Describes the part of a store that handles session keys. Keys are not versioned: writing them makes no revision
    and no row in the change log."""

    async def session_keys(self) -> KeptKeys:
        """Returns the stored keys. Raises SigningKeysLocked if one of them is encrypted and the store was opened
        without the key for it."""
        ...

    async def keep_session_key(self, new: SessionKey, unless_after: int, delete_by: int) -> KeptKeys:
        """Stores the key unless there is one that was created after `unless_after`; if it is stored, deletes those
        created at or before `delete_by`. Returns the keys stored then. Of several concurrent callers, one has its key
        stored."""
        ...

    async def seal_session_keys(self) -> int:
        """Encrypts the keys that are not stored as new ones would be (unencrypted, or encrypted with another key),
        and returns their number.

        Raises SigningKeysLocked if one of them cannot be decrypted."""
        ...

    async def delete_session_keys(self) -> int:
        """Deletes all keys, encrypted or not, and returns how many there were."""
        ...
