"""Writes with the same number in different histories, over both databases."""

from collections.abc import AsyncIterator

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import HistoryReplaced, PreconditionFailed, RevisionLost
from magistrate.store.contract.new_rows import NewModel, NewObject, NewWarrant, Stamp
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Presence, RevisionId
from magistrate.store.contract.store import AtomicWrite, Precondition, Store
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.wiring.stores import open_store
from tests.databases import dump, restore
from tests.running import settings_for
from tests.store.written_warrants import new as new_warrant

pytestmark = pytest.mark.anyio


@pytest.fixture
async def other(store: Store, database_url: str) -> AsyncIterator[Store]:
    """The same database, opened by another process."""
    opened = await open_store(settings_for(database_url))
    yield opened
    await opened.close()


async def write(store: Store, *ids: str) -> list[RevisionId]:
    """One revision for each object."""
    written = []
    for revision_id in ids:
        await store.put_objects([NewObject(TypeName("d"), ObjectId(revision_id), None)], Stamp("ann", 1))
        written.append(await store.identify(await store.check()))
    return written


async def test_nothing_is_known_of_an_empty_store(store: Store) -> None:
    assert await store.check() == 0
    assert await store.identify(Revision(0)) == NOTHING_WRITTEN
    assert await store.locate(NOTHING_WRITTEN) == Presence.STORED


async def test_each_revision_has_bits_of_its_own_which_are_known_to_its_writer_at_once(store: Store) -> None:
    written = await write(store, *map(str, range(20)))

    before = store.statements
    assert [await store.identify(Revision(number)) for number in range(1, 21)] == written
    assert all(store.known.holds(revision_id) for revision_id in written)
    assert store.statements == before
    assert len({revision_id.bits for revision_id in written}) > 15
    assert all(revision_id.bits is not None and 0 <= revision_id.bits < 2**32 for revision_id in written)


async def test_what_others_write_is_found_with_the_same_bits(store: Store, other: Store) -> None:
    written = await write(store, "a", "b", "c")

    assert [await other.identify(revision_id.revision) for revision_id in written] == written
    assert [await other.locate(revision_id) for revision_id in written] == [Presence.STORED] * 3
    assert all(other.known.holds(revision_id) for revision_id in written)


async def test_a_write_is_told_from_others_with_its_number(store: Store) -> None:
    [(revision, bits)] = await write(store, "a")
    assert bits is not None

    assert await store.locate(RevisionId(revision, bits ^ 1)) == Presence.REPLACED
    assert not store.known.holds(RevisionId(revision, bits ^ 1))
    assert await store.locate(RevisionId(revision, None)) == Presence.STORED
    for ahead in (revision + 1, ALIVE - 1, ALIVE, 2**64 - 1):
        assert await store.locate(RevisionId(Revision(ahead), bits)) == Presence.AHEAD


async def test_a_revision_that_is_not_listed_any_more_counts_as_stored(store: Store, other: Store) -> None:
    first, *_ = await write(store, "a", "b", "c")

    await store.delete_events(1, 100)

    assert await other.locate(first) == Presence.STORED
    assert await other.identify(first.revision) == RevisionId(first.revision, None)


async def test_a_history_is_the_same_when_its_oldest_revisions_are_not_listed_any_more(store: Store) -> None:
    written = await write(store, "a", "b", "c")
    await store.delete_events(1, 100)

    news = await store.list_warrant_changes(written[0], 100)

    assert news.changes is None
    assert store.known.history == 0
    assert all(store.known.holds(revision_id) for revision_id in written)


@pytest.mark.parametrize("later", [0, 1, 2, 3, 5])
async def test_a_restored_store_is_noticed_whatever_is_read(
    store: Store, other: Store, database_url: str, later: int
) -> None:
    """Each process reads only once after the restore."""
    await write(store, "a")
    kept = await store.identify(Revision(1))
    backup = dump(database_url)
    lost = await write(store, "b", "c", "d")
    for one in (store, other):
        await one.list_warrant_changes(NOTHING_WRITTEN, 100)

    restore(database_url, backup)
    opened = await open_store(settings_for(database_url))
    written = await write(opened, *map(str, range(later)))
    await opened.close()

    for one in (store, other):
        for revision_id in lost:
            presence = await one.locate(revision_id)
            assert presence == (Presence.REPLACED if revision_id.revision <= 1 + later else Presence.AHEAD)
        assert [await one.locate(revision_id) for revision_id in (kept, *written)] == [Presence.STORED] * (1 + later)
        assert not any(one.known.holds(revision_id) for revision_id in lost)
        assert one.known.history == 1


async def test_those_who_follow_a_history_learn_that_it_was_replaced(
    store: Store, other: Store, database_url: str
) -> None:
    await write(store, "a")
    backup = dump(database_url)
    [lost] = await write(store, "b")
    await other.list_warrant_changes(NOTHING_WRITTEN, 100)
    told = []
    other.known.call_on_change(lambda: told.append(1))

    restore(database_url, backup)
    await write(store, "x", "y")

    with pytest.raises(HistoryReplaced):
        await other.list_warrant_changes(lost, 100)
    assert told == [1]
    found = store.find_warrant_changes(lost, 100) if store.known.find(lost.revision) == lost else None
    assert found is None


async def test_a_mark_is_stale_once_the_store_was_restored_to_the_same_number(store: Store, database_url: str) -> None:
    await write(store, "a")
    backup = dump(database_url)
    await write(store, "b")
    mark = store.mark()

    restore(database_url, backup)
    reopened = await open_store(settings_for(database_url))
    await write(reopened, "x")
    await reopened.close()

    assert not store.is_newest(mark)


@pytest.mark.parametrize("writes", [0, 1, 4])
async def test_preconditions_name_writes(store: Store, database_url: str, writes: int) -> None:
    [kept] = await write(store, "a")
    backup = dump(database_url)
    [lost] = await write(store, "b")
    restore(database_url, backup)
    await write(store, *(f"x{number}" for number in range(writes)))
    unmet = Precondition(object_ref("d", "a"), is_absent=True)

    for preconditions in ([Precondition(lost)], [unmet, Precondition(lost)]):
        with pytest.raises(RevisionLost):
            await store.write(AtomicWrite(preconditions), lambda types: None, Stamp("ann", 2))
    with pytest.raises(RevisionLost):
        await store.put_model(NewModel([], [], lost), lambda types: None, Stamp("ann", 2))
    if writes:
        with pytest.raises(PreconditionFailed):
            await store.write(AtomicWrite([Precondition(kept)]), lambda types: None, Stamp("ann", 2))
    else:
        await store.write(AtomicWrite([Precondition(kept)]), lambda types: None, Stamp("ann", 2))


async def test_the_end_of_expired_warrants_is_no_write_for_a_precondition(store: Store) -> None:
    """It is the only thing that makes revisions without a caller."""
    expiring: list[NewWarrant] = [
        NewWarrant(one.object, one.relation, one.subject, expires_at=10)
        for one in map(new_warrant, ("d:a#viewer@user:ann", "d:b#viewer@user:ann"))
    ]
    await store.put_warrants(expiring[:1], lambda types: None, Stamp("ann", 1))
    await store.put_warrants(expiring[1:], lambda types: None, Stamp("ann", 1))
    read = await store.identify(await store.check())
    for _ in range(2):
        assert await store.end_expired(Stamp("expiry", 11), 1) == 1
    assert await store.check() == read.revision + 2
    swept = await store.identify(await store.check())

    await store.write(AtomicWrite([Precondition(read), Precondition(swept)]), lambda types: None, Stamp("ann", 12))

    for outdated in (read, swept):
        with pytest.raises(PreconditionFailed):
            await store.write(AtomicWrite([Precondition(outdated)]), lambda types: None, Stamp("ann", 12))


async def test_nothing_else_that_time_does_makes_a_revision(store: Store) -> None:
    await write(store, "a", "b")
    await store.delete_objects([object_ref("d", "a")], Stamp("ann", 1))
    before = await store.check()

    assert await store.collect(10**15, 100) > 0
    assert await store.delete_events(10**15, 100) > 0
    await store.note_key_uses({}, 1)
    await store.keep_decisions([], 1)

    assert await store.check() == before
