"""Readers that follow a watch, or the effective feed, and record each event."""

import http.client
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from history_check.operations import AccessEvent, Event, Outcome
from tests.histories.clients import Sink, render_access
from tests.histories.models import render_object, render_warrant
from tests.leaks import KEY

TIMEOUT_SECONDS = 2.0
"""Is shorter than the pause between two events of an idle stream, so that readers notice when all is over."""
PAUSE_SECONDS = 0.05
BREAKS_OFF_AFTER = 2_000
"""Counts the events after which a stream is broken off, in the mean."""


class HistoryReader:
    """Is one process that reads from `token` on: access of `of`, or all that is written if that is empty."""

    def __init__(self, name: str, urls: Sequence[str], token: str, of: str, sink: Sink) -> None:
        self.name, self.token = name, token
        self._id = token
        self._of, self._urls, self._sink = of, urls, sink
        self._rng = random.Random(name)
        self.refusal = ""

    def follow(self, is_over: Callable[[], bool]) -> None:
        """Reads until it is over, from one stream after the other."""
        while not is_over():
            try:
                for event in self._read_stream():
                    self._record(event)
                    if is_over() or self._rng.random() < 1 / BREAKS_OFF_AFTER:
                        break
            except (OSError, http.client.HTTPException):
                time.sleep(PAUSE_SECONDS)

    def _read_stream(self) -> Iterator[Mapping[str, Any]]:
        connection = http.client.HTTPConnection(urlsplit(self._rng.choice(self._urls)).netloc, timeout=TIMEOUT_SECONDS)
        headers = {"Authorization": f"ApiKey {KEY}", "Accept": "application/x-ndjson"}
        path = f"/v2/watch/access?of={quote(self._of)}&" if self._of else "/v2/watch?"
        try:
            connection.request("GET", f"{path}since={self._id}", headers=headers)
            answer = connection.getresponse()
            if answer.status >= 500:
                raise http.client.HTTPException(answer.status)
            if answer.status != 200:
                self._add("begin", outcome=Outcome.REFUSED, refusal=json.loads(answer.read())["code"])
                raise http.client.HTTPException(answer.status)
            self._add("begin", token=self.token)
            while (line := answer.readline()).endswith(b"\n"):
                yield json.loads(line)
        finally:
            connection.close()

    def _record(self, event: Mapping[str, Any]) -> None:
        name = event["event"]
        if name == "end":
            raise http.client.HTTPException(event["reason"])
        self.token, self._id = event["token"], event.get("id", event["token"])
        if self._of:
            rows = [render_access(row, change) for change in ("gained", "lost") for row in event.get(change, ())]
            self._add(name, rows=tuple(rows), token=self.token)
            return
        objects, warrants = event.get("objects", {}), event.get("warrants", {})
        members = {f"{change}_objects": tuple(map(render_object, objects.get(change, ()))) for change in CHANGES}
        members |= {f"{change}_warrants": tuple(map(render_warrant, warrants.get(change, ()))) for change in ENDS}
        types = event.get("objectTypes", {})
        marks = {row["type"]: row.get("description", "") for change in CHANGES for row in types.get(change, ())}
        self._add(name, token=self.token, types=marks, **members)

    def _add(self, event: str, **members: Any) -> None:
        now = time.monotonic()
        if self._of:
            self._sink.add(AccessEvent(process=self.name, begin=now, end=now, event=event, of=self._of, **members))
        else:
            self._sink.add(Event(process=self.name, begin=now, end=now, event=event, **members))


CHANGES = ("created", "updated", "deleted")
ENDS = ("created", "deleted")
