"""Watching a store over HTTP (docs/watch.md): whoever reads on from a token gets every write once, in order."""

import random
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from magistrate.operations.watch import revision_feed, revision_log, watch_reader
from tests.api.recorded_events import delete_all_events
from tests.api.watching import Event, list_granted, watching
from tests.databases import dump, restore
from tests.running import Client, running_server, running_service, settings_for
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {"document": {"viewer": {}, "editor": {}}, "folder": {"viewer": {}}}


@pytest.fixture
def service(client: Client) -> Client:
    client.define(TYPES)
    return client


@pytest.fixture
def own_service(database_url: str) -> Iterator[Client]:
    """A service on a database that the test restores."""
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.define(TYPES)
        yield client


def grant(number: int) -> str:
    return f"document:{number}#viewer@user:ann"


def token_of(client: Client) -> str:
    return str(client.get("/v2/objects", headers={"Service-Token": "latest"}).headers["Service-Token"])


def rows_of(event: Event) -> Event:
    """What was changed, without the rest of an event."""
    return {name: event[name] for name in ("objects", "warrants", "objectTypes", "policies") if name in event}


def test_each_write_is_an_event_with_what_it_changed(service: Client) -> None:
    warrant = {
        "objectType": "document",
        "objectId": "a",
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": "ann"},
        "policy": 'tenant == "acme"',
        "expiresAt": "2999-01-01T00:00:00Z",
    }

    with watching(service) as stream:
        first = stream.next()
        created = service.post("/v2/warrants", json=warrant, headers={"Warrant-Request-Id": "x"})
        service.post("/v2/warrants", json=warrant | {"expiresAt": "2999-01-02T00:00:00Z"})
        service.put("/v2/objects/document/a", json={"meta": {"title": "Plan"}})
        service.delete("/v2/objects/document/a")
        service.post("/v2/policies", json={"name": "p", "parameters": {}, "expression": "true"})
        service.delete("/v2/policies/p")
        service.delete("/v2/object-types/folder")
        events = stream.take(7)

    assert first["event"] == "checkpoint"
    assert {*first} == {"event", "token", "time"}
    assert events[0]["token"] == created.headers["Service-Token"]
    assert events[0]["actor"].startswith("key-")
    assert events[0]["requestId"] == created.headers["Warrant-Request-Id"]
    subject = {"objectType": "user", "objectId": "ann"}
    name = {"objectType": "document", "objectId": "a"}
    assert [rows_of(event) for event in events] == [
        {"objects": {"created": [name, subject]}, "warrants": {"created": [warrant]}},
        {"warrants": {"created": [warrant | {"expiresAt": "2999-01-02T00:00:00Z"}]}},
        {"objects": {"updated": [name | {"meta": {"title": "Plan"}}]}},
        {
            "objects": {"deleted": [name]},
            "warrants": {"deleted": [{member: warrant[member] for member in (*name, "relation", "subject", "policy")}]},
        },
        {"policies": {"created": [{"name": "p", "parameters": {}, "expression": "true"}]}},
        {"policies": {"deleted": [{"name": "p"}]}},
        {"objectTypes": {"deleted": [{"type": "folder"}]}},
    ]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)


def test_server_sent_events_have_names_and_ids(service: Client) -> None:
    with watching(service, accept="text/event-stream") as stream:
        first = stream.next()
        service.grant(grant(1))
        second = stream.next()

    headers = stream.answer.headers
    assert headers["Content-Type"] == "text/event-stream"
    assert (headers["Cache-Control"], headers["X-Accel-Buffering"]) == ("no-store", "no")
    assert "Content-Encoding" not in headers
    assert (first["event"], first["id"]) == ("checkpoint", first["token"])
    assert (second["event"], second["id"]) == ("revision", second["token"])
    assert list_granted([second]) == ["1"]


def test_streams_are_not_compressed(service: Client) -> None:
    service.grant(*map(grant, range(500)))

    with watching(service, "snapshot=true") as stream:
        assert "gzip" in str(stream.answer.request.headers["Accept-Encoding"])
        assert "Content-Encoding" not in stream.answer.headers


@pytest.mark.parametrize("by_header", [True, False])
def test_a_reader_goes_on_from_a_token(service: Client, by_header: bool) -> None:
    tokens = []
    for number in range(10):
        service.grant(grant(number))
        tokens.append(token_of(service))

    for place in (0, 4, 8):
        query = f"since={tokens[9 if by_header else place]}"
        with watching(service, query, last_event_id=tokens[place] if by_header else None) as stream:
            assert stream.next()["token"] == tokens[place]
            events = stream.take(9 - place)
        assert [event["token"] for event in events] == tokens[place + 1 :]
        assert list_granted(events) == [str(number) for number in range(place + 1, 10)]


def test_readers_see_each_write_once_whichever_node_they_read_from(database_url: str) -> None:
    """Two nodes write and are read, and readers disconnect at random."""
    rng = random.Random(7)
    settings = settings_for(database_url)
    with ExitStack() as stack:
        nodes = []
        for _ in range(2):
            nodes.append(stack.enter_context(Client(stack.enter_context(running_service(settings)))))
        nodes[0].define(TYPES)
        events: list[Event] = []
        since, number = token_of(nodes[0]), 0
        while len(events) < 60:
            with watching(rng.choice(nodes), f"since={since}") as stream:
                for _ in range(rng.randrange(1, 6)):
                    rng.choice(nodes).grant(grant(number))
                    number += 1
                for event in stream.take(rng.randrange(0, number - len(events) + 1)):
                    events.append(event)
                    since = event["token"]

    assert list_granted(events) == [str(place) for place in range(len(events))]


def test_a_filter_selects_rows(service: Client) -> None:
    def read(query: str) -> list[Event]:
        with watching(service, f"since={since}&{query}") as stream:
            events = stream.read_until(lambda event: event["event"] == "checkpoint" and event["token"] == last)
        return [rows_of(event) for event in events if event["event"] == "revision"]

    since = token_of(service)
    service.post("/v2/write", json={"create": {"objects": [{"objectType": "document", "objectId": "x"}]}})
    service.grant("document:x#viewer@user:ann")
    service.grant("document:x#editor@group:g#member", "folder:y#viewer@user:ann")
    last = token_of(service)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch_reader, "HEARTBEAT_SECONDS", 0.0)
        of_groups = read("subjectType=group")
        of_folders = read("objectType=folder")
        of_both = read("objectType=folder&objectType=document&relation=viewer&subjectType=user")
        of_none = read("relation=owner")

    def count(events: list[Event]) -> list[tuple[int, int]]:
        return [
            (len(event.get("objects", {}).get("created", ())), len(event.get("warrants", {}).get("created", ())))
            for event in events
        ]

    assert count(of_groups) == [(0, 1)]
    assert count(of_folders) == [(1, 1)]
    assert count(of_both) == [(0, 1), (0, 1)]
    assert of_none == []


@pytest.mark.parametrize("query", ["objectType=A%20b", "relation=%20", "subjectType=", "since=x", "snapshot=maybe"])
def test_invalid_parameters_are_refused(service: Client, query: str) -> None:
    answer = service.get(f"/v2/watch?{query}")

    assert answer.status_code == 400
    assert answer.json()["parameter"] == query.partition("=")[0]


def test_a_checkpoint_comes_when_nothing_was_written(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (revision_feed, watch_reader):
        monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)

    with watching(service) as stream:
        first, second = stream.next(), stream.next()

    assert first["event"] == second["event"] == "checkpoint"
    assert first["token"] == second["token"] == token_of(service)


class Replica:
    """What a reader knows of a store from its events alone."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {"objects": {}, "warrants": {}, "objectTypes": {}, "policies": {}}

    def apply(self, event: Event) -> None:
        for name, rows in self.rows.items():
            changed = event.get(name, {})
            if event["event"] == "snapshot":
                changed = {"created": changed}
            for array in ("deleted", "expired"):
                for row in changed.get(array, ()):
                    del rows[self._key(name, row)]
            for array in ("created", "updated"):
                rows.update({self._key(name, row): row for row in changed.get(array, ())})

    @staticmethod
    def _key(name: str, row: Any) -> str:
        members = {
            "objects": ("objectType", "objectId"),
            "warrants": ("objectType", "objectId", "relation", "subject", "policy"),
            "objectTypes": ("type",),
            "policies": ("name",),
        }[name]
        return repr([row.get(member) for member in members])


def change_at_random(client: Client, rng: random.Random) -> None:
    """Makes one write of some kind."""
    written = f"document:{rng.randrange(20)}#{rng.choice(['viewer', 'editor'])}@user:{rng.randrange(5)}"
    match rng.randrange(7):
        case 0 | 1 | 2:
            client.grant(written)
        case 3:
            client.delete_json("/v2/warrants", warrant_body(written))
            client.delete(f"/v2/objects/document/{rng.randrange(20)}")
        case 4:
            client.put(f"/v2/objects/document/{rng.randrange(20)}", json={"meta": {"n": rng.randrange(9)}})
        case 5:
            client.post("/v2/policies", json={"name": f"p{rng.randrange(3)}", "expression": "true", "parameters": {}})
        case 6:
            client.delete(f"/v2/policies/p{rng.randrange(3)}")


def read_state(client: Client) -> dict[str, dict[str, Any]]:
    """The state as a snapshot has it."""
    replica = Replica()
    with watching(client, "snapshot=true") as stream:
        for event in stream.read_until(lambda event: event["event"] == "checkpoint")[:-1]:
            replica.apply(event)
    return replica.rows


@pytest.mark.parametrize("limits", [(500, 262_144), (1, 1)], ids=["whole", "in pieces"])
def test_snapshot_and_events_make_the_state(
    service: Client, monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int]
) -> None:
    monkeypatch.setattr(revision_log, "MAX_CHANGES", limits[0])
    monkeypatch.setattr(revision_log, "MAX_BYTES", limits[1])
    rng = random.Random(3)
    for _ in range(20):
        change_at_random(service, rng)
    replica = Replica()

    with watching(service, "snapshot=true") as stream:
        for event in stream.read_until(lambda event: event["event"] == "checkpoint")[:-1]:
            replica.apply(event)
        for _ in range(40):
            change_at_random(service, rng)
        service.grant(grant(99))
        for event in stream.read_until(lambda event: "99" in list_granted([event])):
            replica.apply(event)

    assert replica.rows == read_state(service)
    listed = service.get("/v2/warrants?limit=1000").json()["results"]
    assert len(replica.rows["warrants"]) == len(listed)


def test_a_snapshot_that_is_resumed_begins_anew(service: Client) -> None:
    service.grant(*map(grant, range(3)))
    with watching(service, "snapshot=true", accept="text/event-stream") as stream:
        events = stream.read_until(lambda event: event["event"] == "checkpoint")

    with watching(service, last_event_id=events[1]["id"]) as again:
        repeated = again.read_until(lambda event: event["event"] == "checkpoint")
    with watching(service, "snapshot=true", last_event_id=events[-1]["id"]) as resumed:
        first = resumed.next()

    assert [rows_of(event) for event in events] == [rows_of(event) for event in repeated]
    assert all(event["id"].startswith("snapshot-") for event in events[:-1])
    assert (first["event"], first["token"]) == ("checkpoint", events[-1]["token"])


def test_a_snapshot_is_divided_and_filtered(service: Client) -> None:
    service.grant(*[f"document:{number}#viewer@user:ann" for number in range(1_000)])
    service.grant(*[f"folder:{number}#viewer@user:ann" for number in range(200)])

    with watching(service, "snapshot=true&objectType=document&relation=viewer") as stream:
        events = stream.read_until(lambda event: event["event"] == "checkpoint")

    assert [len(event.get("warrants", ())) for event in events] == [500, 500, 0]
    assert {row["objectType"] for event in events[:-1] for row in event["warrants"]} == {"document"}


def test_a_large_revision_is_sent_in_pieces(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_log, "MAX_CHANGES", 50)
    since = token_of(service)
    service.post("/v2/writes", json={"create": {"warrants": [warrant_body(grant(number)) for number in range(900)]}})

    for accept in ("text/event-stream", "application/x-ndjson"):
        with watching(service, f"since={since}", accept=accept) as stream:
            [event] = stream.take(1)
        numbers = sorted(map(int, list_granted([event])))
        assert (numbers[0], numbers[-1], len({*numbers}), len(numbers)) == (0, 899, 900, 900)
        assert len(event["objects"]["created"]) == 901


def test_a_token_of_the_future_is_waited_for(own_service: Client, database_url: str) -> None:
    backup = dump(database_url)
    for number in range(3):
        own_service.grant(grant(number))
    ahead = token_of(own_service)
    with running_service(settings_for(database_url)) as url, Client(url) as other:
        restore(database_url, backup)
        with watching(other, f"since={ahead}") as stream:
            assert stream.next()["token"] == ahead
            for number in range(4):
                own_service.grant(grant(number + 10))
            [*_, last] = stream.read_all()

    assert (last["event"], last["reason"], last["token"]) == ("end", "revision_lost", ahead)


def test_another_write_with_the_number_of_the_token_is_lost(own_service: Client, database_url: str) -> None:
    backup = dump(database_url)
    own_service.grant(grant(1))
    lost = token_of(own_service)
    restore(database_url, backup)
    own_service.grant(grant(2))

    answer = own_service.get(f"/v2/watch?since={lost}")

    assert (answer.status_code, answer.json()["code"]) == (409, "revision_lost")


def test_what_is_not_kept_any_more_is_gone(database_url: str) -> None:
    settings = settings_for(database_url)
    with running_service(settings) as url, Client(url) as client:
        client.define(TYPES)
        since = token_of(client)
        client.grant(grant(1))
        delete_all_events(settings)
        newest = token_of(client)

        answer = client.get(f"/v2/watch?since={since}")
        with watching(client, f"since={newest}") as stream:
            client.grant(grant(2))
            assert list_granted(stream.take(1)) == ["2"]

    assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    assert answer.json()["oldest"].endswith("Z")


def test_a_warrant_that_expires_is_sent(service: Client) -> None:
    expires_at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()

    with watching(service) as stream:
        service.write([warrant_body(grant(1)) | {"expiresAt": expires_at}])
        created, expired = stream.take(2)

    assert rows_of(expired) == {"warrants": {"expired": created["warrants"]["created"]}}


def test_a_store_that_is_restored_ends_its_readers(own_service: Client, database_url: str) -> None:
    backup = dump(database_url)
    own_service.grant(grant(1))
    with watching(own_service) as stream:
        first = stream.next()
        restore(database_url, backup)
        end = stream.read_all()[-1]

    assert end == {"event": "end", "token": first["token"], "reason": "store_restored"}


def test_a_store_that_is_deleted_ends_its_readers(service: Client) -> None:
    service.post("/v2/stores", json={"name": "other"})
    with watching(service, path="/stores/other/v2/watch") as stream:
        first = stream.next()
        service.delete("/v2/stores/other")
        end = stream.read_all()[-1]

    assert end == {"event": "end", "token": first["token"], "reason": "store_deleted"}


def test_a_reader_sees_its_own_store_only(service: Client) -> None:
    service.post("/v2/stores", json={"name": "other", "from": "default"})
    with watching(service, path="/stores/other/v2/watch") as stream:
        service.grant(grant(1))
        service.post("/stores/other/v2/warrants", json=warrant_body(grant(2)))
        assert list_granted(stream.take(1)) == ["2"]


def test_streams_end_when_the_service_stops(database_url: str) -> None:
    with (
        running_server(settings_for(database_url)) as (url, server),
        Client(url) as client,
        watching(client) as stream,
    ):
        first = stream.next()
        server.should_exit = True
        assert stream.read_all() == [{"event": "end", "token": first["token"], "reason": "shutting_down"}]


def test_there_are_no_more_streams_than_may_be(database_url: str) -> None:
    settings = settings_for(database_url, max_streams=2)
    with running_service(settings) as url, Client(url) as client, watching(client) as first, watching(client) as second:
        assert first.next() == second.next()
        refused = client.get("/v2/watch")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert client.head("/v2/watch").status_code == 200
        assert client.get("/v2/objects").status_code == 200
        metrics = client.get("/metrics").text
        assert re.search(r"^magistrate_streams{[^}]*} 2.0$", metrics, re.MULTILINE)
        assert re.search(r"^magistrate_streams_refused_total 1.0$", metrics, re.MULTILINE)
        assert 'magistrate_cache_bytes{cache="feed",' in metrics


def test_a_limited_key_needs_a_filter_of_its_types(service: Client) -> None:
    body = {"name": "limited", "scopes": ["events"], "objectTypes": ["folder"]}
    key = service.post("/v2/keys", json=body).json()["key"]
    headers = {"Authorization": f"ApiKey {key}"}

    refused = [service.get(f"/v2/watch{query}", headers=headers) for query in ("", "?objectType=document")]
    with watching(service, "objectType=folder", key=key) as stream:
        service.grant(grant(1), "folder:y#viewer@user:ann")
        [event] = stream.take(1)

    assert [answer.status_code for answer in refused] == [403, 403]
    assert list_granted([event]) == ["y"]


def test_a_key_needs_the_scope(service: Client) -> None:
    key = service.post("/v2/keys", json={"name": "reader", "scopes": ["read"]}).json()["key"]

    assert service.get("/v2/watch", headers={"Authorization": f"ApiKey {key}"}).status_code == 403


def test_a_key_that_is_deleted_ends_its_streams_and_no_others(service: Client) -> None:
    issued = service.post("/v2/keys", json={"name": "reader", "scopes": ["events"]}).json()

    with watching(service) as other, watching(service, key=issued["key"]) as stream:
        first = stream.next()
        service.delete(f"/v2/keys/{issued['id']}")
        assert stream.read_all() == [{"event": "end", "token": first["token"], "reason": "key_ended"}]
        service.grant(grant(1))
        assert list_granted(other.take(1)) == ["1"]


def test_a_key_that_expires_ends_its_streams(service: Client) -> None:
    expires_at = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    body = {"name": "reader", "scopes": ["events"], "expiresAt": expires_at}

    with watching(service, key=service.post("/v2/keys", json=body).json()["key"]) as stream:
        assert stream.read_all()[-1]["reason"] == "key_ended"
