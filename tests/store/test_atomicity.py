"""A write that fails leaves nothing, wherever it fails: a fault is put before every statement of every kind of
write."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from msgspec import structs

from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.backups import RestoredContents, RestoredRow
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.contract.keys import SessionKey
from magistrate.store.contract.new_rows import (
    ImportBatch,
    ImportProgress,
    NewObject,
    NewObjectType,
    NewWarrant,
    Once,
    Stamp,
)
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.store import AtomicWrite, Precondition, Store
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.contract.webhooks import (
    NewWebhook,
    WebhookAttempt,
    WebhookFilter,
    WebhookProgress,
    WebhookState,
)
from magistrate.store.database import Observer
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer, dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1, Once("key", "fingerprint"))


OLD_WARRANT = NewWarrant(
    object_ref("document", "a"), RelationName("viewer"), Subject(TypeName("document"), ObjectId("b"))
)
ENDED_WARRANT = NewWarrant(object_ref("document", "b"), RelationName("viewer"), Subject(TypeName("user"), WILDCARD))


class InjectedFault(Exception):
    """Raised in the place of a statement."""


async def replace_and_create(store: Store) -> None:
    names = ["a", "b", *(f"new-{number}" for number in range(100))]
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), '{"v":2}') for name in names], STAMP)


async def delete(store: Store) -> None:
    await store.delete_objects([object_ref("document", "a"), object_ref("document", "b")], STAMP)


async def replace_meta(store: Store) -> None:
    await store.replace_meta(object_ref("document", "a"), None, STAMP)


async def replace_and_create_types(store: Store) -> None:
    types = [NewObjectType(TypeName(name), '{"relations":{"x":{}}}') for name in ("t", "u")]
    await store.put_object_types(types, lambda model: None, STAMP)


async def delete_type(store: Store) -> None:
    await store.delete_object_type(TypeName("t"), STAMP)


async def create_warrants(store: Store) -> None:
    subject = Subject(TypeName("user"), ObjectId("ann"))
    names = ["a", *(f"new-{number}" for number in range(10))]
    new = [
        NewWarrant(object_ref("document", name), RelationName("viewer"), subject, policy)
        for name in names
        for policy in ("", "x == 1")
    ]
    await store.put_warrants(new, lambda model: None, STAMP)


async def import_all(store: Store) -> None:
    types = [NewObjectType(TypeName(name), '{"relations":{"x":{}}}') for name in ("t", "u")]
    objects = [NewObject(TypeName("document"), ObjectId(name), '{"v":2}') for name in ("a", "new")]
    ann = Subject(TypeName("user"), ObjectId("ann"))
    new = [NewWarrant(object_ref("document", "c"), RelationName("viewer"), ann, policy) for policy in ("", "x == 1")]
    batch = ImportBatch(types, objects, [OLD_WARRANT, *new])
    await store.import_batch(batch, lambda model: None, Stamp("ann", 1), ImportProgress("file", 7, 70, "digest"))


async def delete_warrants(store: Store) -> None:
    await store.delete_warrants([OLD_WARRANT], STAMP)


async def write_all(store: Store) -> None:
    ann = Subject(TypeName("user"), ObjectId("ann"))
    new = [NewWarrant(object_ref("document", "c"), RelationName("viewer"), ann, policy) for policy in ("", "x == 1")]
    wanted = AtomicWrite(
        preconditions=[Precondition(OLD_WARRANT), Precondition(object_ref("document", "a"))],
        warrants_to_delete=[OLD_WARRANT],
        objects_to_delete=[object_ref("document", "a")],
        objects=[NewObject(TypeName("document"), ObjectId(name), '{"v":3}') for name in "ab"],
        warrants=[OLD_WARRANT, *new],
    )
    await store.write(wanted, lambda model: None, STAMP)


async def delete_matches(store: Store) -> None:
    found = await store.match_warrants({"object_type": "document"}, 10, 1)
    await store.delete_matches(found.value, Stamp("ann", 1))


async def collect(store: Store) -> None:
    await store.collect(10**18, 100)


async def keep_session_key(store: Store) -> None:
    await store.keep_session_key(SessionKey("b" * 16, "b" * 64, 7), unless_after=5, delete_by=5)


async def keep_decisions(store: Store) -> None:
    claim = ("document", "a", "viewer", "user", "ann", "")
    records = [
        DecisionRecord(2, True, claim, '{"x":1}', Revision(1)),
        DecisionRecord(2, False, claim, None, Revision(1)),
    ]
    await store.keep_decisions(records, 2)


async def delete_events(store: Store) -> None:
    await store.delete_events(10**15, 100)


async def restore(store: Store) -> None:
    """Takes the place of all that there is."""
    rows: list[list[RestoredRow]] = [
        [StoredPolicy(PolicyName("p"), '{"parameters":{},"expression":"true"}', 3)],
        [StoredObjectType(TypeName("t"), '{"relations":{"x":{}}}', 4)],
        [StoredObject(TypeName("t"), ObjectId("a"), None, 5)],
        [Warrant(*OLD_WARRANT.names, "x == 1", 6, 0)],
    ]
    await store.restore(RestoredContents(lambda: iter(rows), 1, 1), Stamp("ann", 1), replaces=True)


WEBHOOK = NewWebhook("h", "https://a.example/", WebhookFilter(), "", "whsec_x", True, 5, "ann")


async def create_webhook(store: Store) -> None:
    await store.create_webhook(replace(WEBHOOK, id="i"), 10)


async def end_webhook(store: Store) -> None:
    [webhook] = (await store.list_webhooks()).value
    attempt = WebhookAttempt("m", 1, 1, 410, "gone", webhook.position, 1)
    progress = WebhookProgress(webhook.position, 9, None, 1, WebhookState.GONE, "gone")
    await store.end_webhook(webhook, progress, attempt, Stamp("webhooks", 1))


async def delete_webhook(store: Store) -> None:
    await store.delete_webhook("h")


SAVED = SavedQuery("q", "mine", "", "select a where user:b is c", '{"a":1}', 5, "ann")


async def create_saved_query(store: Store) -> None:
    await store.create_saved_query(structs.replace(SAVED, id="r", name="other"), 10)


async def update_saved_query(store: Store) -> None:
    await store.update_saved_query("q", lambda row: structs.replace(row, name="other", context=None))


async def delete_saved_query(store: Store) -> None:
    await store.delete_saved_query("q")


TICKET = StoredTicket("a" * 64, "ann", ("events",), ("t",), "id", "", 1, None, 5)


async def create_ticket(store: Store) -> None:
    """Takes the place of one that has expired."""
    await store.create_ticket(replace(TICKET, digest="b" * 64, expires_at=9), 5, 1)


Write = Callable[[Store], Awaitable[None]]
WRITES: list[Write] = [
    replace_and_create,
    delete,
    replace_meta,
    replace_and_create_types,
    delete_type,
    create_warrants,
    import_all,
    delete_warrants,
    write_all,
    delete_matches,
    collect,
    keep_session_key,
    keep_decisions,
    delete_events,
    restore,
    create_webhook,
    end_webhook,
    delete_webhook,
    create_saved_query,
    update_saved_query,
    delete_saved_query,
    create_ticket,
]
UNLOGGED = (create_saved_query, update_saved_query, delete_saved_query)
"""Change one row, and write nothing else."""
WITHOUT_REVISION = (
    collect,
    keep_session_key,
    keep_decisions,
    delete_events,
    create_webhook,
    delete_webhook,
    *UNLOGGED,
    create_ticket,
)


@asynccontextmanager
async def filled_store(url: str, observer: Observer) -> AsyncIterator[Store]:
    """A store with two objects, one of them replaced before, a type, and warrants, one of them deleted; it is observed
    from here on."""
    settings = settings_for(url)
    migrate_store(settings)
    store = await open_store(settings)
    old = [NewObject(TypeName("document"), ObjectId(name), meta) for name in "ab" for meta in ("{}", '{"v":1}')]
    for one in old:
        await store.put_objects([one], Stamp("ann", 1))
    await store.put_object_types(
        [NewObjectType(TypeName("t"), '{"relations":{}}')], lambda model: None, Stamp("ann", 1)
    )
    await store.put_warrants([OLD_WARRANT, ENDED_WARRANT], lambda model: None, Stamp("ann", 1))
    await store.delete_warrants([ENDED_WARRANT], Stamp("ann", 1))
    await store.create_webhook(WEBHOOK, 10)
    await store.create_saved_query(SAVED, 10)
    await store.keep_session_key(SessionKey("a" * 16, "a" * 64, 5), unless_after=0, delete_by=0)
    await store.create_ticket(TICKET, 0, 1)
    record = DecisionRecord(1, True, ("document", "a", "viewer", "user", "ann", ""), None, Revision(1))
    await store.keep_decisions([record] * 2, 10)
    await store.close()
    observed = await open_store(settings, observer)
    yield observed
    await observed.close()


@pytest.mark.parametrize("write", WRITES)
async def test_a_fault_before_any_statement_leaves_the_store_as_it_was(database_url: str, write: Write) -> None:
    remaining: int | None = None

    def fail_when_none_remain(sql: str) -> None:
        nonlocal remaining
        if remaining is not None:
            if remaining == 0:
                raise InjectedFault(sql)
            remaining -= 1

    async with filled_store(database_url, fail_when_none_remain) as store:
        before = dump(database_url)
        statements = 0
        while True:
            remaining = statements
            try:
                await write(store)
                break
            except InjectedFault:
                assert dump(database_url) == before
                statements += 1

    fewest = 3 if write in UNLOGGED else 4  # a look, a change, the log, COMMIT
    assert statements >= fewest
    assert dump(database_url) != before


@pytest.mark.parametrize("write", WRITES)
async def test_a_lost_connection_leaves_all_or_nothing(postgres: PostgresServer, write: Write) -> None:
    url = postgres.new_url()
    remaining: int | None = None

    def disconnect_once(sql: str) -> None:
        nonlocal remaining
        if remaining is not None:
            if remaining == 0:
                postgres.terminate_connections(url)
                remaining = None
            else:
                remaining -= 1

    async with filled_store(url, disconnect_once) as store:
        before = dump(url)
        statements = 0
        while True:
            remaining = statements
            try:
                await write(store)  # what has not begun to commit is tried again
                break
            except StoreUnavailable:
                assert dump(url) == before
                statements += 1
        assert dump(url) != before
        assert await store.check() == (1 if write is restore else 7 if write in WITHOUT_REVISION else 8)
