"""What a store knows of changes without waiting, over both databases."""

from collections.abc import AsyncIterator

import pytest

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.errors import NotFound
from magistrate.store.contract.new_rows import NewObjectType, NewWarrant, Once, Stamp
from magistrate.store.contract.revisions import RevisionId, Staleness
from magistrate.store.contract.store import Store
from magistrate.store.postgres.recent_changes import (
    MAX_BYTES,
    MAX_GROUPS,
    MAX_ROWS,
    GroupChanges,
    RecentChanges,
    RecentGroups,
)
from magistrate.wiring.stores import open_store
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1)
MOST = 1_000


@pytest.fixture
async def other(store: Store, database_url: str) -> AsyncIterator[Store]:
    """The same database, opened by another process."""
    opened = await open_store(settings_for(database_url))
    yield opened
    await opened.close()


def warrant(user: str, expires_at: int | None = None) -> NewWarrant:
    subject = Subject(TypeName("user"), ObjectId(user))
    return NewWarrant(object_ref("d", "x"), RelationName("viewer"), subject, expires_at=expires_at)


async def grant(store: Store, *users: str, once: Once | None = None, expires_at: int | None = None) -> Revision:
    new = [warrant(user, expires_at) for user in users]
    return (await store.put_warrants(new, lambda types: None, Stamp("ann", 1, once))).revision


async def revoke(store: Store, *users: str) -> Revision:
    return await store.delete_warrants([warrant(user) for user in users], STAMP)


async def begin(store: Store) -> Revision:
    """Writes a first warrant, whose pattern changes the model."""
    await store.put_object_types([NewObjectType(TypeName("d"), "{}")], lambda types: None, STAMP)
    return await grant(store, "first")


async def expect_known(store: Store, after: Revision) -> None:
    """What is known without waiting is what the change log has, and from then on the caller is up to date."""
    found = store.find_warrant_changes(await store.identify(after), MOST)
    assert found is not None
    mark, news = found
    assert news == await store.list_warrant_changes(await store.identify(after), MOST)
    assert store.staleness(mark) != Staleness.STALE


async def test_own_changes_are_known_without_waiting(store: Store) -> None:
    start = await begin(store)
    reached = [start, await grant(store, "ann", "bob"), await grant(store, "cid", expires_at=9)]
    reached.append(await revoke(store, "bob"))
    with pytest.raises(NotFound):
        await revoke(store, "nobody")
    reached.append(await grant(store, "bob", once=Once("key", "print")))
    await grant(store, "bob", once=Once("key", "print"))

    for revision in reached:
        await expect_known(store, revision)


async def test_changes_of_others_are_never_left_out(store: Store, other: Store) -> None:
    start = await begin(store)
    await grant(store, "ann")
    await grant(other, "bob")
    between = await grant(store, "cid")
    await grant(store, "dan")

    await expect_known(store, between)
    found = store.find_warrant_changes(await store.identify(start), MOST)
    assert found is None or found[1] == await store.list_warrant_changes(await store.identify(start), MOST)


async def test_a_changed_model_is_not_passed_over(store: Store) -> None:
    start = await begin(store)
    await grant(store, "ann")
    await store.put_object_types([NewObjectType(TypeName("d"), '{"a":{}}')], lambda types: None, STAMP)
    await grant(store, "bob")

    found = store.find_warrant_changes(await store.identify(start), MOST)

    assert found is None or found[1] == await store.list_warrant_changes(await store.identify(start), MOST)


@pytest.mark.parametrize("count", [MAX_ROWS, MAX_ROWS + 1])
async def test_of_too_many_changes_none_is_named(store: Store, count: int) -> None:
    start = await begin(store)
    await grant(store, *map(str, range(count)))

    found = store.find_warrant_changes(await store.identify(start), MAX_ROWS)

    assert (found is not None and found[1].changes is not None) == (count == MAX_ROWS)


async def test_what_was_long_ago_need_not_be_known(store: Store) -> None:
    revisions = [await begin(store)]
    for number in range(MAX_GROUPS + 1):
        revisions.append(await grant(store, str(number)))

    found = store.find_warrant_changes(await store.identify(revisions[0]), MOST)

    assert found is None or found[1] == await store.list_warrant_changes(await store.identify(revisions[0]), MOST)
    await expect_known(store, revisions[1])


def group(revision: int, text: str = "x") -> GroupChanges:
    before, newest = (RevisionId(Revision(number), number) for number in (revision, revision + 1))
    rows = [(newest.revision, 0, "created", "warrant", text, None, None, None, None)]
    return GroupChanges(before, newest, Revision(1), rows, (0.0, revision + 1))


def is_known(changes: RecentChanges, revision: int, writes: int) -> bool:
    return changes.find(RevisionId(Revision(revision), revision), MOST, writes) is not None


def test_the_groups_of_all_stores_are_limited_together_and_the_oldest_are_discarded() -> None:
    shared = RecentGroups()
    first, second = RecentChanges(shared), RecentChanges(shared)
    for revision in range(2):
        first.add(group(revision, "x" * (MAX_BYTES // 4)))
    second.add(group(0, "x" * (MAX_BYTES // 3)))
    assert is_known(first, 0, 2)

    second.add(group(1, "x" * (MAX_BYTES // 3)))

    assert (is_known(first, 0, 2), is_known(first, 1, 2)) == (False, True)
    assert is_known(second, 0, 2)
    assert shared.measure().bytes <= MAX_BYTES


def test_a_store_that_writes_much_discards_what_another_has_written_before() -> None:
    shared = RecentGroups()
    first, second = RecentChanges(shared), RecentChanges(shared)
    first.add(group(0))

    for revision in range(9):
        second.add(group(revision, "x" * (MAX_BYTES // 8)))

    assert not is_known(first, 0, 1)
    assert is_known(second, 8, 9)
    assert shared.measure().bytes <= MAX_BYTES
