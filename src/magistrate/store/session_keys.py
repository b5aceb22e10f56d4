"""What a store promises of the keys that session tokens are signed with: see contract.py, which this is a part of."""

from dataclasses import dataclass, field
from typing import Protocol

from magistrate.engine.terms import Revision


@dataclass(frozen=True, slots=True)
class SessionKey:
    """('5f0c9a31b2d4e687', '9d1e...', 1763683200000000). `id` is 16 hex digits and no secret; `secret` 64 of them;
    `created_at` in microseconds since 1970 UTC."""

    id: str
    secret: str = field(repr=False)
    created_at: int


@dataclass(frozen=True, slots=True)
class KeptKeys:
    """Every key that is kept, the newest first, and the newest revision."""

    revision: Revision
    keys: tuple[SessionKey, ...]


class SessionKeyStore(Protocol):
    """Keys are no part of what is versioned: writing them makes no revision, and no row in the change log."""

    async def session_keys(self) -> KeptKeys:
        """Raises SigningKeysLocked if one of them is encrypted and the store was opened without the key for it."""
        ...

    async def keep_session_key(self, new: SessionKey, unless_after: int, forget_by: int) -> KeptKeys:
        """Keeps the key unless there is one that was created after `unless_after`, and then forgets those created at
        or before `forget_by`. Answers what is kept then. Of several callers at a time, one has its key kept."""
        ...

    async def seal_session_keys(self) -> int:
        """Encrypts those that are kept in another way than new ones are: plain, or with another key. Answers how many.

        Raises SigningKeysLocked if one of them cannot be decrypted."""
        ...

    async def forget_session_keys(self) -> int:
        """Forgets all of them, encrypted or not; answers how many there were."""
        ...
