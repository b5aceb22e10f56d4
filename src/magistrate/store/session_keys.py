"""Defines what a store promises about the keys that session tokens are signed with, as a part of contract.py."""

from dataclasses import dataclass, field
from typing import Protocol

from magistrate.engine.terms import Revision


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Holds a key: ('5f0c9a31b2d4e687', '9d1e...', 1763683200000000). `id` is 16 hex digits and not secret; `secret`
    is 64 hex digits; `created_at` is in microseconds since 1970 UTC."""

    id: str
    secret: str = field(repr=False)
    created_at: int


@dataclass(frozen=True, slots=True)
class KeptKeys:
    """Holds every stored key, the newest first, and the newest revision."""

    revision: Revision
    keys: tuple[SessionKey, ...]


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
