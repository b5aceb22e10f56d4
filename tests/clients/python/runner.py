"""Runs the scenarios of clients/conformance through the Python client: `python runner.py`, or with `async` through the
client for asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from magistrate_client import (
    AccessChanges,
    AsyncClient,
    Client,
    Denied,
    MagistrateError,
    Object,
    Refused,
    Revision,
    Warrant,
    errors,
)
from magistrate_client.refs import read_time, read_warrant

KINDS: Mapping[type[MagistrateError], str] = {
    errors.InvalidRequest: "invalid_request",
    errors.InvalidParameter: "invalid_parameter",
    errors.NotAllowed: "not_allowed",
    errors.OrphanedWarrants: "orphaned_warrants",
    errors.InvalidModel: "invalid_model",
    errors.Unauthenticated: "unauthenticated",
    errors.Forbidden: "forbidden",
    errors.NotFound: "not_found",
    errors.Conflict: "conflict",
    errors.LimitReached: "limit_reached",
    errors.PreconditionFailed: "precondition_failed",
    errors.RevisionLost: "revision_lost",
    errors.Gone: "gone",
    errors.TooManyRequests: "too_many_requests",
    errors.Unavailable: "unavailable",
    errors.ReadOnly: "read_only",
    errors.BudgetExceeded: "budget_exceeded",
    errors.InternalError: "internal_error",
    errors.Unreachable: "unreachable",
    errors.CallTimeout: "timeout",
    errors.Denied: "denied",
    errors.InvalidUse: "invalid_use",
}

Json = dict[str, Any]


class Collect(Protocol):
    """Makes a call and returns what it answers: of an iterator all, or so many."""

    def __call__(self, make: Callable[[], Any], events: int | None) -> Any: ...


class Calls:
    """Makes the calls of steps with a client, either kind, and returns what they answer in the form of the corpus."""

    def __init__(self, client: Any, tokens: Mapping[str, str]) -> None:
        self._client = client
        self._tokens = tokens

    def check(self, step: Json) -> Any:
        return self._client.check(*_triple(step), **self._options(step))

    def check_many(self, step: Json) -> Any:
        checks = [tuple(check) for check in step["checks"]] if "checks" in step else None
        checks = [tuple(step["repeat"])] * step["times"] if checks is None else checks
        return self._client.check_many(checks, **self._options(step))

    def require(self, step: Json) -> Any:
        options = self._options(step) | ({"explain": True} if step.get("explain") else {})
        return self._client.require(*_triple(step), **options)

    def explain(self, step: Json) -> Any:
        return self._client.explain(*_triple(step), **self._options(step))

    def objects(self, step: Json) -> Any:
        return self._client.objects(step["subject"], step["relation"], step["type"], **self._options(step))

    def subjects(self, step: Json) -> Any:
        return self._client.subjects(step["object"], step["relation"], step["type"], **self._options(step))

    def write(self, step: Json) -> Any:
        preconditions = [
            {kind: self._tokens[value] if kind == "revision" else value for kind, value in precondition.items()}
            for precondition in step.get("preconditions", ())
        ]
        elements = {
            name: [_read_element(element) for element in step[name]] for name in ("create", "delete") if name in step
        }
        return self._client.write(**elements, preconditions=preconditions)

    def warrants(self, step: Json) -> Any:
        return self._client.warrants(**step)

    def model(self, step: Json) -> Any:
        return self._client.model(**self._options(step))

    def write_model(self, step: Json) -> Any:
        expected = self._tokens[step["expected"]] if "expected" in step else None
        return self._client.write_model(step["text"], expected=expected)

    def difference(self, step: Json) -> Any:
        named = {"from": "from_", "to": "to"}
        places = {named[name]: self._tokens[step[name]] for name in named if name in step}
        options = {name: value for name, value in step.items() if name not in named}
        return self._client.difference(**places, **options)

    def watch(self, step: Json) -> Any:
        return self._client.watch(**self._feed_options(step))

    def access(self, step: Json) -> Any:
        return self._client.access(**self._feed_options(step))

    def _options(self, step: Json) -> Json:
        given: Json = {name: step[name] for name in ("context", "strict", "page_size") if name in step}
        if "with" in step:
            given["with_"] = step["with"]
        if "as_of" in step:
            given["as_of"] = self._tokens[step["as_of"]]
        return given

    def _feed_options(self, step: Json) -> Json:
        since = {"since": self._tokens[step["since"]]} if "since" in step else {}
        return since | {name: value for name, value in step.items() if name not in ("since", "events")}


def _triple(step: Json) -> tuple[str, str, str]:
    return step["subject"], step["relation"], step["object"]


def _read_element(element: Any) -> Any:
    if isinstance(element, str):
        return element
    if "object" in element:
        return Object(element["object"], element.get("meta"))
    warrant = read_warrant(element["warrant"])
    times = (read_time(element[name]) if name in element else None for name in ("starts_at", "expires_at"))
    return Warrant(warrant.object, warrant.relation, warrant.subject, warrant.policy, *times)


def render(call: str, answer: Any) -> Any:
    """The answer of a call in the form of the corpus."""
    if call == "explain":
        return {
            "allowed": answer.allowed,
            "path": [str(warrant) for warrant in answer.path],
            "would_allow": [
                {"create": [str(one) for one in change.create], "delete": [str(one) for one in change.delete]}
                for change in answer.would_allow
            ],
        }
    if call == "write":
        return {"created": answer.created, "deleted": answer.deleted, "unchanged": answer.unchanged}
    if isinstance(answer, list):
        return [answer_row(row) for row in answer]
    return answer


def answer_row(row: Any) -> Any:
    """A row of a list, or an event, in the form of the corpus."""
    if isinstance(row, (str, bool)):
        return row
    if isinstance(row, Warrant):
        return str(row)
    if isinstance(row, Revision):
        return {
            "created": [str(warrant) for warrant in row.warrants_created],
            "deleted": [str(warrant) for warrant in row.warrants_deleted],
        }
    if isinstance(row, AccessChanges):
        return {name: [str(one.warrant) for one in getattr(row, name)] for name in ("gained", "lost")}
    return {"change": row.change, "access": str(row.access), "conditional": row.conditional}


def render_error(error: MagistrateError) -> Json:
    """An error in the form of the corpus."""
    refused = error if isinstance(error, Refused) else None
    shown: Json = {
        "kind": KINDS.get(type(error), "unknown"),
        "code": refused.code if refused else None,
        "status": refused.status if refused else None,
        "message": error.message,
    }
    return shown | ({"reason": error.reason} if isinstance(error, Denied) else {})


def collect_rows(answer: Any, events: int | None) -> Any:
    """What a call of a client for threads answers; an iterator as a list."""
    if not isinstance(answer, Iterator):
        return answer
    try:
        return list(answer) if events is None else list(islice(answer, events))
    finally:
        answer.close()  # type: ignore[attr-defined]  # every iterator of the client is a generator


async def collect_asynchronously(answer: Any, events: int | None) -> Any:
    """The same of a client for asyncio."""
    if isinstance(answer, Awaitable):
        return await answer
    assert isinstance(answer, AsyncIterator)
    rows: list[Any] = []
    try:
        while events is None or len(rows) < events:
            rows.append(await answer.__anext__())
    except StopAsyncIteration:
        pass
    finally:
        await answer.aclose()  # type: ignore[attr-defined]
    return rows


def run_scenario(client: Any, scenario: Json, collect: Collect, begin: Callable[[str, int], None]) -> None:
    """Prints a line for each step. `begin` says that a step begins."""
    tokens = scenario["tokens"]
    calls = Calls(client, tokens)
    for number, step in enumerate(scenario["steps"]):
        [call] = step.keys() - {"token", "at", "save"}
        begin(scenario["name"], number)
        if "token" in step:
            client.token = tokens[step["token"]]
        line: Json = {"scenario": scenario["name"], "step": number}
        begun = time.monotonic()
        try:

            def make(call: str = call, step: Json = step) -> Any:
                return collect(lambda: getattr(calls, call)(step[call]), step[call].get("events"))

            if "at" in step:
                with client.at(tokens[step["at"]]):
                    line["answer"] = render(call, make())
            else:
                line["answer"] = render(call, make())
        except MagistrateError as error:
            line["error"] = render_error(error)
        except Exception as error:
            line["error"] = {"kind": "unknown", "message": repr(error)}
        line["seconds"] = time.monotonic() - begun
        line["token"] = client.token
        if "save" in step:
            tokens[step["save"]] = client.token
        print(json.dumps(line), flush=True)


def post_step(scenario: str, step: int) -> None:
    """Says to the driver which step begins."""
    body = json.dumps({"scenario": scenario, "step": step}).encode()
    request = urllib.request.Request(os.environ["MAGISTRATE_CONFORMANCE_CONTROL"], body)
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def run_threads(scenarios: list[Json]) -> None:
    for scenario in scenarios:
        with Client(os.environ["MAGISTRATE_URL"], **scenario["client"]) as client:
            run_scenario(client, scenario, lambda make, events: collect_rows(make(), events), post_step)


def run_tasks(scenarios: list[Json]) -> None:
    loop = asyncio.new_event_loop()

    async def collect_here(make: Callable[[], Any], events: int | None) -> Any:
        return await collect_asynchronously(make(), events)

    def collect_in_loop(make: Callable[[], Any], events: int | None) -> Any:
        return loop.run_until_complete(collect_here(make, events))

    for scenario in scenarios:
        client = AsyncClient(os.environ["MAGISTRATE_URL"], **scenario["client"])
        run_scenario(
            client, scenario, lambda make, events: loop.run_until_complete(collect_here(make, events)), post_step
        )
        loop.run_until_complete(client.aclose())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


if __name__ == "__main__":
    with open(os.environ["MAGISTRATE_CONFORMANCE"], encoding="utf-8") as file:
        given = json.load(file)["scenarios"]
    (run_tasks if sys.argv[1:] == ["async"] else run_threads)(given)
