"""Reads a stream of events as a client does, over a socket of its own."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.running import Client

Event = dict[str, Any]
SECONDS = 30.0


class Watching:
    """The events of one stream; `answer` has its headers."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        is_json = answer.headers["Content-Type"] == "application/x-ndjson"
        self._events = self._read_lines() if is_json else self._read_events()

    def _read_lines(self) -> Iterator[Event]:
        for line in self.answer.iter_lines():
            yield json.loads(line)

    def _read_events(self) -> Iterator[Event]:
        event: Event = {}
        for line in self.answer.iter_lines():
            name, _, value = line.partition(": ")
            if name == "data":
                event |= json.loads(value)
            elif name:
                event[name] = value
            else:
                yield event
                event = {}

    def next(self) -> Event:
        return next(self._events)

    def next_of(self, *names: str) -> Event:
        """The next event with one of these names; others are skipped."""
        skipped: Event = {}
        for event in self._events:
            if event["event"] in names:
                return event
            skipped = event
        raise AssertionError(f"the stream ended without {names}; its last event was {skipped}")

    def take(self, count: int) -> list[Event]:
        """So many revisions."""
        return [self.next_of("revision") for _ in range(count)]

    def read_until(self, is_last: Callable[[Event], bool]) -> list[Event]:
        """All events up to the first for which this is so."""
        events = [self.next()]
        while not is_last(events[-1]):
            events.append(self.next())
        return events

    def read_all(self) -> list[Event]:
        return [*self._events]


@contextmanager
def watching(
    client: Client,
    query: str = "",
    *,
    path: str = "/v2/watch",
    accept: str = "application/x-ndjson",
    last_event_id: str | None = None,
    key: str | None = None,
    scheme: str = "ApiKey",
) -> Iterator[Watching]:
    """A stream, of which nothing is read yet. Without a key it has that of the client."""
    headers = {"Authorization": client.headers["Authorization"] if key is None else f"{scheme} {key}", "Accept": accept}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    if key == "":
        del headers["Authorization"]
    with (
        httpx.Client(base_url=client.base_url, headers=headers, timeout=SECONDS, trust_env=False) as own,
        own.stream("GET", f"{path}?{query}") as answer,
    ):
        if answer.status_code != 200:
            answer.read()
        assert answer.status_code == 200, answer.text
        yield Watching(answer)


def list_granted(events: list[Event]) -> list[str]:
    """The objects on which warrants were created."""
    return [row["objectId"] for event in events for row in event.get("warrants", {}).get("created", ())]
