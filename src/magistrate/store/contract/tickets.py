"""Defines what a store promises about the tickets of streams, as a part of store.py. Every sentence has a test in
tests/store/test_tickets.py."""

from dataclasses import dataclass
from typing import Protocol

from magistrate.engine.names import Revision


@dataclass(frozen=True, slots=True)
class StoredTicket:
    """Holds a ticket: ('9f86d0...', 'billing', ('events',), ('invoice',), '0197a6...', '', 1, None,
    1763683260000000).

    `digest` is its SHA-256 in hex. The members from `actor` to `valid_until` describe the caller for whom it was made
    (operations/keys/callers.py); `caller_store` is the number of the store of the caller, which may be another than
    that of the ticket. Times are in microseconds since 1970 UTC."""

    digest: str
    actor: str
    scopes: tuple[str, ...]
    object_types: tuple[str, ...] | None
    key_id: str | None
    origin: str
    caller_store: int
    valid_until: int | None
    expires_at: int


class TicketStore(Protocol):
    """Describes the part of a store that handles tickets. They are not versioned: writing them makes no revision and no
    row in the change log, and they are not in backups."""

    async def create_ticket(self, new: StoredTicket, now: int, most: int) -> Revision:
        """Stores the ticket, and returns the newest revision. Raises TooManyRequests if there are `most` tickets that
        have not expired. Each
        call deletes some that have expired, so there are never more rows than `most`."""
        ...

    async def find_ticket(self, digest: str, now: int) -> StoredTicket | None:
        """Returns the ticket with this digest, which stays; None if there is none, or it has expired."""
        ...

    async def redeem_ticket(self, digest: str, now: int) -> StoredTicket | None:
        """Deletes the ticket with this digest and returns it; None if there is none, or it has expired. Of several
        concurrent callers, one gets it."""
        ...
