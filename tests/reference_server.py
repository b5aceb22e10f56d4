"""A server with the habits of the Warrant server that Magistrate does not share: smaller pages, cursors in standard
base64, objects that get lost between pages, names that we refuse, subjects taken for their groups, and failures.

It has two databases. On PostgreSQL, a cursor of objects has no value unless they are sorted by id, and the page behind
a cursor without a value begins with the first row again. A search is a LIKE, so `_` and `%` are wildcards; it ignores
case on SQLite only."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from tests.scenario_files import warrant_body
from tests.stub_server import Answered, Sent, StubServer, stub_server

KEY = "old-key"
MOST = 3
"""The largest page."""

Row = dict[str, Any]

SORTS: Mapping[str, Mapping[str, Callable[[Row], tuple[str, str]]]] = {
    "/v2/policies": {"name": lambda row: ("", row["name"])},
    "/v2/object-types": {"typeId": lambda row: ("", row["type"])},
    # The tie between objects is broken by the id alone.
    "/v2/objects": {
        "objectId": lambda row: ("", row["objectId"]),
        "objectType": lambda row: (row["objectType"], row["objectId"]),
        "createdAt": lambda row: (row["createdAt"], row["objectId"]),
    },
    "/v2/warrants": {"createdAt": lambda row: (row["createdAt"], row["place"])},
}


@dataclass(slots=True)
class Reference:
    """`fails`: what to answer instead, if not None, by the request and how many came before it. `most`: the largest
    page. `policies`: None if it has no such list, as a Warrant server."""

    types: list[Row] = field(default_factory=list)
    objects: list[Row] = field(default_factory=list)
    warrants: list[Row] = field(default_factory=list)
    policies: list[Row] | None = None
    fails: Callable[[Sent, int], Answered | None] = lambda sent, number: None
    database: Literal["sqlite", "postgresql"] = "sqlite"
    most: int = MOST
    asked: int = 0
    granted: int = 0

    def define(self, name: str, *relations: str) -> None:
        self.types.append({"type": name, "relations": {relation: {} for relation in relations}})

    def add(self, *written: str) -> None:
        """Objects, as in `document:1`."""
        for text in written:
            of_type, _, object_id = text.partition(":")
            self.objects.append({"objectType": of_type, "objectId": object_id, "createdAt": "2024-01-01T00:00:00Z"})

    def grant(self, *written: str) -> None:
        """Warrants with the objects they name; each a second younger than the one before."""
        for text in written:
            number = self.granted
            self.granted += 1
            made = f"2024-01-01T00:{number // 60:02}:{number % 60:02}Z"
            warrant = warrant_body(text) | {"createdAt": made, "place": f"{number:06}"}
            self.warrants.append(warrant)
            for named in (warrant, warrant["subject"]):
                known = {(row["objectType"], row["objectId"]) for row in self.objects}
                if named["objectId"] != "*" and (named["objectType"], named["objectId"]) not in known:
                    self.add(f"{named['objectType']}:{named['objectId']}")

    def answer(self, sent: Sent) -> bytes | Answered:
        self.asked += 1
        failed = self.fails(sent, self.asked - 1)
        if failed is not None:
            return failed
        if sent.headers.get("Authorization") != f"ApiKey {KEY}":
            return fault(401, "unauthorized", "Invalid API key")
        url = urlsplit(sent.path)
        if url.path == "/v2/policies" and self.policies is None:
            return Answered(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
        if url.path == "/v2/check":
            return self._check(sent.body["warrants"][0])
        rows = {
            "/v2/policies": self.policies or [],
            "/v2/object-types": self.types,
            "/v2/objects": self.objects,
            "/v2/warrants": self.warrants,
        }
        return self._page(url.path, rows[url.path], dict(parse_qsl(url.query, strict_parsing=True)))

    def _check(self, asked: Row) -> bytes | Answered:
        path = self._path(asked)
        if path is not None:
            shown = [{name: warrant[name] for name in warrant if name != "place"} for warrant in path]
            return encoded({"code": 200, "result": "Authorized", "isImplicit": False, "decisionPath": {"claim": shown}})
        if asked["objectType"] not in [row["type"] for row in self.types]:
            return fault(404, "not_found", f"ObjectType {asked['objectType']} not found")
        return encoded({"code": 403, "result": "Not Authorized", "isImplicit": False})

    def _path(self, asked: Row) -> list[Row] | None:
        """By direct warrants and groups, without rules; of policies those hold that compare one text."""
        held = {None, *(f'{name} == "{value}"' for name, value in asked["context"].items())}
        for warrant in [one for one in self.warrants if one.get("policy") in held]:
            if all(warrant[name] in (asked[name], "*") for name in ("objectType", "objectId", "relation")):
                subject, of = warrant["subject"], asked["subject"]
                same = subject["objectType"] == of["objectType"] and subject["objectId"] in (of["objectId"], "*")
                # A subject without a relation matches whatever relation the warrant has.
                if same and ("relation" not in of or subject.get("relation") == of["relation"]):
                    return [warrant]
                if "relation" in subject and (path := self._path(asked | subject)) is not None:
                    return [*path, warrant]
        return None

    def _page(self, path: str, rows: list[Row], given: Mapping[str, str]) -> bytes | Answered:
        limit = int(given.get("limit", "25"))
        if limit > self.most:
            message = f"must be an integer greater than 0 and less than or equal to {self.most}"
            return fault(400, "invalid_parameter", message, parameter="limit")
        sort_by = given.get("sortBy") or next(iter(SORTS[path]))
        sort = SORTS[path][sort_by]
        ordered = sorted(self._filter(path, rows, given), key=sort)
        has_value = path != "/v2/objects" or sort_by == "objectId" or self.database == "sqlite"
        if "nextCursor" in given:
            try:
                # As that server reads them: a blank was a plus that nobody escaped.
                place = json.loads(base64.b64decode(given["nextCursor"], validate=True))
            except ValueError:
                return fault(400, "invalid_parameter", "invalid cursor", parameter="nextCursor")
            if "value" in place:
                ordered = [row for row in ordered if sort(row) > (place["value"], place["id"])]
        shown, answer = ordered[:limit], dict[str, Any]()
        answer["results"] = [{name: row[name] for name in row if name != "place"} for row in shown] or None
        if len(ordered) > limit:
            value, object_id = sort(shown[-1])
            # With question marks it has a plus or a slash in it.
            cursor = {"id": object_id, "?": "?>?>?>~~~"} | ({"value": value} if has_value else {})
            answer["nextCursor"] = base64.b64encode(json.dumps(cursor).encode()).decode()
        return encoded(answer)

    def _filter(self, path: str, rows: list[Row], given: Mapping[str, str]) -> list[Row]:
        of_type, text = given.get("objectType"), given.get("q")
        if path != "/v2/objects":
            return rows
        if of_type:
            rows = [row for row in rows if row["objectType"] == of_type]
        if text:
            pattern = ".*".join(map(re.escape, text.split("%"))).replace("_", ".")
            like = re.compile(pattern, re.DOTALL | (re.IGNORECASE if self.database == "sqlite" else 0))
            searched = [(row, f"{row['objectId']}\n{json.dumps(row.get('meta', {}))}") for row in rows]
            rows = [row for row, content in searched if like.search(content)]
        return rows


@contextmanager
def reference_server(reference: Reference) -> Iterator[StubServer]:
    with stub_server(reference.answer) as server:
        yield server


def encoded(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def fault(status: int, code: str, message: str, **members: str) -> Answered:
    return Answered(status, encoded({"code": code, "message": message, **members}))
