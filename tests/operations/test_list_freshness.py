"""Lists are as fresh as checks: without a statement within the time that a process polls in, and exact with a token."""

import asyncio
import time
from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace

import pytest

from magistrate.engine.lists.language import read_query
from magistrate.engine.names import Revision
from magistrate.errors import RevisionLost
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import StoredRow
from magistrate.operations.lists.query import QUERY_LIST, find_kept_page, list_page
from magistrate.operations.paging import Page, PageRequest, read_page_request
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.revisions import AGING_MS, STALE_MS
from magistrate.store.postgres import database, heads, writer
from tests.conftest import list_seeds
from tests.operations.node import Node
from tests.operations.stored_warrants import LATEST

pytestmark = pytest.mark.anyio

SEEN = QueryRequest(read_query("select folder where user:ann is viewer"), {})
LIMIT = "5"


class Clock:
    """Stands still until it is advanced, in place of the clock by which PostgreSQL is polled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._time = time.monotonic()
        stopped = SimpleNamespace(monotonic=lambda: self._time, monotonic_ns=time.monotonic_ns)
        for module in (database, heads, writer):
            monkeypatch.setattr(module, "time", stopped)

    @property
    def now(self) -> float:
        return self._time

    def advance(self, milliseconds: float) -> None:
        self._time += milliseconds / 1_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def is_polled(node: Node) -> bool:
    """Returns whether the node does not know at once what others write."""
    return node.database.dialect is database.PostgresDatabase.dialect


def request_page(node: Node, **parameters: str) -> PageRequest:
    return read_page_request(QUERY_LIST, {"limit": LIMIT, **parameters}, node.ctx.store.identity)


async def read_page(node: Node, freshness: Freshness = NO_DEMAND, **parameters: str) -> Snapshot[Page[StoredRow]]:
    return await list_page(node.ctx, SEEN, request_page(node, **parameters), freshness)


def ids(page: Snapshot[Page[StoredRow]]) -> list[str]:
    return [found.row.id for found in page.value.rows]


async def list_ids(node: Node, freshness: Freshness = NO_DEMAND) -> list[str]:
    return ids(await read_page(node, freshness))


async def test_a_warm_page_takes_no_statement(nodes: tuple[Node, Node], clock: Clock) -> None:
    reader, _ = nodes
    await reader.grant("folder:a#viewer@user:ann", "folder:b#viewer@user:ann")
    await list_ids(reader)
    statements = reader.ctx.store.statements

    for _ in range(20):
        assert await list_ids(reader) == ["a", "b"]
        assert find_kept_page(reader.ctx, SEEN, request_page(reader), NO_DEMAND) is not None
        clock.advance(AGING_MS / 20)

    assert reader.ctx.store.statements == statements


async def test_lists_that_wait_for_news_share_one_statement(nodes: tuple[Node, Node], clock: Clock) -> None:
    reader, _ = nodes
    await reader.grant("folder:a#viewer@user:ann")
    await list_ids(reader)
    clock.advance(STALE_MS + 1)
    statements = reader.ctx.store.statements

    pages = await asyncio.gather(*(list_ids(reader) for _ in range(16)))

    assert pages == [["a"]] * 16
    assert reader.ctx.store.statements == statements + is_polled(reader)


async def test_after_a_write_of_the_same_process_no_statement_waits_for_postgresql(
    nodes: tuple[Node, Node], clock: Clock
) -> None:
    reader, _ = nodes
    await reader.grant("folder:a#viewer@user:ann")
    await list_ids(reader)
    token = await reader.grant("folder:b#viewer@user:ann")
    statements = reader.ctx.store.statements

    graph = await reader.ctx.caches.graph.follow_to(NO_DEMAND)

    of_changes = 0 if is_polled(reader) else 1
    assert reader.ctx.store.statements == statements + of_changes
    assert graph.revision == token.revision
    assert await list_ids(reader) == ["a", "b"]


async def test_a_write_of_another_process_is_seen_by_lists_when_checks_see_it(
    nodes: tuple[Node, Node], clock: Clock
) -> None:
    reader, other = nodes
    await other.grant("folder:a#viewer@user:ann")
    assert await list_ids(reader, LATEST) == ["a"]
    await other.grant("folder:b#viewer@user:ann")

    seen = []
    for _ in range(2):
        checked = await reader.allowed("folder:b#viewer@user:ann")
        seen.append((checked, await list_ids(reader) == ["a", "b"]))
        clock.advance(STALE_MS + 1)

    assert seen == [(not is_polled(reader),) * 2, (True, True)]


async def test_a_list_waits_for_news_that_are_too_old_without_a_check(nodes: tuple[Node, Node], clock: Clock) -> None:
    reader, other = nodes
    await other.grant("folder:a#viewer@user:ann")
    await list_ids(reader, LATEST)
    await other.grant("folder:b#viewer@user:ann")
    clock.advance(STALE_MS + 1)

    assert find_kept_page(reader.ctx, SEEN, request_page(reader), NO_DEMAND) is None
    assert await list_ids(reader) == ["a", "b"]


@pytest.mark.parametrize("demand", [lambda token: token, lambda token: LATEST], ids=["token", "latest"])
async def test_what_a_request_demands_is_exact(
    nodes: tuple[Node, Node], clock: Clock, demand: Callable[[Freshness], Freshness]
) -> None:
    reader, other = nodes
    await other.grant("folder:a#viewer@user:ann")
    await list_ids(reader, LATEST)

    for written in ("b", "c", "d"):
        token = await other.grant(f"folder:{written}#viewer@user:ann")
        kept = find_kept_page(reader.ctx, SEEN, request_page(reader), demand(token))
        assert kept is None or written in ids(kept)
        assert written in await list_ids(reader, demand(token))

    token = await other.revoke("folder:b#viewer@user:ann")
    assert await list_ids(reader, demand(token)) == ["a", "c", "d"]
    with pytest.raises(RevisionLost):
        await list_ids(reader, Freshness("Warrant-Token", Revision(token.revision + 1)))


class Storm:
    """Writes from two processes and pages through lists at random, and keeps what each revision has."""

    def __init__(self, nodes: Sequence[Node], clock: Clock, generator: Random) -> None:
        self.nodes, self.clock, self.generator = nodes, clock, generator
        self.viewed = {Revision(0): frozenset[str]()}
        self.written: list[tuple[float, Node, Revision]] = []
        self.listings = 0

    async def write(self) -> None:
        node, name = self.generator.choice(self.nodes), f"f{self.generator.randrange(40):02}"
        before = self.viewed[max(self.viewed)]
        is_new = name not in before
        token = await (node.grant if is_new else node.revoke)(f"folder:{name}#viewer@user:ann")
        self.viewed[token.revision] = before | {name} if is_new else before - {name}
        self.written.append((self.clock.now, node, token.revision))

    def find_oldest(self, node: Node) -> Revision:
        """Returns the oldest revision that a list of a node may show now without a token."""
        limit = self.clock.now - STALE_MS / 1_000 if is_polled(node) else self.clock.now
        seen = [revision for at, by, revision in self.written if by is node or at <= limit]
        return max(seen, default=Revision(0))

    async def page_through(self) -> None:
        node, oldest, demand = self.generator.choice(self.nodes), Revision(0), NO_DEMAND
        newest = max(self.viewed)
        match self.generator.randrange(3):
            case 0:
                oldest = self.find_oldest(node)
            case 1:
                oldest = self.generator.choice(list(self.viewed))
                demand = Freshness("Warrant-Token", oldest)
            case 2:
                oldest, demand = newest, LATEST
        page = await read_page(node, demand)
        first, rows = page.revision, ids(page)
        assert oldest <= first <= newest
        while page.value.next_cursor is not None:
            await self.act()
            page = await read_page(self.generator.choice(self.nodes), nextCursor=page.value.next_cursor)
            assert page.revision == first
            rows += ids(page)
        assert rows == sorted(self.viewed[first])
        self.listings += 1

    async def act(self) -> None:
        if self.generator.random() < 0.9:
            await self.write()
        self.clock.advance(self.generator.choice((0, 1, AGING_MS, STALE_MS / 2, STALE_MS + 1)))
        if self.generator.random() < 0.5:
            await self.nodes[0].allowed("folder:f00#viewer@user:ann")


@pytest.mark.parametrize("seed", list_seeds(3, 10))
async def test_all_pages_of_a_list_are_of_one_revision_that_is_fresh_enough(
    nodes: tuple[Node, Node], clock: Clock, seed: int
) -> None:
    storm = Storm(nodes, clock, Random(seed))
    storm.viewed = {(await read_page(nodes[0], LATEST)).revision: frozenset()}

    for _ in range(30):
        await storm.act()
        await storm.page_through()

    assert storm.listings == 30
    assert len(storm.viewed) > 30
