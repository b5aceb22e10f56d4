"""Readers of a watch that do not read (docs/watch.md#slow-readers), each on a socket that takes little."""

import json
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from magistrate.api.http import streams
from magistrate.operations.watch import unread_events
from tests.api.sockets import connect, head
from tests.api.watching import Event, watching
from tests.conftest import list_by_day
from tests.running import Client, running_service, settings_for

WATCH, ACCESS = "/v2/watch", "/v2/watch/access?of=document%23viewer%40user"
BOTH = pytest.mark.parametrize("path", [WATCH, ACCESS], ids=["watch", "access"])
WATCH_BY_DAY = pytest.mark.parametrize(
    "path", [pytest.param(WATCH, id="watch"), pytest.param(ACCESS, id="access", marks=pytest.mark.nightly)]
)
RECEIVE_BUFFER = 4_096
WARRANTS = 100
TEXT = "x" * 20_000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.define({"user": {}, "document": {"viewer": {}}})
        yield client


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets limits; what is not given is not reached."""

    def limit(seconds: float = 600, kept: float = 600, events: int = 10**9, size: int = 10**9) -> None:
        monkeypatch.setattr(streams, "LOOK_EVERY_SECONDS", 0.05)
        monkeypatch.setattr(streams, "MAX_UNREAD_SECONDS", seconds)
        monkeypatch.setattr(streams, "KEPT_SECONDS", kept)
        monkeypatch.setattr(unread_events, "MAX_UNREAD_EVENTS", events)
        monkeypatch.setattr(unread_events, "MAX_UNREAD_BYTES", size)

    return limit


class SlowReader:
    """A reader that reads only when the test says so."""

    def __init__(self, client: Client, path: str) -> None:
        self.connection = connect(client, receive_buffer=RECEIVE_BUFFER)
        self.connection.sendall(head(client, "GET", path, "Accept: application/x-ndjson"))
        self.answer = HTTPResponse(self.connection)
        self.answer.begin()
        assert self.answer.status == 200
        self.first: Event = self.next()

    def next(self) -> Event:
        event: Event = json.loads(self.answer.readline())
        return event

    def read_all(self) -> tuple[list[Event], bool]:
        """All whole events, and whether the answer is complete."""
        events: list[Event] = []
        with suppress(HTTPException, OSError, ValueError):
            while line := self.answer.readline():
                events.append(json.loads(line))
            return events, True
        return events, False

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def write_much(client: Client, first: int, count: int) -> None:
    """So many writes, each with an event of about 60 KB of what was written, and one of 20 KB of access."""
    for number in range(first, first + count):
        warrants = [
            {
                "objectType": "document",
                "objectId": f"{number:02}-{each:02}",
                "relation": "viewer",
                "subject": {"objectType": "user", "objectId": "u" * 300},
            }
            for each in range(WARRANTS)
        ]
        client.write(warrants)


def list_created(events: list[Event]) -> list[str]:
    """The objects to which access was given, each once in every stream."""
    rows = [row for event in events for row in event.get("gained", event.get("warrants", {}).get("created", ()))]
    return [row["objectId"] for row in rows]


def list_written(count: int) -> list[str]:
    return [f"{number:02}-{each:02}" for number in range(count) for each in range(WARRANTS)]


def wait_until_ended(client: Client) -> None:
    """Waits until no stream is open."""
    deadline = time.monotonic() + 30
    while not re.search(r"^magistrate_streams(?:{[^}]*})? 0.0$", client.get("/metrics").text, re.MULTILINE):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def read_on(client: Client, path: str, token: str, count: int) -> list[Event]:
    """The events after a token, until there are so many objects."""
    events: list[Event] = []
    route, _, query = path.partition("?")
    with watching(client, f"{query}&since={token}", path=route) as stream:
        while len(list_created(events)) < count:
            events.append(stream.next())
    return events


def test_the_limits_are_those_that_are_documented() -> None:
    assert (streams.MAX_UNREAD_SECONDS, streams.KEPT_SECONDS) == (5, 10)
    assert (unread_events.MAX_UNREAD_EVENTS, unread_events.MAX_UNREAD_BYTES) == (1_024, 1_048_576)


@BOTH
@pytest.mark.parametrize(
    "limit", list_by_day([{"size": 100_000}, {"seconds": 0.5}, {"events": 8}], 1), ids=lambda limit: next(iter(limit))
)
def test_one_that_does_not_read_is_ended_and_can_go_on(
    service: Client, limits: Callable[..., None], path: str, limit: dict[str, Any]
) -> None:
    limits(**limit)
    with closing(SlowReader(service, path)) as reader:
        write_much(service, 0, 40)
        time.sleep(3)
        events, is_complete = reader.read_all()

    end = events.pop()
    assert (end["event"], end["reason"], is_complete) == ("end", "too_slow", True)
    created = list_created(events)
    assert created == list_written(40)[: len(created)]
    assert len(created) < 40 * WARRANTS
    following = read_on(service, path, str(end.get("id", end["token"])), 40 * WARRANTS - len(created))
    assert created + list_created(following) == list_written(40)


@BOTH
def test_the_end_is_not_kept_for_ever(service: Client, limits: Callable[..., None], path: str) -> None:
    limits(seconds=0.3, kept=0.3)
    with closing(SlowReader(service, path)) as reader:
        write_much(service, 0, 20)
        wait_until_ended(service)
        events, is_complete = reader.read_all()

    assert not is_complete
    assert "end" not in [event["event"] for event in events]


@BOTH
def test_one_that_is_behind_and_reads_slowly_gets_everything(
    service: Client, limits: Callable[..., None], path: str
) -> None:
    limits(seconds=5, events=100, size=1_000_000)
    token = service.get("/v2/objects", headers={"Service-Token": "latest"}).headers["Service-Token"]
    write_much(service, 0, 40)

    with closing(SlowReader(service, f"{path}{'&' if '?' in path else '?'}since={token}")) as reader:
        events: list[Event] = []
        while len(list_created(events)) < 40 * WARRANTS:
            events.append(reader.next())
            time.sleep(0.1)

    assert list_created(events) == list_written(40)


def test_nothing_is_half_of_a_large_event(service: Client, limits: Callable[..., None]) -> None:
    limits(seconds=0.5)
    bodies = [{"objectType": "document", "objectId": str(number), "meta": {"text": TEXT}} for number in range(40)]
    with closing(SlowReader(service, WATCH)) as reader:
        write_much(service, 0, 1)
        service.post("/v2/objects", json=bodies).raise_for_status()
        wait_until_ended(service)
        events, is_complete = reader.read_all()

    assert not is_complete
    assert list_created(events) in ([], list_written(1))
    assert {event["event"] for event in events} <= {"revision"}
    with watching(service, f"since={reader.first['token']}") as stream:
        assert list_created(stream.take(1)) == list_written(1)
        assert len(stream.take(1)[0]["objects"]["created"]) == 40


@BOTH
def test_a_snapshot_that_is_not_read_ends_without_a_token(
    service: Client, limits: Callable[..., None], path: str
) -> None:
    limits(seconds=0.5)
    write_much(service, 0, 20)

    with closing(SlowReader(service, f"{path}{'&' if '?' in path else '?'}snapshot=true")) as reader:
        time.sleep(3)
        events, is_complete = reader.read_all()

    assert is_complete
    assert events[-1] == {"event": "end", "reason": "too_slow"}
    assert {event["event"] for event in events[:-1]} == {"snapshot"}


@WATCH_BY_DAY
def test_many_that_do_not_read_take_little_memory(service: Client, limits: Callable[..., None], path: str) -> None:
    limits()
    count = 30
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(SlowReader(service, path))) for _ in range(count)]
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        write_much(service, 0, 60)
        time.sleep(1)
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert len(readers) == count

    shared = 24_000_000  # what the feeds keep for all of them
    print(f"{taken} bytes for {count} readers and the feeds")
    assert taken < shared + count * 1_048_576
