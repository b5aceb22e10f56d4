"""Checks decided in memory, over real stores that others write to as well."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from magistrate.engine.cache.entry_reads import MAX_GROUPS_AT_FIRST
from magistrate.engine.cache.graph import MAX_EACH, MAX_WILDCARDS
from magistrate.engine.names import Revision
from magistrate.engine.warrants.reader import AnyRead, ReadResult
from magistrate.engine.work import ITEMS_AT_ONCE, Work
from magistrate.errors import RevisionLost, StoreUnavailable
from magistrate.operations.checks.check import PendingChecks, check, check_all
from magistrate.operations.checks.check_batch import ALL_NEEDED, UNTIL_AUTHORIZED
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.live_graph import MAX_CHANGES, LiveGraph
from magistrate.operations.scheduling import take_checkpoint
from magistrate.store.contract.revisions import Mark, RevisionId, Staleness, WarrantChanges
from magistrate.store.sql_store import SqlStore
from tests.operations.node import Node
from tests.operations.stored_warrants import LATEST, Types, question

pytestmark = pytest.mark.anyio


CHAIN = [f"folder:{number}#parent@folder:{number + 1}" for number in range(5)]


async def test_a_repeated_check_is_answered_without_reading_a_warrant(node: Node) -> None:
    await node.grant(*CHAIN, "folder:5#viewer@team:0#member", "team:0#member@team:1#member", "team:1#member@user:ann")

    first = await node.allowed("folder:0#viewer@user:ann")
    fetches = node.ctx.caches.graph.counts.fetches
    others = [
        await node.allowed(asked)
        for asked in ("folder:0#viewer@user:ann", "folder:3#viewer@user:ann", "team:0#member@user:ann")
    ]

    assert (first, others) == (True, [True, True, True])
    # Only whether ann is a member of the team herself was not checked before.
    assert node.ctx.caches.graph.counts.fetches == fetches + 1
    assert node.ctx.caches.graph.counts.given_up == 0


async def test_the_groups_of_a_subject_are_found_from_its_side_whatever_their_size(node: Node) -> None:
    members = [f"team:1#member@user:{number}" for number in range(3 * MAX_EACH)]
    await node.grant(*CHAIN, "folder:5#viewer@team:0#member", "team:0#member@team:1#member", *members)

    assert await node.allowed("folder:0#viewer@user:7")
    assert node.ctx.caches.graph.count_entries() < 20


async def test_answers_stay_right_while_a_group_gets_into_too_many_others_and_out_of_them(node: Node) -> None:
    others = [f"team:{number}#member@team:all#member" for number in range(1, MAX_EACH + 50)]
    await node.grant("folder:0#viewer@team:1#member", "team:all#member@user:ann", *others[:MAX_GROUPS_AT_FIRST])
    asked = ["folder:0#viewer@user:ann", "team:2#member@user:ann", "team:540#member@user:ann", "team:2#member@user:bob"]
    seen = []
    for change, some in (
        (node.grant, others[MAX_GROUPS_AT_FIRST : MAX_GROUPS_AT_FIRST + 50]),
        (node.grant, others[MAX_GROUPS_AT_FIRST + 50 :]),
        (node.revoke, others[:1]),
        (node.revoke, others[MAX_GROUPS_AT_FIRST:]),
        (node.grant, others[:1]),
    ):
        await change(*some)
        seen.append([await node.allowed(one) for one in asked])

    assert seen == [
        [True, True, False, False],
        [True, True, True, False],
        [False, True, True, False],
        [False, True, False, False],
        [True, True, False, False],
    ]


async def test_a_write_is_seen_by_the_next_check_of_the_same_process(node: Node) -> None:
    await node.grant("folder:0#viewer@user:ann")
    seen = []
    for _ in range(3):
        seen.append(await node.allowed("folder:0#viewer@user:bob"))
        await node.grant("folder:0#viewer@user:bob")
        seen.append(await node.allowed("folder:0#viewer@user:bob"))
        await node.revoke("folder:0#viewer@user:bob")

    assert seen == [False, True] * 3


async def test_another_write_leaves_what_is_kept_as_it_is(node: Node) -> None:
    await node.grant("folder:0#viewer@user:ann", "folder:1#viewer@user:ann")
    await node.allowed("folder:0#viewer@user:ann")
    fetches = node.ctx.caches.graph.counts.fetches

    await node.grant("folder:1#viewer@user:bob")

    assert await node.allowed("folder:0#viewer@user:ann")
    assert node.ctx.caches.graph.counts.fetches == fetches


async def test_after_a_write_of_the_same_process_a_check_is_decided_without_waiting(node: Node) -> None:
    asked = ("folder:0#viewer@user:ann", "folder:0#viewer@user:bob", "folder:1#viewer@user:bob")
    await node.grant(*CHAIN, "folder:5#viewer@team:0#member", "team:0#member@user:ann", "folder:0#viewer@user:cid")
    for one in asked:
        await node.allowed(one)
    fetches = node.ctx.caches.graph.counts.fetches
    seen = []
    for _ in range(3):
        for change in (node.grant, node.revoke):
            written = await change("folder:0#viewer@user:bob")
            for freshness in (NO_DEMAND, written):
                pending = [PendingChecks(node.ctx, [question(one)], None, freshness) for one in asked]
                decided = [one.decide_at_once() for one in pending]
                seen.append([one and one.value[0].is_authorized for one in decided])

    assert seen == ([[True, True, False]] * 2 + [[True, False, False]] * 2) * 3
    assert node.ctx.caches.graph.counts.fetches == fetches


@pytest.mark.parametrize("said", ["token", "latest"])
async def test_another_process_answers_what_is_demanded(nodes: tuple[Node, Node], said: str) -> None:
    writer, reader = nodes
    await writer.grant("folder:0#viewer@user:ann")
    seen = []
    for _ in range(20):
        granted = await writer.grant("folder:0#viewer@user:bob")
        seen.append(await reader.allowed("folder:0#viewer@user:bob", granted if said == "token" else LATEST))
        revoked = await writer.revoke("folder:0#viewer@user:bob")
        seen.append(await reader.allowed("folder:0#viewer@user:bob", revoked if said == "token" else LATEST))

    assert seen == [True, False] * 20


async def test_another_process_sees_a_write_before_long_without_a_notification(nodes: tuple[Node, Node]) -> None:
    writer, reader = nodes
    assert not await reader.allowed("folder:0#viewer@user:ann")

    await writer.grant("folder:0#viewer@user:ann")

    async with asyncio.timeout(10):
        while not await reader.allowed("folder:0#viewer@user:ann"):
            await asyncio.sleep(0.001)


async def test_a_token_from_the_future_is_refused(node: Node) -> None:
    with pytest.raises(RevisionLost):
        await node.allowed("folder:0#viewer@user:ann", Freshness("Warrant-Token", Revision(1_000)))


async def test_a_new_object_type_is_followed(nodes: tuple[Node, Node]) -> None:
    writer, reader = nodes
    await writer.grant("folder:0#parent@folder:1", "folder:1#viewer@user:ann")
    before = await reader.allowed("folder:0#viewer@user:ann", LATEST)

    await writer.define({"folder": {"parent": {}, "viewer": {}}})

    assert before
    assert not await reader.allowed("folder:0#viewer@user:ann", LATEST)


async def test_of_an_object_with_very_many_subjects_each_is_looked_up_by_itself(node: Node) -> None:
    everyone = [f"folder:1#viewer@user:{number}" for number in range(2 * MAX_EACH)]
    await node.grant("folder:0#parent@folder:1", "folder:1#viewer@team:0#member", "team:0#member@user:eve", *everyone)

    async def seen() -> list[bool]:
        return [await node.allowed(f"folder:0#viewer@user:{name}") for name in ("7", "bob", "eve")]

    assert await seen() == [True, False, True]
    fetches = node.ctx.caches.graph.counts.fetches
    assert await seen() == [True, False, True]
    assert node.ctx.caches.graph.counts.fetches == fetches
    await node.grant("folder:1#viewer@user:bob")
    await node.revoke("folder:1#viewer@user:7")
    assert await seen() == [False, True, True]
    await node.grant("folder:1#viewer@user:*")
    assert await seen() == [True, True, True]
    assert node.ctx.caches.graph.count_entries() < 50


async def test_more_changes_than_are_applied_one_by_one_begin_it_anew(nodes: tuple[Node, Node]) -> None:
    writer, reader = nodes
    await writer.grant("folder:0#viewer@user:ann")
    assert await reader.allowed("folder:0#viewer@user:ann", LATEST)

    await writer.grant(*[f"folder:{number}#viewer@user:bob" for number in range(MAX_CHANGES + 1)])
    await writer.revoke("folder:0#viewer@user:ann")

    assert not await reader.allowed("folder:0#viewer@user:ann", LATEST)
    assert await reader.allowed("folder:0#viewer@user:bob", LATEST)


async def test_what_there_is_no_capacity_for_is_decided_without_the_graph(node: Node) -> None:
    """A folder with very many subjects takes two entries at once, and there is capacity for one."""
    await node.grant(*[f"folder:1#viewer@user:{number}" for number in range(2 * MAX_EACH)])
    cramped = replace(
        node.ctx,
        caches=replace(node.ctx.caches, graph=LiveGraph(node.ctx.store, node.ctx.caches.models, 1, node.ctx.now)),
    )

    found = await check_all(cramped, [question("folder:1#viewer@user:7")], NO_DEMAND)

    assert found.value[0].is_authorized
    assert cramped.caches.graph.counts.given_up == 1


async def test_what_a_check_has_walked_need_not_stay_cached(node: Node) -> None:
    """Six folders, each with a team, are more than there is capacity for."""
    await node.grant(*CHAIN, *[f"folder:{number}#viewer@team:{number}#member" for number in range(5)])
    await node.grant("folder:5#viewer@user:ann")
    cramped = replace(
        node.ctx,
        caches=replace(node.ctx.caches, graph=LiveGraph(node.ctx.store, node.ctx.caches.models, 3_000, node.ctx.now)),
    )

    found = await check_all(cramped, [question("folder:0#viewer@user:ann")], NO_DEMAND)

    assert found.value[0].is_authorized
    assert cramped.caches.graph.counts.given_up == 0


async def test_a_decision_is_not_cached_when_what_it_rests_on_was_evicted_meanwhile(node: Node) -> None:
    """The links are evicted one after another while they are walked: nothing would evict the decision when one ends."""
    await node.grant(*CHAIN, *[f"folder:{number}#viewer@team:{number}#member" for number in range(5)])
    await node.grant("folder:5#viewer@user:ann")
    graph = LiveGraph(node.ctx.store, node.ctx.caches.models, 3_000, node.ctx.now)
    cramped = Node(replace(node.ctx, caches=replace(node.ctx.caches, graph=graph)), node.database)
    assert await cramped.allowed("folder:0#viewer@user:ann")

    await node.revoke(CHAIN[2])

    assert graph.counts.given_up == 0
    assert not await cramped.allowed("folder:0#viewer@user:ann", LATEST)


class Held(SqlStore):
    """Returns the warrants of some objects only when it may."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(store.database, store.identity)
        self._waiting: dict[str, tuple[asyncio.Event, asyncio.Event]] = {}

    def hold(self, object_id: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Returns an event that occurs when the warrants of an object have been read, and one that lets them go."""
        self._waiting[object_id] = asyncio.Event(), asyncio.Event()
        return self._waiting[object_id]

    async def read_warrants(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool = False
    ) -> ReadResult:
        found = await super().read_warrants(reads, at, most, with_expired)
        for object_id in [
            object_id for object_id in self._waiting if any(object_id in (read.ids or ()) for read in reads)
        ]:
            were_read, may_go = self._waiting.pop(object_id)
            were_read.set()
            await may_go.wait()
        return found


async def test_a_decision_is_not_cached_when_a_slow_read_evicts_what_it_rests_on(node: Node) -> None:
    """A read that began before a change evicts the entries that the change concerns once more, when its rows arrive."""
    await node.grant("folder:0#parent@folder:1", "folder:1#parent@folder:2", "folder:2#viewer@user:ann")
    assert isinstance(node.ctx.store, SqlStore)
    store = Held(node.ctx.store)
    graph = LiveGraph(store, node.ctx.caches.models, 1_000_000, node.ctx.now)
    asking = Node(replace(node.ctx, store=store, caches=replace(node.ctx.caches, graph=graph)), node.database)
    assert not await asking.allowed("folder:8#viewer@user:eve", LATEST)
    (slow_read, slow_may_go), (other_read, other_may_go) = store.hold("9"), store.hold("2")
    slow = asyncio.create_task(asking.allowed("folder:9#viewer@user:bob"))
    await slow_read.wait()
    await node.grant("folder:1#viewer@user:kim")
    other = asyncio.create_task(asking.allowed("folder:0#viewer@user:ann", LATEST))
    await other_read.wait()  # the entry of folder:1 was read after the change, and walked
    slow_may_go.set()
    assert not await slow
    other_may_go.set()
    assert await other

    await node.revoke("folder:1#parent@folder:2")

    assert graph.counts.given_up == 0
    assert not await asking.allowed("folder:0#viewer@user:ann", LATEST)


M1: Types = {
    "document": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "folder": {"editor": {}, "viewer": {"inheritIf": "editor"}},
}
M2: Types = {"document": {"parent": {}}, "folder": {"editor": {}, "viewer": {}}}


async def test_what_was_missing_before_the_model_changed_is_not_read_for_the_new_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model changes while a long batch has yielded, and then becomes what it was: entries of the first model count
    again, so none may have been built with the plans of both."""
    await node.define(M1)
    await node.grant(*[f"document:{number}#parent@folder:{number}" for number in range(500)])
    await node.grant(*[f"folder:{number}#editor@user:ann" for number in range(500)])
    monkeypatch.setattr("magistrate.operations.scheduling.is_time_up", lambda: True)
    changes = [M2]

    async def change_model(work: Work) -> None:
        for types in [changes.pop()] if changes else []:
            await node.define(types)
            await node.allowed("folder:other#viewer@user:ann", LATEST)
        await take_checkpoint(work)

    monkeypatch.setattr("magistrate.operations.checks.evaluators.take_checkpoint", change_model)
    found = await check_all(
        node.ctx, [question(f"document:{number}#viewer@user:ann") for number in range(500)], NO_DEMAND
    )
    assert changes == []
    assert not any(decision.is_authorized for decision in found.value)

    await node.define(M1)

    assert await node.allowed("document:0#viewer@user:ann", LATEST)
    assert await node.allowed("document:499#viewer@user:ann", LATEST)


async def test_a_check_begins_anew_when_what_it_has_walked_changes_between_its_reads(nodes: tuple[Node, Node]) -> None:
    """A way to the subject never exists: its beginning ends before its end begins. Another check sees both changes, so
    the graph is at another revision when the rows arrive."""
    writer, reader = nodes
    await writer.grant(*CHAIN, "folder:9#viewer@user:ann")
    assert isinstance(reader.ctx.store, SqlStore)

    async def wait() -> None:
        pass

    async def change() -> None:
        await writer.revoke(CHAIN[0])
        await writer.grant("folder:5#viewer@user:ann")
        assert await asking.allowed("folder:9#viewer@user:ann", LATEST)

    store = Interrupted(reader.ctx.store, [wait, wait, change])
    graph = LiveGraph(store, reader.ctx.caches.models, 1_000_000, reader.ctx.now)
    asking = Node(replace(reader.ctx, store=store, caches=replace(reader.ctx.caches, graph=graph)), reader.database)

    assert not await asking.allowed("folder:0#viewer@user:ann")
    assert store.changes == []


async def test_a_long_chain_of_folders_is_no_problem(node: Node) -> None:
    await node.grant(*[f"folder:{number}#parent@folder:{number + 1}" for number in range(300)])
    await node.grant("folder:300#viewer@user:ann")

    assert await node.allowed("folder:0#viewer@user:ann")
    assert not await node.allowed("folder:0#viewer@user:bob")


async def test_what_comes_after_the_last_decision_needed_is_not_read(node: Node) -> None:
    await node.grant("folder:0#viewer@user:ann")
    await node.allowed("folder:0#viewer@user:ann")
    fetches = node.ctx.caches.graph.counts.fetches
    asked = [question(f"folder:{number}#viewer@user:ann") for number in range(3)]

    assert len((await check(node.ctx, asked, UNTIL_AUTHORIZED, NO_DEMAND)).value) == 1
    assert node.ctx.caches.graph.counts.fetches == fetches


class Interrupted(SqlStore):
    """While its reads are on their way, the next of these changes is made."""

    def __init__(self, store: SqlStore, changes: Sequence[AnyRead | object]) -> None:
        super().__init__(store.database, store.identity)
        self.changes = list(changes)

    async def read_warrants(
        self, reads: Sequence[AnyRead], at: Revision | None, most: int, with_expired: bool = False
    ) -> ReadResult:
        found = await super().read_warrants(reads, at, most, with_expired)
        if reads and self.changes:
            await self.changes.pop(0)()  # type: ignore[operator]  # of no other type
        return found


async def test_what_changes_while_it_is_read_is_not_kept_as_it_was(nodes: tuple[Node, Node]) -> None:
    """The change is made by another process, and another check sees it before the rows of the first are kept."""
    writer, reader = nodes
    await writer.grant("folder:0#viewer@user:ann", "folder:1#viewer@user:ann")
    assert isinstance(reader.ctx.store, SqlStore)

    async def change() -> None:
        await writer.revoke("folder:0#viewer@user:ann")
        assert await asking.allowed("folder:1#viewer@user:ann", LATEST)

    store = Interrupted(reader.ctx.store, [change])
    asking = Node(
        replace(
            reader.ctx,
            store=store,
            caches=replace(
                reader.ctx.caches, graph=LiveGraph(store, reader.ctx.caches.models, 1_000_000, reader.ctx.now)
            ),
        ),
        reader.database,
    )

    answers = [await asking.allowed("folder:0#viewer@user:ann", LATEST) for _ in range(3)]

    assert answers == [False, False, False]


async def test_what_is_read_while_the_graph_begins_anew_is_not_kept(nodes: tuple[Node, Node]) -> None:
    writer, reader = nodes
    await writer.grant("folder:0#viewer@user:ann", "folder:1#viewer@user:ann")
    assert isinstance(reader.ctx.store, SqlStore)

    async def change() -> None:
        await writer.revoke("folder:0#viewer@user:ann")
        await writer.grant(*[f"folder:x{number}#viewer@user:bob" for number in range(MAX_CHANGES + 1)])
        assert await asking.allowed("folder:1#viewer@user:ann", LATEST)

    store = Interrupted(reader.ctx.store, [change])
    graph = LiveGraph(store, reader.ctx.caches.models, 10_000_000, reader.ctx.now)
    asking = Node(replace(reader.ctx, store=store, caches=replace(reader.ctx.caches, graph=graph)), reader.database)

    answers = [await asking.allowed("folder:0#viewer@user:ann", LATEST) for _ in range(3)]

    assert answers == [False, False, False]


class Away(SqlStore):
    """Its change log cannot be read as often as `failures` says, nor before it may go on."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(store.database, store.identity)
        self.failures = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def list_warrant_changes(self, after: RevisionId, most: int) -> WarrantChanges:
        await self.may_go_on.wait()
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("away")
        return await super().list_warrant_changes(after, most)


async def test_who_waits_for_the_newest_hears_that_it_cannot_be_had_and_the_next_has_it(
    nodes: tuple[Node, Node],
) -> None:
    writer, reader = nodes
    assert isinstance(reader.ctx.store, SqlStore)
    store = Away(reader.ctx.store)
    graph = LiveGraph(store, reader.ctx.caches.models, 1_000_000, reader.ctx.now)
    asking = Node(replace(reader.ctx, store=store, caches=replace(reader.ctx.caches, graph=graph)), reader.database)
    await asking.allowed("folder:0#viewer@user:ann")
    await writer.grant("folder:1#viewer@user:ann")  # else SQLite shows without reading that nothing was written

    store.may_go_on.clear()
    waiting = [asyncio.create_task(asking.allowed("folder:0#viewer@user:ann", LATEST)) for _ in range(3)]
    await asyncio.sleep(0)
    await writer.grant("folder:0#viewer@user:ann")
    late = asyncio.create_task(asking.allowed("folder:0#viewer@user:ann", LATEST))
    await asyncio.sleep(0)
    store.failures = 1
    store.may_go_on.set()
    answers = await asyncio.gather(*waiting, late, return_exceptions=True)

    assert [isinstance(answer, StoreUnavailable) for answer in answers] == [True] * 4
    assert await asking.allowed("folder:0#viewer@user:ann", LATEST)


class Slow(SqlStore):
    """Returns its change log only after something else has happened."""

    def __init__(self, store: SqlStore, happening: Callable[[], Awaitable[None]]) -> None:
        super().__init__(store.database, store.identity)
        self.happening: Callable[[], Awaitable[None]] | None = happening

    async def list_warrant_changes(self, after: RevisionId, most: int) -> WarrantChanges:
        found = await super().list_warrant_changes(after, most)
        happening, self.happening = self.happening, None
        if happening is not None:
            await happening()
        return found if happening is None else await super().list_warrant_changes(after, most)


@pytest.mark.parametrize("is_overtaken", [True, False])
async def test_changes_that_are_applied_while_the_log_is_read_count_once(
    nodes: tuple[Node, Node], is_overtaken: bool
) -> None:
    """Bob has two warrants, one of which is deleted. The log that is read meanwhile has that too, and perhaps more."""
    other, writer = nodes
    await other.define({"file": {"editor": {}, "viewer": {"inheritIf": "editor"}, "reader": {"inheritIf": "viewer"}}})
    await other.grant("file:0#viewer@user:bob", "file:0#editor@user:bob", "file:1#viewer@user:bob")
    assert isinstance(writer.ctx.store, SqlStore)

    async def change() -> None:
        await writer.revoke("file:0#editor@user:bob")
        decided = PendingChecks(asking.ctx, [question("file:0#reader@user:bob")], None, NO_DEMAND).decide_at_once()
        assert decided is not None
        assert decided.value[0].is_authorized
        if is_overtaken:
            await other.grant("file:0#viewer@user:cid")

    store = Slow(writer.ctx.store, change)
    graph = LiveGraph(store, writer.ctx.caches.models, 1_000_000, writer.ctx.now)
    asking = Node(replace(writer.ctx, store=store, caches=replace(writer.ctx.caches, graph=graph)), writer.database)
    store.happening = None
    assert await asking.allowed("file:0#reader@user:bob")
    store.happening = change
    await writer.grant("file:2#viewer@user:cid")  # so that there is something to read

    assert await asking.allowed("file:0#reader@user:bob", LATEST)
    assert await asking.allowed("file:0#reader@user:cid", LATEST) == is_overtaken
    await writer.revoke("file:0#viewer@user:bob")
    assert not await asking.allowed("file:0#reader@user:bob")


class Preempted(SqlStore):
    """Does something else just before it returns its change log, as if that were the newest revision still, and lets
    no other task run in between."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(store.database, store.identity)
        self.preemption: Callable[[], object] | None = None
        self._is_preempted = False

    def staleness(self, mark: Mark) -> Staleness:
        return Staleness.CURRENT if self._is_preempted else super().staleness(mark)

    async def list_warrant_changes(self, after: RevisionId, most: int) -> WarrantChanges:
        found = await super().list_warrant_changes(after, most)
        preemption, self.preemption = self.preemption, None
        if preemption is not None:
            self._is_preempted = True
            preemption()
            self._is_preempted = False
        return found


async def test_groups_that_are_read_ahead_have_the_changes_applied_before_the_read_begins(
    nodes: tuple[Node, Node],
) -> None:
    """Ann joins a team. Just before the graph learns of it, a check as of the revision before has her groups read."""
    writer, other = nodes
    assert isinstance(other.ctx.store, SqlStore)
    store = Preempted(other.ctx.store)
    graph = LiveGraph(store, other.ctx.caches.models, 1_000_000, other.ctx.now)
    asking = Node(replace(other.ctx, store=store, caches=replace(other.ctx.caches, graph=graph)), other.database)
    await writer.grant("folder:0#viewer@team:1#member", "team:1#member@user:ann", "folder:1#viewer@team:0#member")
    for warm in ("team:1#member@user:bob", "folder:0#viewer@user:bob"):
        assert not await asking.allowed(warm, LATEST)
    await writer.grant("team:0#member@user:ann")
    pending = PendingChecks(asking.ctx, [question("folder:0#viewer@user:ann")], ALL_NEEDED, NO_DEMAND)
    store.preemption = pending.decide_at_once
    fetches, before = graph.counts.fetches, asyncio.all_tasks()

    await graph.follow_to(LATEST)
    await asyncio.gather(*(asyncio.all_tasks() - before))

    assert graph.counts.fetches == fetches + 1
    assert await asking.allowed("folder:1#viewer@user:ann")


async def test_very_many_warrants_on_every_object_are_not_kept_with_each(node: Node) -> None:
    await node.grant(*[f"folder:*#viewer@user:{number}" for number in range(MAX_WILDCARDS + 1)])
    asked = [question(f"folder:{number}#viewer@user:7") for number in range(300)]

    found = await check_all(node.ctx, asked, NO_DEMAND)

    assert all(decision.is_authorized for decision in found.value)
    assert node.ctx.caches.graph.count_entries() < 1_000


FAR_AHEAD = 10**17
"""Microseconds since 1970: everything was written before."""


async def test_a_graph_that_slept_while_changes_were_deleted_begins_anew(nodes: tuple[Node, Node]) -> None:
    await nodes[0].grant("folder:0#viewer@user:ann", "folder:1#viewer@user:ann")
    assert await nodes[0].allowed("folder:0#viewer@user:ann", LATEST)
    assert await nodes[0].allowed("folder:1#viewer@user:ann", LATEST)

    await nodes[1].revoke("folder:0#viewer@user:ann")
    assert await nodes[1].ctx.store.delete_events(FAR_AHEAD, 1_000) > 0

    assert not await nodes[0].allowed("folder:0#viewer@user:ann", LATEST)
    assert await nodes[0].allowed("folder:1#viewer@user:ann", LATEST)
    changes = nodes[0].ctx.caches.graph.counts.changes
    await nodes[1].grant("folder:0#viewer@user:ann")
    assert await nodes[0].allowed("folder:0#viewer@user:ann", LATEST)
    assert nodes[0].ctx.caches.graph.counts.changes == changes + 1  # it follows change by change again


async def test_no_write_is_missed_however_fast_changes_are_deleted(nodes: tuple[Node, Node]) -> None:
    writing = True
    deleted = 0

    async def forget() -> None:
        nonlocal deleted
        while writing:
            deleted += await nodes[1].ctx.store.delete_events(FAR_AHEAD, 100)
            await asyncio.sleep(0)

    forgetting = asyncio.create_task(forget())
    wrong = []
    for number in range(60):
        claim = f"folder:{number % 3}#viewer@user:ann"
        for change, is_granted in ((nodes[1].grant, True), (nodes[1].revoke, False)):
            written = await change(claim)
            if await nodes[0].allowed(claim, written) != is_granted:
                wrong.append((number, is_granted))
    writing = False
    await forgetting

    assert wrong == []
    assert deleted > 60


async def test_rows_are_cached_in_steps_when_the_time_is_up(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [f"folder:f#viewer@team:{number}#member" for number in range(400)]
    await node.grant(*groups, "team:1#member@user:ann")
    turns = 0

    async def count_checkpoint() -> None:
        nonlocal turns
        turns += 1

    monkeypatch.setattr("magistrate.operations.scheduling.is_time_up", lambda: True)
    monkeypatch.setattr("magistrate.operations.scheduling.checkpoint", count_checkpoint)
    fetches = node.ctx.caches.graph.counts.fetches

    assert await node.allowed("folder:f#viewer@user:bob") is False

    assert turns > node.ctx.caches.graph.counts.fetches - fetches >= 1


async def test_what_is_evicted_together_is_freed_between_other_requests(node: Node) -> None:
    await node.grant("folder:0#viewer@team:0#member", "team:0#member@user:ann")
    asked = [question(f"folder:{number}#viewer@user:ann") for number in range(10 * ITEMS_AT_ONCE)]
    for start in range(0, len(asked), ITEMS_AT_ONCE):
        await check_all(node.ctx, asked[start : start + ITEMS_AT_ONCE], NO_DEMAND)
    graph = node.ctx.caches.graph.find_graph(node.ctx.caches.graph.revision)
    assert graph is not None
    decisions = graph.decisions._decisions
    assert len(decisions) == len(asked)

    sizes = [len(decisions)]

    async def note_sizes() -> None:
        while sizes[-1]:
            await asyncio.sleep(0)
            sizes.append(len(decisions))

    beside = asyncio.ensure_future(note_sizes())
    await node.grant("team:0#member@team:1#member")  # concerns whoever is in team 1
    await node.allowed("folder:1#viewer@user:bob")

    await asyncio.wait_for(beside, 60)
    assert len(graph.decisions) < 10
    assert all(before - after <= ITEMS_AT_ONCE for before, after in pairwise(sizes))
