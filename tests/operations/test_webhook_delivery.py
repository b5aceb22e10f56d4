"""Delivery to webhooks over real sockets, to receivers that do what they should not; the clock alone is not real."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook as StandardWebhook
from svix.webhooks import Webhook as SvixWebhook

from magistrate.config.settings_table import Settings
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.operations.consistency import write_token
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.operations.watch import revision_feed
from magistrate.operations.webhooks import deliverer, delivery, receiver_client
from magistrate.operations.webhooks.addresses import AddressGuard, Resolve
from magistrate.operations.webhooks.deliverer import WebhookDeliverer
from magistrate.operations.webhooks.delivery import LEASE_SECONDS
from magistrate.operations.webhooks.receivers import WebhookOptions
from magistrate.operations.webhooks.schedule import MAX_JITTER, PAUSES_SECONDS
from magistrate.operations.webhooks.webhooks import replay_webhook, rotate_secret, send_test
from magistrate.store.contract.events import EventFilter, EventsOfKind
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant
from magistrate.store.contract.webhooks import NewWebhook, StoredWebhook, WebhookFilter, WebhookState
from magistrate.wiring.contexts import open_contexts
from magistrate.wiring.stores import migrate_store
from tests.certificates import Authority
from tests.http_server import SilentHandler
from tests.running import settings_for
from tests.webhook_receiver import (
    Answer,
    Received,
    WebhookReceiver,
    answer_endlessly,
    answer_long_head,
    answer_nonsense,
    answer_status,
    receiving,
    reset,
)

pytestmark = pytest.mark.anyio

SECRET = "whsec_" + "c2VjcmV0" * 4
SECOND = 1_000_000
ALL = WebhookFilter()
LOOPBACK = ip_network("127.0.0.1/32")


class Clock:
    """The time of all processes of a test."""

    def __init__(self, now: int) -> None:
        self.at = now

    def now(self) -> int:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)


class Node:
    """A process that delivers."""

    def __init__(self, contexts: StoreContexts, clock: Clock) -> None:
        self.contexts = contexts
        self.context = contexts.default
        self.clock = clock
        self.context.now = clock.now
        self.deliverer = WebhookDeliverer(contexts)
        self.guard()

    def guard(self, resolve: Resolve | None = None) -> None:
        self.context.webhooks = WebhookOptions(
            AddressGuard([LOOPBACK], resolve), "Magistrate/test", "https://us.example"
        )

    async def deliver(self) -> None:
        """Delivers until this process holds no webhook."""
        await self.deliverer.look()
        while self.deliverer.has_work:
            await asyncio.sleep(0.005)

    async def webhook(self) -> StoredWebhook:
        return (await self.context.store.find_webhook("hook-1")).value

    async def put(self, *names: str, of_type: str = "document") -> list[str]:
        """Makes an object in a write of its own, and returns the tokens."""
        tokens = []
        for name in names:
            new = NewObject(TypeName(of_type), ObjectId(name), '{"a":1}')
            written = await self.context.store.put_objects([new], self.context.stamp("ann"))
            revision = await self.context.store.identify(written.revision)
            tokens.append(write_token(self.context.store.identity, revision))
        return tokens


@asynccontextmanager
async def open_node(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Node]:
    async with open_contexts(settings) as contexts:
        await contexts.follow()
        node = Node(contexts, clock or Clock(contexts.default.now()))
        try:
            yield node
        finally:
            await node.deliverer.stop()


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_feed, "HEARTBEAT_SECONDS", 0.02)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(database_url: str) -> Settings:
    settings = settings_for(database_url)
    migrate_store(settings)
    return settings


@pytest.fixture
async def node(settings: Settings) -> AsyncIterator[Node]:
    async with open_node(settings) as node:
        yield node


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with receiving() as receiver:
        yield receiver


async def make(node: Node, url: str, only: WebhookFilter = ALL) -> None:
    new = NewWebhook("hook-1", url, only, "", SECRET, True, node.clock.now(), "ann")
    await node.context.store.create_webhook(new, 10)


def verify(message: Received, secret: str = SECRET) -> None:
    """Verifies a message as receivers do, by two libraries."""
    headers = dict(message.headers)
    assert StandardWebhook(secret).verify(message.body, headers) == json.loads(message.body)
    SvixWebhook(secret).verify(message.body, headers)


async def test_all_revisions_are_delivered_in_order_and_signed(node: Node, receiver: WebhookReceiver) -> None:
    await node.put("before")
    await make(node, f"{receiver.url}/hook?key=1")
    tokens = await node.put(*"abcdefghij")

    await node.deliver()

    assert receiver.tokens == tokens
    assert len(set(receiver.ids)) == len(tokens)
    for message in receiver.received:
        verify(message)
    first = receiver.received[0]
    assert (first.path, first.headers["host"]) == ("/hook?key=1", receiver.url.removeprefix("http://"))
    assert first.headers["user-agent"] == "Magistrate/test"
    assert "." not in first.id
    body = json.loads(first.body)
    assert (body["type"], body["timestamp"]) == ("revision", body["data"]["time"])
    assert first.data["objects"] == {"created": [{"objectType": "document", "objectId": "a", "meta": {"a": 1}}]}
    assert first.data["actor"] == "ann"
    await node.deliver()
    assert len(receiver.received) == len(tokens)
    assert node.deliverer.counts.read()["delivered"] == len(tokens)


async def test_what_comes_while_a_process_delivers_is_delivered_at_once(
    node: Node, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_feed, "HEARTBEAT_SECONDS", 30)
    await make(node, receiver.url)
    tokens = await node.put("a")
    await node.deliverer.look()
    await wait_for(receiver, 1)
    tokens += await node.put("b", "c")

    await wait_for(receiver, 3)

    assert receiver.tokens == tokens


async def wait_for(receiver: WebhookReceiver, messages: int) -> None:
    async with asyncio.timeout(20):
        while len(receiver.received) < messages:
            await asyncio.sleep(0.005)


async def test_what_a_filter_does_not_select_is_passed_over(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url, WebhookFilter(object_types=("report", "folder")))
    await node.put("a", "b")
    [wanted] = await node.put("c", of_type="report")
    await node.put("d")

    await node.deliver()

    assert receiver.tokens == [wanted]
    assert (await node.webhook()).position == node.context.store.known.newest


FAILURES: dict[str, Answer] = {
    "500": answer_status(500, b"x" * 100),
    "301": answer_status(301, Location="http://127.0.0.1:9/"),
    "307": answer_status(307, Location="http://127.0.0.1:9/"),
    "404": answer_status(404),
    "reset": reset,
    "nonsense": answer_nonsense,
    "long head": answer_long_head,
}


@pytest.mark.parametrize("name", FAILURES)
async def test_what_a_receiver_does_wrong_is_attempted_again_in_order(
    node: Node, receiver: WebhookReceiver, name: str
) -> None:
    receiver.answers.extend([FAILURES[name]] * 3)
    await make(node, receiver.url)
    tokens = await node.put("a", "b", "c")
    for attempts in (1, 2, 3):
        await node.deliver()
        stored = await node.webhook()
        assert (stored.attempts, stored.state) == (attempts, WebhookState.ENABLED)
        assert stored.reason
        pause = PAUSES_SECONDS[attempts - 1]
        assert stored.due_at is not None
        assert pause * SECOND <= stored.due_at - node.clock.now() <= pause * (1 + MAX_JITTER) * SECOND
        node.clock.advance(pause - 1)
        await node.deliver()
        assert len(receiver.received) == attempts
        node.clock.advance(pause * MAX_JITTER + 1)

    await node.deliver()

    assert receiver.tokens == [tokens[0]] * 4 + tokens[1:]
    assert len({(each.id, each.body) for each in receiver.received}) == 3
    stored = await node.webhook()
    assert (stored.attempts, stored.reason) == (0, "")
    listed = (await node.context.store.list_webhook_attempts("hook-1")).value
    assert [attempt.number for attempt in reversed(listed)] == [1, 2, 3, 4, 1, 1]
    assert [bool(attempt.failure) for attempt in reversed(listed)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("answer", [WebhookReceiver.never_answer, WebhookReceiver.answer_slowly])
async def test_a_receiver_that_never_answers_holds_nobody(
    node: Node,
    receiver: WebhookReceiver,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[WebhookReceiver, SilentHandler], None],
) -> None:
    monkeypatch.setattr(receiver_client, "TIMEOUT_SECONDS", 0.2)
    receiver.answers.append(partial(answer, receiver))
    await make(node, receiver.url)
    await node.put("a")

    await node.deliver()
    assert "no answer within" in (await node.webhook()).reason
    assert (await node.webhook()).attempts == 1
    node.clock.advance(10)
    await node.deliver()

    assert len(set(receiver.ids)) == 1
    assert (await node.webhook()).attempts == 0


async def test_an_answer_without_an_end_is_not_read_to_the_end(node: Node, receiver: WebhookReceiver) -> None:
    receiver.answers.extend([answer_endlessly] * 2)
    await make(node, receiver.url)
    tokens = await node.put("a", "b")

    await node.deliver()

    assert receiver.tokens == tokens


@pytest.mark.parametrize(
    ("status", "retry_after", "least"),
    [(429, "120", 120), (503, "3600", 3_600), (429, "2", 5), (429, "99999999999999", 86_400), (429, "soon", 5)],
)
async def test_a_receiver_says_when_to_come_again(
    node: Node, receiver: WebhookReceiver, status: int, retry_after: str, least: int
) -> None:
    receiver.answers.append(answer_status(status, Retry_After=retry_after))
    await make(node, receiver.url)
    await node.put("a")

    await node.deliver()

    due_at = (await node.webhook()).due_at
    assert due_at is not None
    assert least * SECOND <= due_at - node.clock.now() <= max(least, 5 * (1 + MAX_JITTER)) * SECOND


async def test_a_receiver_that_is_gone_gets_nothing_more(node: Node, receiver: WebhookReceiver) -> None:
    receiver.answers.append(answer_status(410))
    await make(node, receiver.url)
    tokens = await node.put("a", "b")

    await node.deliver()
    node.clock.advance(1_000_000)
    await node.deliver()
    stored = await node.webhook()
    assert (stored.state, stored.due_at) == (WebhookState.GONE, None)
    assert await list_ends(node) == [("hook-1", '{"state":"gone","reason":"the answer has the status 410"}')]
    assert len(receiver.received) == 1
    await enable(node)
    await node.deliver()

    assert receiver.tokens == [tokens[0], *tokens]


async def list_ends(node: Node) -> list[tuple[str, str | None]]:
    """The events of webhooks: id and content."""
    listed = await node.context.store.follow_events(None, 10, EventFilter([EventsOfKind("webhook")]))
    assert {event.actor for event in listed.value.rows} <= {"webhooks"}
    return [(event.key[0], event.content) for event in listed.value.rows]


async def enable(node: Node) -> None:
    await node.context.store.update_webhook("hook-1", lambda row: replace(row, state=WebhookState.ENABLED))


async def test_after_the_last_attempt_a_webhook_is_dead_and_nothing_is_lost(
    node: Node, receiver: WebhookReceiver
) -> None:
    receiver.answers.extend([answer_status(500)] * (len(PAUSES_SECONDS) + 1))
    await make(node, receiver.url)
    tokens = await node.put("a", "b")
    for pause in (*PAUSES_SECONDS, 0):
        assert (await node.webhook()).state is WebhookState.ENABLED
        await node.deliver()
        node.clock.advance(pause * (1 + MAX_JITTER))

    stored = await node.webhook()
    assert (stored.state, stored.attempts) == (WebhookState.DEAD, len(PAUSES_SECONDS) + 1)
    assert stored.reason == "the answer has the status 500"
    assert await list_ends(node) == [("hook-1", '{"state":"dead","reason":"the answer has the status 500"}')]
    assert node.deliverer.counts.read() == {"delivered": 0, "failed": len(PAUSES_SECONDS), "gone": 0, "dead": 1}
    await node.deliver()
    assert len(receiver.received) == len(PAUSES_SECONDS) + 1
    await enable(node)
    await node.deliver()
    assert receiver.tokens[-2:] == tokens


async def test_a_name_that_changes_to_a_private_address_is_not_reached(node: Node, receiver: WebhookReceiver) -> None:
    addresses = ["127.0.0.1", "127.0.0.2", "::ffff:127.0.0.2", "127.0.0.1"]
    looked_up = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        looked_up.append(host)
        return [addresses[0]] if len(looked_up) > 4 else [addresses[len(looked_up) - 1]]

    node.guard(resolve)
    port = receiver.url.rpartition(":")[2]
    await make(node, f"http://receiver.test:{port}/hook")
    tokens = await node.put("a", "b")
    await node.deliver()
    assert (await node.webhook()).reason == "127.0.0.2 is no public address"
    node.clock.advance(10)
    await node.deliver()
    assert (await node.webhook()).reason == "::ffff:7f00:2 is no public address"
    node.clock.advance(1_000)
    await node.deliver()

    assert receiver.tokens == tokens
    assert set(looked_up) == {"receiver.test"}
    assert {each.headers["host"] for each in receiver.received} == {f"receiver.test:{port}"}


async def test_the_certificate_must_be_that_of_the_name_and_not_of_the_address(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    node.guard(resolve)
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with receiving(authority.serve(authority.issue("receiver", names=("receiver.test",)))) as receiver:
        port = receiver.url.rpartition(":")[2]
        await make(node, f"https://other.test:{port}/")
        [token] = await node.put("a")
        await node.deliver()
        assert "CERTIFICATE_VERIFY_FAILED" in (await node.webhook()).reason
        url = f"https://receiver.test:{port}/"
        await node.context.store.update_webhook("hook-1", lambda row: replace(row, url=url))
        node.clock.advance(10)
        await node.deliver()

    assert receiver.tokens == [token]


async def test_one_private_address_among_others_is_enough(node: Node, receiver: WebhookReceiver) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1", "10.0.0.1"]

    node.guard(resolve)
    await make(node, receiver.url)
    await node.put("a")

    await node.deliver()

    assert (await node.webhook()).reason == "10.0.0.1 is no public address"
    assert receiver.received == []


async def test_a_long_change_is_pointed_to(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url, WebhookFilter(object_types=("document",)))
    before = write_token(node.context.store.identity, (await node.webhook()).position)
    [token] = await put_large(node)

    await node.deliver()

    [message] = receiver.received
    assert len(message.body) < 20_000
    assert message.data == {
        "token": token,
        "watch": f"https://us.example/v2/watch?since={before}&objectType=document",
    }
    verify(message)


async def put_large(node: Node) -> list[str]:
    new = NewObject(TypeName("document"), ObjectId("large"), json.dumps({"text": "x" * 20_000}))
    await node.context.store.put_objects([new], node.context.stamp("ann"))
    return [write_token(node.context.store.identity, node.context.store.known.newest)]


async def test_a_webhook_that_always_has_something_lets_others_have_their_turn(
    node: Node, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer, "MAX_DELIVERIES_AT_ONCE", 1)
    monkeypatch.setattr(delivery, "MAX_SECONDS", 0.0)
    await make(node, f"{receiver.url}/1")
    second = NewWebhook("hook-2", f"{receiver.url}/2", ALL, "", SECRET, True, node.clock.now(), "ann")
    await node.context.store.create_webhook(second, 10)
    for name in "abcd":
        await node.put(name)
        node.clock.advance(1)
        await node.deliver()

    assert {each.path for each in receiver.received} == {"/1", "/2"}


async def test_both_secrets_sign_after_a_rotation_until_it_is_a_day_ago(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url)
    rotated = await rotate_secret(node.context, "hook-1", None)
    await node.put("a")
    await node.deliver()
    node.clock.advance(86_400)
    await node.put("b")
    await node.deliver()

    first, second = receiver.received
    verify(first)
    verify(first, rotated.value.secret)
    verify(second, rotated.value.secret)
    assert len(second.headers["webhook-signature"].split(" ")) == 1


async def test_a_replay_sends_the_same_messages_again(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url)
    tokens = await node.put("a", "b", "c")
    await node.deliver()

    await replay_webhook(node.context, "hook-1", tokens[0])
    await node.deliver()

    assert receiver.tokens == [*tokens, *tokens[1:]]
    assert receiver.ids[1:3] == receiver.ids[3:]


async def test_a_test_message_is_sent_at_once_and_moves_nothing(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url)
    await node.context.store.update_webhook("hook-1", lambda row: replace(row, state=WebhookState.DISABLED))
    await node.put("a")
    before = await node.webhook()

    attempt = (await send_test(node.context, "hook-1")).value

    assert (attempt.status, attempt.failure) == (204, "")
    assert receiver.received[0].data["test"] is True
    verify(receiver.received[0])
    assert await node.webhook() == before
    assert (await node.context.store.list_webhook_attempts("hook-1")).value == (attempt,)


async def test_while_disabled_changes_are_kept(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url)
    await node.context.store.update_webhook("hook-1", lambda row: replace(row, state=WebhookState.DISABLED))
    tokens = await node.put("a", "b")
    await node.deliver()
    assert receiver.received == []

    await enable(node)
    await node.deliver()

    assert receiver.tokens == tokens


async def test_what_is_not_kept_any_more_is_said_to_be_skipped(node: Node, receiver: WebhookReceiver) -> None:
    await make(node, receiver.url)
    position = (await node.webhook()).position
    await node.put("a", "b", "c")
    await node.context.store.delete_events(node.clock.now() + SECOND, 100)
    await node.deliver()
    tokens = await node.put("d")
    receiver.answers.append(answer_status(500))

    await node.deliver()
    node.clock.advance(10)
    await node.deliver()

    skip = receiver.received[0]
    assert skip.data["skippedAfter"] == write_token(node.context.store.identity, position)
    assert receiver.tokens[-1:] == tokens
    stored = await node.webhook()
    assert (stored.skipped, stored.skipped_at is not None) == (position, True)


async def test_another_process_takes_over_and_nothing_is_lost(
    settings: Settings, node: Node, receiver: WebhookReceiver
) -> None:
    await make(node, receiver.url)
    tokens = await node.put("a", "b", "c")
    until = node.clock.now() + round(LEASE_SECONDS * SECOND)
    leased = await node.context.store.lease_webhook("hook-1", node.clock.now(), until)
    assert leased is not None
    async with open_node(settings, node.clock) as other:
        await other.deliver()
        assert receiver.received == []
        node.clock.advance(LEASE_SECONDS)
        await other.deliver()

    assert receiver.tokens == tokens
    assert LEASE_SECONDS < 60


async def test_a_paused_process_sends_nothing_when_another_has_taken_over(
    settings: Settings, node: Node, receiver: WebhookReceiver
) -> None:
    """It is paused while it sends; what it was about to write counts for nothing."""
    receiver.answers.append(receiver.never_answer)
    await make(node, receiver.url)
    tokens = await node.put("a", "b", "c")
    await node.deliverer.look()
    await wait_for(receiver, 1)
    async with open_node(settings, node.clock) as other:
        node.clock.advance(LEASE_SECONDS + 1)
        await other.deliver()
        assert receiver.tokens == [tokens[0], *tokens]
        moved = await node.webhook()
        receiver.released.set()
        while node.deliverer.has_work:
            await asyncio.sleep(0.005)

    assert receiver.tokens == [tokens[0], *tokens]
    assert await node.webhook() == moved


async def test_two_processes_deliver_each_revision_once(settings: Settings, receiver: WebhookReceiver) -> None:
    async with open_node(settings) as node, open_node(settings) as other:
        other.context.now = node.clock.now
        await make(node, receiver.url)
        tokens: list[str] = []
        for number in range(10):
            tokens += await node.put(f"a{number}")
            tokens += await other.put(f"b{number}")
            await asyncio.gather(node.deliver(), other.deliver())
        await asyncio.gather(node.deliver(), other.deliver())

    assert receiver.tokens == tokens


async def test_a_stopped_process_lets_others_deliver_at_once(
    settings: Settings, node: Node, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_feed, "HEARTBEAT_SECONDS", 30)
    await make(node, receiver.url)
    tokens = await node.put("a")
    await node.deliverer.look()
    await wait_for(receiver, 1)
    while (await node.webhook()).position != node.context.store.known.newest:
        await asyncio.sleep(0.005)
    await node.deliverer.stop()
    monkeypatch.setattr(revision_feed, "HEARTBEAT_SECONDS", 0.02)
    tokens += await node.put("b")

    await node.deliver()

    assert receiver.tokens == tokens


ACCESS = WebhookFilter(of=("document#viewer@user",))


async def define(node: Node) -> None:
    definitions = {"document": '{"relations":{"viewer":{}}}', "user": '{"relations":{}}'}
    types = [NewObjectType(TypeName(name), text) for name, text in definitions.items()]
    await node.context.store.put_object_types(types, lambda model: None, node.context.stamp("ann"))


async def grant(node: Node, *written: str, expires_at: int | None = None) -> str:
    """Creates warrants in one write, and returns the token."""
    new = [_read_warrant(each, expires_at) for each in written]
    stored = await node.context.store.put_warrants(new, lambda model: None, node.context.stamp("ann"))
    return write_token(node.context.store.identity, await node.context.store.identify(stored.revision))


def _read_warrant(written: str, expires_at: int | None) -> NewWarrant:
    ref, _, rest = written.partition("#")
    relation, _, subject = rest.partition("@")
    to = Subject(TypeName(subject.partition(":")[0]), ObjectId(subject.partition(":")[2]))
    return NewWarrant(object_ref(*ref.split(":")), RelationName(relation), to, expires_at=expires_at)


async def test_access_that_is_gained_and_lost_is_delivered(node: Node, receiver: WebhookReceiver) -> None:
    await define(node)
    await make(node, receiver.url, ACCESS)
    receiver.answers.append(answer_status(500))
    first = await grant(node, "document:a#viewer@user:ann")
    await node.put("other")
    second = await grant(node, "document:b#viewer@user:ann")
    await node.deliverer.look()
    await wait_for(receiver, 1)
    while node.deliverer.has_work:
        await asyncio.sleep(0.005)
    node.clock.advance(10)

    await node.deliverer.look()
    await wait_for(receiver, 3)
    await node.context.store.delete_objects([object_ref("document", "a")], node.context.stamp("ann"))
    await wait_for(receiver, 4)

    assert receiver.tokens[:3] == [first, first, second]
    for message in receiver.received:
        verify(message)
        assert json.loads(message.body)["type"] == "access"
    gained, lost = receiver.received[1].data["gained"], receiver.received[3].data["lost"]
    subject = {"objectType": "user", "objectId": "ann"}
    for rows in (gained, lost):
        [row] = rows
        assert (row["objectId"], row["relation"], row["subject"]) == ("a", "viewer", subject)


async def test_a_long_message_about_access_is_the_same_from_wherever_it_is_reached(
    node: Node, receiver: WebhookReceiver
) -> None:
    await define(node)
    [earlier] = await node.put("before")
    await node.put(*map(str, range(150)))
    await make(node, receiver.url, ACCESS)
    before = write_token(node.context.store.identity, (await node.webhook()).position)
    token = await grant(node, *(f"document:{number}#viewer@user:ann" for number in range(200)))
    await node.deliverer.look()
    await wait_for(receiver, 1)
    await node.deliverer.stop()
    await replay_webhook(node.context, "hook-1", earlier)

    await node.deliverer.look()
    await wait_for(receiver, 2)

    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    of = "document%23viewer%40user"
    assert first.data == {"token": token, "watch": f"https://us.example/v2/watch/access?of={of}&since={before}"}
    verify(first)


async def test_access_that_ends_with_time_is_delivered_when_it_does(node: Node, receiver: WebhookReceiver) -> None:
    await define(node)
    await make(node, receiver.url, ACCESS)
    await grant(node, "document:a#viewer@user:ann", expires_at=node.clock.now() + 5 * SECOND)
    await node.deliverer.look()
    while not (await node.context.store.list_webhook_attempts("hook-1")).value:
        await asyncio.sleep(0.005)
    await node.deliverer.stop()
    node.clock.advance(6)

    await node.deliverer.look()
    await wait_for(receiver, 2)

    assert [row["objectId"] for row in receiver.received[1].data["lost"]] == ["a"]
    assert len(set(receiver.ids)) == 2
    assert receiver.tokens[0] == receiver.tokens[1]


async def test_a_type_that_is_not_defined_any_more_disables_a_webhook_of_access(
    node: Node, receiver: WebhookReceiver
) -> None:
    await define(node)
    await make(node, receiver.url, WebhookFilter(of=("document#editor@user",)))

    await node.deliver()

    stored = await node.webhook()
    assert stored.state is WebhookState.DISABLED
    assert "relation editor is not defined on document" in stored.reason


async def test_a_deleted_webhook_gets_nothing_more(node: Node, receiver: WebhookReceiver) -> None:
    receiver.answers.append(receiver.never_answer)
    await make(node, receiver.url)
    await node.put("a", "b")
    await node.deliverer.look()
    await wait_for(receiver, 1)

    await node.context.store.delete_webhook("hook-1")
    receiver.released.set()
    await node.deliver()

    assert len(receiver.received) == 1
