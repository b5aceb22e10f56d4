"""Writes that share transactions, and what they leave in a database."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Once, Stamp
from magistrate.store.contract.store import AtomicWrite, Precondition, Store
from magistrate.store.database import Observer, observe_nothing
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import open_store
from tests.databases import Dump, dump
from tests.running import settings_for

STAMP = Stamp("ann", 1)
TABLES = ("warrant", "warrant_pattern", "policy", "object", "object_type", "change", "revision", "idempotency")
RESET = f"""
{"; ".join(f"DELETE FROM {table}" for table in TABLES)};
UPDATE head SET revision = 0, model_revision = 0, horizon = 1, changes_deleted = 0, warrants = 0, objects = 0"""

Write = Callable[[Store], Awaitable[object]]


def put(object_id: str, meta: str | None = None, once: Once | None = None) -> Write:
    return lambda store: store.put_objects([NewObject(TypeName("d"), ObjectId(object_id), meta)], Stamp("ann", 1, once))


def delete(*ids: str) -> Write:
    return lambda store: store.delete_objects([object_ref("d", object_id) for object_id in ids], STAMP)


def warrant(object_id: str, user: str, policy: str = "") -> NewWarrant:
    return NewWarrant(
        object_ref("d", object_id), RelationName("viewer"), Subject(TypeName("user"), ObjectId(user)), policy
    )


def grant(*warrants: NewWarrant) -> Write:
    return lambda store: store.put_warrants(warrants, lambda model: None, STAMP)


def revoke(*warrants: NewWarrant) -> Write:
    return lambda store: store.delete_warrants(warrants, STAMP)


@asynccontextmanager
async def opened(url: str, observer: Observer = observe_nothing, **settings: int) -> AsyncIterator[SqlStore]:
    store = await open_store(settings_for(url, **settings), observer)
    assert isinstance(store, SqlStore)
    try:
        yield store
    finally:
        await store.close()


async def write_together(store: Store, writes: Iterable[Write]) -> list[object]:
    """What each returned or raised. All of them wait before the first is begun."""
    return await asyncio.gather(*(write(store) for write in writes), return_exceptions=True)


class Commits:
    """Counts the transactions that an observed store commits."""

    def __init__(self) -> None:
        self.count = 0

    def observe(self, sql: str) -> None:
        self.count += sql == "COMMIT"


def dump_without_moves(url: str) -> Dump:
    """All rows, without the column of heads that counts transactions."""
    tables = dump(url)
    return tables | {"head": [row[:-1] for row in tables["head"]]}


def choose_writes(chance: random.Random) -> Sequence[Write]:
    """Writes about so few names that many depend on those before them."""

    def choose_id() -> str:
        return chance.choice("abc")

    def choose_warrant() -> NewWarrant:
        return warrant(choose_id(), chance.choice(("ann", "bo")), chance.choice(("", "", "x == 1")))

    def choose_atomic() -> Write:
        wanted = AtomicWrite(
            preconditions=[Precondition(object_ref("d", choose_id()), is_absent=chance.random() < 0.5)],
            warrants_to_delete=[choose_warrant()] * (chance.random() < 0.3),
            objects=[NewObject(TypeName("d"), ObjectId(choose_id()), chance.choice((None, "{}")))],
            warrants=[choose_warrant(), choose_warrant()],
        )
        return lambda store: store.write(wanted, lambda model: None, STAMP)

    def choose_once() -> Write:
        return put(choose_id(), "{}", Once(chance.choice("kl"), chance.choice("12")))

    def choose_type() -> Write:
        types = [NewObjectType(TypeName("d"), chance.choice(('{"relations":{}}', '{"relations":{"viewer":{}}}')))]
        return lambda store: store.put_object_types(types, lambda model: None, STAMP)

    kinds: Sequence[Callable[[], Write]] = (
        lambda: put(choose_id(), chance.choice((None, "{}"))),
        lambda: delete(choose_id()),
        lambda: grant(choose_warrant(), choose_warrant()),
        lambda: grant(choose_warrant()),
        lambda: revoke(choose_warrant()),
        choose_atomic,
        choose_once,
        choose_type,
    )
    return [chance.choices(kinds, weights=(3, 2, 3, 4, 4, 2, 2, 1))[0]() for _ in range(chance.randrange(2, 20))]


def show(outcome: object) -> str:
    return repr(outcome) if not isinstance(outcome, Exception) else f"{type(outcome).__name__}: {outcome}"
