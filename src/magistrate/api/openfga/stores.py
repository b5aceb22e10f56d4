"""Handles the stores of OpenFGA's API (docs/openfga.md#stores)."""

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.json_values import render_time
from magistrate.api.http.openfga_errors import INVALID, require_ulid
from magistrate.api.openfga.tokens import read_continuation, read_page_size, write_continuation
from magistrate.errors import Conflict, NotFound, OpenFgaRefusal
from magistrate.operations.stores.stores import OPENFGA_NAME, create_openfga_store, delete_store, list_stores_by_id
from magistrate.operations.stores.stores import get_store as get_any_store
from magistrate.store.contract.openfga import FIRST_ULID
from magistrate.store.contract.stores import StoredStore

_LIST = "stores"


class OpenFgaStoreBody(msgspec.Struct, frozen=True):
    """Represents a store to be made."""

    name: str | None = None


class OpenFgaStoreAnswer(msgspec.Struct, frozen=True):
    """Represents a store that was made."""

    id: str
    name: str
    created_at: str
    updated_at: str


class OpenFgaStoreRowAnswer(OpenFgaStoreAnswer, frozen=True):
    """Represents a store. `deleted_at` is always null, because stores that were deleted are not shown."""

    deleted_at: str | None = None


class OpenFgaStoresAnswer(msgspec.Struct, frozen=True):
    """Represents a page of stores, the oldest first."""

    stores: list[OpenFgaStoreRowAnswer]
    continuation_token: str


async def create_store(call: Call[OpenFgaStoreBody]) -> Answer[OpenFgaStoreAnswer]:
    name = call.body.name
    if name is None or not OPENFGA_NAME.fullmatch(name):
        raise OpenFgaRefusal(INVALID, "name must have 3 to 64 letters a-z or A-Z, digits, blanks or . - / ^ _ & @")
    made = await create_openfga_store(call.context, name, call.actor)
    return Answer(OpenFgaStoreAnswer(*_describe(made.value)), made.revision)


async def list_stores(call: Call[None]) -> Answer[OpenFgaStoresAnswer]:
    parameters, identity = call.parameters, call.context.store.identity
    name = parameters.get("name") or None
    of_list = f"{_LIST} {name or ''}"
    size = read_page_size(parameters.get("page_size"))
    after = read_continuation(identity, of_list, parameters.get("continuation_token")) or FIRST_ULID
    listed = await list_stores_by_id(call.context, after, size + 1, name)
    page = listed.value[:size]
    token = write_continuation(identity, of_list, page[-1].id) if len(listed.value) > size else ""
    return Answer(OpenFgaStoresAnswer([OpenFgaStoreRowAnswer(*_describe(row)) for row in page], token), listed.revision)


async def get_store(call: Call[None]) -> Answer[OpenFgaStoreRowAnswer]:
    """Answers a caller who may make stores, or whose key is one of the store. Raises NotFound."""
    stored_id = call.path["store_id"]
    require_ulid(stored_id)
    stored = await get_any_store(call.context, stored_id, call.freshness)
    if not call.caller.may_use_store(stored.value.number):
        raise NotFound("Store", stored_id)
    return Answer(OpenFgaStoreRowAnswer(*_describe(stored.value)), stored.revision)


async def remove_store(call: Call[None]) -> Answer[None]:
    """Deletes a store if it is there. Raises OpenFgaRefusal for `default`."""
    stored_id = call.path["store_id"]
    require_ulid(stored_id)
    try:
        revision = await delete_store(call.context, stored_id)
    except NotFound:
        revision = await call.context.store.check()
    except Conflict as error:
        raise OpenFgaRefusal(INVALID, error.message) from None
    return Answer(None, revision)


def _describe(stored: StoredStore) -> tuple[str, str, str, str]:
    created_at = render_time(stored.created_at)
    return stored.id, stored.openfga_name or stored.name, created_at, created_at
