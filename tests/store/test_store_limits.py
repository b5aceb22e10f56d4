"""What a store holds is counted exactly, and no write makes it hold more than its limits, on every database."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.errors import LimitReached, MagistrateError
from magistrate.store.contract.lists import ObjectFilter, Slice, WarrantFilter
from magistrate.store.contract.new_rows import ImportBatch, NewObject, NewWarrant, Once, Stamp
from magistrate.store.contract.store import AtomicWrite, Store
from magistrate.store.contract.stores import DEFAULT_STORE, NewStore, StoreLimits, Stores, StoreUsage
from magistrate.wiring.stores import migrate_store, open_stores
from tests.conftest import list_seeds
from tests.databases import dump, run_sql
from tests.running import settings_for
from tests.store.written_warrants import anything_goes, new

pytestmark = pytest.mark.anyio

MANY = 1_000
HISTORIES, WRITES, AT_ONCE = 6, 60, 5

Write = Callable[[Store], Awaitable[Any]]


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[Stores]:
    migrate_store(settings_for(database_url))
    opened = await open_stores(settings_for(database_url))
    yield opened
    await opened.close()


async def limit(stores: Stores, limits: StoreLimits, number: int = DEFAULT_STORE) -> None:
    await stores.update(number, "default" if number == DEFAULT_STORE else f"s{number}", "", limits)


async def read_usage(stores: Stores, number: int = DEFAULT_STORE) -> StoreUsage:
    _, moved = await stores.list_moved(0)
    return next(store.stored.usage for store in moved if store.stored.number == number)


async def count_rows(store: Store) -> StoreUsage:
    warrants = (await store.list_warrants(Slice("createdAt", 10_000), WarrantFilter())).value.rows
    objects = (await store.list_objects(Slice("objectId", 10_000), ObjectFilter())).value.rows
    return StoreUsage(len(warrants), len(objects))


def put_warrants(*texts: str, at: int = 1, once: Once | None = None) -> Write:
    return lambda store: store.put_warrants([new(text) for text in texts], anything_goes, Stamp("ann", at, once))


def put_objects(*ids: str) -> Write:
    return lambda store: store.put_objects([of_type_d(name) for name in ids], Stamp("ann", 1))


def of_type_d(name: str) -> NewObject:
    return NewObject(TypeName("d"), ObjectId(name), None)


def expiring(text: str, expires_at: int | None) -> NewWarrant:
    return msgspec.structs.replace(new(text), expires_at=expires_at)


def import_all(warrants: Sequence[NewWarrant], objects: Sequence[NewObject] = (), at: int = 1) -> Write:
    batch = ImportBatch((), objects, warrants)
    return lambda store: store.import_batch(batch, anything_goes, Stamp("ann", at))


def write(
    *texts: str,
    without: Sequence[NewWarrant] = (),
    deleted: Sequence[ObjectRef] = (),
    objects: Sequence[NewObject] = (),
) -> Write:
    wanted = AtomicWrite([], without, deleted, objects, [new(text) for text in texts])
    return lambda store: store.write(wanted, anything_goes, Stamp("ann", 1))


BEYOND: dict[str, Write] = {
    "warrants": put_warrants("d:x#r@user:c", "d:x#r@user:d"),
    "objects": put_objects("y", "z"),
    "objects of warrants": put_warrants("d:y#r@user:c"),
    "imported warrants": import_all([new("d:x#r@user:c"), new("d:x#r@user:d")]),
    "imported objects": import_all([], [of_type_d("y"), of_type_d("z")]),
    "objects of imported warrants": import_all([new("d:y#r@user:c")]),
    "a write of several kinds": write("d:x#r@user:c", objects=[of_type_d("y")]),
    "a large write": import_all([new(f"d:x#r@user:{number}") for number in range(MANY)]),
}


@pytest.mark.parametrize("kind", BEYOND)
async def test_a_write_beyond_a_limit_is_not_made(stores: Stores, database_url: str, kind: str) -> None:
    await put_warrants("d:x#r@user:a", "d:x#r@user:b")(stores.default)
    await limit(stores, StoreLimits(warrants=3, objects=4))
    before = dump(database_url)

    with pytest.raises(LimitReached) as caught:
        await BEYOND[kind](stores.default)

    is_about_warrants = kind in ("warrants", "imported warrants", "a large write")
    assert caught.value.limit == ("warrants" if is_about_warrants else "objects")
    assert dump(database_url) == before
    assert await stores.default.check() == 1


async def test_the_last_warrant_and_object_within_the_limits_are_stored(stores: Stores) -> None:
    await limit(stores, StoreLimits(warrants=2, objects=3))

    await put_warrants("d:x#r@user:a", "d:x#r@user:b")(stores.default)

    assert await read_usage(stores) == StoreUsage(2, 3)
    for each in (put_warrants("d:x#r@user:*"), put_objects("y")):
        with pytest.raises(LimitReached):
            await each(stores.default)


async def test_what_exists_already_needs_no_place(stores: Stores) -> None:
    once = Once("key", "1", "ann")
    await put_warrants("d:x#r@user:a", once=once)(stores.default)
    await limit(stores, StoreLimits(warrants=1, objects=2))

    await put_warrants("d:x#r@user:a")(stores.default)
    await put_warrants("d:x#r@user:a", once=once)(stores.default)
    await put_objects("x")(stores.default)
    await import_all([expiring("d:x#r@user:a", 9)], [of_type_d("x")])(stores.default)

    assert await read_usage(stores) == await count_rows(stores.default) == StoreUsage(1, 2)


async def test_what_is_deleted_or_expired_frees_its_place(stores: Stores) -> None:
    store = stores.default
    await limit(stores, StoreLimits(warrants=2))
    await store.put_warrants([expiring("d:x#r@user:a", 5)], anything_goes, Stamp("ann", 1))
    await put_warrants("d:x#r@user:b")(store)

    await store.end_expired(Stamp("ann", 5), 10)
    await put_warrants("d:x#r@user:c")(store)
    await write("d:x#r@user:d", without=[new("d:x#r@user:b")])(store)
    with pytest.raises(LimitReached):
        await put_warrants("d:x#r@user:e")(store)
    await store.delete_objects([object_ref("d", "x")], Stamp("ann", 6))
    await put_warrants("d:x#r@user:e", "d:x#r@user:f")(store)

    assert await read_usage(stores) == await count_rows(store) == StoreUsage(2, 7)


async def test_below_what_is_there_a_limit_refuses_only_what_adds_to_it(stores: Stores) -> None:
    store = stores.default
    await put_warrants("d:x#r@user:a", "d:x#r@user:b", "d:x#r@user:c")(store)

    await limit(stores, StoreLimits(warrants=1, objects=1))

    await write("d:x#r@user:d", without=[new("d:x#r@user:a")], deleted=[object_ref("user", "a")])(store)
    with pytest.raises(LimitReached):
        await put_warrants("d:x#r@user:a")(store)
    await store.delete_warrants([new("d:x#r@user:b"), new("d:x#r@user:c")], Stamp("ann", 2))
    assert await read_usage(stores) == await count_rows(store) == StoreUsage(1, 4)
    await limit(stores, StoreLimits())
    await put_warrants("d:x#r@user:a")(store)


async def test_each_store_has_limits_and_numbers_of_its_own(stores: Stores) -> None:
    made = [await stores.create(NewStore(name, "", limits, "ann", 1)) for name, limits in LIMITED.items()]
    first, second = map(stores.open_store, made)

    await put_warrants("d:x#r@user:a", "d:x#r@user:b")(second)
    await put_warrants("d:x#r@user:a")(first)

    with pytest.raises(LimitReached):
        await put_warrants("d:x#r@user:b")(first)
    usages = [await read_usage(stores, number) for number in (DEFAULT_STORE, *(stored.number for stored in made))]
    assert usages == [StoreUsage(0, 0), StoreUsage(1, 2), StoreUsage(2, 3)]


LIMITED = {"first": StoreLimits(warrants=1), "second": StoreLimits()}


async def test_of_writes_at_once_as_many_are_made_as_fit(stores: Stores) -> None:
    await limit(stores, StoreLimits(warrants=10))

    writes = [put_warrants(f"d:x#r@user:{number}")(stores.default) for number in range(40)]
    results = await asyncio.gather(*writes, return_exceptions=True)

    assert sum(isinstance(result, LimitReached) for result in results) == 30
    assert await read_usage(stores) == await count_rows(stores.default) == StoreUsage(10, 11)


async def test_two_processes_share_a_limit(stores: Stores, database_url: str) -> None:
    await limit(stores, StoreLimits(warrants=10))
    other = await open_stores(settings_for(database_url))

    opened = (stores.default, other.default)
    writes = [put_warrants(f"d:x#r@user:{number}")(opened[number % 2]) for number in range(40)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    await other.close()

    assert sum(isinstance(result, LimitReached) for result in results) == 30
    assert await read_usage(stores) == await count_rows(stores.default) == StoreUsage(10, 11)


def choose_write(chance: random.Random, at: int) -> Write:
    """Writes about so few names that many exist already, and many do not exist. Some warrants expire soon."""

    def choose_warrant() -> NewWarrant:
        text = f"d:{chance.choice('xyz*')}#{chance.choice('rs')}@user:{chance.choice('abc*')}"
        expires_at = chance.choice((None, None, None, at + 2, at + 20))
        return expiring(text + chance.choice(("", "", "[x == 1]")), expires_at)

    warrants = [choose_warrant() for _ in range(chance.randint(1, 4))]
    objects = [
        NewObject(TypeName("d"), ObjectId(name), chance.choice((None, "{}"))) for name in chance.sample("xyz", 2)
    ]
    refs = [object_ref(*chance.choice((("d", "x"), ("d", "y"), ("user", "a"), ("user", "b"))))]
    stamp, once = Stamp("ann", at), Once(chance.choice("12"), "1", "ann")
    wanted = AtomicWrite([], warrants[:1], refs * chance.randint(0, 1), objects[:1], warrants[1:])
    redated = [NewWarrant(one.object, one.relation, one.subject, created_at=at // 3) for one in warrants]

    async def delete_some(store: Store) -> None:
        matches = (await store.match_warrants({"object_id": chance.choice("xyz")}, 3, at)).value
        await store.delete_matches(matches, stamp)

    writes: Sequence[Write] = (
        lambda store: store.put_warrants(warrants, anything_goes, stamp),
        lambda store: store.put_warrants(warrants, anything_goes, Stamp("ann", at, once)),
        lambda store: store.put_objects(objects, stamp),
        lambda store: store.delete_objects(refs, stamp),
        lambda store: store.delete_warrants(warrants[:1], stamp),
        lambda store: store.write(wanted, anything_goes, stamp),
        import_all(warrants, objects, at),
        import_all(redated, at=at),
        lambda store: store.end_expired(Stamp("ann", at), 3),
        lambda store: store.collect(at - 20, 100),
        delete_some,
    )
    return chance.choice(writes)


@pytest.mark.parametrize("seed", list_seeds(2, HISTORIES))
async def test_the_numbers_are_those_of_the_rows_whatever_is_written(stores: Stores, seed: int) -> None:
    chance = random.Random(seed)
    limits = StoreLimits(warrants=chance.choice((None, 3, 6)), objects=chance.choice((None, 5)))
    refused = 0
    for step in range(WRITES):
        if step % 20 == 10:  # rows are there already
            await limit(stores, limits)
        elif step % 20 == 0:
            await limit(stores, StoreLimits())
        before = await count_rows(stores.default)
        writes = [choose_write(chance, 2 * step + 1)(stores.default) for _ in range(AT_ONCE)]
        results = await asyncio.gather(*writes, return_exceptions=True)

        assert [result for result in results if isinstance(result, Exception) and not is_expected(result)] == []
        refused += sum(isinstance(result, LimitReached) for result in results)
        usage = await count_rows(stores.default)
        assert await read_usage(stores) == usage
        if step % 20 >= 10:
            assert usage.warrants <= max(before.warrants, limits.warrants or MANY)
            assert usage.objects <= max(before.objects, limits.objects or MANY)
    assert bool(refused) == (limits != StoreLimits())


def is_expected(error: Exception) -> bool:
    return isinstance(error, MagistrateError)


NUMBERS = "WITH RECURSIVE numbers(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < 10000)"
MAKE_STORES = f"""
INSERT INTO store (number, id, name, description, cursor_key, created_at) {NUMBERS}
SELECT i, '01KB0YV7N5XQ4M0F3T9R' || (100000 + i), 's' || (100000 + i), '', '00000000000000000000000000000000', 1
FROM numbers"""
MAKE_HEADS = f"""
INSERT INTO head (
    store, revision, bits, horizon, model_revision, changes_deleted, decisions_deleted, decisions_deleted_at,
    keys_version, keys_bits, warrants, objects, limits, moved
) {NUMBERS} SELECT i, 1, 1, 1, 1, 0, 0, 0, 0, '', i, i + 1, '{{}}', 1 FROM numbers"""
MAX_SECONDS = 0.01


async def test_a_page_of_ten_thousand_stores_does_not_keep_others_waiting(stores: Stores, database_url: str) -> None:
    for statement in (MAKE_STORES, MAKE_HEADS):
        run_sql(database_url, statement)
    took, pages = [], 0
    boundary: tuple[str] | None = None
    while True:
        began_at = time.thread_time()
        page = await stores.list_stores(Slice("name", 1_000, boundary=boundary), "s")
        took.append(time.thread_time() - began_at)
        pages += 1
        assert all(stored.usage == StoreUsage(stored.number, stored.number + 1) for stored in page.rows)
        if not page.follows:
            break
        boundary = (page.rows[-1].name,)

    assert pages == 10
    assert min(took) < MAX_SECONDS  # others may slow the processor down for most of them
