"""Reads and writes the tickets of streams, as scripts."""

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import TooManyRequests
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.sql.tickets import (
    COUNT_TICKETS,
    DELETE_TICKET,
    EXPIRED_TICKETS,
    INSERT_TICKET,
    REDEEM_TICKET,
)

EXPIRED_AT_ONCE = 100
"""Limits the tickets that have expired which are deleted when another is made."""


def create_ticket(head: Revision, new: StoredTicket, now: int, most: int) -> Script[Revision]:
    [expired] = yield Select(EXPIRED_TICKETS, [(now, EXPIRED_AT_ONCE)])
    yield Execute(DELETE_TICKET, expired)
    [[(count,)]] = yield Select(COUNT_TICKETS, [(now,)])
    if count >= most:
        raise TooManyRequests(f"there are {count} tickets that were not used yet, which is the most: try again later")
    object_types = None if new.object_types is None else _encode(new.object_types)
    caller = (new.actor, _encode(new.scopes), object_types, new.key_id, new.origin, new.caller_store, new.valid_until)
    yield Execute(INSERT_TICKET, [(new.digest, *caller, new.expires_at)])
    return head


def redeem_ticket(head: Revision, digest: str, now: int) -> Script[StoredTicket | None]:
    [rows] = yield Select(REDEEM_TICKET, [(digest, now)])
    return build_ticket(rows)


def build_ticket(rows: Rows) -> StoredTicket | None:
    """Builds the ticket of the first row, if there is one."""
    if not rows:
        return None
    digest, actor, scopes, object_types, *others = rows[0]
    columns: Row = (digest, actor, _decode(scopes), None if object_types is None else _decode(object_types), *others)
    return StoredTicket(*columns)


def _encode(names: tuple[str, ...]) -> str:
    return msgspec.json.encode(names).decode()


def _decode(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])
