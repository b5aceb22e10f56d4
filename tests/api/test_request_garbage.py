"""A request leaves no cycles of references: what survives a collection is frozen, and would stay for good
(wiring/garbage_collection.py)."""

import gc
from collections.abc import Iterator

import pytest

from tests.conftest import list_by_day
from tests.running import Client, running_service, settings_for, wait_for_stopped_services

REQUESTS = 20
OWNERS = ("magistrate.", "uvicorn.", "falcon.")
SUBJECT = {"objectType": "user", "objectId": "ann"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    wait_for_stopped_services()  # which leave something, and ran in this process
    url = f"sqlite:///{tmp_path_factory.mktemp('garbage')}/magistrate.db"
    with running_service(settings_for(url)) as served, Client(served) as client:
        client.define({"document": {"viewer": {"inheritIf": "editor"}, "editor": {}}, "user": {}})
        yield client


def send(client: Client, kind: str, number: int) -> None:
    """Sends a request whose answer nothing has cached, except for one of the kinds."""
    match kind:
        case "check":
            client.ask(f"document:{number}#viewer@user:ann")
        case "cached check":
            client.ask("document:cached#viewer@user:ann")
        case "explained check":
            client.ask(f"document:{number}#viewer@user:ann", explain=True)
        case "list of objects":
            client.get("/v2/query", params={"q": f"select document where user:ann-{number} is viewer"})
        case "list of subjects":
            client.get("/v2/query", params={"q": f"select user where document:{number} is viewer"})
        case "page of objects":
            client.get("/v2/objects", params={"limit": 1 + number})
        case "write":
            client.grant(f"document:{number}#editor@user:ann")
        case "bad request":
            client.post("/v2/check", json={"warrants": number})
        case "nothing there":
            client.get(f"/v2/objects/document/none-{number}")


KINDS = (
    "check",
    "cached check",
    "explained check",
    "list of objects",
    "list of subjects",
    "page of objects",
    "write",
    "bad request",
    "nothing there",
)


@pytest.mark.parametrize("kind", list_by_day(KINDS, 3))
def test_requests_leave_nothing_that_only_a_collection_would_free(client: Client, kind: str) -> None:
    for number in range(REQUESTS):
        send(client, kind, number)
    gc.unfreeze()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for number in range(REQUESTS, 2 * REQUESTS):
            send(client, kind, number)
        gc.collect()
        left = {type(one).__qualname__ for one in gc.garbage if type(one).__module__.startswith(OWNERS)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert left == set()
