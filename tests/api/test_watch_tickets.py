"""Tickets with which a browser opens a stream: once, in time, for the store and with the rights of the key, and never
written or kept in memory (docs/watch.md#browsers)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from magistrate.api.http import request_values
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.operations.watch import tickets
from magistrate.store.contract.stores import StoredStore, StoreUsage
from tests.api.watching import Event, Watching, list_granted, watching
from tests.databases import dump
from tests.running import KEY, Client, running_server, running_service, settings_for
from tests.scenario_files import warrant_body

PATHS = ("/v2/watch", "/v2/watch/access")


@pytest.fixture
def service(client: Client) -> Client:
    client.define({"document": {"viewer": {}}, "folder": {"viewer": {}}})
    return client


def grant(number: int) -> str:
    return f"document:{number}#viewer@user:ann"


def issue(client: Client, key: str = KEY, prefix: str = "") -> str:
    answer = client.post(f"{prefix}/v2/watch/tickets", headers={"Authorization": f"ApiKey {key}"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["ticket"])


def make_key(client: Client, prefix: str = "", **members: Any) -> dict[str, Any]:
    body = {"name": "reader", "scopes": ["events"], **members}
    issued: dict[str, Any] = client.post(f"{prefix}/v2/keys", json=body).json()
    return issued


def ask(client: Client, path: str, method: str = "GET", key: str = "") -> httpx.Response:
    """The answer to a request with this key, without a header Authorization if it is empty; a stream is cut off."""
    headers = {"Authorization": key} if key else {}
    with (
        httpx.Client(base_url=client.base_url, trust_env=False, timeout=30) as own,
        own.stream(method, path, headers=headers) as answer,
    ):
        if answer.headers.get("Content-Type") != "text/event-stream":
            answer.read()
        return answer


def opened(client: Client, ticket: str, query: str = "", path: str = "/v2/watch") -> Any:
    return watching(client, f"{query}&ticket={ticket}", path=path, key="", accept="text/event-stream")


@pytest.mark.parametrize("path", PATHS)
def test_a_ticket_opens_one_stream(service: Client, path: str) -> None:
    query = "of=document%23viewer%40user" if path.endswith("access") else "objectType=document"
    issued = service.post("/v2/watch/tickets")
    ticket = issued.json()["ticket"]

    with opened(service, ticket, query, path) as stream:
        first = stream.next()
        service.grant(grant(1))
        event = stream.next_of("revision", "access")
    again = ask(service, f"{path}?{query}&ticket={ticket}")

    assert first["event"] == "checkpoint"
    assert event["token"] != first["token"]
    assert issued.json().keys() == {"ticket", "expiresAt"}
    assert issued.headers["Cache-Control"] == "no-store"
    assert (again.status_code, again.json()["code"]) == (401, "unauthorized")
    assert again.headers["WWW-Authenticate"]


def test_a_ticket_is_good_for_a_minute(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = service.post("/v2/watch/tickets").json()
    left = datetime.fromisoformat(made["expiresAt"]) - datetime.now(UTC)

    monkeypatch.setattr(tickets, "VALID_SECONDS", 0)
    expired = ask(service, f"/v2/watch?ticket={issue(service)}")

    assert timedelta(0) < left <= timedelta(seconds=60)
    assert (expired.status_code, expired.json()["code"]) == (401, "unauthorized")
    assert ask(service, f"/v2/watch?ticket={made['ticket']}").status_code == 200


def test_the_database_has_the_digest_of_a_ticket_alone(database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        ticket = issue(client)
        tables = dump(database_url)

    assert [row[0] for row in tables["watch_ticket"]] == [key_digest(ticket)]
    assert ticket not in str(tables)


@pytest.mark.parametrize("ticket", ["", "x", KEY, "magistrate_ticket_" + "0" * 16 + "_" + "A" * 43, "%00", "%FF", "é"])
def test_what_is_no_ticket_is_refused(service: Client, ticket: str) -> None:
    for path in PATHS:
        answer = ask(service, f"{path}?ticket={ticket}", key=f"ApiKey {KEY}")

        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.json().keys() == {"code", "message"}


def test_head_leaves_a_ticket(service: Client) -> None:
    ticket = issue(service)

    assert [ask(service, f"/v2/watch?ticket={ticket}", "HEAD").status_code for _ in range(2)] == [200, 200]
    assert ask(service, f"/v2/watch?ticket={ticket}").status_code == 200
    assert ask(service, f"/v2/watch?ticket={ticket}", "HEAD").status_code == 401


def test_a_ticket_opens_nothing_else(service: Client) -> None:
    ticket = issue(service)

    assert ask(service, f"/v2/objects?ticket={ticket}").status_code == 401
    assert ask(service, "/v2/watch", key=f"ApiKey {ticket}").status_code == 401
    assert ask(service, f"/v2/watch?ticket={ticket}").status_code == 200


def test_the_header_of_a_proxy_does_not_matter(service: Client) -> None:
    assert ask(service, f"/v2/watch?ticket={issue(service)}", key="Basic YW5uOnNlc2FtZQ==").status_code == 200


def test_of_many_at_the_same_time_on_two_nodes_one_gets_the_stream(database_url: str) -> None:
    settings = settings_for(database_url)
    with ExitStack() as stack:
        nodes = [stack.enter_context(Client(stack.enter_context(running_service(settings)))) for _ in range(2)]
        for _ in range(3):
            path = f"/v2/watch?ticket={issue(nodes[0])}"
            with ThreadPoolExecutor(10) as pool:
                statuses = [answer.status_code for answer in pool.map(partial(ask, path=path), nodes * 5)]

            assert sorted(statuses) == [200] + [401] * 9


def test_a_ticket_allows_what_its_key_does(service: Client) -> None:
    limited = make_key(service, objectTypes=["folder"])["key"]
    reader = make_key(service, name="other", scopes=["read"])["key"]

    statuses = [
        ask(service, f"/v2/watch?{query}ticket={issue(service, limited)}").status_code
        for query in ("", "objectType=document&", "objectType=folder&")
    ]
    refused = service.post("/v2/watch/tickets", headers={"Authorization": f"ApiKey {reader}"})

    assert statuses == [403, 403, 200]
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_store_may_grow_while_its_ticket_is_looked_up(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    find = StoreContexts.find

    def find_grown(self: StoreContexts, named: str) -> StoredStore | None:
        found = find(self, named)
        return found and replace(found, usage=StoreUsage(98, 99))

    monkeypatch.setattr(StoreContexts, "find", find_grown)

    assert ask(service, f"/stores/default/v2/watch?ticket={issue(service)}").status_code == 200


def test_a_ticket_is_for_one_store(service: Client) -> None:
    for name in ("other", "third"):
        service.post("/v2/stores", json={"name": name, "from": "default"}).raise_for_status()
    own = make_key(service, "/stores/other")["key"]

    for ticket in (issue(service, prefix="/stores/other"), issue(service, own)):
        with opened(service, ticket) as stream:
            service.grant(grant(1))
            service.post("/stores/other/v2/warrants", json=warrant_body(grant(2))).raise_for_status()
            assert list_granted(stream.take(1)) == ["2"]
        service.delete_json("/stores/other/v2/warrants", warrant_body(grant(2))).raise_for_status()
    for ticket in (issue(service, prefix="/stores/other"), issue(service, own)):
        refused = [ask(service, f"{prefix}/v2/watch?ticket={ticket}") for prefix in ("/stores/third", "/stores/none")]
        assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(404, "not_found")] * 2
        assert ask(service, f"/stores/other/v2/watch?ticket={ticket}").status_code == 200
    ticket = issue(service)
    assert ask(service, f"/stores/other/v2/watch?ticket={ticket}").status_code == 404
    assert ask(service, f"/stores/default/v2/watch?ticket={ticket}").status_code == 200


def read_end(stream: Watching) -> Event:
    return stream.read_all()[-1]


def test_a_key_that_is_deleted_ends_its_tickets_and_their_streams(service: Client) -> None:
    key = make_key(service)
    unused = issue(service, key["key"])

    with opened(service, issue(service, key["key"])) as stream, opened(service, issue(service)) as other:
        stream.next()
        service.delete(f"/v2/keys/{key['id']}")
        assert read_end(stream)["reason"] == "key_ended"
        service.grant(grant(1))
        assert list_granted(other.take(1)) == ["1"]
    assert ask(service, f"/v2/watch?ticket={unused}").status_code == 401


def test_a_store_has_so_many_tickets_at_most(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "MAX_OPEN_TICKETS", 2)
    made = [issue(service) for _ in range(2)]

    refused = service.post("/v2/watch/tickets")
    ask(service, f"/v2/watch?ticket={made[0]}")

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert refused.headers["Retry-After"]
    assert service.post("/v2/watch/tickets").status_code == 200


def test_a_ticket_works_while_its_address_sends_wrong_ones(database_url: str) -> None:
    settings = settings_for(database_url, rate_limit_unauthenticated=1)
    with running_service(settings) as url, Client(url) as client:
        for _ in range(10):
            last = ask(client, "/v2/watch?ticket=x")
        assert last.status_code == 429
        assert ask(client, f"/v2/watch?ticket={issue(client)}").status_code == 200


def test_a_ticket_is_neither_answered_nor_kept_in_memory(database_url: str) -> None:
    """Wherever it is sent to, by mistake."""
    with running_server(settings_for(database_url)) as (url, server), Client(url) as client:
        ticket = issue(client)
        for path in ("/v2/watch", "/v2//watch", "/v2/objects", "/v2/query", "/v2/unknown", "/v2/watch/tickets"):
            for query in (f"ticket={ticket}", f"limit=1&%74icket={ticket}", f"other={ticket}"):
                answer = ask(client, f"{path}?{query}", key=f"ApiKey {KEY}")
                assert answer.status_code == 301 or answer.is_success or ticket not in f"{answer.headers} {answer.text}"
        kept = [*server.config.loaded_app.fast_path.known_heads, *request_values._KEPT_PARAMETERS.young]

    assert {query for query in kept if ticket.encode() in query} == {f"other={ticket}".encode()}
