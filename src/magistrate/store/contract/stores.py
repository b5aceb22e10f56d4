"""Defines what a database promises about the stores in it. Every sentence has a test in tests/store/test_stores.py.

A database has any number of stores, which share its tables but nothing else: each has its own revisions, model,
objects, warrants, keys and history, and no read or write of one sees a row of another. The store `default` is there
from the beginning and cannot be deleted. What changes the list of stores waits for its writes, and for no others."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.backups import RestoredContents
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.lists import PageSlice, Slice
from magistrate.store.contract.new_rows import NewObjectType, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import Identity
from magistrate.store.contract.webhooks import WebhookCounts, WebhookPlace

DEFAULT_STORE = 1
"""Is the number of the store `default`."""
DEFAULT_NAME = "default"

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_CHARACTERS = 26
_RANDOM_BITS, _RANDOM_BITS_BEHIND = 80, 64
_ID_BYTES = 8


def generate_ulid(now: int) -> str:
    """Returns a ULID: 48 bits of the time in milliseconds and 80 random ones, as 26 characters. `now` is in
    microseconds since 1970 UTC."""
    return encode_ulid((now // 1_000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS))


def encode_ulid(number: int) -> str:
    """Returns a number of 128 bits as a ULID."""
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(_ULID_CHARACTERS)))


def generate_ulid_after(now: int, last: str | None) -> str:
    """Returns a ULID that is greater than the last one. If that has the same time, or a later one, they differ by a
    random number: after a restore, none is generated that was lost."""
    drawn = generate_ulid(now)
    if last is None or drawn > last:
        return drawn
    return encode_ulid(int.from_bytes(read_ulid(last), "big") + 1 + secrets.randbits(_RANDOM_BITS_BEHIND))


def read_ulid(text: str) -> bytes:
    """Returns the 16 bytes of a ULID, which must be well-formed."""
    number = 0
    for character in text:
        number = number << 5 | _DIGITS.index(character)
    return number.to_bytes(16, "big")


def read_ulid_time(text: str) -> int:
    """Returns the time of a ULID, which must be well-formed, in microseconds since 1970 UTC."""
    return (int.from_bytes(read_ulid(text), "big") >> _RANDOM_BITS) * 1_000


class StoreLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits what a store holds, and the requests that it gets; None is no limit."""

    warrants: int | None = None
    objects: int | None = None
    requests_per_second: int | None = None


class StoreUsage(msgspec.Struct, frozen=True):
    """Counts what a store holds at its newest revision, which is what its limits are about. A warrant that has expired
    is held until `Store.end_expired` ends it."""

    warrants: int
    objects: int


HOLDS_NOTHING = StoreUsage(0, 0)


@dataclass(frozen=True, slots=True)
class StoredStore:
    """Holds a store: (2, '01JDKZ...', 'billing', 'Invoices of all customers', StoreLimits(warrants=100000), 'f3a9...',
    1763683200000000, None, StoreUsage(8, 5)).

    `number` is never given to another store, except by a rare chance if the database is restored to a time before the
    store was made. `id` is a ULID. Times are in microseconds since 1970 UTC; `deleted_at` is set once the store was
    deleted. `usage` is as of when this was read. `openfga_name` is the name in the API of OpenFGA, None if that is the
    same."""

    number: int
    id: str
    name: str
    description: str
    limits: StoreLimits
    cursor_key: str
    created_at: int
    deleted_at: int | None = None
    usage: StoreUsage = HOLDS_NOTHING
    openfga_name: str | None = None

    @property
    def identity(self) -> Identity:
        return Identity(read_ulid(self.id)[-_ID_BYTES:].hex(), self.cursor_key)


def build_store(row: tuple[Any, ...]) -> StoredStore:
    """Builds a store from its columns, in the order of StoredStore and StoreUsage."""
    number, store_id, name, description, limits, *others, warrants, objects, openfga_name = row
    of_heads = (*others, StoreUsage(warrants, objects), openfga_name)
    columns: tuple[Any, ...] = (number, store_id, name or "", description, read_limits(limits), *of_heads)
    return StoredStore(*columns)


_LIMITS = msgspec.json.Decoder(StoreLimits)
read_limits = _LIMITS.decode


@dataclass(frozen=True, slots=True)
class NewStore:
    """Describes a store to be made. Its model is that of the store with the number `model_of`, if it is given,
    otherwise it has these object types. `actor` and `at` are those of its first revision. Without a `name`, it gets one
    that is made of its id. It has the id `wanted_id` if that is given and no store has it, or had it until just now."""

    name: str
    description: str
    limits: StoreLimits
    actor: str
    at: int
    types: Sequence[NewObjectType] = ()
    model_of: int | None = None
    openfga_name: str | None = None
    wanted_id: str | None = None


class MovedStore(msgspec.Struct, frozen=True):
    """Holds what is newest of a store that has changed: its row, its revision, the one that last changed the model,
    and the version of its keys."""

    stored: StoredStore
    newest: RevisionId
    model_revision: Revision
    keys_version: int


class RemovedRows(NamedTuple):
    """Says how many rows of deleted stores were removed, that of the store included, for how many seconds this kept
    others from writing, and whether any may be left, now or later."""

    rows: int
    seconds: float = 0.0
    may_be_more: bool = True


REMOVAL_LEASE_SECONDS = 3.0
"""Sets for how long a process that has removed rows of a store is left to remove the next ones."""


class Stores(Protocol):
    """Represents one database. Use it from one event loop and `close` it once; every call after that raises
    StoreUnavailable, here and of each store."""

    @property
    def default(self) -> Store:
        """Returns the store `default`."""
        ...

    def open_store(self, stored: StoredStore) -> Store:
        """Returns a store, without a statement. Of a store that was deleted, every read and write raises
        StoreDeleted."""
        ...

    def release(self, number: int) -> None:
        """Frees what this process holds of a store that was deleted, or that nobody uses. It can be opened again."""
        ...

    async def create(self, new: NewStore) -> StoredStore:
        """Makes a store, with its model as revision 1. Raises Conflict if the name is taken, and NotFound if the store
        does not exist whose model it gets."""
        ...

    async def restore_stores(
        self, restored: Sequence[tuple[NewStore, RestoredContents]], stamp: Stamp, replaces: bool
    ) -> Sequence[tuple[StoredStore, RevisionId]]:
        """Makes each of these stores hold the contents, as BackupStore.restore does, all at once; those that do not
        exist are made. Each gets the description and the limits, which may be lower than what it holds. Returns the
        stores with their newest revisions. Nothing can be written to `default` meanwhile either. Raises Conflict if one
        of them is not empty, unless it `replaces` what they have."""
        ...

    async def analyze(self) -> None:
        """Has the database measure its tables, which it plans statements by, after very many rows were written. A
        failure of that is ignored."""
        ...

    async def list_stores(self, part: Slice, prefix: str) -> PageSlice[StoredStore]:
        """Lists a slice of the stores whose names begin with a prefix. Sorts: name."""
        ...

    async def list_stores_by_id(self, after: str, limit: int, openfga_name: str | None) -> Sequence[StoredStore]:
        """Returns the first `limit` stores whose id is greater than this one, by id: the oldest first. With a name,
        only those that have it in the API of OpenFGA."""
        ...

    async def find_store(self, named: str) -> StoredStore | None:
        """Returns the store with this name or id, or None."""
        ...

    async def read_store(self, number: int) -> StoredStore:
        """Returns the store with this number. Raises StoreDeleted."""
        ...

    async def update(self, number: int, name: str, description: str, limits: StoreLimits) -> StoredStore:
        """Replaces these. Raises Conflict if another store has the name, and NotFound.

        From then on, a write to the store that would make it hold more warrants or objects than a limit raises
        LimitReached, and nothing of it is made. What is there stays, and a write that adds none is made, if there are
        more than the limit already."""
        ...

    async def delete(self, number: int, at: int) -> None:
        """Deletes a store, from which nothing is read and to which nothing is written from then on. Its name stays
        taken until `delete_rows` has removed all rows. Raises NotFound."""
        ...

    async def delete_rows(self, before: int, most: int) -> RemovedRows:
        """Removes at most `most` rows of a store that was deleted before a time, in one transaction. Leaves alone a
        store from which another process has removed rows within the last REMOVAL_LEASE_SECONDS."""
        ...

    @property
    def restores(self) -> int:
        """Counts how often `list_moved` has found the database restored to an earlier state."""
        ...

    def find_unmoved(self, since: float) -> float | None:
        """Returns a monotonic time up to which `list_moved` would list nothing new since another one; None if that is
        not known without a statement."""
        ...

    async def list_moved(self, since: int) -> tuple[int, Sequence[MovedStore]]:
        """Returns the stores that have changed since the last call, which returned `since`, and what to pass to the
        next call. For 0, or if the database was restored since, returns all stores; those that are not among them do
        not exist any more. A change may be returned twice, and none is missed. Stores that have not changed cost
        nothing."""
        ...

    async def list_expired(self, at: int) -> Sequence[int]:
        """Returns the numbers of the stores in which warrants may have expired by a time and are not ended yet, those
        that expired first first. Other stores cost nothing."""
        ...

    async def list_outdated(self, before: int, events_before: int) -> Sequence[int]:
        """Returns the numbers of the stores that have rows for `collect` to delete, given the first time, or rows for
        `delete_events`, given the second. Takes some index lookups a store, of a thousand stores in one statement."""
        ...

    async def list_keys(self, number: int | None = None) -> Mapping[int, Sequence[StoredKey]]:
        """Returns the stored keys of a store, or of all, by the number of their store."""
        ...

    async def list_due_webhooks(self, at: int, most: int) -> Sequence[WebhookPlace]:
        """Returns the first `most` webhooks to which something may have to be delivered at a time, and to which nobody
        delivers, those first that have been due for longest. Of the others, only those cost something that are
        enabled: a lookup each."""
        ...

    async def count_webhooks(self) -> WebhookCounts:
        """Counts the webhooks of all stores."""
        ...

    async def list_stores_with_webhooks(self) -> Sequence[int]:
        """Returns the numbers of the stores that have webhooks."""
        ...

    async def close(self) -> None: ...
