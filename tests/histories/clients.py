"""Clients that write to services and read from them at random, and record what they did and were answered."""

import json
import random
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import IO, Any
from urllib.parse import quote

import msgspec

from history_check.operations import LATEST, MARK, Check, Difference, Listing, Operation, Outcome, Write
from history_check.tokens import read_revision
from tests.histories.connection import Answer, Connection
from tests.histories.models import (
    DOCUMENTS,
    OBJECTS,
    OF,
    USERS,
    draw_check,
    draw_types,
    draw_warrant,
    object_body,
    render_object,
    render_warrant,
)
from tests.scenario_files import warrant_body

RECENT = 40
"""Bounds how many tokens a client keeps, to read the past at."""
RETRIES = 5
PAUSE_SECONDS = 0.05
ROWS_OF_A_PAGE = 5
STOPPING = "the service is stopping"
UNKNOWN = "is not known"
"""Is in the message of a 503 after which a write may have been made (docs/api.md#retrying-requests)."""

_body_of = lru_cache(maxsize=4_096)(warrant_body)
_encoder = msgspec.json.Encoder()


class Sink:
    """Writes operations to a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.written = 0

    def add(self, operation: Operation) -> None:
        self._file.write(_encoder.encode(operation) + b"\n")
        self.written += 1


class HistoryClient:
    """Is one process of a history. `base` is the token that all reads may begin at."""

    def __init__(self, name: str, urls: Sequence[str], base: str, seed: str, sink: Sink) -> None:
        self.name = name
        self._rng = random.Random(seed)
        self._connection = Connection(urls, self._rng)
        self._sink = sink
        self._token = base
        self._recent = deque([base], maxlen=RECENT)
        self._own: list[str] = []
        """Has warrants that this client has created, and perhaps others deleted since."""
        self._marks = 0
        self._kinds: list[Callable[[], None]] = [self.write, self.check, self.list, self.read_past, self.compare]

    def close(self) -> None:
        self._connection.close()

    def act(self) -> None:
        """Makes one operation."""
        [act] = self._rng.choices(self._kinds, (26, 42, 14, 12, 6))
        act()

    def write(self) -> None:
        self._marks += 1
        write = self._draw_write(f"{self.name}.{self._marks}")
        headers = f"Idempotency-Key: {write.mark}\r\n" if self._rng.random() < 0.5 and not write.define else ""
        is_unknown = False
        for _ in range(RETRIES if headers else 1):
            self._write_once(write, headers)
            if is_unknown and write.outcome == Outcome.REFUSED:
                write.outcome = Outcome.UNKNOWN  # what was sent first may have been made
            is_unknown |= write.outcome == Outcome.UNKNOWN
            if write.outcome == Outcome.ACKNOWLEDGED or not is_unknown:
                break
            time.sleep(PAUSE_SECONDS)
        if write.outcome == Outcome.ACKNOWLEDGED:
            self._own = [text for text in self._own if text not in write.delete_warrants]
            self._own += write.create_warrants
        self._sink.add(write)

    def check(self, as_of: str = "") -> None:
        warrants = tuple(draw_check(self._rng) for _ in range(self._rng.choice((1, 1, 2, 4))))
        body: dict[str, Any] = {"op": "batch", "warrants": [*map(_body_of, warrants)]}
        if as_of:
            body["asOf"] = as_of
        check = Check(process=self.name, begin=0, end=0, warrants=warrants, as_of=as_of)

        def take(answer: Answer) -> None:
            check.allowed = tuple(row["result"] == "Authorized" for row in json.loads(answer.body))

        self._read(check, ("POST", "/v2/check", json.dumps(body).encode()), take)

    def list(self, as_of: str = "") -> None:
        rng = self._rng
        lists = rng.choice(("warrants", "objects", "objects with", "subjects with"))
        listing = Listing(process=self.name, begin=0, end=0, lists=lists, type="document", as_of=as_of)
        past = f"&asOf={as_of}" if as_of else ""
        if lists == "objects with":
            listing.relation, listing.subject = rng.choice(("can-read", "viewer", "can-edit")), rng.choice(USERS)
            query = f"select document where {listing.subject} is {listing.relation}"
            target = f"/v2/query?q={quote(query)}"
        elif lists == "subjects with":
            listing.type, listing.relation = "user", rng.choice(("can-read", "viewer"))
            listing.object = rng.choice(DOCUMENTS)
            target = f"/v2/query?q={quote(f'select {listing.relation} of type user for {listing.object}')}"
        else:
            listing.type = rng.choice((MARK, "document", "user") if lists == "objects" else ("document", "group"))
            target = f"/v2/{lists}?objectType={listing.type}&snapshot=true"
        limit = ROWS_OF_A_PAGE if rng.random() < 0.2 else 1_000
        self._list_pages(listing, f"{target}&limit={limit}{past}")

    def read_past(self) -> None:
        read = self.check if self._rng.random() < 0.6 else self.list
        read(self._rng.choice(self._recent))

    def compare(self) -> None:
        """Compares access at two revisions, of which the first is not the later one."""
        rng = self._rng
        tokens = sorted(rng.choices(self._recent, k=2), key=read_revision)
        since, until = tokens[0], tokens[1] if rng.random() < 0.5 else ""
        difference = Difference(process=self.name, begin=0, end=0, since=since, until=until, of=rng.choice(OF))
        ends = f"&to={until}" if until else ""
        target = f"/v2/difference?from={since}{ends}&of={quote(difference.of)}&limit=1000"

        def take(answer: Answer) -> None:
            difference.rows = tuple(render_access(row, row["change"]) for row in json.loads(answer.body)["results"])

        self._read(difference, ("GET", target, b""), take)

    def list_everything(self, of_type: str) -> None:
        """Reads the newest state of a type, when all is over."""
        for lists in ("warrants", "objects"):
            listing = Listing(process=self.name, begin=0, end=0, lists=lists, type=of_type, at_least=LATEST)
            self._list_pages(listing, f"/v2/{lists}?objectType={of_type}&snapshot=true&limit=1000")

    def write_mark(self) -> str | None:
        """Writes nothing but a mark, and returns the token if that was made."""
        self._marks += 1
        mark = f"{self.name}.{self._marks}"
        objects = (f"{MARK}:{self.name}={mark}",)
        write = Write(process=self.name, begin=0, end=0, mark=mark, create_objects=objects)
        self._write_once(write, "")
        self._sink.add(write)
        return write.token or None

    def _draw_write(self, mark: str) -> Write:
        rng = self._rng
        write = Write(process=self.name, begin=0, end=0, mark=mark)
        kind = rng.random()
        if kind < 0.02:
            name = rng.choice(("document", "folder"))
            write.define = {name: draw_types(rng)[name]}
            return write
        write.create_objects = (f"{MARK}:{self.name}={mark}",)
        if kind < 0.1:
            write.delete_objects = (rng.choice(OBJECTS),)
        if kind > 0.4:
            write.create_warrants = tuple({draw_warrant(rng) for _ in range(rng.choice((1, 1, 2, 3)))})
        if kind < 0.6 and self._own:
            write.delete_warrants = (rng.choice(self._own) if rng.random() < 0.9 else draw_warrant(rng),)
        if rng.random() < 0.1:
            write.exists = (rng.choice(self._own or OBJECTS),)
        elif rng.random() < 0.1:
            write.absent = (draw_warrant(rng),)
        return write

    def _write_once(self, write: Write, headers: str) -> None:
        write.begin = write.begin or time.monotonic()
        if write.define:
            [(name, relations)] = write.define.items()
            method, target = "PUT", f"/v2/object-types/{name}"
            body: Mapping[str, Any] = {"type": name, "relations": relations, "description": write.mark}
        else:
            method, target, body = "POST", "/v2/writes", _write_body(write)
        try:
            answer = self._connection.send(method, target, json.dumps(body).encode(), headers)
        except OSError:
            write.end, write.outcome = time.monotonic(), Outcome.UNKNOWN
            time.sleep(PAUSE_SECONDS)
            return
        write.end = time.monotonic()
        if answer.status == 200:
            write.outcome, write.token = Outcome.ACKNOWLEDGED, answer.token
            self._see(answer.token)
            if not write.define:
                counts = json.loads(answer.body)
                write.counts = (counts["created"], counts["deleted"], counts["unchanged"])
        else:
            write.refusal = _read_refusal(answer)
            is_unknown = UNKNOWN in answer.body.decode() or STOPPING in answer.body.decode()
            write.outcome = Outcome.UNKNOWN if is_unknown else Outcome.REFUSED

    def _read(self, operation: Operation, message: tuple[str, str, bytes], take: Callable[[Answer], None]) -> None:
        """Sends a read, with the demand that is drawn for it, and records it."""
        self._demand(operation)
        operation.begin = time.monotonic()
        answer = self._exchange(operation, *message)
        operation.end = time.monotonic()
        if answer is not None:
            operation.token = answer.token
            self._see(answer.token)
            take(answer)
        self._sink.add(operation)

    def _list_pages(self, listing: Listing, target: str) -> None:
        """Reads all pages of a list, which are those of one revision."""
        rows: list[str] = []
        self._demand(listing)
        listing.begin = time.monotonic()
        cursor = ""
        while (answer := self._exchange(listing, "GET", target + cursor)) is not None:
            listing.end = time.monotonic()
            listing.token = listing.token if listing.token == answer.token else answer.token
            page = json.loads(answer.body)
            rows += [_render_row(listing, row) for row in page["results"]]
            if "nextCursor" not in page:
                self._see(listing.token)
                break
            cursor = f"&nextCursor={page['nextCursor']}"
        if answer is None:
            listing.end, listing.token, rows = time.monotonic(), "", []
        listing.rows = tuple(rows)
        self._sink.add(listing)

    def _demand(self, operation: Operation) -> None:
        kind = self._rng.random()
        if not operation.at_least and kind < 0.7:
            operation.at_least = self._token if kind < 0.6 else LATEST

    def _exchange(self, operation: Operation, method: str, target: str, body: bytes = b"") -> Answer | None:
        """Returns an answer of 200; None if the outcome is another, which the operation then has."""
        headers = f"Warrant-Token: {operation.at_least}\r\n" if operation.at_least else ""
        try:
            answer = self._connection.send(method, target, body, headers)
        except OSError:
            operation.outcome = Outcome.UNKNOWN
            time.sleep(PAUSE_SECONDS)
            return None
        if answer.status == 200:
            return answer
        operation.outcome, operation.refusal = Outcome.REFUSED, _read_refusal(answer)
        time.sleep(PAUSE_SECONDS)
        return None

    def _see(self, token: str) -> None:
        if self._recent[-1] != token:
            self._recent.append(token)
        if read_revision(token) > read_revision(self._token):
            self._token = token


def render_access(row: Mapping[str, Any], change: str) -> str:
    return ("+" if change == "gained" else "-") + render_warrant(row)


def _render_row(listing: Listing, row: Mapping[str, Any]) -> str:
    return render_warrant(row) if listing.lists == "warrants" else render_object(row)


def _read_refusal(answer: Answer) -> str:
    """Returns the code of an error; those of 5xx begin with `unavailable`."""
    code = str(json.loads(answer.body)["code"])
    return code if answer.status < 500 or code == "unavailable" else f"unavailable: {code}"


def _write_body(write: Write) -> dict[str, Any]:
    conditions = [{name: _named_body(text)} for name in ("exists", "absent") for text in getattr(write, name)]
    deleted = [[*map(_body_of, write.delete_warrants)], [*map(object_body, write.delete_objects)]]
    created = [[*map(_body_of, write.create_warrants)], [*map(object_body, write.create_objects)]]
    return {"preconditions": conditions} | {
        name: {"warrants": warrants, "objects": objects}
        for name, (warrants, objects) in (("delete", deleted), ("create", created))
    }


def _named_body(text: str) -> dict[str, Any]:
    return _body_of(text) if "#" in text else object_body(text)
