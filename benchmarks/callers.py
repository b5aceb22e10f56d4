"""What a cached check costs with each kind of key, in instructions of the interpreter, which no other work on the
machine changes: the fast path is called in this process, as the server calls it. What a rate limit costs is also
measured in processor time over HTTP, because much of a check is not done by the interpreter."""

import asyncio
import statistics
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import repeat
from unittest.mock import patch

import msgspec

from benchmarks.counting import count_executed
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.limit_steps import count_limit_steps
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.api.auth.callers import list_secrets
from magistrate.api.calls import Service
from magistrate.api.http.fast_path import FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest
from magistrate.api.http.rate_limits import RateLimit, open_slots
from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from magistrate.config.settings import read_settings
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations import scheduling
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.keys.caller_keys import KeyDraft, create_key
from magistrate.operations.keys.callers import ALL_SCOPES, Caller, Scope
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.wiring import service as wiring_service
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store

OPERATOR_KEY = "the-key-of-the-operator"
DOCUMENT, USER, VIEWER = TypeName("document"), TypeName("user"), RelationName("viewer")
BODY = msgspec.json.encode(
    {
        "warrants": [
            {
                "objectType": "document",
                "objectId": "plan",
                "relation": "viewer",
                "subject": {"objectType": "user", "objectId": "ann"},
            }
        ]
    }
)
KINDS = {
    "an operator's key": None,
    "a stored key": KeyDraft("stored", (Scope.CHECK,), None, None),
    "a stored key limited to 2 object types": KeyDraft("limited", (Scope.CHECK,), (DOCUMENT, TypeName("folder")), None),
}
TARGET = 1.01
"""How much dearer a check may be with a stored key than with an operator's."""
RATE_LIMITED = "a stored key, with a rate limit"
TARGET_OF_RATE_LIMITED = 1.03
"""Of the processor time of a check over HTTP."""
MAX_OF_RATE_LIMIT = 45
"""Instructions that a rate limit may take."""
WHOLE = "an operator's key, with what the connection does"
IN_LIMITS = "of these instructions, in the code of limits"
ROUNDS, CHECKS, CONNECTIONS = 8, 40_000, 16


def measure_callers(seconds: int) -> str:
    """A table. Each case ends after `seconds` at most."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/m.db"
        counts = asyncio.run(count_instructions(url))
        limit_counts = asyncio.run(count_instructions_of_limits(f"sqlite:///{folder}/limits.db"))
        ratio = _measure_rate_limit(url, seconds)
    base = next(iter(counts.values()))
    rows = [
        [kind, f"{count:,}", f"{count / base:.3f}", f"{ratio:.3f}" if kind == RATE_LIMITED else ""]
        for kind, count in counts.items()
    ]
    header = ["a cached check with", "instructions", "ratio", "ratio of processor time over HTTP"]
    total, of_limits = limit_counts
    rows.append([WHOLE, f"{total:,}", "", ""])
    rows.append([IN_LIMITS, f"{of_limits:,}", f"{of_limits / total:.3f}", ""])
    return markdown_table("Cached checks by kind of key", header, rows)


async def count_instructions_of_limits(database_url: str) -> tuple[int, int]:
    """How many instructions a connection executes for a cached check, and how many of them are in the code of limits.
    The ratio of the latter in the table is to the former."""
    async with open_service(database_url) as service:
        await write_checked_warrant(service)
        return await count_limit_steps(service, BODY, OPERATOR_KEY)


def _measure_rate_limit(url: str, seconds: int) -> float:
    """The processor time of a check on a server with a rate limit, of one without it: the median over the rounds."""
    with serving(url) as plain, serving(url, flags=("--rate-limit", "1000000")) as limited:
        ratios = []
        for number in range(ROUNDS):
            servers = (plain, limited) if number % 2 else (limited, plain)
            taken = {server.pid: _time_check(server, seconds) for server in servers}
            ratios.append(taken[limited.pid] / taken[plain.pid])
    return statistics.median(ratios)


def _time_check(server: Server, seconds: int) -> float:
    before = server.cpu_seconds()
    requests = repeat(request_bytes("POST", "/v2/check", BODY), CHECKS)
    answered = len(drive(server.url, requests, CONNECTIONS, seconds).latencies)
    return (server.cpu_seconds() - before) / answered


@asynccontextmanager
async def open_service(database_url: str) -> AsyncIterator[Service]:
    """A service in this process, with documents that have viewers."""
    settings = read_settings({"database_url": database_url, "api_key": OPERATOR_KEY}, {})
    migrate_store(settings)
    await prepare_store(settings)
    async with wiring_service.open_service(settings) as service:
        document = read_object_type(DOCUMENT, None, {VIEWER: RuleDefinition()})
        await put_object_types(service.context, [document], service.context.stamp("bench"))
        yield service


async def count_instructions(database_url: str) -> dict[str, int]:
    """How many instructions a cached check takes, by the kind of the key."""
    async with open_service(database_url) as service:
        context, operator = service.context, Caller("bench", ALL_SCOPES)
        await write_checked_warrant(service)
        counts = {}
        for kind, draft in KINDS.items():
            secret = OPERATOR_KEY
            if draft is not None:
                secret = (await create_key(context, operator, draft)).value.secret
                service.keys.replace((), list_secrets((await context.store.list_keys()).keys, DEFAULT_STORE))
            counts[kind] = _count_check(service, secret)
            if kind == "a stored key":
                limit = RateLimit(1_000_000, open_slots(None))
                counts[RATE_LIMITED] = _count_check(replace(service, rate_limit=limit), secret)
        return counts


async def write_checked_warrant(service: Service) -> None:
    """Writes what the check is about, and makes the check, so that it is cached."""
    context = service.context
    warrant = NewWarrant(ObjectRef(DOCUMENT, ObjectId("plan")), VIEWER, Subject(USER, ObjectId("ann")))
    await create_warrants(context, [warrant], context.stamp("bench"), str)
    await check_all(context, [Check(warrant.object, VIEWER, warrant.subject, {})], NO_DEMAND)


def _count_check(service: Service, secret: str) -> int:
    fast_path = FastPath(lambda: service, ROUTES, Ledger())
    headers = [(b"authorization", f"ApiKey {secret}".encode()), (b"content-length", str(len(BODY)).encode())]

    def check() -> bytes | None:
        pending = fast_path.begin_request(b"POST", b"/v2/check", headers)
        return fast_path.answer(pending, BODY, []) if isinstance(pending, BegunRequest) else None

    return count_steps(check)


def count_request_steps(
    service: Service, path: str, content: bytes, scheme: str = "ApiKey", routes: Sequence[Route] = ROUTES
) -> int:
    """How many instructions a cached POST of these routes takes whose head is known."""
    fast_path = FastPath(lambda: service, routes, Ledger())
    headers = {
        "authorization": f"{scheme} {OPERATOR_KEY}",
        "content-type": "application/json",
        "content-length": f"{len(content)}",
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    first = fast_path.begin_request(b"POST", path.encode(), raw)
    assert isinstance(first, BegunRequest)

    def answer() -> bytes | None:
        pending = fast_path.begin(first.head)
        return None if pending is None else fast_path.answer(pending, content, [])

    # A large batch is not decided at the end of a long iteration, and on a busy machine any may become one.
    with patch.object(scheduling, "NANOSECONDS_BETWEEN_CHECKPOINTS", 60_000_000_000):
        return count_steps(answer)


def count_steps(step: Callable[[], object]) -> int:
    """How many instructions `step` takes once it has been done before."""
    for _ in range(3):
        step()
    found, count = count_executed(step)
    assert found is not None
    return count
