"""Makes, lists, changes and deletes stores."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from magistrate.engine.model.object_types import PREDEFINED_TYPES
from magistrate.engine.names import Revision
from magistrate.errors import Conflict, InvalidParameter, NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import new_object_types
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.stores import DEFAULT_NAME, NewStore, StoredStore, StoreLimits, Stores

T = TypeVar("T")

_SORTS: Mapping[str, Sort[StoredStore]] = {"name": Sort("name", lambda stored: (stored.name,))}
STORE_LIST: ListKind[StoredStore] = ListKind("stores", _SORTS, is_versioned=False)

_NAME = re.compile(r"[a-z0-9-]{1,63}")
OPENFGA_NAME = re.compile(r"[a-zA-Z0-9 .\-/^_&@]{3,64}")
"""Matches the names that stores have in the API of OpenFGA."""
NAME_MESSAGE = "can only contain letters a-z, digits and the character -, at most 63 of them"
MAX_DESCRIPTION_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class StoreDraft:
    """Describes a store to be made. Its model is that of the store `model_of`. Without one it has none, or, if the
    service is configured so, the predefined types."""

    name: str
    description: str
    limits: StoreLimits
    model_of: str | None = None


def read_store_name(text: str) -> str:
    """Returns the name of a store. Raises InvalidParameter."""
    if not _NAME.fullmatch(text):
        raise InvalidParameter("name", NAME_MESSAGE)
    return text


async def create_store(ctx: Context, draft: StoreDraft, actor: str) -> Snapshot[StoredStore]:
    """Makes a store. Raises Conflict if the name is taken, and InvalidParameter if there is no store whose model it
    gets."""
    stores = _stores_of(ctx)
    model_of = None
    if draft.model_of is not None:
        model_of = await stores.find_store(draft.model_of)
        if model_of is None:
            raise InvalidParameter("from", f"there is no store {draft.model_of}")
    new = NewStore(
        draft.name,
        draft.description,
        draft.limits,
        actor,
        ctx.now(),
        types=new_object_types(ctx, PREDEFINED_TYPES) if model_of is None and ctx.begins_others_with_types else (),
        model_of=None if model_of is None else model_of.number,
    )
    stored = await stores.create(new)
    await ctx.take_over_keys()
    return await _answer(ctx, stored)


async def create_openfga_store(ctx: Context, openfga_name: str, actor: str) -> Snapshot[StoredStore]:
    """Makes a store without a model, which has this name in the API of OpenFGA, and here one that is made of its
    id."""
    new = NewStore("", "", StoreLimits(), actor, ctx.now(), openfga_name=openfga_name)
    stored = await _stores_of(ctx).create(new)
    await ctx.take_over_keys()
    return await _answer(ctx, stored)


async def list_stores_by_id(
    ctx: Context, after: str, limit: int, openfga_name: str | None
) -> Snapshot[Sequence[StoredStore]]:
    """Lists the first stores whose id is greater than this one; with a name, those that have it in the API of
    OpenFGA."""
    listed = await _stores_of(ctx).list_stores_by_id(after, limit, openfga_name)
    return Snapshot(await ctx.store.check(), listed)


async def get_store(ctx: Context, named: str, freshness: Freshness) -> Snapshot[StoredStore]:
    """Returns the store with this name or id. Raises NotFound."""
    answered = await _answer(ctx, await _find_store(ctx, named))
    freshness.demand(answered.revision)
    return answered


async def list_stores(
    ctx: Context, page_request: PageRequest, prefix: str, freshness: Freshness
) -> Snapshot[Page[StoredStore]]:
    """Lists a page of the stores whose names begin with a prefix."""

    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[StoredStore]]:
        return await _answer(ctx, await _stores_of(ctx).list_stores(bounds, prefix))

    return await read_page(STORE_LIST, page_request, freshness, ctx.store, read=read)


async def update_store(
    ctx: Context, named: str, name: str | None, description: str | None, limits: StoreLimits | None
) -> Snapshot[StoredStore]:
    """Replaces what is given. Raises NotFound, and Conflict if another store has the name, or `default` would get
    another."""
    stored = await _find_store(ctx, named)
    new_name = stored.name if name is None else name
    if stored.name == DEFAULT_NAME and new_name != DEFAULT_NAME:
        raise Conflict(f"the store {DEFAULT_NAME} keeps its name")
    changed = await _stores_of(ctx).update(
        stored.number,
        new_name,
        stored.description if description is None else description,
        stored.limits if limits is None else limits,
    )
    await ctx.take_over_keys()
    return await _answer(ctx, changed)


async def delete_store(ctx: Context, named: str) -> Revision:
    """Deletes a store, whose rows are removed later. Raises NotFound, and Conflict for `default`."""
    stored = await _find_store(ctx, named)
    await _stores_of(ctx).delete(stored.number, ctx.now())
    await ctx.take_over_keys()
    return await ctx.store.check()


async def _find_store(ctx: Context, named: str) -> StoredStore:
    stored = await _stores_of(ctx).find_store(named)
    if stored is None:
        raise NotFound("Store", named)
    return stored


async def _answer(ctx: Context, value: T) -> Snapshot[T]:
    """Returns a value with the revision of the store `default`, which stores are no part of."""
    return Snapshot(await ctx.store.check(), value)


def _stores_of(ctx: Context) -> Stores:
    assert ctx.stores is not None
    return ctx.stores
