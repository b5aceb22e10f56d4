"""Makes tickets, with which a browser opens a stream: its EventSource cannot send a key (docs/watch.md#browsers).

A ticket contains the id of its store, as tokens do, so a request with one need not name the store."""

import re
import secrets
from typing import NamedTuple

from magistrate.operations.context import Context
from magistrate.operations.keys.caller_keys import KEY_PREFIX, MICROSECONDS_PER_SECOND, key_digest
from magistrate.operations.keys.callers import Caller, expand_scopes
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.tickets import StoredTicket

VALID_SECONDS = 60
MAX_OPEN_TICKETS = 10_000
"""Limits the tickets of a store that are neither used nor expired."""
RANDOM_BYTES = 32

TICKET_PREFIX = f"{KEY_PREFIX}ticket_"
"""Begins every ticket, so that whatever looks for keys, such as the log, which hides them, finds tickets, too."""
_TICKET = re.compile(rf"{TICKET_PREFIX}([0-9a-f]{{16}})_[\w-]{{43}}", re.ASCII)


class IssuedTicket(NamedTuple):
    """Holds a ticket, which nobody ever sees again, and the time until which it is good."""

    ticket: str
    expires_at: int


async def issue_ticket(ctx: Context, caller: Caller) -> Snapshot[IssuedTicket]:
    """Makes a ticket for the store of the context, which allows what the caller may do. Raises TooManyRequests if there
    are too many already."""
    ticket = f"{TICKET_PREFIX}{ctx.store.identity.store_id}_{secrets.token_urlsafe(RANDOM_BYTES)}"
    now = ctx.now()
    expires_at = now + VALID_SECONDS * MICROSECONDS_PER_SECOND
    new = StoredTicket(
        digest=key_digest(ticket),
        actor=caller.actor,
        scopes=tuple(sorted(caller.scopes)),
        object_types=None if caller.object_types is None else tuple(sorted(caller.object_types)),
        key_id=caller.key_id,
        origin=caller.origin,
        caller_store=caller.store,
        valid_until=caller.valid_until,
        expires_at=expires_at,
    )
    revision = await ctx.store.create_ticket(new, now, MAX_OPEN_TICKETS)
    return Snapshot(revision, IssuedTicket(ticket, expires_at))


def read_store_id(ticket: str) -> str | None:
    """Returns the id of the store of a ticket, as its tokens have it; None if the text is no ticket."""
    matched = _TICKET.fullmatch(ticket)
    return None if matched is None else matched[1]


async def find_ticket(ctx: Context, ticket: str) -> Caller | None:
    """Returns the caller for whom a ticket of this store was made, if it can be used now."""
    stored = await ctx.store.find_ticket(key_digest(ticket), ctx.now())
    return None if stored is None else _build_caller(stored)


async def redeem_ticket(ctx: Context, ticket: str) -> Caller | None:
    """Does the same, and makes that the only time."""
    stored = await ctx.store.redeem_ticket(key_digest(ticket), ctx.now())
    return None if stored is None else _build_caller(stored)


def _build_caller(stored: StoredTicket) -> Caller:
    return Caller(
        stored.actor,
        expand_scopes(stored.scopes, stored.caller_store),
        None if stored.object_types is None else frozenset(stored.object_types),
        stored.key_id,
        stored.origin,
        stored.caller_store,
        stored.valid_until,
    )
