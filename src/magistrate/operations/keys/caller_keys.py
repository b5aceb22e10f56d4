"""Creates, lists, rotates and deletes the keys of callers (docs/security.md#keys).

A caller can give to a key only what it may do itself. Otherwise the scope `keys` would be as much as `admin`."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from magistrate.engine.names import Revision, TypeName
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import OPERATOR_SCOPES, Caller, Scope, expand_scopes
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, cut_sorted, read_page
from magistrate.store.contract.keys import NewSecret, StoredKey
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot

MAX_KEYS = 1_000
"""Limits the stored keys, which every worker has in memory."""
MAX_GRACE_SECONDS = 604_800
"""Limits the time for which the old key is good after a rotation (7 days)."""
MICROSECONDS_PER_SECOND = 1_000_000

KEY_PREFIX = "magistrate_"
SHOWN_CHARACTERS = len(KEY_PREFIX) + 6
"""Sets the characters of a key that are stored and shown; the others have 222 random bits."""

_SORTS: Mapping[str, Sort[StoredKey]] = {
    "createdAt": Sort("createdAt", lambda row: (row.created_at, row.id)),
    "name": Sort("name", lambda row: (row.name,)),
}
KEY_LIST: ListKind[StoredKey] = ListKind("keys", _SORTS, is_versioned=False)


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """Describes a key to create, like StoredKey."""

    name: str
    scopes: tuple[Scope, ...]
    object_types: tuple[TypeName, ...] | None
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """Holds a stored key and its secret, which nobody ever sees again."""

    row: StoredKey
    secret: str


def generate_key() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_digest(key: str) -> str:
    """Returns the SHA-256 of a key in hex, which is all that is ever stored of a key. The keys generated here have 256
    random bits, so no salt is needed."""
    return hashlib.sha256(key.encode("latin-1")).hexdigest()


async def create_key(ctx: Context, caller: Caller, draft: KeyDraft) -> Snapshot[IssuedKey]:
    """Creates a key. Raises InvalidParameter if it has expired already, or would get a scope that keys of its store
    cannot have, Forbidden if the caller may not do all that the key may do, and Conflict."""
    now = ctx.now()
    if draft.expires_at is not None and draft.expires_at <= now:
        raise InvalidParameter("expiresAt", "must be in the future")
    _require_possible(ctx, draft.scopes)
    caller.require_as_much(_expand_scopes(ctx, draft.scopes), draft.object_types)
    secret = generate_key()
    new = StoredKey(
        id=ctx.new_id(),
        name=draft.name,
        prefix=secret[:SHOWN_CHARACTERS],
        digest=key_digest(secret),
        scopes=draft.scopes,
        object_types=draft.object_types,
        created_at=now,
        created_by=caller.actor,
        expires_at=draft.expires_at,
    )
    revision = await ctx.store.create_key(new, MAX_KEYS)
    await ctx.take_over_keys()
    return Snapshot(revision, IssuedKey(new, secret))


async def get_key(ctx: Context, key_id: str, freshness: Freshness) -> Snapshot[StoredKey]:
    """Returns the key with this id. Raises NotFound."""
    stored = await ctx.store.list_keys()
    freshness.demand(stored.revision)
    matching_key = next((key for key in stored.keys if key.id == key_id), None)
    if matching_key is None:
        raise NotFound("Key", key_id)
    return Snapshot(stored.revision, matching_key)


async def list_keys(ctx: Context, page_request: PageRequest, freshness: Freshness) -> Snapshot[Page[StoredKey]]:
    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[StoredKey]]:
        stored = await ctx.store.list_keys()
        return Snapshot(stored.revision, _cut(stored.keys, bounds))

    return await read_page(KEY_LIST, page_request, freshness, ctx.store, read=read)


async def rotate_key(ctx: Context, caller: Caller, key_id: str, grace_seconds: int) -> Snapshot[IssuedKey]:
    """Replaces the secret of a key; the old one stays valid for `grace_seconds`. Raises NotFound, and Forbidden if
    the caller may not do all that the key may do."""
    row = (await get_key(ctx, key_id, NO_DEMAND)).value
    caller.require_as_much(_expand_scopes(ctx, row.scopes), row.object_types)
    secret = generate_key()
    previous_until = ctx.now() + grace_seconds * MICROSECONDS_PER_SECOND
    new = NewSecret(secret[:SHOWN_CHARACTERS], key_digest(secret), previous_until)
    rotated = await ctx.store.rotate_key(key_id, new)
    await ctx.take_over_keys()
    return Snapshot(rotated.revision, IssuedKey(rotated.value, secret))


async def delete_key(ctx: Context, key_id: str) -> Revision:
    """Deletes the key with this id. Raises NotFound."""
    await get_key(ctx, key_id, NO_DEMAND)  # an id that no database accepts is unknown, too
    revision = await ctx.store.delete_key(key_id)
    await ctx.take_over_keys()
    return revision


def _require_possible(ctx: Context, scopes: Iterable[Scope]) -> None:
    """Raises InvalidParameter for a scope that keys of the store cannot have."""
    refused = sorted(OPERATOR_SCOPES.intersection(scopes) - _expand_scopes(ctx, scopes))
    if refused:
        raise InvalidParameter("scopes", f"cannot contain {refused[0]}, which is for operators of the service")


def _expand_scopes(ctx: Context, names: Iterable[str]) -> frozenset[Scope]:
    """Returns the scopes that a key of the store has which is given these."""
    is_default = ctx.stores is None or ctx.store is ctx.stores.default
    return expand_scopes(names) if is_default else expand_scopes(names) - OPERATOR_SCOPES


def _cut(keys: tuple[StoredKey, ...], bounds: Slice) -> PageSlice[StoredKey]:
    values = _SORTS[bounds.sort].values
    ordered = sorted(keys, key=values)
    return cut_sorted([*map(values, ordered)], bounds, ordered.__getitem__)
