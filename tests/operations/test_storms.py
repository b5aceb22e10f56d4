"""Answers while two processes write to one database: each is that of the revision it names, whatever is cached."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.lists.language import read_query
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations import graph_filling, scheduling
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.graph_filling import GraphFiller
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from magistrate.operations.paging import PageRequest
from magistrate.operations.scheduling import running_beside
from magistrate.store.contract.lists import Slice
from magistrate.wiring.contexts import context_of
from tests import oracle, oracle_queries
from tests.operations.node import Node
from tests.operations.stored_warrants import OTHER_FOLDER, STORM, new, question, read_state, stormy_warrants
from tests.properties.queries import existing
from tests.running import settings_for
from tests.scenario_files import added_warrants, claim, stored_warrant

pytestmark = pytest.mark.anyio

MODELS = (STORM, OTHER_FOLDER)
CHECKS = [f"folder:{number}#viewer@user:{name}" for number in range(5) for name in ("ann", "bob")]
QUERIES = [
    "select folder where user:ann is viewer",
    "select folder, team where user:bob is *",
    "select viewer of type user for folder:0",
    "select member of type user for team:2",
]
CONTEXTUAL = [
    ("team:2#member@user:ann",),
    ("folder:1#blocked@user:bob", "folder:1#parent@folder:4"),
    ("folder:4#reader@user:bob",),  # the model has a pattern more for it
]
OBJECTS = existing([stored_warrant(text, 0, 0) for text in stormy_warrants()], [])
CHANGES = 120
"""Counts the changes of each writer: of warrants, and one in thirty of the model."""
MAX_QUERIES = 400
"""Limits the answers of queries that are compared, as the oracle takes milliseconds for each."""


class Question(NamedTuple):
    """A check, or a query if it begins with `select`, with contextual warrants."""

    text: str
    contextual: tuple[str, ...] = ()


class Answer(NamedTuple):
    """Whether the check is authorized, or the rows of the query: type, id, relation and whether it is implicit."""

    question: Question
    revision: int
    value: bool | tuple[tuple[str, str, str, bool], ...]


async def open_node(database_url: str, cache_bytes: int, stack: AsyncExitStack) -> Node:
    store, database = await counting_store(database_url)
    stack.push_async_callback(store.close)
    return Node(context_of(store, settings_for(database_url, cache_bytes=cache_bytes)), database)


@pytest.fixture
async def stormy_nodes(database_url: str, cache_bytes: int) -> AsyncIterator[tuple[Node, Node]]:
    """Two processes on one database, with half of the warrants; all objects exist."""
    async with AsyncExitStack() as stack:
        first, second = [await open_node(database_url, cache_bytes, stack) for _ in range(2)]
        await first.define(STORM | {"user": {}})
        await first.grant(*stormy_warrants())
        await first.revoke(*stormy_warrants()[1::2])
        yield first, second


async def change_warrants(node: Node, seed: int) -> None:
    """Writes and deletes those of every second warrant that are this writer's own, so that it knows what is there."""
    chosen, own = random.Random(seed), stormy_warrants()[seed % 2 :: 2]
    there = {*(own if seed % 2 == 0 else ())}
    for number in range(CHANGES):
        text = chosen.choice(own)
        await (node.revoke if text in there else node.grant)(text)
        there ^= {text}
        if number % 30 == 29 and seed % 2 == 0:
            await node.define(chosen.choice(MODELS))
        await asyncio.sleep(0.001)  # for some answers between two changes


async def answer_query(node: Node, asked: Question) -> Answer:
    contextual = [new(text) for text in asked.contextual]
    request = QueryRequest(read_query(asked.text), {}, contextual)
    page = await list_page(node.ctx, request, PageRequest(Slice("id", 1_000)), NO_DEMAND)
    rows = sorted((*found.row[:3], found.row.is_implicit) for found in page.value.rows)
    return Answer(asked, page.revision, tuple(rows))


async def answer_batch(node: Node, asked: Sequence[str], contextual: tuple[str, ...]) -> list[Answer]:
    added = [new(text) for text in contextual]
    decided = await check(node.ctx, [question(text) for text in asked], ALL_NEEDED, NO_DEMAND, contextual=added)
    questions = [Question(text, contextual) for text in asked]
    return [
        Answer(one, decided.revision, found.is_authorized) for one, found in zip(questions, decided.value, strict=True)
    ]


async def find_wrong(node: Node, answers: Sequence[Answer]) -> list[Answer]:
    """Returns the answers that differ from what the oracle finds in all that the store held at their revisions."""
    by_revision: dict[int, set[Answer]] = defaultdict(set)
    for one in answers:
        by_revision[one.revision].add(one)
    wrong = []
    for revision, some in sorted(by_revision.items()):
        model, stored = await read_state(node.ctx, revision)
        wrong += [one for one in sorted(some) if one.value != expected(model, stored, one.question)]
    return wrong


def expected(model: Mapping[str, Any], stored: Sequence[Warrant], asked: Question) -> Any:
    warrants = [*stored, *added_warrants(asked.contextual, 0)]
    if not asked.text.startswith("select"):
        return oracle.check(model, warrants, *claim(asked.text), lambda _: True) == oracle.Truth.TRUE
    rows = oracle_queries.list_rows(
        oracle_queries.Facts(model, warrants, OBJECTS, lambda _: True), read_query(asked.text)
    )
    return tuple(sorted((row.type, row.id, row.relation, row.is_implicit) for row in rows))


@asynccontextmanager
async def filling(nodes: Sequence[Node], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Fills the graph caches of these processes all the time, whatever else they do."""
    monkeypatch.setattr(graph_filling, "LOOK_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(graph_filling, "PASS_SHARE", 0)
    monkeypatch.setattr(graph_filling, "PAGE_OBJECTS", 2)  # so that there are many reads to write between
    monkeypatch.setattr(scheduling, "IDLE_SLICE_NANOSECONDS", 0)
    monkeypatch.setattr(scheduling, "IDLE_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(scheduling, "BUSY_NANOSECONDS", 10**9)
    async with running_beside(*(GraphFiller([node.ctx]).run() for node in nodes)):
        yield


@pytest.mark.parametrize(
    ("cache_bytes", "least_hits", "is_filled"),
    [
        pytest.param(100_000_000, 100, False, id="cached"),
        pytest.param(100_000_000, 100, True, id="filled", marks=pytest.mark.nightly),
        pytest.param(20_000, 10, False, id="tiny-cache", marks=pytest.mark.nightly),
        pytest.param(20_000, 10, True, id="tiny-filled", marks=pytest.mark.nightly),
        pytest.param(0, 0, False, id="not-cached"),
    ],
)
async def test_each_answer_is_that_of_the_revision_it_names(
    stormy_nodes: tuple[Node, Node], least_hits: int, is_filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Answer] = []
    writing = True

    async def ask(node: Node, seed: int) -> None:
        chosen = random.Random(seed)
        while writing:
            contextual = chosen.choice(CONTEXTUAL) if chosen.random() < 0.2 else ()
            if chosen.random() < 0.1:
                answers.append(await answer_query(node, Question(chosen.choice(QUERIES), contextual)))
            else:
                answers.extend(await answer_batch(node, chosen.sample(CHECKS, chosen.randint(1, 4)), contextual))
            await asyncio.sleep(0)  # answers from the cache wait for nothing

    # Two for each process.
    async with filling(stormy_nodes if is_filled else (), monkeypatch):
        askers = [asyncio.create_task(ask(node, seed)) for seed, node in enumerate(stormy_nodes * 2)]
        await asyncio.gather(*(change_warrants(node, seed) for seed, node in enumerate(stormy_nodes)))
        writing = False
        await asyncio.gather(*askers)

    assert len({one.revision for one in answers}) > 20
    hits = sum(node.ctx.caches.graph.counts.hits for node in stormy_nodes)
    assert hits >= least_hits
    checks = [one for one in answers if isinstance(one.value, bool)]
    queries = [one for one in answers if not isinstance(one.value, bool)]
    some = random.Random(0).sample(queries, min(MAX_QUERIES, len(queries)))
    assert await find_wrong(stormy_nodes[0], [*checks, *some]) == []
