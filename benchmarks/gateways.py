"""The requests of gateways at /authz, beside the same cached checks by /v2/check: in instructions of the interpreter,
and in processor time over HTTP."""

import asyncio
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path

import httpx
import msgspec

from benchmarks.callers import BODY, DOCUMENT, OPERATOR_KEY, VIEWER, count_steps, open_service, write_checked_warrant
from benchmarks.databases import STORES
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import API_KEY, AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table
from magistrate.api.auth.forwarding import ForwardRules
from magistrate.api.calls import Service
from magistrate.api.http.fast_path import MAX_KEPT_BYTES, FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest
from magistrate.api.route_table import FORWARD_ROUTE, ROUTES
from magistrate.engine.forwarding.rule_files import MAX_RULES, read_rules

TARGET = 1.3
"""How much dearer a cached decision may be at /authz than by /v2/check."""
RULES_OF_A_SERVICE = 20
ROUNDS, REQUESTS, USERS = 8, 10_000, 100
WARM_UP = 2
"""Rounds that do not count."""
SESSION_REQUESTS = 1_500
"""How many requests with tokens there are in a round: they take longer."""

ONE, SESSION = "identity:\n  header: X-Auth-User", "identity: session"
AGAIN, OTHER_HEADERS = "request that comes again", "with headers that differ in each request"
WITH_SESSION = "with a session token"

Lines = Sequence[tuple[str, str]]


def write_rules(number: int, identity: str = ONE) -> str:
    """Returns the text of a file in which the last of these rules is that of documents, and every tenth begins with a
    capture."""
    others = [
        f"  - path: {f'/{{tenant}}/reports{each}' if each % 10 == 0 else f'/service{each}/{{id}}'}\n    deny: true\n"
        for each in range(number - 1)
    ]
    checked = "  - methods: [GET, HEAD]\n    path: /documents/{id}\n    object: document:{id}\n    relation: viewer\n"
    return f"version: 1\nsource: x-original\n{identity}\nrules:\n{''.join(others)}{checked}"


def list_lines(object_id: str, key: str, user: str = "") -> Lines:
    """Returns the headers as the recipe for nginx sends them."""
    return [
        ("Host", "magistrate"),
        ("X-Magistrate-Key", key),
        ("X-Original-Method", "GET"),
        ("X-Original-Host", "docs.example"),
        ("X-Original-URI", f"/documents/{object_id}"),
        *([("X-Auth-User", user)] if user else []),
    ]


def measure_gateways(seconds: int) -> str:
    """Two tables. Each case ends after `seconds` at most."""
    with tempfile.TemporaryDirectory() as folder:
        counted = asyncio.run(count_instructions(f"sqlite:///{folder}/m.db"))
    rows = [
        (name, f"{own:,}", f"{other:,}", f"{own / other:.2f}", f"≤ {TARGET}") for name, (own, other) in counted.items()
    ]
    header = ("cached decision", "instructions", "the same by /v2/check", "ratio", "target")
    instructions = markdown_table("Gateways", header, rows)
    over_http: list[Sequence[str]] = []
    for store, databases in STORES.items():
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            over_http += _measure_store(store, stack.enter_context(databases()), Path(folder), stack, seconds)
    header = ("cached decision over HTTP", "processor µs", "the same by /v2/check", "ratio", "target")
    return f"{instructions}\n{markdown_table('Gateways over HTTP', header, over_http)}"


async def count_instructions(database_url: str) -> Mapping[str, tuple[int, int]]:
    """How many instructions cached decisions take, and the same by /v2/check."""
    async with open_service(database_url) as service:
        await write_checked_warrant(service)
        service = replace(service, forward_rules=ForwardRules(max_bytes=MAX_KEPT_BYTES))
        counts: dict[str, tuple[int, int]] = {}
        for number in (RULES_OF_A_SERVICE, MAX_RULES):
            service.forward_rules.replace_table(read_rules(write_rules(number), "rules.yaml"))
            for denied in (False, True):
                name = f"{'denied ' if denied else ''}{{}}, {number:,} rules"
                user = "bob" if denied else "ann"
                body = BODY.replace(b'"ann"', f'"{user}"'.encode())
                check = request_bytes("POST", "/v2/check", body, f"ApiKey {OPERATOR_KEY}")
                gateway = _render_request(list_lines("plan", OPERATOR_KEY, user))
                for kind in (AGAIN, OTHER_HEADERS):
                    counts[name.format(kind)] = (
                        _count_request(service, gateway, kind),
                        _count_request(service, check, kind),
                    )
        return counts


def _count_request(service: Service, request: bytes, kind: str) -> int:
    fast_path = FastPath(lambda: service, (*ROUTES, FORWARD_ROUTE), Ledger())
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, url, _ = first.split(b" ")
    headers = [(name.lower(), value) for name, value in (line.split(b": ", 1) for line in lines)]
    begun = fast_path.begin_request(method, url, headers)
    assert isinstance(begun, BegunRequest)
    assert fast_path.answer(begun, body, []) is not None
    fast_path.remember(request, begun.head)
    begin: Callable[[], object] = partial(fast_path.begin_request, method, url, headers)
    if kind == AGAIN:
        begin = partial(fast_path.begin_known, head + b"\r\n\r\n", len(body))

    def answer() -> bytes | None:
        pending = begin()
        return fast_path.answer(pending, body, []) if isinstance(pending, BegunRequest) else None

    return count_steps(answer)


def _render_request(lines: Lines) -> bytes:
    written = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"GET /authz HTTP/1.1\r\n{written}\r\n".encode()


def _measure_store(
    store: str, open_database: Callable[[str], str], folder: Path, stack: ExitStack, seconds: int
) -> Iterator[Sequence[str]]:
    """Yields a row for each kind of request."""
    for kind in (AGAIN, OTHER_HEADERS, WITH_SESSION):
        file = folder / "rules.yaml"
        file.write_text(write_rules(RULES_OF_A_SERVICE, SESSION if kind == WITH_SESSION else ONE))
        with serving(open_database(f"gateways{len(kind)}"), flags=("--forward-rules", str(file))) as server:
            tokens = _fill(server)
            own, other = _list_requests(kind, tokens)
            yield (f"{store}, {kind}", *_compare(server, own, other, kind, seconds), f"≤ {TARGET}")


def _fill(server: Server) -> Sequence[str]:
    """Writes documents of which each has a viewer, and returns a token of a session for each viewer."""
    with httpx.Client(base_url=server.url, headers={"Authorization": AUTHORIZATION}, trust_env=False) as client:
        client.post("/v2/object-types", json={"type": DOCUMENT, "relations": {VIEWER: {}}}).raise_for_status()
        client.post("/v2/warrants", json=[*map(_as_warrant, range(USERS))]).raise_for_status()
        return [
            str(client.post("/v2/sessions", json={"type": "sess", "userId": f"u{number}"}).json()["token"])
            for number in range(USERS)
        ]


def _as_warrant(number: int) -> dict[str, object]:
    subject = {"objectType": "user", "objectId": f"u{number}"}
    return {"objectType": DOCUMENT, "objectId": f"d{number}", "relation": VIEWER, "subject": subject}


def _list_requests(kind: str, tokens: Sequence[str]) -> tuple[Iterator[bytes], Iterator[bytes]]:
    """Returns the requests to /authz and those to /v2/check, without end."""
    by_gateway, by_check = [], []
    for number, token in enumerate(tokens):
        body = msgspec.json.encode({"warrants": [_as_warrant(number)]})
        if kind == WITH_SESSION:
            lines = [*list_lines(f"d{number}", API_KEY), ("Authorization", f"Bearer {token}")]
            by_gateway.append(_render_request(lines))
            by_check.append(request_bytes("POST", "/v2/check", body, f"Bearer {token}"))
        else:
            by_gateway.append(_render_request(list_lines(f"d{number}", API_KEY, f"u{number}")))
            by_check.append(request_bytes("POST", "/v2/check", body))
    if kind == OTHER_HEADERS:
        return _number(by_gateway), _number(by_check)
    return cycle(by_gateway), cycle(by_check)


def _number(requests: Sequence[bytes]) -> Iterator[bytes]:
    for number, request in zip(count(), cycle(requests)):
        yield request.replace(b"\r\n\r\n", b"\r\nX-Request-ID: %d\r\n\r\n" % number, 1)


def _compare(
    server: Server, own: Iterator[bytes], other: Iterator[bytes], kind: str, seconds: int
) -> tuple[str, str, str]:
    """Returns the processor time of both, and the ratio: medians over the rounds."""
    number = SESSION_REQUESTS if kind == WITH_SESSION else REQUESTS
    taken: list[tuple[float, float]] = []
    for _ in range(WARM_UP + ROUNDS):
        taken.append((_time(server, own, number, seconds), _time(server, other, number, seconds)))
    measured = taken[WARM_UP:]
    ratio = statistics.median(one / compared for one, compared in measured)
    medians = [statistics.median(pair[place] for pair in measured) for place in (0, 1)]
    return f"{medians[0]:.0f}", f"{medians[1]:.0f}", f"{ratio:.2f}"


def _time(server: Server, requests: Iterator[bytes], number: int, seconds: int) -> float:
    before = server.cpu_seconds()
    answered = len(drive(server.url, islice(requests, number), 1, seconds).latencies)
    return (server.cpu_seconds() - before) / answered * 1_000_000
