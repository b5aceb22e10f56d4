"""All rows of a store are listed at a revision, and put into a store in place of what it has."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from magistrate.engine.names import ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, warrant_names
from magistrate.errors import Conflict, DamagedBackup, LimitReached, NotFound, RevisionUnavailable, StoreUnavailable
from magistrate.operations.backups.lines import read_rows, render_rows
from magistrate.store.contract.backups import (
    ROWS_AT_ONCE,
    BackedUpWebhook,
    KeyDigest,
    RestoredContents,
    RestoredRow,
    StoreContents,
)
from magistrate.store.contract.events import DecisionRecord, EventFilter, EventKind, EventsOfKind, build_position
from magistrate.store.contract.keys import SessionKey, StoredKey
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.new_rows import (
    ImportBatch,
    ImportProgress,
    NewObject,
    NewObjectType,
    Once,
    Stamp,
    build_new_warrant,
)
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Presence, RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy
from magistrate.store.contract.stores import DEFAULT_STORE, NewStore, StoreLimits, Stores
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.contract.webhooks import NewWebhook, WebhookFilter, WebhookState
from magistrate.wiring.stores import migrate_store, open_store, open_stores
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1_000)
POLICY = StoredPolicy(PolicyName("p"), '{"parameters":{},"expression":"true"}', 3)
TYPE = StoredObjectType(TypeName("t"), '{"relations":{"x":{}}}', 4)
OBJECTS = [StoredObject(TypeName("t"), ObjectId(name), meta, 5) for name, meta in (("a", None), ("b", '{"m": 1}'))]
WARRANTS = [
    Warrant(*warrant_names("t", "a", "x", "t", name, ""), policy, created_at, 0, starts_at, expires_at)
    for name, policy, created_at, starts_at, expires_at in (
        ("b", "", 7, None, None),
        ("a", "y == 1", 6, 1, 10**15),
        ("*", "", 6, None, 2_000),
    )
]
ROWS: Sequence[Sequence[RestoredRow]] = [[POLICY], [TYPE], OBJECTS, WARRANTS]
CONTENTS = RestoredContents(lambda: iter(ROWS), warrants=3, objects=2)
KINDS: Sequence[EventKind] = ("object", "object-type", "policy", "warrant", "decision")
WEBHOOK = BackedUpWebhook("h", "https://a.example/", WebhookFilter(of=("d#viewer@user",)), "", 5, "ann")
SAVED = SavedQuery("q", "Who?", "of x", "select a where user:b is c", '{"a": [1,2.5,null]}', 5, "ann")
OPENFGA_MODEL = StoredOpenFgaModel("01ARZ3NDEKTSV4RRFFQ69G5FAV", "{}", "[]", 5, 1)
KEY = StoredKey("id", "billing", "p", "d", ("check",), None, 5, "ann")


async def list_all(store: Store, at: Revision) -> list[object]:
    policies, types = await store.list_rows(StoredPolicy, None, at), await store.list_rows(StoredObjectType, None, at)
    return [
        *policies,
        *types,
        *await store.list_rows(StoredObject, None, at),
        *await store.list_rows(Warrant, None, at),
    ]


async def fill(store: Store, names: Sequence[str]) -> Revision:
    put = await store.put_objects([NewObject(TypeName("t"), ObjectId(name), None) for name in names], STAMP)
    assert put.revision is not None
    return put.revision


async def test_rows_are_listed_in_order_a_page_at_a_time(store: Store) -> None:
    names = [f"{number:04}" for number in range(2 * ROWS_AT_ONCE)]
    revision = await fill(store, names[::-1])
    warrants = [build_new_warrant(warrant_names("t", name, "x", "t", "u", ""), "") for name in names[::-1]]
    imported = await store.import_batch(ImportBatch(warrants=warrants), lambda model: None, STAMP)
    assert imported.revision is not None

    first = await store.list_rows(StoredObject, None, revision)
    second = await store.list_rows(StoredObject, first[-1], revision)
    third = await store.list_rows(StoredObject, second[-1], revision)

    assert [row.id for row in (*first, *second)] == names
    assert (len(first), len(second), third) == (ROWS_AT_ONCE, ROWS_AT_ONCE, [])
    listed = await store.list_rows(Warrant, None, imported.revision)
    following = await store.list_rows(Warrant, listed[-1], imported.revision)
    assert [row.object_id for row in (*listed, *following)] == names[::-1]
    assert await store.list_rows(Warrant, None, revision) == []


async def test_rows_are_listed_as_they_were_at_a_revision(store: Store) -> None:
    await store.restore(CONTENTS, STAMP, replaces=False)
    before = await list_all(store, Revision(1))
    await fill(store, ["new"])
    await store.replace_meta(ref("b"), '{"m":2}', STAMP)
    last = await store.delete_objects([ref("a")], STAMP)

    assert await list_all(store, Revision(1)) == before
    assert [row.id for row in await store.list_rows(StoredObject, None, last)] == ["b", "new"]
    assert await store.list_rows(Warrant, None, last) == []
    with pytest.raises(RevisionUnavailable):
        await list_all(store, Revision(last + 1))


def ref(name: str) -> ObjectRef:

    return ObjectRef(TypeName("t"), ObjectId(name))


async def test_a_restored_store_has_the_rows_and_nothing_else(store: Store, database_url: str) -> None:
    await store.seed([NewObjectType(TypeName("seeded"), '{"relations":{}}')], STAMP)
    await fill(store, ["lost"])
    once = Once("k", "f")
    await store.put_objects([NewObject(TypeName("t"), ObjectId("once"), None)], replace(STAMP, once=once))
    await store.import_batch(ImportBatch(), lambda model: None, STAMP, ImportProgress("file", 1, 1, "m"))
    await store.keep_session_key(SessionKey("a" * 16, "a" * 64, 7), unless_after=5, delete_by=5)
    await store.create_ticket(StoredTicket("a" * 64, "ann", ("events",), None, None, "", 1, None, 90), 7, 1)
    await store.create_key(KEY, 10)
    await store.keep_key_digest("digest", 5)
    version = await store.keys_version()
    lost = await store.identify(Revision(2))

    restored = await store.restore(CONTENTS, STAMP, replaces=True)

    assert restored.revision == 1
    assert await store.measure_contents() == StoreContents(restored, 3, 2)
    listed = await list_all(store, restored.revision)
    assert listed[:4] == [POLICY, TYPE, *OBJECTS]
    assert [replace_number(row) for row in listed[4:]] == WARRANTS
    assert {name for name, rows in dump(database_url).items() if rows} == {
        *("migration", "store", "head", "revision", "object", "object_type", "named_policy", "policy", "warrant"),
        *("warrant_pattern", "caller_key", "api_key"),
    }
    assert await store.locate(lost) is Presence.AHEAD
    assert await store.locate(RevisionId(Revision(1), 7)) is Presence.REPLACED
    assert await store.keys_version() > version
    assert [key.id for key in (await store.list_keys()).keys] == ["id"]
    again = await store.put_objects([NewObject(TypeName("t"), ObjectId("once"), None)], replace(STAMP, once=once))
    assert again.revision == 2


def replace_number(row: object) -> Warrant:
    assert isinstance(row, Warrant)
    return msgspec.structs.replace(row, number=0)


async def test_history_begins_with_a_restore(store: Store) -> None:
    for _ in range(3):
        await fill(store, ["lost"])
    record = DecisionRecord(1, True, ("t", "a", "x", "t", "b", ""), None, Revision(1))
    await store.keep_decisions([record], 10)
    restored = await store.restore(CONTENTS, STAMP, replaces=True)
    everything = EventFilter([EventsOfKind(kind) for kind in KINDS])

    assert (await store.list_events(Slice("createdAt", 10), everything)).value.rows == ()
    found = await store.find_revision_at(10**15)
    assert found.match is not None
    assert found.oldest == found.match
    changes = await store.list_warrant_changes(restored, 10)
    assert changes.changes == []
    assert (await store.list_warrant_changes(NOTHING_WRITTEN, 10)).changes is None
    followed = await store.follow_events(build_position(restored.revision), 10, everything)
    assert followed.value.rows == ()
    await store.keep_decisions([record], 10)
    followed = await store.follow_events(followed.value.position, 10, everything)
    assert [event.kind for event in followed.value.rows] == ["decision"]
    assert await fill(store, ["new"]) == 2
    listed = (await store.list_events(Slice("createdAt", 10), everything)).value.rows
    assert [event.kind for event in listed] == ["decision", "object"]


async def test_only_an_empty_store_is_restored_into(store: Store, database_url: str) -> None:
    await store.seed([NewObjectType(TypeName("seeded"), '{"relations":{}}')], STAMP)
    await store.put_object_types([NewObjectType(TypeName("own"), '{"relations":{}}')], lambda model: None, STAMP)
    before = dump(database_url)

    with pytest.raises(Conflict, match="not empty"):
        await store.restore(CONTENTS, STAMP, replaces=False)

    assert dump(database_url) == before


async def test_a_store_that_has_what_it_began_with_is_empty(store: Store) -> None:
    await store.seed([NewObjectType(TypeName("seeded"), '{"relations":{}}')], STAMP)

    await store.restore(CONTENTS, STAMP, replaces=False)

    assert (await store.measure_contents()).warrants == 3


@pytest.mark.parametrize(("warrants", "objects"), [(2, 2), (3, 3)])
async def test_rows_that_are_not_counted_undo_a_restore(
    store: Store, database_url: str, warrants: int, objects: int
) -> None:
    await fill(store, ["kept"])
    before = dump(database_url)

    with pytest.raises(DamagedBackup):
        await store.restore(replace(CONTENTS, warrants=warrants, objects=objects), STAMP, replaces=True)

    assert dump(database_url) == before
    assert await fill(store, ["other"]) == 2


async def test_webhooks_are_those_among_the_rows_disabled_and_without_secrets(store: Store) -> None:
    own = NewWebhook("own", "https://own.example/", WebhookFilter(), "", "whsec_x", True, 5, "ann")
    await store.create_webhook(own, 10)
    rows: list[list[RestoredRow]] = [[WEBHOOK]]

    restored = await store.restore(RestoredContents(lambda: iter(rows), 0, 0), STAMP, replaces=False)

    [webhook] = (await store.list_webhooks()).value
    assert BackedUpWebhook(
        *(getattr(webhook, name) for name in ("id", "url", "filter", "description", "created_at", "created_by"))
    ) == (WEBHOOK)
    assert (webhook.state, webhook.has_secret, webhook.due_at) == (WebhookState.DISABLED, False, None)
    assert webhook.position == restored
    with pytest.raises(Conflict, match="rotate the secret first"):
        await store.update_webhook("h", lambda row: replace(row, state=WebhookState.ENABLED))
    await store.rotate_webhook_secret("h", "whsec_y", 9)
    assert (await store.read_webhook_secrets("h", 5)).secrets == ["whsec_y"]
    enabled = await store.update_webhook("h", lambda row: replace(row, state=WebhookState.ENABLED))
    assert enabled.value.due_at == 0


def test_a_webhook_is_a_line_of_a_backup() -> None:
    line = render_rows([WEBHOOK])

    assert json.loads(line) == {
        "createdAt": "1970-01-01T00:00:00.000005Z",
        "webhook": {"id": "h", "url": "https://a.example/", "createdBy": "ann", "of": ["d#viewer@user"]},
    }
    assert read_rows([line]) == [[WEBHOOK]]


async def test_saved_queries_are_those_among_the_rows(store: Store) -> None:
    await store.create_saved_query(SavedQuery("own", "own", "", "select a where user:b is c", None, 1, "ann"), 10)
    rows: list[list[RestoredRow]] = [[SAVED]]

    await store.restore(RestoredContents(lambda: iter(rows), 0, 0), STAMP, replaces=False)

    assert (await store.list_saved_queries()).value == (SAVED,)


REPEATED: Mapping[str, tuple[RestoredRow, RestoredRow]] = {
    "policy": (POLICY, POLICY),
    "object type": (TYPE, TYPE),
    "object": (OBJECTS[0], OBJECTS[0]),
    "warrant": (WARRANTS[0], WARRANTS[0]),
    "webhook": (WEBHOOK, WEBHOOK),
    "saved query of one id": (SAVED, msgspec.structs.replace(SAVED, name="x")),
    "saved query of one name": (SAVED, msgspec.structs.replace(SAVED, id="x")),
    "OpenFGA model": (OPENFGA_MODEL, OPENFGA_MODEL),
}


@pytest.mark.parametrize("kind", REPEATED)
@pytest.mark.parametrize("are_together", [True, False])
async def test_a_row_that_comes_twice_is_refused(
    store: Store, database_url: str, kind: str, are_together: bool
) -> None:
    before, rows = dump(database_url), REPEATED[kind]
    batches: list[list[RestoredRow]] = [[*rows]] if are_together else [[row] for row in rows]
    warrants, objects = (2 * (kind == counted) for counted in ("warrant", "object"))

    with pytest.raises(DamagedBackup, match="a row comes twice"):
        await store.restore(RestoredContents(lambda: iter(batches), warrants, objects), STAMP, replaces=False)

    assert dump(database_url) == before


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *((member, "a\0") for member in ("id", "name", "description", "q", "createdBy")),
        ("name", 5),
        ("q", None),
        ("context", 5),
        ("context", "x"),
        ("context", []),
        ("context", None),
        ("surplus", 1),
    ],
)
def test_a_line_that_is_no_saved_query_is_refused(member: str, value: object) -> None:
    line = json.loads(render_rows([SAVED]))
    line["savedQuery"][member] = value

    with pytest.raises(DamagedBackup):
        read_rows([json.dumps(line).encode() + b"\n"])


@pytest.mark.parametrize("saved", [SAVED, msgspec.structs.replace(SAVED, description="", context=None)])
def test_a_saved_query_is_a_line_of_a_backup(saved: SavedQuery) -> None:
    line = render_rows([saved])

    optional = {"description": saved.description, "context": {"a": [1, 2.5, None]}} if saved.context else {}
    members = {"id": "q", "name": "Who?", "q": saved.q, "createdBy": "ann"}
    assert json.loads(line) == {"createdAt": "1970-01-01T00:00:00.000005Z", "savedQuery": members | optional}
    assert read_rows([line]) == [[saved]]


async def test_keys_among_the_rows_are_added(store: Store) -> None:
    await store.create_key(KEY, 10)
    await store.keep_key_digest("own", 5)
    other = replace(
        KEY, id="other", name="other", object_types=("t",), expires_at=9, previous_digest="e", previous_until=8
    )
    rows: list[list[RestoredRow]] = [
        [KeyDigest("own", 6), KeyDigest("added", 7)],
        [replace(KEY, digest="changed"), other],
    ]

    await store.restore(RestoredContents(lambda: iter(rows), 0, 0), STAMP, replaces=False)

    assert (await store.list_keys()).keys == (KEY, other)
    assert await store.list_key_digests() == [KeyDigest("added", 7), KeyDigest("own", 5)]


async def write_together(store: Store, *writes: Callable[[], Coroutine[Any, Any, Any]]) -> list[Any]:
    """Returns what each write has returned or raised: they wait together until the write before them is done."""
    await fill(store, ["lost"])
    is_time = threading.Event()

    def wait(model: object) -> None:
        is_time.wait(10)

    first = asyncio.create_task(store.put_object_types([NewObjectType(TypeName("t"), '{"relations":{}}')], wait, STAMP))
    await asyncio.sleep(0.1)
    tasks = []
    for write in writes:
        tasks.append(asyncio.create_task(write()))
        await asyncio.sleep(0)
    is_time.set()
    assert (await first).revision == 2
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_others_read_but_do_not_write_while_a_store_is_restored(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url, store_timeout_ms=500))
    last = await fill(other, ["kept"])
    is_begun, is_time = threading.Event(), threading.Event()

    def read_slowly() -> Iterator[Sequence[RestoredRow]]:
        yield ROWS[0]
        is_begun.set()
        is_time.wait(20)
        yield from ROWS[1:]

    restoring = asyncio.create_task(store.restore(RestoredContents(read_slowly, 3, 2), STAMP, replaces=True))
    await asyncio.to_thread(is_begun.wait, 10)
    with pytest.raises(StoreUnavailable):
        await fill(other, ["new"])
    assert [row.id for row in await other.list_rows(StoredObject, None, last)] == ["kept"]
    is_time.set()

    assert (await restoring).revision == 1
    assert await fill(other, ["new"]) == 2
    await other.close()


@pytest.mark.parametrize("fails", [False, True])
async def test_writes_that_share_a_transaction_with_a_restore_follow_it(store: Store, fails: bool) -> None:
    failing = [lambda: store.delete_objects([ref("b"), ref("lost")], STAMP)] if fails else []

    restored, *failed, following = await write_together(
        store, lambda: store.restore(CONTENTS, STAMP, replaces=True), *failing, lambda: fill(store, ["new"])
    )

    assert restored.revision == 1
    assert [type(error) for error in failed] == [NotFound] * fails
    assert following == await store.check() == 2
    assert (await store.measure_contents())[1:] == (3, 3)
    assert {row.id for row in await store.list_rows(StoredObject, None, Revision(2))} == {"a", "b", "new"}


async def test_a_restore_that_fails_spares_the_writes_that_share_its_transaction(store: Store) -> None:
    wrong = replace(CONTENTS, warrants=9)

    error, following = await write_together(
        store, lambda: store.restore(wrong, STAMP, replaces=True), lambda: fill(store, ["new"])
    )

    assert type(error) is DamagedBackup
    assert following == await store.check() == 3
    assert (await store.measure_contents())[1:] == (0, 2)


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[Stores]:
    settings = settings_for(database_url)
    migrate_store(settings)
    opened = await open_stores(settings)
    yield opened
    await opened.close()


def new(name: str, **limits: int) -> NewStore:
    return NewStore(name, f"of {name}", StoreLimits(**limits), "ann", 5)


async def test_a_key_that_another_store_has_is_not_added(stores: Stores) -> None:
    await stores.default.create_key(KEY, 10)
    stored = await stores.create(new("other"))
    rows: list[list[RestoredRow]] = [[KEY, replace(KEY, id="own", name="own")]]

    await stores.open_store(stored).restore(RestoredContents(lambda: iter(rows), 0, 0), STAMP, replaces=False)

    assert [key.id for key in (await stores.open_store(stored).list_keys()).keys] == ["own"]


async def test_what_expires_ends_after_a_restore(stores: Stores) -> None:
    await stores.default.restore(CONTENTS, STAMP, replaces=False)

    assert [await stores.list_expired(at) for at in (1_999, 2_000)] == [[], [DEFAULT_STORE]]
    assert await stores.default.end_expired(Stamp("system", 2_000), 10) == 1


async def test_a_limit_is_heeded_unless_it_is_not_to_be(stores: Stores) -> None:
    for name, limit in (("warrants", 2), ("objects", 1)):
        stored = await stores.create(new(name, **{name: limit}))
        opened = stores.open_store(stored)
        with pytest.raises(LimitReached):
            await opened.restore(CONTENTS, STAMP, replaces=False)
        assert (await opened.measure_contents()).warrants == 0
        await opened.restore(CONTENTS, STAMP, replaces=False, heeds_limits=False)
        assert (await opened.measure_contents()).warrants == 3


async def test_several_stores_are_restored_at_once_or_not_at_all(stores: Stores, database_url: str) -> None:
    there = await stores.create(new("there"))
    await fill(stores.open_store(there), ["lost"])
    restored = [
        (new("default", objects=1), CONTENTS),
        (new("made"), CONTENTS),
        (new("there"), CONTENTS),
    ]
    before = dump(database_url)

    with pytest.raises(Conflict):
        await stores.restore_stores(restored, STAMP, replaces=False)
    assert dump(database_url) == before
    written = await stores.restore_stores(restored, STAMP, replaces=True)

    assert [(stored.name, stored.description) for stored, _ in written] == [
        (name, f"of {name}") for name in ("default", "made", "there")
    ]
    assert (written[0][0].number, written[2][0].id) == (DEFAULT_STORE, there.id)
    assert written[0][0].limits == StoreLimits(objects=1)
    for stored, newest in written:
        opened = stores.default if stored.number == DEFAULT_STORE else stores.open_store(stored)
        assert await opened.measure_contents() == StoreContents(newest, 3, 2)
        assert await fill(opened, []) == 2
