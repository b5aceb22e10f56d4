"""Following the revisions of a store: each once, in order and without a gap, however a reader begins, how slow it is,
and who writes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import pytest

from magistrate.engine.names import Revision
from magistrate.engine.terms import object_ref
from magistrate.errors import HistoryReplaced, NotRetained, RevisionLost, StoreDeleted, StoreUnavailable
from magistrate.operations.context import Context
from magistrate.operations.watch import revision_feed, revision_log
from magistrate.operations.watch.feed_memory import FeedMemory
from magistrate.operations.watch.revision_feed import RevisionFeed
from magistrate.operations.watch.revision_log import RevisionBatch, RevisionLog, RevisionPage, WrittenRevision
from magistrate.operations.writes.objects import delete_objects
from magistrate.store.contract.revisions import RevisionId
from tests.databases import dump, restore
from tests.operations.node import Node

pytestmark = pytest.mark.anyio

Batches = AsyncGenerator[RevisionBatch, None]
Nodes = tuple[Node, Node]


@asynccontextmanager
async def following(ctx: Context, after: RevisionId | None = None) -> AsyncIterator[Batches]:
    """The batches behind the first one, which has been taken."""
    async with aclosing(ctx.feed.follow(after)) as batches:
        first = await anext(batches)
        assert not first.revisions
        assert after in (None, first.newest)
        yield batches


async def take(batches: Batches, count: int) -> list[WrittenRevision]:
    """As many revisions."""
    taken: list[WrittenRevision] = []
    while len(taken) < count:
        batch = await asyncio.wait_for(anext(batches), 60)
        taken += batch.revisions
        if batch.revisions:
            assert batch.newest.revision >= batch.revisions[-1].id.revision
    return taken


async def newest(node: Node) -> RevisionId:
    return (await RevisionLog(node.ctx.store).read_newest())[0]


def objects_of(revisions: Sequence[WrittenRevision]) -> list[str]:
    """The objects on which warrants were changed."""
    return [event.key[1] for written in revisions for event in written.changes or () if event.kind == "warrant"]


def grant(number: int) -> str:
    return f"folder:{number}#viewer@user:ann"


async def test_a_reader_gets_what_is_written_from_now_on(node: Node) -> None:
    await node.grant(grant(0))

    async with following(node.ctx) as batches:
        await node.grant(grant(1), grant(2))
        await node.revoke(grant(1))
        [granted, revoked] = await take(batches, 2)

    assert [(event.action, event.kind, event.key[1]) for event in granted.changes or ()] == [
        ("created", "warrant", "1"),
        ("created", "warrant", "2"),
        ("created", "object", "1"),
        ("created", "object", "2"),
    ]
    assert [(event.action, event.kind) for event in revoked.changes or ()] == [("deleted", "warrant")]
    assert revoked.id == await newest(node)
    assert revoked.actor == "ann"
    assert revoked.written_at >= granted.written_at


async def test_warrants_that_end_with_an_object_are_in_its_revision(node: Node) -> None:
    await node.grant(grant(1), "folder:2#parent@folder:x", "folder:x#viewer@user:ann")

    async with following(node.ctx) as batches:
        await delete_objects(node.ctx, [object_ref("folder", "x")], node.ctx.stamp("ann"))
        [written] = await take(batches, 1)

    ended = [event.key[:5] for event in written.changes or () if event.kind == "warrant"]
    assert sorted(ended) == [("folder", "2", "parent", "folder", "x"), ("folder", "x", "viewer", "user", "ann")]


async def test_a_reader_goes_on_from_any_revision(node: Node) -> None:
    since = await newest(node)
    for number in range(30):
        await node.grant(grant(number))

    async with following(node.ctx, since) as batches:
        revisions = await take(batches, 30)
    for place in (0, 13, 28):
        async with following(node.ctx, revisions[place].id) as batches:
            assert await take(batches, 29 - place) == revisions[place + 1 :]

    assert objects_of(revisions) == [str(number) for number in range(30)]


async def test_a_write_that_was_read_before_it_is_noted_is_waited_over(node: Node) -> None:
    """The log may be read between the commit of a write and the moment at which this process learns of it."""
    async with following(node.ctx) as batches:
        await node.grant(grant(0))
        await take(batches, 1)
        [wake] = node.ctx.store.known.write_observers
        wake()
        await node.grant(grant(1))
        [granted] = await take(batches, 1)

    assert objects_of([granted]) == ["1"]


async def test_what_another_node_writes_is_seen(nodes: Nodes) -> None:
    reader, writer = nodes

    async with following(reader.ctx) as batches:
        for number in range(20):
            await (writer if number % 3 else reader).grant(grant(number))
        revisions = await take(batches, 20)

    assert objects_of(revisions) == [str(number) for number in range(20)]


async def test_readers_share_what_is_read(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write is read once. It may be read once more, if it wakes the feed before this process has noted it."""
    monkeypatch.setattr(revision_feed, "POLL_SECONDS", 3600.0)
    reader, _ = nodes
    since = await newest(reader)
    async with AsyncExitStack() as stack:
        followers = [await stack.enter_async_context(following(reader.ctx, since)) for _ in range(200)]
        reader.database.reads = 0

        for number in range(10):
            await reader.grant(grant(number))
            for batches in followers:
                await take(batches, 1)

        assert reader.database.reads <= 2 * 10


async def test_what_is_written_soon_after_something_is_read_together(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_feed, "GATHER_SECONDS", 1.0)
    async with following(node.ctx) as batches:
        await node.grant(grant(0))
        await take(batches, 1)
        node.database.reads = 0
        for number in range(1, 21):
            await node.grant(grant(number))

        found = await take(batches, 20)

    assert objects_of(found) == [str(number) for number in range(1, 21)]
    assert node.database.reads < 20


async def test_readers_at_the_same_place_behind_the_tail_share_their_reads(node: Node) -> None:
    since = await newest(node)
    for number in range(10):
        await node.grant(grant(number))

    async def read_all() -> list[str]:
        async with following(node.ctx, since) as batches:
            return objects_of(await take(batches, 10))

    async with following(node.ctx):
        node.database.reads = 0
        found = await asyncio.gather(*[read_all() for _ in range(50)])

    assert found == [[str(number) for number in range(10)]] * 50
    assert node.database.reads < 20


async def test_a_tail_that_is_too_small_is_completed_from_the_log(nodes: Nodes) -> None:
    reader, writer = nodes
    feed = RevisionFeed(reader.ctx.store, FeedMemory(max_bytes=5_000))

    async with aclosing(feed.follow()) as first, aclosing(feed.follow()) as second:
        await anext(first), await anext(second)
        revisions = []
        for number in range(30):
            await writer.grant(grant(number))
            revisions += await take(first, 1)
        assert await take(second, 30) == revisions

    assert objects_of(revisions) == [str(number) for number in range(30)]


async def test_memory_of_feeds_is_bounded_and_given_back(node: Node) -> None:
    memory = FeedMemory(max_bytes=20_000)
    feed = RevisionFeed(node.ctx.store, memory)

    async with aclosing(feed.follow()) as batches:
        await anext(batches)
        for number in range(30):
            await node.grant(grant(number))
        await take(batches, 30)
        assert 0 < memory.measure().bytes - memory.pages.bytes <= 20_000

    assert memory.measure().bytes == 0
    assert memory.feeds == 0
    assert not feed.has_readers


async def test_a_large_revision_is_read_in_pieces(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_log, "MAX_CHANGES", 7)
    since = await newest(node)
    await node.grant(grant(0))
    await node.grant(*map(grant, range(1, 21)))
    await node.grant(grant(21))

    async with following(node.ctx, since) as batches:
        small, large, last = await take(batches, 3)
    pieces: list[str] = []
    behind, has_more = -1, True
    while has_more:
        rows, has_more = await RevisionLog(node.ctx.store).read_changes(large.id, "warrant", "created", behind)
        assert 0 < len(rows) <= 7
        pieces += [event.key[1] for event in rows]
        behind = rows[-1].place[2]

    assert objects_of([small, last]) == ["0", "21"]
    assert large.changes is None
    assert sorted(pieces, key=int) == [str(number) for number in range(1, 21)]


async def test_a_revision_with_large_contents_is_read_in_pieces(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_log, "MAX_BYTES", 20)
    policy = "[tenant == 'acme']"
    since = await newest(node)
    await node.grant(f"{grant(1)}{policy}")
    await node.grant(*[f"{grant(number)}{policy}" for number in (2, 3)])

    async with following(node.ctx, since) as batches:
        small, large = await take(batches, 2)
    monkeypatch.setattr(revision_log, "MAX_BYTES", 10)
    log = RevisionLog(node.ctx.store)
    [first], has_more = await log.read_changes(large.id, "warrant", "created", -1)
    [second], has_none = await log.read_changes(large.id, "warrant", "created", first.place[2])

    assert objects_of([small]) == ["1"]
    assert large.changes is None
    assert [first.key[1], second.key[1]] == ["2", "3"]
    assert first.content == second.content == "tenant == 'acme'"
    assert (has_more, has_none) == (True, False)


async def test_a_revision_that_is_not_written_yet_is_waited_for(nodes: Nodes) -> None:
    reader, writer = nodes
    ahead = Revision((await newest(reader)).revision + 2)

    async with following(reader.ctx, RevisionId(ahead, None)) as batches:
        for number in range(4):
            await writer.grant(grant(number))
        assert objects_of(await take(batches, 2)) == ["2", "3"]


async def test_a_revision_that_turns_out_to_be_another_write_is_lost(node: Node) -> None:
    ahead = Revision((await newest(node)).revision + 1)

    async with following(node.ctx, RevisionId(ahead, 1)) as batches:
        await node.grant(grant(1))
        with pytest.raises(RevisionLost):
            await take(batches, 1)


async def test_another_write_with_the_same_number_is_lost_before_the_first_batch(node: Node) -> None:
    stored = await newest(node)
    other = RevisionId(stored.revision, (stored.bits or 0) ^ 1)

    for _ in range(2):  # with and without a reader at the newest revision
        with pytest.raises(RevisionLost):
            async with following(node.ctx, other):
                pass


async def test_deleted_changes_are_not_skipped(node: Node) -> None:
    before = await newest(node)
    await node.grant(grant(1))
    await node.grant(grant(2))
    while await node.ctx.store.delete_events(node.ctx.now(), 1_000):
        pass
    oldest = await newest(node)
    await node.grant(grant(3))

    with pytest.raises(NotRetained) as raised:
        async with following(node.ctx, before):
            pass
    async with following(node.ctx, oldest) as batches:
        [written] = await take(batches, 1)

    assert raised.value.oldest
    assert objects_of([written]) == ["3"]


async def test_a_heartbeat_says_where_the_reader_stands(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_feed, "HEARTBEAT_SECONDS", 0.01)

    async with following(node.ctx) as batches:
        heartbeat = await anext(batches)
        assert not heartbeat.revisions
        assert heartbeat.newest == await newest(node)
        await node.grant(grant(1))
        [written] = await take(batches, 1)

    assert objects_of([written]) == ["1"]


async def test_a_restored_store_ends_its_readers(database_url: str, nodes: Nodes) -> None:
    reader, writer = nodes
    backup = dump(database_url)
    await writer.grant(grant(1))

    async with following(reader.ctx) as batches:
        restore(database_url, backup)
        with pytest.raises(HistoryReplaced):
            await take(batches, 1)
    await writer.grant(grant(2))
    async with following(reader.ctx) as batches:
        await writer.grant(grant(3))
        assert objects_of(await take(batches, 1)) == ["3"]


async def test_a_released_context_ends_its_readers(node: Node) -> None:
    async with following(node.ctx) as batches:
        assert node.ctx.is_busy
        node.ctx.release()
        with pytest.raises(StoreDeleted):
            await take(batches, 1)

    assert not node.ctx.is_busy


async def test_a_closed_store_is_not_followed(node: Node) -> None:
    await node.ctx.store.close()

    with pytest.raises(StoreUnavailable):
        async with following(node.ctx):
            pass


async def test_a_signal_for_a_write_that_was_read_already_does_not_keep_the_event_loop(node: Node) -> None:
    async with following(node.ctx) as batches:
        for notify in [*node.ctx.store.known.write_observers]:
            notify()
        await asyncio.sleep(0)  # would never return
        await node.grant(grant(1))
        [written] = await take(batches, 1)

    assert objects_of([written]) == ["1"]


async def test_a_read_goes_on_when_the_last_reader_leaves(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaking a statement off costs its connection to PostgreSQL, and is a line about an outage in the log."""
    begun, ended = asyncio.Event(), asyncio.Event()
    read_page = RevisionLog.read_page

    async def note_read(log: RevisionLog, after: RevisionId) -> RevisionPage:
        begun.set()
        page = await read_page(log, after)
        ended.set()
        return page

    async with following(node.ctx):
        monkeypatch.setattr(RevisionLog, "read_page", note_read)
        await node.grant(grant(1))
        await asyncio.wait_for(begun.wait(), 60)

    await asyncio.wait_for(ended.wait(), 60)
    assert node.ctx.feed.memory.measure().bytes == 0
