"""openfga-sdk, as installed from its registry, against `/stores` (docs/openfga.md): both of its clients, with all
methods that these have."""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from aiohttp import ClientConnectionError
from openfga_sdk import OpenFgaClient, ReadRequestTupleKey, UserTypeFilter, WriteAuthorizationModelRequest
from openfga_sdk.client import ClientConfiguration
from openfga_sdk.client.models import (
    ClientAssertion,
    ClientBatchCheckItem,
    ClientBatchCheckRequest,
    ClientCheckRequest,
    ClientExpandRequest,
    ClientListObjectsRequest,
    ClientListRelationsRequest,
    ClientReadChangesRequest,
    ClientTuple,
    ClientWriteRequest,
    WriteTransactionOpts,
)
from openfga_sdk.client.models.list_users_request import ClientListUsersRequest
from openfga_sdk.client.models.write_conflict_opts import (
    ClientWriteRequestOnDuplicateWrites,
    ClientWriteRequestOnMissingDeletes,
    ConflictOptions,
)
from openfga_sdk.credentials import CredentialConfiguration, Credentials
from openfga_sdk.exceptions import NotFoundException, UnauthorizedException, ValidationException
from openfga_sdk.models.create_store_request import CreateStoreRequest
from openfga_sdk.models.fga_object import FgaObject
from openfga_sdk.sync import OpenFgaClient as SyncOpenFgaClient

from tests.generated_docs import ROOT
from tests.openfga.conversation import MODEL
from tests.running import KEY, Client

pytestmark = pytest.mark.anyio

CLIENTS: dict[str, Any] = {"asyncio": OpenFgaClient, "threads": SyncOpenFgaClient}
UNKNOWN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class AnyClient:
    """Calls the methods of either client in the same way, and notes which."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.called: set[str] = set()

    async def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        self.called.add(name)
        returned = getattr(self._client, name)(*arguments, **named)
        return await returned if isinstance(returned, Awaitable) else returned

    async def collect(self, name: str, *arguments: Any, **named: Any) -> list[Any]:
        """Returns what a method yields."""
        self.called.add(name)
        yielded: AsyncIterator[Any] | Iterator[Any] = getattr(self._client, name)(*arguments, **named)
        if isinstance(yielded, AsyncIterator):
            return [element async for element in yielded]
        return list(yielded)


def tuple_of(text: str) -> ClientTuple:
    of_object, relation, user = text.split(" ")
    return ClientTuple(user=user, relation=relation, object=of_object)


def check_of(text: str, *contextual: str) -> ClientCheckRequest:
    of_object, relation, user = text.split(" ")
    tuples = [*map(tuple_of, contextual)] or None
    return ClientCheckRequest(user=user, relation=relation, object=of_object, contextual_tuples=tuples)


async def begin(client: AnyClient) -> tuple[str, str]:
    """Makes a store with a model and tuples, and returns their ids."""
    made = await client.call("create_store", CreateStoreRequest(name="SDK store"))
    await client.call("set_store_id", made.id)
    written = await client.call("write_authorization_model", WriteAuthorizationModelRequest(**MODEL))
    texts = "file:a viewer user:ann", "file:a owner user:bob", "file:b viewer team:core#member"
    await client.call("write", ClientWriteRequest(writes=[*map(tuple_of, (*texts, "team:core member user:ann"))]))
    return made.id, written.authorization_model_id


async def show_stores(client: AnyClient) -> None:
    made = await client.call("create_store", CreateStoreRequest(name="SDK store"))
    await client.call("set_store_id", made.id)
    assert await client.call("get_store_id") == made.id
    stored = await client.call("get_store")
    assert (stored.id, stored.name, stored.created_at) == (made.id, "SDK store", made.created_at)
    first = await client.call("list_stores", {"page_size": 1})
    following = await client.call(
        "list_stores", {"page_size": 100, "continuation_token": first.continuation_token, "name": ""}
    )
    assert len(first.stores) == 1
    assert made.id in {store.id for store in following.stores}
    named = await client.call("list_stores", {"name": "SDK store"})
    assert made.id in {store.id for store in named.stores}
    await client.call("delete_store")
    with pytest.raises(NotFoundException):
        await client.call("get_store")


async def show_models(client: AnyClient) -> None:
    _, first = await begin(client)
    written = await client.call("write_authorization_model", WriteAuthorizationModelRequest(**MODEL))
    newest = await client.call("read_latest_authorization_model")
    assert newest.authorization_model.id == written.authorization_model_id
    page = await client.call("read_authorization_models", {"page_size": 1})
    rest = await client.call(
        "read_authorization_models", {"page_size": 1, "continuation_token": page.continuation_token}
    )
    assert [page.authorization_models[0].id, rest.authorization_models[0].id] == [newest.authorization_model.id, first]
    await client.call("set_authorization_model_id", first)
    assert await client.call("get_authorization_model_id") == first
    kept = (await client.call("read_authorization_model")).authorization_model
    assert [each.type for each in kept.type_definitions] == ["user", "team", "folder", "file"]
    viewer = kept.type_definitions[3].relations["viewer"].union.child
    assert viewer[2].tuple_to_userset.tupleset.relation == "folder"
    with pytest.raises(ValidationException) as raised:
        await client.call("read_authorization_model", {"authorization_model_id": UNKNOWN_ID})
    assert raised.value.code == "authorization_model_not_found"
    assert raised.value.request_id


async def show_tuples(client: AnyClient) -> None:
    await begin(client)
    read = await client.call("read", ReadRequestTupleKey(object="file:a"), {"page_size": 1})
    following = await client.call(
        "read", ReadRequestTupleKey(object="file:a"), {"continuation_token": read.continuation_token}
    )
    assert [row.key.user for row in (*read.tuples, *following.tuples)] == ["user:ann", "user:bob"]
    assert following.continuation_token == ""
    assert len((await client.call("read", ReadRequestTupleKey())).tuples) == 4

    added = [*map(tuple_of, ("file:c viewer user:*", "file:d viewer user:x"))]
    written = await client.call("write_tuples", added)
    assert [each.success for each in written.writes] == [True, True]
    with pytest.raises(ValidationException) as raised:
        await client.call("write_tuples", added)
    assert raised.value.code == "write_failed_due_to_invalid_input"
    ignoring = ConflictOptions(
        on_duplicate_writes=ClientWriteRequestOnDuplicateWrites.IGNORE,
        on_missing_deletes=ClientWriteRequestOnMissingDeletes.IGNORE,
    )
    missing = [tuple_of("file:z viewer user:x")]
    await client.call("write", ClientWriteRequest(writes=added, deletes=missing), {"conflict": ignoring})
    chunked = WriteTransactionOpts(disabled=True, max_per_chunk=1, max_parallel_requests=2)
    request = ClientWriteRequest(writes=[added[0], tuple_of("file:e viewer user:x")])
    parts = await client.call("write", request, {"transaction": chunked})
    assert {(each.tuple_key.object, each.success) for each in parts.writes} == {("file:c", False), ("file:e", True)}
    deleted = await client.call("delete_tuples", added)
    assert [each.success for each in deleted.deletes] == [True, True]
    assert len((await client.call("read", ReadRequestTupleKey(object="file:c"))).tuples) == 0


async def show_changes(client: AnyClient) -> None:
    await begin(client)
    await client.call("delete_tuples", [tuple_of("file:a viewer user:ann")])
    body, seen, token = ClientReadChangesRequest(type="file"), [], ""
    while True:
        page = await client.call("read_changes", body, {"page_size": 1, "continuation_token": token})
        if not page.changes:
            break
        token = page.continuation_token
        seen += [(change.operation, change.tuple_key.object) for change in page.changes]
    assert page.continuation_token == token
    writes = [("TUPLE_OPERATION_WRITE", of_object) for of_object in ("file:a", "file:a", "file:b")]
    assert seen == [*writes, ("TUPLE_OPERATION_DELETE", "file:a")]
    began = page = await client.call("read_changes", ClientReadChangesRequest("", start_time="2001-01-01T00:00:00Z"))
    assert len(began.changes) == 5


async def show_checks(client: AnyClient) -> None:
    _, first = await begin(client)
    assert (await client.call("check", check_of("file:a viewer user:bob"))).allowed is True
    assert (await client.call("check", check_of("file:a viewer user:cleo"))).allowed is False
    contextual = check_of("file:a viewer user:cleo", "team:new member user:cleo", "file:a viewer team:new#member")
    assert (await client.call("check", contextual, {"consistency": "HIGHER_CONSISTENCY"})).allowed
    await client.call("write_authorization_model", WriteAuthorizationModelRequest(**MODEL))
    former = await client.call("check", check_of("file:b viewer user:ann"), {"authorization_model_id": first})
    assert former.allowed

    texts = [f"file:a viewer user:{name}" for name in ("ann", "bob", "cleo")] * 20
    single = await client.call("client_batch_check", [*map(check_of, texts[:12])])
    assert {(each.request.user, each.allowed) for each in single} == {
        ("user:ann", True), ("user:bob", True), ("user:cleo", False),
    }  # fmt: skip
    items = [
        ClientBatchCheckItem(user=f"user:{name}", relation="viewer", object="file:a", correlation_id=f"{name}-{number}")
        for number in range(20)
        for name in ("ann", "cleo", "dan")
    ]
    items.append(ClientBatchCheckItem(user="user:ann", relation="nothing", object="file:a", correlation_id="wrong"))
    batch = await client.call("batch_check", ClientBatchCheckRequest(checks=items))
    by_id = {each.correlation_id: each for each in batch.result}
    assert {name for name, each in by_id.items() if each.allowed} == {f"ann-{number}" for number in range(20)}
    assert by_id["wrong"].error.input_error == "validation_error"
    listed = ClientListRelationsRequest(user="user:bob", relations=["owner", "viewer", "signer"], object="file:a")
    assert sorted(await client.call("list_relations", listed)) == ["owner", "viewer"]


async def show_lists(client: AnyClient) -> None:
    await begin(client)
    request = ClientListObjectsRequest(user="user:ann", relation="viewer", type="file")
    assert (await client.call("list_objects", request)).objects == ["file:a", "file:b"]
    streamed = await client.collect("streamed_list_objects", request)
    assert [each.object for each in streamed] == ["file:a", "file:b"]
    nothing = ClientListObjectsRequest(user="user:zoe", relation="viewer", type="file")
    assert await client.collect("streamed_list_objects", nothing) == []
    # That for asyncio reads the body of an error twice, and fails then.
    with pytest.raises((ValidationException, ClientConnectionError)):
        await client.collect("streamed_list_objects", ClientListObjectsRequest("user:ann", "viewer", "robot"))
    contextual = [tuple_of("file:a viewer user:*")]
    users = await client.call(
        "list_users",
        ClientListUsersRequest(FgaObject("file", "a"), "viewer", [UserTypeFilter("user")], contextual),
    )
    ids = {each.object.id for each in users.users if each.object is not None}
    assert (ids, [each.wildcard.type for each in users.users if each.wildcard]) == ({"ann", "bob"}, ["user"])
    usersets = await client.call(
        "list_users", ClientListUsersRequest(FgaObject("file", "b"), "viewer", [UserTypeFilter("team", "member")])
    )
    assert [each.userset.id for each in usersets.users] == ["core"]
    expanded = await client.call("expand", ClientExpandRequest(relation="viewer", object="file:a"))
    nodes = expanded.tree.root.union.nodes
    assert nodes[0].leaf.users.users == ["user:ann"]
    assert nodes[1].leaf.computed.userset == "file:a#owner"
    assert nodes[2].leaf.tuple_to_userset.computed == []


async def show_assertions(client: AnyClient) -> None:
    _, model_id = await begin(client)
    await client.call("set_authorization_model_id", model_id)
    assert (await client.call("read_assertions")).assertions == []
    await client.call(
        "write_assertions", [ClientAssertion(user="user:ann", relation="viewer", object="file:a", expectation=True)]
    )
    kept = await client.call("read_assertions")
    assert kept.authorization_model_id == model_id
    assert [(each.tuple_key.user, each.expectation) for each in kept.assertions] == [("user:ann", True)]


async def show_other_requests(client: AnyClient) -> None:
    store_id, _ = await begin(client)
    answer = await client.call(
        "execute_api_request",
        operation_name="Check",
        method="POST",
        path="/stores/{store_id}/check",
        path_params={"store_id": store_id},
        body={"tuple_key": {"user": "user:ann", "relation": "viewer", "object": "file:a"}},
    )
    assert (answer.status, answer.json()) == (200, {"allowed": True, "resolution": ""})
    lines = await client.collect(
        "execute_streamed_api_request",
        operation_name="StreamedListObjects",
        method="POST",
        path="/stores/{store_id}/streamed-list-objects",
        path_params={"store_id": store_id},
        body={"user": "user:ann", "relation": "viewer", "type": "file"},
    )
    assert lines == [{"result": {"object": name}} for name in ("file:a", "file:b")]
    await client.call("close")


SCENARIOS: dict[str, Callable[[AnyClient], Awaitable[None]]] = {
    scenario.__name__.removeprefix("show_"): scenario
    for scenario in (
        show_stores, show_models, show_tuples, show_changes, show_checks, show_lists, show_assertions,
        show_other_requests,
    )
}  # fmt: skip


def configure(service: Client, key: str) -> ClientConfiguration:
    credentials = Credentials(method="api_token", configuration=CredentialConfiguration(api_token=key))
    return ClientConfiguration(api_url=str(service.base_url).rstrip("/"), credentials=credentials)


async def run(kind: str, service: Client, scenario: Callable[[AnyClient], Awaitable[None]]) -> set[str]:
    """Returns the methods that a scenario calls."""
    configuration = configure(service, KEY)
    if kind == "asyncio":
        async with OpenFgaClient(configuration) as client:
            called = AnyClient(client)
            await scenario(called)
    else:
        with SyncOpenFgaClient(configuration) as client:
            called = AnyClient(client)
            await scenario(called)
    return called.called


@pytest.mark.parametrize("kind", CLIENTS)
async def test_every_method_of_the_sdk_works(shared_client: Client, kind: str) -> None:
    """A method that a later version of the SDK has needs a scenario."""
    called: set[str] = set()
    for scenario in SCENARIOS.values():
        called |= await run(kind, shared_client, scenario)
    public = {name for name, _ in inspect.getmembers(CLIENTS[kind], callable) if not name.startswith("_")}
    assert called == public


@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_key_that_is_not_valid_is_an_error_of_its_own(shared_client: Client, kind: str) -> None:
    async def show(client: AnyClient) -> None:
        with pytest.raises(UnauthorizedException):
            await client.call("list_stores")

    client = CLIENTS[kind](configure(shared_client, "another-key"))
    called = AnyClient(client)
    await show(called)
    await called.call("close")


def test_the_lines_of_the_page_check_as_they_say(shared_client: Client) -> None:
    with SyncOpenFgaClient(configure(shared_client, KEY)) as client:
        store_id = client.create_store(CreateStoreRequest(name="page")).id
        client.set_store_id(store_id)
        client.write_authorization_model(WriteAuthorizationModelRequest(**MODEL))
        client.write_tuples([tuple_of("file:a viewer user:ann")])
    [lines] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "openfga.md").read_text(), re.DOTALL)
    url = str(shared_client.base_url).rstrip("/")
    for shown, tried in {
        "http://127.0.0.1:8000": url,
        "document:plan": "file:a",
        "client.check": "answer = client.check",
    }.items():
        assert shown in lines
        lines = lines.replace(shown, tried)
    names: dict[str, Any] = {"KEY": KEY, "STORE": store_id}

    exec(lines, names)

    assert names["answer"].allowed is True
