"""Watching access over HTTP (docs/watch.md): a copy that begins with the snapshot and applies the events has all access
there is."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from magistrate.operations.watch import access_steps
from tests.api.watching import Event, Watching, watching
from tests.databases import dump, restore
from tests.running import Client, running_server, running_service, settings_for

PATH, OF = "/v2/watch/access", "of=document%23viewer%40user"
TYPES: dict[str, Any] = {
    "user": {},
    "team": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "reader": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}

Row = tuple[str, str, str, bool]


@pytest.fixture
def service(client: Client) -> Client:
    client.define(TYPES)
    client.grant("folder:f#viewer@team:t#member", "document:1#parent@folder:f", "team:t#member@user:ann")
    return client


@pytest.fixture
def own_service(database_url: str) -> Iterator[Client]:
    """A service on a database that the test restores."""
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.define(TYPES)
        yield client


def list_rows(rows: list[Any]) -> list[Row]:
    return [
        (row["objectId"], row["relation"], row["subject"]["objectId"], row.get("conditional", False)) for row in rows
    ]


def apply(copy: set[Row], event: Event) -> None:
    """Applies an event, which gains only what is not there, and loses only what is."""
    for row in list_rows(event.get("lost", [])):
        copy.remove(row)
    for row in list_rows(event.get("gained", [])):
        assert row not in copy
        copy.add(row)


def test_what_is_gained_and_lost_is_an_event(service: Client) -> None:
    with watching(service, OF, path=PATH) as stream:
        first = stream.next()
        service.grant("team:other#member@user:eve")
        service.grant("team:t#member@user:kim")
        service.grant("document:1#blocked@user:ann")
        gained, lost = stream.next_of("access"), stream.next_of("access")

    assert first["event"] == "checkpoint"
    assert list_rows(gained["gained"]) == [("1", "viewer", "kim", False)]
    assert list_rows(lost["lost"]) == [("1", "viewer", "ann", False)]
    assert [row["relation"] for row in lost["lost"][0]["cause"]["created"]] == ["blocked"]
    assert "lost" not in gained
    assert {*gained} <= {"event", "token", "time", "id", "gained"}


def test_a_copy_begins_with_a_snapshot_and_goes_on(service: Client) -> None:
    service.grant(*[f"document:{number}#parent@folder:f" for number in range(2, 700)])
    copy: set[Row] = set()

    with watching(service, f"{OF}&snapshot=true", path=PATH) as stream:
        *snapshot, checkpoint = stream.read_until(lambda event: event["event"] == "checkpoint")
        for event in snapshot:
            copy |= {*list_rows(event["access"])}
        service.grant("team:t#member@user:kim", "document:3#blocked@user:ann")
        apply(copy, stream.next_of("access"))

    assert {event["event"] for event in snapshot} == {"snapshot"}
    assert max(len(event["access"]) for event in snapshot) <= 500
    assert checkpoint["token"]
    expected = {(str(number), "viewer", user, False) for number in range(1, 700) for user in ("ann", "kim")}
    assert copy == expected - {("3", "viewer", "ann", False)}


@pytest.mark.parametrize("by_header", [True, False])
def test_a_reader_goes_on_behind_the_id_of_an_event(service: Client, by_header: bool) -> None:
    with watching(service, OF, path=PATH, accept="text/event-stream") as stream:
        stream.next()
        service.grant("team:t#member@user:kim")
        first = stream.next_of("access")
        service.grant("team:t#member@user:eve")
        second = stream.next_of("access")

    query = OF if by_header else f"{OF}&since={first['id']}"
    with watching(service, query, path=PATH, last_event_id=first["id"] if by_header else None) as stream:
        assert stream.next()["event"] == "checkpoint"
        again = stream.next_of("access")

    assert again["gained"] == second["gained"]
    assert again["token"] == second["token"]


def test_the_id_of_a_snapshot_begins_it_anew(service: Client) -> None:
    with watching(service, OF, path=PATH, accept="text/event-stream", last_event_id="snapshot-3") as stream:
        first = stream.next()

    assert (first["event"], first["id"]) == ("snapshot", "snapshot-1")


def test_too_large_a_change_says_that_a_snapshot_is_needed(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_steps, "MAX_ROWS", 1)
    with watching(service, OF, path=PATH) as stream:
        service.grant("team:t#member@user:kim", "team:t#member@user:eve")
        event = stream.next_of("access")

    assert event["resync"] == event["token"]
    assert not {"gained", "lost"} & {*event}


def test_only_the_access_of_one_subject_or_object_is_followed(service: Client) -> None:
    with (
        watching(service, "subject=user:kim", path=PATH) as of_kim,
        watching(service, "object=team:t", path=PATH) as on_team,
    ):
        service.grant("team:t#member@user:eve")
        service.grant("team:t#member@user:kim")
        gained, members = of_kim.next_of("access"), [on_team.next_of("access") for _ in range(2)]

    assert {row["subject"]["objectId"] for row in gained["gained"]} == {"kim"}
    assert len(gained["gained"]) == 4
    assert [list_rows(event["gained"]) for event in members] == [
        [("t", "member", "eve", False)],
        [("t", "member", "kim", False)],
    ]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("of=house", "of"),
        ("of=document%23owner", "of"),
        ("of=a%23%23", "of"),
        ("subject=kim", "subject"),
        ("since=nothing", "since"),
        ("since=nothing.12", "since"),
        ("snapshot=perhaps", "snapshot"),
    ],
)
def test_what_is_not_valid_is_refused(service: Client, query: str, parameter: str) -> None:
    refused = service.get(f"{PATH}?{query}")

    assert refused.status_code == 400
    assert refused.json()["parameter"] == parameter


def read_end(stream: Watching) -> Event:
    """The last event, but for its id, which has the token and perhaps a time."""
    end = stream.read_all()[-1]
    assert end.pop("id", end["token"]).startswith(end["token"])
    return end


def test_a_key_that_is_deleted_ends_its_streams(service: Client) -> None:
    issued = service.post("/v2/keys", json={"name": "reader", "scopes": ["events"]}).json()

    with watching(service, OF, path=PATH, key=issued["key"]) as stream, watching(service, OF, path=PATH) as other:
        first = stream.next()
        service.delete(f"/v2/keys/{issued['id']}")
        assert read_end(stream) == {"event": "end", "token": first["token"], "reason": "key_ended"}
        service.grant("document:2#parent@folder:f")
        assert other.next_of("access")["gained"][0]["objectId"] == "2"


def test_a_key_that_expires_ends_its_streams(service: Client) -> None:
    expires_at = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    body = {"name": "reader", "scopes": ["events"], "expiresAt": expires_at}

    with watching(service, OF, path=PATH, key=service.post("/v2/keys", json=body).json()["key"]) as stream:
        assert read_end(stream)["reason"] == "key_ended"


def test_streams_end_when_the_service_stops(database_url: str) -> None:
    with running_server(settings_for(database_url)) as (url, server), Client(url) as client:
        client.define(TYPES)
        with watching(client, OF, path=PATH) as stream, watching(client, OF, path=PATH) as second:
            first = stream.next()
            server.should_exit = True
            assert read_end(stream) == {"event": "end", "token": first["token"], "reason": "shutting_down"}
            assert read_end(second)["reason"] == "shutting_down"


def test_a_store_that_is_deleted_ends_its_readers(service: Client) -> None:
    service.post("/v2/stores", json={"name": "other", "from": "default"})
    with watching(service, OF, path=f"/stores/other{PATH}") as stream:
        first = stream.next()
        service.delete("/v2/stores/other")
        assert read_end(stream) == {"event": "end", "token": first["token"], "reason": "store_deleted"}


def test_a_store_that_is_restored_ends_its_readers(own_service: Client, database_url: str) -> None:
    backup = dump(database_url)
    own_service.grant("folder:f#viewer@user:kim")
    with watching(own_service, OF, path=PATH) as stream:
        first = stream.next()
        restore(database_url, backup)
        assert read_end(stream) == {"event": "end", "token": first["token"], "reason": "store_restored"}
