"""Writes whose scripts run before the head is locked, on PostgreSQL: what another node writes meanwhile, and what two
nodes write at once."""

import asyncio
import random
import secrets
import threading
from collections.abc import Awaitable, Callable

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import KeyReused, LimitReached, NotFound, PreconditionFailed
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Once
from magistrate.store.contract.store import AtomicWrite, Precondition, Store
from magistrate.store.postgres.joined_writes import encode_array
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import migrate_store
from tests.databases import PostgresServer, dump, run_sql
from tests.running import settings_for
from tests.store.grouped_writes import (
    RESET,
    STAMP,
    Commits,
    Write,
    choose_writes,
    delete,
    dump_without_moves,
    grant,
    opened,
    put,
    revoke,
    show,
    warrant,
    write_together,
)

pytestmark = pytest.mark.anyio

CONFLICTS = 1_000
TYPE = NewObjectType(TypeName("d"), '{"relations":{"viewer":{}}}')


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    return url


def change_type() -> Write:
    return lambda store: store.put_object_types([TYPE], lambda model: None, STAMP)


def write_elsewhere(url: str, write: Callable[[SqlStore], Awaitable[object]]) -> None:
    """Writes in another thread, as another node would, and waits for it."""

    async def write_once() -> None:
        async with opened(url) as store:
            await write(store)

    thread = threading.Thread(target=lambda: asyncio.run(write_once()))
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("write", "other", "commits"),
    [
        (grant(warrant("x", "ann")), put("other"), 1),
        (grant(warrant("x", "ann")), grant(warrant("x", "bo")), 2),
        (grant(warrant("old", "ann")), grant(warrant("old", "bo")), 1),
        (grant(warrant("old", "ann")), delete("old"), 2),
        (put("x", "{}"), put("x", '{"v":1}'), 2),
        (put("x"), change_type(), 2),
        (put("x", once=Once("key", "print")), put("other"), 2),
        (put("x", once=Once("key", "print")), put("x", once=Once("key", "print")), 1),
        (revoke(warrant("old", "one")), put("other"), 2),
        (revoke(warrant("old", "one")), revoke(warrant("old", "one")), 1),
    ],
)
async def test_a_planned_write_does_what_it_would_do_after_that_of_another_node(
    url: str, monkeypatch: pytest.MonkeyPatch, write: Write, other: Write, commits: int
) -> None:
    """It is planned anew if the other has changed what it read, and committed then unless it changes nothing. If not,
    its revision moves, if that can be done."""
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)
    observed = 0

    def observe(sql: str) -> None:
        nonlocal observed
        if is_watching and sql == "COMMIT":
            observed += 1
            if observed == 1:
                write_elsewhere(url, other)

    is_watching = False
    async with opened(url, observe) as store:
        await write_together(store, [grant(warrant("old", "one"))])
        expected = (await write_together(store, [other, write]))[1:], dump_without_moves(url)
        run_sql(url, RESET)
        await write_together(store, [grant(warrant("old", "one"))])
        is_watching = True

        outcomes = await write_together(store, [write])

        assert list(map(show, outcomes)) == list(map(show, expected[0]))
        assert dump_without_moves(url) == expected[1]
        assert observed == commits


async def test_of_conflicting_preconditions_of_two_nodes_one_wins_each(url: str) -> None:
    def claim(number: int, node: str) -> Write:
        ref = object_ref("d", f"{number}")
        new = NewObject(TypeName("d"), ObjectId(f"{number}"), f'{{"node":"{node}"}}')
        write = AtomicWrite([Precondition(ref, is_absent=True)], objects=[new])
        return lambda store: store.write(write, lambda model: None, STAMP)

    async with opened(url, store_timeout_ms=60_000) as first, opened(url, store_timeout_ms=60_000) as second:
        outcomes = await asyncio.wait_for(
            asyncio.gather(
                *(
                    write_together(store, [claim(number, name) for number in range(CONFLICTS)])
                    for name, store in (("first", first), ("second", second))
                )
            ),
            timeout=60,
        )
        newest = await first.check()

    metas = {row[1]: row[3] for row in dump(url)["object"]}
    for number, pair in enumerate(zip(*outcomes, strict=True)):
        named = zip(("first", "second"), pair, strict=True)
        winners = [name for name, outcome in named if isinstance(outcome, Snapshot)]
        assert len(winners) == 1
        assert [type(outcome) for outcome in pair if not isinstance(outcome, Snapshot)] == [PreconditionFailed]
        assert metas[f"{number}"] == f'{{"node":"{winners[0]}"}}'
    assert newest == CONFLICTS


class Written:
    """Has each write that succeeded, and what it returned, by its revision."""

    def __init__(self) -> None:
        self.outcomes: dict[int, tuple[Write, object]] = {}

    async def write(self, store: Store, write: Write, delay: float) -> None:
        await asyncio.sleep(delay)
        try:
            outcome = await write(store)
        except (NotFound, PreconditionFailed, KeyReused):  # it has changed nothing, which the comparison shows
            return
        revision = outcome.revision if isinstance(outcome, Snapshot) else outcome
        assert isinstance(revision, int)
        self.outcomes.setdefault(revision, (write, outcome))


async def test_what_two_nodes_write_at_once_is_what_the_same_writes_do_in_the_order_of_their_revisions(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)
    async with opened(url) as first, opened(url) as second:
        for seed in range(15):
            run_sql(url, RESET)
            chance, written = random.Random(seed), Written()
            await asyncio.gather(
                *(
                    written.write(store, write, chance.random() / 50)
                    for store in (first, second)
                    for _ in range(4)
                    for write in choose_writes(chance)
                )
            )
            concurrent = dump_without_moves(url)
            run_sql(url, RESET)

            for revision in range(1, max(written.outcomes) + 1):
                write, outcome = written.outcomes[revision]
                assert show((await write_together(first, [write]))[0]) == show(outcome), f"seed {seed}"
            assert dump_without_moves(url) == concurrent, f"seed {seed}"


async def test_a_limit_holds_for_the_writes_of_two_nodes(url: str) -> None:
    run_sql(url, """UPDATE head SET limits = '{"objects": 30}'""")
    async with opened(url) as first, opened(url) as second:
        outcomes = await asyncio.gather(
            *(
                write_together(store, [put(f"{name}-{number}") for number in range(20)])
                for name, store in (("first", first), ("second", second))
            )
        )

    kinds = [type(outcome) for node in outcomes for outcome in node]
    assert (kinds.count(Snapshot), kinds.count(LimitReached)) == (30, 10)


async def test_writes_that_change_nothing_commit_nothing(url: str) -> None:
    commits = Commits()
    async with opened(url, commits.observe) as store:
        await put("one", once=Once("key", "print"))(store)
        outcomes = await write_together(store, [delete("none"), put("one", once=Once("key", "print"))])

        assert isinstance(outcomes[0], NotFound)
        assert getattr(outcomes[1], "revision", None) == 1
        assert commits.count == 1


@pytest.mark.parametrize(
    "text", ["", "a", '"', "\\", '\\"', "{}", "a,b", "NULL", "null", " ", "\n", "\\n", '\x01"', "\x7f", "é😀", "'"]
)
def test_texts_in_arrays_are_read_as_they_are(url: str, text: str) -> None:
    run_sql(url, "CREATE TABLE probe (values text[])")
    quoted = encode_array([text, None, text]).replace("'", "''")
    run_sql(url, f"INSERT INTO probe VALUES ('{quoted}')")

    assert dump(url)["probe"][0][-1] == [text, None, text]
