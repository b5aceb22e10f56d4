"""The sentences of store/contract/webhooks.py, on every store."""

import asyncio
from dataclasses import replace

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import Stores
from magistrate.store.contract.webhooks import (
    MAX_DELIVERIES,
    NewWebhook,
    StoredWebhook,
    WebhookAttempt,
    WebhookFilter,
    WebhookProgress,
    WebhookState,
)
from magistrate.wiring.stores import open_store, open_stores
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MANY = 100
SECRET = "whsec_" + "A" * 32
ONLY = WebhookFilter(object_types=("document",), relations=("viewer", "editor"))


def new(name: str = "a", is_enabled: bool = True, only: WebhookFilter = ONLY) -> NewWebhook:
    return NewWebhook(f"id-{name}", f"https://{name}.example/", only, name, SECRET, is_enabled, 5, "ann")


def attempt(number: int, position: RevisionId, failure: str = "") -> WebhookAttempt:
    return WebhookAttempt(f"msg_{number}", number, 7, None if failure else 200, failure, position, 1)


async def put_object(store: Store, name: str = "x") -> RevisionId:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(name), None)], Stamp("ann", 9))
    return store.known.newest


async def find(store: Store, webhook_id: str = "id-a") -> StoredWebhook:
    return (await store.find_webhook(webhook_id)).value


async def lease(store: Store, now: int = 10, until: int = 50) -> StoredWebhook:
    leased = await store.lease_webhook("id-a", now, until)
    assert leased is not None
    return leased


async def test_a_webhook_begins_at_the_newest_revision(store: Store) -> None:
    newest = await put_object(store)

    made = await store.create_webhook(new(), MANY)

    assert made.revision == newest.revision
    assert made.value == await find(store)
    assert (made.value.position, made.value.filter, made.value.state) == (newest, ONLY, WebhookState.ENABLED)
    assert (made.value.has_secret, made.value.due_at, made.value.attempts, made.value.skipped) == (True, 0, 0, None)


async def test_webhooks_are_listed_by_id_and_are_so_many_at_most(store: Store) -> None:
    assert (await store.list_webhooks()).value == ()
    for name in "ba":
        await store.create_webhook(new(name), 2)

    assert [row.id for row in (await store.list_webhooks()).value] == ["id-a", "id-b"]
    with pytest.raises(Conflict, match="has 2 webhooks"):
        await store.create_webhook(new("c"), 2)


async def test_what_is_not_there_is_not_found(store: Store) -> None:
    for call in (
        store.find_webhook("id-a"),
        store.update_webhook("id-a", lambda row: row),
        store.rotate_webhook_secret("id-a", SECRET, 5),
        store.replay_webhook("id-a", RevisionId(Revision(0), None), 0),
        store.delete_webhook("id-a"),
        store.read_webhook_secrets("id-a", 5),
        store.list_webhook_attempts("id-a"),
    ):
        with pytest.raises(NotFound, match="Webhook id-a not found"):
            await call
    await store.keep_webhook_attempt("id-a", attempt(1, RevisionId(Revision(0), None)))


async def test_an_update_replaces_what_callers_set(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    leased = await lease(store)

    await store.update_webhook("id-a", lambda row: replace(row, url="https://b.example/", description="", lease=99))

    changed = await find(store)
    assert (changed.url, changed.description, changed.state) == ("https://b.example/", "", WebhookState.ENABLED)
    assert await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60)) is False


async def test_nothing_goes_on_once_a_webhook_is_disabled(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    leased = await lease(store)

    disabled = await store.update_webhook("id-a", lambda row: replace(row, state=WebhookState.DISABLED))
    assert (disabled.value.due_at, disabled.value.state) == (None, WebhookState.DISABLED)
    assert await store.lease_webhook("id-a", 10**15, 10**15) is None
    assert await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60)) is False

    enabled = await store.update_webhook("id-a", lambda row: replace(row, state=WebhookState.ENABLED))
    assert (enabled.value.due_at, enabled.value.attempts) == (0, 0)
    assert await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60)) is False
    assert (await lease(store)).lease == leased.lease + 3


async def test_one_of_concurrent_processes_gets_the_lease_until_it_ends(store: Store, database_url: str) -> None:
    await store.create_webhook(new(), MANY)
    other = await open_store(settings_for(database_url))
    stores = [store, other] * 5

    leases = await asyncio.gather(*(each.lease_webhook("id-a", 10, 50) for each in stores))
    await other.close()

    [first] = [each for each in leases if each is not None]
    assert (first.lease, first.due_at) == (1, 50)
    assert await store.lease_webhook("id-a", 49, 90) is None
    second = await lease(store, 50, 90)
    assert second.lease == 2


async def test_a_process_whose_lease_was_taken_over_moves_nothing(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    paused, newer = await lease(store), await lease(store, now=60, until=90)
    position = await put_object(store)

    assert await store.write_webhook_progress(newer, WebhookProgress(position, 9, 0), attempt(1, position)) is True
    assert await store.write_webhook_progress(paused, WebhookProgress(newer.position, 5, 99)) is False
    assert await find(store) == replace(newer, position=position, position_at=9, due_at=0)


async def test_failures_are_counted_and_a_dead_webhook_is_not_due(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    leased = await lease(store)

    retried = WebhookProgress(leased.position, leased.position_at, 70, attempts=1)
    assert await store.write_webhook_progress(leased, retried, attempt(1, leased.position, "refused"))
    assert ((await find(store)).attempts, (await find(store)).due_at) == (1, 70)
    again = await lease(store, now=70)
    dead = WebhookProgress(leased.position, 9, None, attempts=2, state=WebhookState.DEAD, reason="refused")
    assert await store.write_webhook_progress(again, dead)
    found = await find(store)

    assert (found.state, found.reason, found.due_at) == (WebhookState.DEAD, "refused", None)
    assert await store.write_webhook_progress(again, retried) is False


async def test_what_was_skipped_is_kept(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    leased = await lease(store)
    position = await put_object(store)

    await store.write_webhook_progress(leased, WebhookProgress(position, 9, 60, skipped_at=30))
    await store.write_webhook_progress(leased, WebhookProgress(position, 9, 60))

    found = await find(store)
    assert (found.skipped, found.skipped_at, found.position) == (leased.position, 30, position)


async def test_a_replay_moves_the_webhook_and_ends_the_lease(store: Store) -> None:
    first = await put_object(store)
    await put_object(store, "y")
    await store.create_webhook(new(), MANY)
    leased = await lease(store)

    moved = await store.replay_webhook("id-a", first, 3)

    assert (moved.value.position, moved.value.position_at, moved.value.due_at) == (first, 3, 0)
    assert await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60)) is False


async def test_a_replay_enables_nothing(store: Store) -> None:
    await store.create_webhook(new(is_enabled=False), MANY)

    moved = await store.replay_webhook("id-a", RevisionId(Revision(0), None), 3)

    assert (moved.value.state, moved.value.due_at) == (WebhookState.DISABLED, None)


async def test_the_last_attempts_are_kept_whoever_has_the_lease(store: Store) -> None:
    await store.create_webhook(new(), MANY)
    leased = await lease(store)
    await store.update_webhook("id-a", lambda row: replace(row, state=WebhookState.DISABLED))

    for number in range(MAX_DELIVERIES + 5):
        kept = attempt(number, leased.position, "refused" if number % 2 else "")
        await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60), kept)

    listed = (await store.list_webhook_attempts("id-a")).value
    assert len(listed) == MAX_DELIVERIES
    assert listed[0] == attempt(MAX_DELIVERIES + 4, leased.position)
    assert listed[-1] == attempt(5, leased.position, "refused")


async def test_both_secrets_sign_for_a_while(store: Store) -> None:
    second, third = f"whsec_{'B' * 32}", f"whsec_{'C' * 32}"
    await store.create_webhook(new(), MANY)
    assert (await store.read_webhook_secrets("id-a", 10)).secrets == [SECRET]

    rotated = await store.rotate_webhook_secret("id-a", second, 20)
    assert rotated.value.previous_until == 20
    assert (await store.read_webhook_secrets("id-a", 19)).secrets == [second, SECRET]
    assert (await store.read_webhook_secrets("id-a", 20)).secrets == [second]
    await store.rotate_webhook_secret("id-a", third, 30)
    assert (await store.read_webhook_secrets("id-a", 19)).secrets == [third, second]
    assert SECRET not in repr(await store.read_webhook_secrets("id-a", 19)) + repr(new())


async def test_nothing_stays_of_a_deleted_webhook(store: Store, database_url: str) -> None:
    await store.create_webhook(new(), MANY)
    await store.keep_webhook_attempt("id-a", attempt(1, (await find(store)).position))

    await store.delete_webhook("id-a")

    tables = dump(database_url)
    assert tables["webhook"] == tables["webhook_delivery"] == []


async def test_webhooks_make_no_revision_and_no_change(store: Store, database_url: str) -> None:
    await put_object(store)
    before = {name: rows for name, rows in dump(database_url).items() if name in ("revision", "change")}

    await store.create_webhook(new(), MANY)
    leased = await lease(store)
    await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 60), attempt(1, leased.position))
    await store.delete_webhook("id-a")

    assert {name: rows for name, rows in dump(database_url).items() if name in before} == before


async def open_all(database_url: str) -> Stores:
    return await open_stores(settings_for(database_url))


async def test_those_are_due_that_have_not_got_everything_and_that_nobody_delivers_to(
    store: Store, database_url: str
) -> None:
    for name in "abc":
        await store.create_webhook(new(name), MANY)
    await store.create_webhook(new("disabled", is_enabled=False), MANY)
    await store.create_webhook(new("access", only=WebhookFilter(of=("d#viewer@user",))), MANY)
    stores = await open_all(database_url)

    assert [place.id for place in await stores.list_due_webhooks(10, 9)] == ["id-access"]
    position = await put_object(store)
    leased = await lease(store, 10, 50)
    retried = await store.lease_webhook("id-b", 10, 50)
    assert retried is not None
    await store.write_webhook_progress(retried, WebhookProgress(retried.position, 9, 20, attempts=1))
    assert [place.id for place in await stores.list_due_webhooks(19, 9)] == ["id-access", "id-c"]
    assert [place.id for place in await stores.list_due_webhooks(20, 2)] == ["id-access", "id-c"]
    assert [place.id for place in await stores.list_due_webhooks(20, 9)] == ["id-access", "id-c", "id-b"]
    await store.write_webhook_progress(leased, WebhookProgress(position, 9, 0))
    assert [place.id for place in await stores.list_due_webhooks(90, 9)] == ["id-access", "id-c", "id-b"]
    await stores.close()


async def test_webhooks_of_all_stores_are_counted(store: Store, database_url: str) -> None:
    stores = await open_all(database_url)
    assert await stores.count_webhooks() == (0, 0, 0, 0.0)
    await put_object(store)
    for name in "abc":
        await store.create_webhook(new(name), MANY)
    leased, other = await lease(store), await store.lease_webhook("id-b", 10, 50)
    assert other is not None
    assert (await stores.count_webhooks()).lag_seconds == 0

    await store.write_webhook_progress(leased, WebhookProgress(leased.position, 9, 20, attempts=1))
    await store.write_webhook_progress(other, WebhookProgress(other.position, 9, None, state=WebhookState.DEAD))
    await put_object(store, "y")

    counted = await stores.count_webhooks()
    assert counted[:3] == (2, 1, 1)
    assert counted.lag_seconds > 3_600  # by the time of the writes of this test
    assert await stores.list_stores_with_webhooks() == [1]
    await stores.close()
