"""Remembers the newest token that a client was given, so that it sees its own writes (docs/consistency.md)."""

from __future__ import annotations

import threading
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Optional

from magistrate_client.errors import InvalidUse

LATEST = "latest"

_Rank = Optional[tuple[bytes, int]]

_KNOWN_VERSIONS = (1, 2)


def rank_token(token: str) -> _Rank:
    """Returns the store and the revision of a token, or None where its form is not known
    (docs/consistency.md#order-of-tokens)."""
    try:
        decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        return None
    if len(decoded) < 17 or decoded[0] not in _KNOWN_VERSIONS:
        return None
    return decoded[1:9], int.from_bytes(decoded[9:17], "big")


def require_sendable(token: str) -> str:
    """Returns a token, which may have come from a cookie or a message. Raises InvalidUse if it has characters that no
    token has, such as the end of a line, behind which it would go on as other headers."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidUse("a token has printable ASCII characters and no blanks")
    return token


class Session:
    """Holds the newest token that was given, for any number of threads."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        self._lock = threading.Lock()

    def remember(self, token: str | None) -> None:
        """Keeps a token unless the one that is kept is newer. Where they cannot be compared, the last one counts."""
        if token is None or token == self.token:
            return
        with self._lock:
            kept = rank_token(self.token) if self.token else None
            given = rank_token(token)
            if kept is not None and given is not None and kept[0] == given[0] and given[1] < kept[1]:
                return
            self.token = token

    def forget(self, token: str | None) -> None:
        """Forgets a token whose write is lost, unless another one was given meanwhile."""
        with self._lock:
            if self.token == token:
                self.token = None


_PINNED: ContextVar[Mapping[int, Session]] = ContextVar("pinned")
"""Holds the sessions of blocks `with client.at(token)`, by what they replace."""


class SessionHolder:
    """Holds the session of a client, in whose place blocks of code may have another."""

    def __init__(self) -> None:
        self._own = Session()

    @property
    def current(self) -> Session:
        """Returns the session of the block that runs."""
        pinned = _PINNED.get(None)
        return self._own if pinned is None else pinned.get(id(self), self._own)

    @contextmanager
    def pin(self, token: str) -> Iterator[None]:
        """Begins another session with this token, for this block in this thread or task. What the block was given is
        remembered after it."""
        outer, inner = self.current, Session(token)
        reset = _PINNED.set({**_PINNED.get({}), id(self): inner})
        try:
            yield
        finally:
            _PINNED.reset(reset)
            if inner.token != token:
                outer.remember(inner.token)
