"""Knows the stores of the database in memory, and opens a context for each that is used."""

import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Sequence
from weakref import ref

from magistrate.errors import NotFound, StoreDeleted
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import Caller
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import DEFAULT_STORE, MovedStore, StoredStore, Stores

BuildContext = Callable[[Store], Context]

MAX_CONTEXTS = 500
"""Limits the contexts in a process, which take about 50 KB each with what one check caches."""
KEPT_ROUNDS = 1_200
"""Counts the rounds, each of a quarter of a second, for which the context of a store is kept that nobody uses."""
MAX_DROPPED = 2
"""Limits the contexts that are dropped together, each of which takes some fractions of a millisecond."""


class StoreContexts:
    """Holds the contexts of the stores that were used most recently in this process, by their numbers, and that of
    `default`. `build` builds one on an open store."""

    def __init__(self, stores: Stores, build: BuildContext) -> None:
        self.stores = stores
        self.default = build(stores.default)
        self.default.stores = stores
        self._build = build
        self._contexts: OrderedDict[int, Context] = OrderedDict()
        """Has those of the other stores, the one that was used least recently first."""
        self._known: dict[int, StoredStore] = {}
        self._numbers: dict[str, int] = {}
        """Has the number of each store by its name and by its id."""
        self._identities: dict[str, int] = {}
        """Has the number of each store by the id in its tokens."""
        self._followed_to = 0
        self._read_at = time.monotonic()
        """Is the monotonic time just before the list of stores was last read."""
        self.may_have_deleted = False
        """Says whether rows of deleted stores may be left."""

    def __iter__(self) -> Iterator[Context]:
        return iter((self.default, *self._contexts.values()))

    async def follow(self, up_to: float | None = None) -> Sequence[MovedStore]:
        """Takes over all changes of stores since the last call up to a monotonic time, that of the call if it is None,
        and returns these. It has to be called before anything else, and several times a second."""
        restores, began_at = self.stores.restores, time.monotonic()
        unmoved_to = self.stores.find_unmoved(self._read_at)
        if unmoved_to is not None and unmoved_to >= (began_at if up_to is None else up_to):
            self._drop_unused(self.default.share.begin_round() - KEPT_ROUNDS)
            self._read_at = unmoved_to
            return ()
        self._followed_to, moved = await self.stores.list_moved(self._followed_to)
        if self.stores.restores != restores:
            self._discard_lost({each.stored.id for each in moved})
        for each in moved:
            self._discard(each.stored.number)
            if each.stored.deleted_at is None:
                self._add(each.stored)
            else:
                self._release(each.stored.number)
                self.may_have_deleted = True
        self._drop_unused(self.default.share.begin_round() - KEPT_ROUNDS)
        self._read_at = began_at
        return moved

    def measure_lag(self) -> float:
        """Returns for how many seconds it has not been known whether stores have changed."""
        return time.monotonic() - self._read_at

    def list_numbers(self) -> Sequence[int]:
        """Returns the numbers of all stores that are known, that of `default` first."""
        return sorted(self._known, key=lambda number: (number != DEFAULT_STORE, number))

    def find(self, named: str) -> StoredStore | None:
        """Returns the store with this name or id, or None."""
        number = self._numbers.get(named)
        return None if number is None else self._known[number]

    def find_issuer(self, store_id: str) -> StoredStore | None:
        """Returns the store whose tokens have this id, or None."""
        number = self._identities.get(store_id)
        return None if number is None else self._known[number]

    def name_issuer(self, store_id: str) -> str | None:
        """Returns the name of the store whose tokens have this id, or None."""
        stored = self.find_issuer(store_id)
        return None if stored is None else stored.name

    def find_prefix(self, number: int) -> str:
        """Returns the prefix of paths by which keys of the operator and of a store name that store; none for
        `default`."""
        stored = self._known.get(number)
        return "" if stored is None or number == DEFAULT_STORE else f"/stores/{stored.id}"

    def open_context(self, number: int) -> Context:
        """Returns the context of a store. Raises StoreDeleted."""
        if number == DEFAULT_STORE:
            return self.default
        context = self._contexts.get(number)
        if context is None:
            context = self._open(number)
        else:
            self._contexts.move_to_end(number)
        context.share.use()
        return context

    def _open(self, number: int) -> Context:
        stored = self._known.get(number)
        if stored is None:
            raise StoreDeleted
        for _ in range(MAX_DROPPED):
            if len(self._contexts) >= MAX_CONTEXTS - 1:
                self._drop_oldest()
        context = self._contexts[number] = self._build(self.stores.open_store(stored))
        context.store_number, context.requests_per_second = number, stored.limits.requests_per_second
        context.stores, context.take_over_keys = self.stores, self.default.take_over_keys
        context.restore = self.default.restore
        return context

    def _drop_unused(self, before: int) -> None:
        """Drops a few of the contexts that were not used since a round."""
        for _ in range(MAX_DROPPED):
            if self._contexts and next(iter(self._contexts.values())).share.used_in < before:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drops the context that was used least recently, unless something still uses it."""
        number, context = self._contexts.popitem(last=False)
        weakly, is_busy = ref(context), context.is_busy
        caches, share = context.caches, context.share
        if not is_busy:
            del context  # the last reference, unless something uses it
        if (used := weakly()) is not None:
            used.share.use()
            self._contexts[number] = used
            return
        caches.release()
        share.close()
        self.stores.release(number)

    def resolve(self, caller: Caller, named: str | None) -> Context:
        """Returns the context of the store that a request is about: the one that its path names, or that of the
        caller's key. Raises NotFound unless there is such a store, and the caller may use it."""
        if named is None:
            return self.open_context(caller.store)
        stored = self.find(named)
        if stored is None or not caller.may_use_store(stored.number):
            raise NotFound("Store", named)
        return self.open_context(stored.number)

    def _add(self, stored: StoredStore) -> None:
        self._known[stored.number] = stored
        self._numbers[stored.name] = self._numbers[stored.id] = stored.number
        self._identities[stored.identity.store_id] = stored.number
        context = self.default if stored.number == DEFAULT_STORE else self._contexts.get(stored.number)
        if context is not None:
            context.requests_per_second = stored.limits.requests_per_second

    def _discard_lost(self, ids: Container[str]) -> None:
        """Discards the stores without one of these ids: the database was restored to a time before they were made."""
        for stored in [stored for stored in self._known.values() if stored.id not in ids]:
            self._discard(stored.number)
            self._release(stored.number)

    def _release(self, number: int) -> None:
        """Frees what is held of a store that is there no more."""
        if (context := self._contexts.pop(number, None)) is not None:
            context.release()
        self.stores.release(number)

    def _discard(self, number: int) -> None:
        stored = self._known.pop(number, None)
        if stored is None:
            return
        del self._numbers[stored.id], self._identities[stored.identity.store_id]
        if self._numbers.get(stored.name) == number:  # another store may have the name by now
            del self._numbers[stored.name]
