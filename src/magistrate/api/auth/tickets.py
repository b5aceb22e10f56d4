"""Identifies callers by the ticket in the query string of a request, in place of a key (docs/watch.md#browsers)."""

from magistrate.api.auth.bearer import Identified
from magistrate.api.auth.callers import KeyRing
from magistrate.errors import NotFound, Unauthenticated
from magistrate.operations.keys.callers import Caller
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.operations.watch.tickets import find_ticket, read_store_id, redeem_ticket
from magistrate.store.contract.stores import StoredStore

INVALID_TICKET = "Invalid ticket: it was used, has expired, or never was one"


async def identify_by_ticket(
    keys: KeyRing, stores: StoreContexts, ticket: str, named: str | None, redeems: bool
) -> Identified:
    """Returns for whom a ticket was made, and its store. `named` is the store that the path names, if it names one.
    Unless it `redeems` the ticket, that can still be used.

    Raises Unauthenticated, and NotFound if the ticket is for another store than the one that is named."""
    issuer = await _find_issuer(keys, stores, ticket)
    context = stores.open_context(issuer.number)
    caller = await find_ticket(context, ticket)
    if caller is None or not await _is_in_force(keys, caller):
        raise Unauthenticated(INVALID_TICKET)
    if named is not None:
        store = stores.find(named)
        if store is None or store.number != issuer.number:  # what it holds may have been read again since
            raise NotFound("Store", named)
    if redeems and await redeem_ticket(context, ticket) is None:
        raise Unauthenticated(INVALID_TICKET)
    return Identified(caller, store=issuer.id)


async def _find_issuer(keys: KeyRing, stores: StoreContexts, ticket: str) -> StoredStore:
    store_id = read_store_id(ticket)
    if store_id is None:
        raise Unauthenticated(INVALID_TICKET)
    issuer = stores.find_issuer(store_id)
    if issuer is None and keys.look_up is not None:
        await keys.look_up()  # which takes over new stores as well
        issuer = stores.find_issuer(store_id)
    if issuer is None:
        raise Unauthenticated(INVALID_TICKET)
    return issuer


async def _is_in_force(keys: KeyRing, caller: Caller) -> bool:
    """Returns whether the key of a caller is valid, which may be so new that only another process knows it."""
    if keys.is_in_force(caller):
        return True
    if keys.look_up is not None:
        await keys.look_up()
    return keys.is_in_force(caller)
