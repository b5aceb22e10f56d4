"""A reader that was behind learns from a checkpoint that it has everything, and need not wait for the next write."""

from typing import Any

import pytest

from magistrate.operations.watch import access_reader, revision_feed, watch_reader
from tests.api.watching import Event, watching
from tests.running import Client

TYPES: dict[str, Any] = {"user": {}, "document": {"viewer": {}}, "folder": {"viewer": {}}}
STREAMS = {"/v2/watch": "objectType=document&relation=viewer", "/v2/watch/access": "of=document%23viewer%40user"}


@pytest.fixture(autouse=True)
def rare_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """No checkpoint comes because a time has passed: the stream would break off before."""
    for module in (access_reader, revision_feed, watch_reader):
        monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 3_600.0)


@pytest.fixture
def service(client: Client) -> Client:
    client.define(TYPES)
    client.grant("document:a#viewer@user:ann")
    return client


def token_of(client: Client) -> str:
    return str(client.get("/v2/objects", headers={"Service-Token": "latest"}).headers["Service-Token"])


def read_up_to(client: Client, path: str, parameters: str, token: str) -> list[Event]:
    """The events up to the checkpoint with this token."""
    with watching(client, f"{STREAMS[path]}&{parameters}", path=path) as stream:
        return stream.read_until(lambda event: event["event"] == "checkpoint" and event["token"] == token)


@pytest.mark.parametrize("path", STREAMS)
def test_writes_that_do_not_concern_a_reader_move_it_to_the_head(service: Client, path: str) -> None:
    since = token_of(service)
    service.grant("folder:f#viewer@user:ann", "folder:g#viewer@user:ann")
    newest = token_of(service)

    events = read_up_to(service, path, f"since={since}", newest)

    assert [(event["event"], event["token"]) for event in events] == [("checkpoint", since), ("checkpoint", newest)]


@pytest.mark.parametrize("path", STREAMS)
def test_the_checkpoint_is_behind_all_that_was_written(service: Client, path: str) -> None:
    since = token_of(service)
    for number in range(250):
        service.grant(f"document:{number}#viewer@user:ann")
    newest = token_of(service)

    names = [event["event"] for event in read_up_to(service, path, f"since={since}", newest)]

    assert names[0] == names[-1] == "checkpoint"
    assert {*names[1:-1]} == {"revision" if path == "/v2/watch" else "access"}
    assert len(names) == 252


@pytest.mark.parametrize("path", STREAMS)
def test_a_reader_at_the_head_gets_no_other_checkpoint_with_each_write(service: Client, path: str) -> None:
    with watching(service, STREAMS[path], path=path) as stream:
        first = stream.next()
        service.grant("folder:h#viewer@user:ann")
        service.grant("document:b#viewer@user:ann")
        service.grant("document:c#viewer@user:ann")
        events = [stream.next(), stream.next()]

    assert first["event"] == "checkpoint"
    assert {event["event"] for event in events} == {"revision" if path == "/v2/watch" else "access"}


def test_access_that_is_mirrored_already_is_behind_by_time_alone(service: Client) -> None:
    since = token_of(service)
    with watching(service, f"{STREAMS['/v2/watch/access']}&since={since}", path="/v2/watch/access") as stream:
        first, second = stream.next(), stream.next()

    assert (first["event"], second["event"]) == ("checkpoint", "checkpoint")
    assert first["token"] == second["token"] == since
    assert first["time"] < second["time"]
