"""Writes on PostgreSQL that share a transaction: what each of them does, and what becomes of the others when one of
them fails."""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import NotFound, OutcomeUnknown, StoreUnavailable
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewObject, Once, Stamp
from magistrate.store.contract.store import AtomicWrite, Precondition
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.database import Execute, Rows, Script, Select
from magistrate.store.postgres.group_plan import KEYS_AT_ONCE
from magistrate.store.postgres.pipeline import Statement, StatementPipeline
from magistrate.store.postgres.writer import WRITES_IN_A_PLAN
from magistrate.store.scripts.script_runs import MAX_UNSENT_VALUES
from magistrate.store.sql.insertions import ROWS_AT_ONCE, insert_rows
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import migrate_store
from tests.change_log import list_changes
from tests.databases import PostgresServer, dump, run_sql
from tests.event_loop_turns import counted_turns
from tests.running import settings_for
from tests.store.grouped_writes import (
    RESET,
    STAMP,
    Commits,
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
from tests.store.written_warrants import anything_goes, new

pytestmark = pytest.mark.anyio

PAUSE_SECONDS = 0.2


def connected(url: str) -> psycopg.Connection:
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    return psycopg.connect(database.conninfo)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    return url


async def test_writes_that_wait_share_a_transaction_and_have_revisions_of_their_own(url: str) -> None:
    commits = Commits()
    async with opened(url, commits.observe) as store:
        outcomes = await write_together(store, [put(f"id-{number}") for number in range(WRITES_IN_A_PLAN + 1)])

        assert [getattr(outcome, "revision", None) for outcome in outcomes] == list(range(1, WRITES_IN_A_PLAN + 2))
        assert commits.count == 2
        assert await store.check() == WRITES_IN_A_PLAN + 1


async def test_a_group_looks_everything_up_with_the_statements_of_one_write(url: str) -> None:
    statements: list[int] = []
    async with opened(url) as store:
        await write_together(store, [grant(warrant("a", "ann"))])
        for users in (["bo"], [f"user-{number}" for number in range(20)]):
            before = store.statements
            await write_together(store, [grant(warrant(user, user)) for user in users])
            statements.append(store.statements - before)

    # The head before, four lookups, the head after, warrants, objects, revisions and changes.
    assert statements == [10, 10]


async def test_a_group_takes_few_writes_that_look_up_many_keys(url: str) -> None:
    commits = Commits()
    async with opened(url, commits.observe) as store:
        size = KEYS_AT_ONCE // 4  # each warrant has two objects that are looked up as well
        writes = [grant(*(warrant(f"{name}{number}", f"{name}{number}") for number in range(size))) for name in "abcd"]
        outcomes = await write_together(store, [*writes, put("last")])

        assert [getattr(outcome, "revision", None) for outcome in outcomes] == [1, 2, 3, 4, 5]
        assert commits.count == 3


async def test_members_that_name_the_same_new_objects_take_the_round_trips_of_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a member inserts is not looked up again by those behind it."""
    sent: list[int] = []
    run = StatementPipeline.run

    async def count(pipeline: StatementPipeline, statements: Sequence[Statement]) -> list[Rows]:
        sent.append(len(statements))
        return await run(pipeline, statements)

    monkeypatch.setattr(StatementPipeline, "run", count)
    async with opened(url) as store:
        await grant(warrant("some", "one"))(store)  # a new pattern needs the lock
        sent.clear()
        for ids in (["first"], [f"d-{number // 10}" for number in range(30)]):
            outcomes = await write_together(store, [grant(warrant(name, f"u-{n % 5}")) for n, name in enumerate(ids)])
            assert {type(outcome) for outcome in outcomes} == {Snapshot}
            sent.append(0)

    assert [place for place, statements in enumerate(sent) if not statements] == [2, 5]


def read_imports(head: Revision) -> Script[None]:
    """Needs the lock before it runs."""
    yield Select("SELECT source FROM import", [()])


@pytest.mark.parametrize(
    ("write", "statement"),
    [
        (put("one"), f"INSERT INTO object VALUES (1, 'd', 'one', {ALIVE}, NULL, 1, 1)"),
        (lambda store: store.database.transact(read_imports), "LOCK TABLE import"),
    ],
    ids=["planned", "locked"],
)
async def test_the_time_for_which_the_head_is_locked_has_all_statements_but_not_the_wait(
    url: str, write: Callable[[SqlStore], Awaitable[object]], statement: str
) -> None:
    async with opened(url) as store:
        with connected(url) as holder_of_rows:
            holder_of_rows.execute(statement.encode())
            with connected(url) as holder:
                holder.execute("SELECT * FROM head FOR UPDATE")
                task = asyncio.ensure_future(write(store))
                await wait_for_writer(url)
                await asyncio.sleep(PAUSE_SECONDS)
            await wait_for_writer(url)
            await asyncio.sleep(PAUSE_SECONDS)
            holder_of_rows.rollback()
        await task

        locks = store.head_locks
        assert locks.waits.seconds > PAUSE_SECONDS
        assert locks.holds.seconds > PAUSE_SECONDS
        assert sum(locks.holds.counts) == sum(locks.waits.counts) == 1


async def test_what_one_member_raises_is_its_own(url: str) -> None:
    commits = Commits()
    async with opened(url, commits.observe) as store:
        await write_together(store, [put("kept"), put("once", once=Once("key", "one"))])
        new = NewObject(TypeName("d"), ObjectId("x"), None)
        refused = AtomicWrite([Precondition(object_ref("d", "none"))], objects=[new])
        outcomes = await write_together(
            store,
            [
                put("first"),
                delete("kept", "missing"),
                put("once", once=Once("key", "another")),
                lambda store: store.write(refused, lambda model: None, STAMP),
                revoke(warrant("kept", "nobody")),
                put("last"),
            ],
        )

        assert [type(outcome).__name__ for outcome in outcomes] == [
            "Snapshot", "NotFound", "KeyReused", "PreconditionFailed", "NotFound", "Snapshot"
        ]  # fmt: skip
        assert [getattr(outcomes[place], "revision", None) for place in (0, 5)] == [3, 4]
        assert commits.count == 2
        assert (await store.get_object(object_ref("d", "kept"))).value is not None
        assert (await store.get_object(object_ref("d", "x"))).value is None


async def test_each_member_sees_what_those_before_it_did(url: str) -> None:
    async with opened(url) as store:
        outcomes = await write_together(
            store,
            [
                put("a", '{"v":1}'),
                put("a", '{"v":2}'),
                delete("a"),
                delete("a"),
                put("b", once=Once("key", "same")),
                put("b", once=Once("key", "same")),
                grant(warrant("b", "ann")),
                revoke(warrant("b", "ann")),
                revoke(warrant("b", "ann")),
            ],
        )

        assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [NotFound, NotFound]
        assert isinstance(outcomes[3], NotFound)
        assert isinstance(outcomes[8], NotFound)
        assert outcomes[4] == outcomes[5]
        assert await store.check() == 6


async def test_a_member_that_fails_after_it_read_its_own_changes_undoes_them(url: str) -> None:
    def fail_late(head: Revision) -> Script[None]:
        yield Execute("INSERT INTO object VALUES (:store, 'd', 'late', 5, NULL, 1, 1)", [()])
        [rows] = yield Select("SELECT object_id FROM object WHERE object_id = ?", [("late",)])
        assert rows == [("late",)]
        raise NotFound("d", "late")

    commits = Commits()
    async with opened(url, commits.observe) as store:
        outcomes = await write_together(
            store, [put("before"), lambda _: store.database.transact(fail_late), put("after")]
        )

        assert isinstance(outcomes[1], NotFound)
        assert (await store.get_object(object_ref("d", "late"))).value is None
        assert [getattr(outcomes[place], "revision", None) for place in (0, 2)] == [1, 2]
        assert commits.count == 2  # the first does not need the lock while its script runs
        assert len(dump(url)["object"]) == 2


@pytest.mark.parametrize("fails", [False, True])
async def test_a_member_of_many_statements_sends_them_in_parts(url: str, fails: bool) -> None:
    waited: list[int] = []

    def insert_many(head: Revision) -> Script[None]:
        for part in range(3):
            ids = [(f"{part}-{number}",) for number in range(MAX_UNSENT_VALUES - 1)]
            yield Execute("INSERT INTO object VALUES (:store, 'd', ?, 5, NULL, 1, 1)", ids)
            waited.append(turns.count)
        if fails:
            raise NotFound("d", "many")

    async with opened(url) as store:
        with counted_turns() as turns:
            outcomes = await write_together(
                store, [put("before"), lambda _: store.database.transact(insert_many), put("after")]
            )

        assert isinstance(outcomes[1], NotFound) == fails
        assert [getattr(outcomes[place], "revision", None) for place in (0, 2)] == [1, 2]
        assert len(dump(url)["object"]) == 2 + (0 if fails else 3 * (MAX_UNSENT_VALUES - 1))
        assert waited[-3] < waited[-2]


async def test_a_member_that_the_database_refuses_fails_alone(url: str) -> None:
    def insert_twice(head: Revision) -> Script[None]:
        yield Execute("INSERT INTO object VALUES (:store, 'd', 'twice', 5, NULL, 1, 1)", [(), ()])

    commits = Commits()
    async with opened(url, commits.observe) as store:
        outcomes = await write_together(
            store, [put("before"), lambda _: store.database.transact(insert_twice), put("nul\0"), put("after")]
        )

        assert isinstance(outcomes[1], psycopg.errors.UniqueViolation)
        assert isinstance(outcomes[2], psycopg.DataError)
        assert [getattr(outcomes[place], "revision", None) for place in (0, 3)] == [1, 2]
        assert sorted(str(row[1]) for row in dump(url)["object"]) == ["after", "before"]


async def test_a_member_that_is_cancelled_takes_no_other_along(url: str) -> None:
    async with opened(url) as store:
        with connected(url) as holder:
            holder.execute("SELECT * FROM head FOR UPDATE")
            tasks = [asyncio.ensure_future(put(f"id-{number}")(store)) for number in range(6)]
            await wait_for_writer(url)
            for place in (0, 3):
                tasks[place].cancel()
            await asyncio.wait([tasks[0], tasks[3]])
            late = asyncio.ensure_future(put("late")(store))
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*tasks, late, return_exceptions=True)

        written = [place for place, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
        assert written == [1, 2, 4, 5, 6]
        assert sorted(str(row[1]) for row in dump(url)["object"]) == ["id-1", "id-2", "id-4", "id-5", "late"]


async def test_a_writer_whose_callers_have_all_gone_holds_up_nobody(url: str) -> None:
    async with opened(url, store_timeout_ms=60_000) as store:
        with connected(url) as holder:
            holder.execute("SELECT * FROM head FOR UPDATE")
            only = asyncio.ensure_future(put("only")(store))
            await wait_for_writer(url)
            only.cancel()
            await asyncio.wait([only])
            late = asyncio.ensure_future(put("late")(store))
            await asyncio.sleep(0)
        await late

        assert [row[1] for row in dump(url)["object"]] == ["late"]


async def test_a_member_whose_time_is_over_is_refused_and_the_others_are_written(url: str) -> None:
    async with opened(url, store_timeout_ms=2_000) as store:
        with connected(url) as holder:
            holder.execute("SELECT * FROM head FOR UPDATE")
            early = [asyncio.ensure_future(put(f"early-{number}")(store)) for number in range(3)]
            await asyncio.sleep(1.2)
            late = asyncio.ensure_future(put("late")(store))
            refusals = await asyncio.gather(*early, return_exceptions=True)
        await late

        assert {type(one) for one in refusals} == {StoreUnavailable}
        assert [row[1] for row in dump(url)["object"]] == ["late"]


async def test_a_member_refused_within_the_transaction_is_not_written(url: str) -> None:
    """The time of the first is over when the last, which came later, holds the transaction up."""

    def insert_early(head: Revision) -> Script[None]:
        yield Select("SELECT name FROM store", [()])
        yield Execute("INSERT INTO object VALUES (:store, 'd', 'early', 5, NULL, 1, 1)", [()])

    async with opened(url, store_timeout_ms=4_000) as store:
        with connected(url) as holder_of_imports:
            holder_of_imports.execute("LOCK TABLE import")
            with connected(url) as holder:
                holder.execute("SELECT * FROM head FOR UPDATE")
                early = asyncio.ensure_future(store.database.transact(insert_early))
                await asyncio.sleep(3)
                writes = (put("late")(store), store.database.transact(read_imports, makes_revision=False))
                late = [asyncio.ensure_future(write) for write in writes]
                await asyncio.sleep(0)
            [refusal] = await asyncio.gather(early, return_exceptions=True)
        await asyncio.gather(*late)

        assert type(refusal) is StoreUnavailable
        assert [row[1] for row in dump(url)["object"]] == ["late"]


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
async def test_a_group_that_the_server_lets_be_repeated_is_repeated(url: str, sqlstate: str) -> None:
    run_sql(
        url,
        f"""
        CREATE SEQUENCE failures;
        CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('failures') <= 2 THEN RAISE SQLSTATE '{sqlstate}'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER failing BEFORE INSERT ON revision FOR EACH STATEMENT EXECUTE FUNCTION fail_twice()""",
    )
    async with opened(url) as store:
        outcomes = await write_together(store, [put(f"id-{number}") for number in range(5)])

        assert [getattr(outcome, "revision", None) for outcome in outcomes] == [1, 2, 3, 4, 5]


async def test_a_connection_lost_in_commit_leaves_the_outcome_of_every_member_unknown(
    postgres: PostgresServer, url: str
) -> None:
    lost: list[str] = []

    def disconnect_once(sql: str) -> None:
        if sql == "COMMIT" and not lost:
            lost.append(sql)
            postgres.terminate_connections(url)

    async with opened(url, disconnect_once) as store:
        outcomes = await write_together(store, [put("a"), delete("missing"), put("b")])

        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 3
        assert await store.check() in (0, 2)
        await put("afterwards")(store)


async def test_two_nodes_that_write_at_once_make_every_write_once(url: str) -> None:
    async with opened(url) as first, opened(url) as second:
        outcomes = await asyncio.gather(
            *(
                write_together(store, [grant(warrant(f"d-{number % 7}", f"{name}-{number}")) for number in range(100)])
                for name, store in (("first", first), ("second", second))
            )
        )

        revisions = [getattr(outcome, "revision", None) for node in outcomes for outcome in node]
        assert sorted(revisions, key=str) == sorted(range(1, 201), key=str)
        assert await first.check() == await second.check() == 200
        assert len(dump(url)["warrant"]) == 200


async def test_groups_do_what_the_same_writes_do_one_by_one(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)
    async with opened(url) as store:
        for seed in range(20):
            writes = choose_writes(random.Random(seed))
            run_sql(url, RESET)
            one_by_one = [(await write_together(store, [write]))[0] for write in writes]
            expected = dump_without_moves(url)
            run_sql(url, RESET)

            together = await write_together(store, writes)

            assert list(map(show, one_by_one)) == list(map(show, together)), f"seed {seed}"
            assert expected == dump_without_moves(url), f"seed {seed}"


async def wait_for_writer(url: str) -> None:
    """Returns when a transaction waits for the head that another one has locked."""
    with connected(url) as watching:
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        while watching.execute(waiting).fetchall() == [(0,)]:
            await asyncio.sleep(0.01)
            watching.rollback()


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("INSERT INTO t (a, b) VALUES (?, ?)", "INSERT INTO t (a, b) VALUES (?, ?), (?, ?)"),
        (
            "\nINSERT INTO t (a)\nVALUES (?, 1) ON CONFLICT DO NOTHING",
            "\nINSERT INTO t (a)\nVALUES (?, 1), (?, 1) ON CONFLICT DO NOTHING",
        ),
        ("UPDATE t SET a = ? WHERE b = ?", None),
        ("INSERT INTO t (a) SELECT ?", None),
    ],
)
def test_only_a_statement_that_inserts_one_row_can_insert_several(one: str, several: str | None) -> None:
    assert insert_rows(one, 2) == several


async def test_many_rows_of_a_write_are_inserted_by_few_statements(url: str) -> None:
    count = 3 * ROWS_AT_ONCE + 5
    policies = ["hour < 12" if number % 2 else "" for number in range(count)]
    async with opened(url) as store:
        for user in ("ann", "bo"):
            before = store.statements
            await grant(*(warrant(f"d-{number}", user, policies[number]) for number in range(count)))(store)
            statements = store.statements - before
        listed = (await store.list_warrants(Slice("createdAt", 1_000), WarrantFilter())).value.rows

    assert statements < count
    assert [(one.object_id, one.policy) for one in listed[count:]] == [
        (f"d-{number}", policies[number]) for number in range(count)
    ]


@pytest.mark.parametrize("role", ["object", "subject"])
async def test_the_warrants_of_a_deleted_object_are_read_once_and_end_together(database_url: str, role: str) -> None:
    """However many there are: one by one, 300,000 took longer than a write may."""
    statements: list[str] = []
    migrate_store(settings_for(database_url))
    many = [f"d:x#r@user:u{number}" if role == "object" else f"d:{number}#r@user:x" for number in range(2_500)]
    async with opened(database_url, statements.append) as store:
        await store.put_warrants([new(text) for text in many], anything_goes, Stamp("ann", 1))
        statements.clear()

        await store.delete_objects([object_ref("d" if role == "object" else "user", "x")], Stamp("ann", 2))

        assert (await store.list_warrants(Slice("createdAt", 10), WarrantFilter())).value.rows == ()
        changes = await list_changes(store, 1)
    assert len([one for one in changes if one.kind == "warrant" and one.action == "deleted"]) == len(many)
    assert len([text for text in statements if "UPDATE warrant" in text]) == 1
    assert len([text for text in statements if "warrant" in text and "SELECT" in text]) <= 6
