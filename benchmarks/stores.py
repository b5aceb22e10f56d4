"""Many stores of one template in one service: how fast they are made, how soon the service is ready, what each takes,
and how fast a check in the last one is, beside a service with one store."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from benchmarks.databases import sqlite_databases
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.context import Context
from magistrate.operations.keys.caller_keys import KeyDraft, create_key
from magistrate.operations.keys.callers import ALL_SCOPES, Caller, Scope
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.stores.stores import StoreDraft, create_store
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stores import DEFAULT_NAME, StoreLimits
from magistrate.wiring.contexts import open_contexts
from magistrate.wiring.stores import migrate_store

STORES = 10_000
WARRANTS = 100
AT_ONCE = 16
STARTS = 3
ROUNDS = 5
IDLE_SECONDS = 3.0
"""Left alone for so long before its memory is looked at."""

TARGET_CREATED = 200
TARGET_READY_SECONDS = 2.0
TARGET_BYTES = 4_096
TARGET_RATIO = 1.10

DOCUMENT, USER, VIEWER, EDITOR = TypeName("document"), TypeName("user"), RelationName("viewer"), RelationName("editor")
DOCUMENT_TYPE = read_object_type(
    DOCUMENT,
    None,
    msgspec.convert({VIEWER: {"inheritIf": EDITOR}, EDITOR: {}}, dict[str, RuleDefinition | None]),
)
BODY = msgspec.json.encode(
    {
        "warrants": [
            {
                "objectType": DOCUMENT,
                "objectId": "d1",
                "relation": VIEWER,
                "subject": {"objectType": USER, "objectId": "u1"},
            }
        ]
    }
)


@dataclass(frozen=True, slots=True)
class _Figures:
    ready_seconds: float
    bytes_each: float
    ratios: Sequence[float]
    check_ms: float


def measure_stores(seconds: int, stores: int = STORES) -> str:
    """A table. `seconds` limits each round of checks."""
    with sqlite_databases() as new_database:
        many, single = new_database("many"), new_database("single")
        created_each_second = asyncio.run(_fill(many, stores))
        asyncio.run(_fill(single, 0))
        figures = _serve(many, single, stores, seconds)
    rows = [
        ("stores created a second", f"{created_each_second:,.0f}", f">= {TARGET_CREATED}"),
        ("seconds to /readyz, a key in each store", f"{figures.ready_seconds:.2f}", f"<= {TARGET_READY_SECONDS:.2f}"),
        ("bytes of resident memory for each store that was used", f"{figures.bytes_each:,.0f}", f"<= {TARGET_BYTES:,}"),
        ("cached check in the last store, p50 in ms", f"{figures.check_ms:.3f}", ""),
        (
            "the same, beside a service with one store",
            f"{statistics.median(figures.ratios):.2f}",
            f"<= {TARGET_RATIO:.2f}",
        ),
    ]
    title = f"{stores:,} stores of one template with {WARRANTS} warrants each, on SQLite"
    return markdown_table(title, ("", "", "target"), rows)


async def _fill(url: str, stores: int) -> float:
    """Fills a database, and returns how many stores were created a second."""
    settings = read_settings({"database_url": url}, {})
    migrate_store(settings)
    async with open_contexts(settings) as contexts:
        await contexts.follow()
        await put_object_types(contexts.default, [DOCUMENT_TYPE], contexts.default.stamp("benchmark"))
        await _write_warrants(contexts.default)
        numbers = iter(range(stores))
        began_at = time.perf_counter()

        async def create() -> None:
            for number in numbers:
                draft = StoreDraft(name_store(number), "", StoreLimits(), DEFAULT_NAME)
                await create_store(contexts.default, draft, "benchmark")

        await asyncio.gather(*[create() for _ in range(AT_ONCE)])
        created_each_second = stores / (time.perf_counter() - began_at)
        await contexts.follow()
        numbers = iter(range(stores))

        async def fill() -> None:
            for number in numbers:
                stored = contexts.find(name_store(number))
                assert stored is not None
                context = contexts.open_context(stored.number)
                caller = Caller("benchmark", ALL_SCOPES, store=stored.number)
                await create_key(context, caller, KeyDraft("application", (Scope.CHECK,), None, None))
                await _write_warrants(context)

        await asyncio.gather(*[fill() for _ in range(AT_ONCE)])
    return created_each_second


async def _write_warrants(context: Context) -> None:
    warrants = [
        NewWarrant(ObjectRef(DOCUMENT, ObjectId(f"d{n}")), EDITOR, Subject(USER, ObjectId(f"u{n}")))
        for n in range(WARRANTS)
    ]
    await create_warrants(context, warrants, context.stamp("benchmark"), str)


def name_store(number: int) -> str:
    return f"tenant-{number}"


def _serve(many: str, single: str, stores: int, seconds: int) -> _Figures:
    ready = []
    for _ in range(STARTS):
        with serving(many) as server:
            ready.append(server.ready_seconds)
    with serving(many) as server, serving(single) as other:
        time.sleep(IDLE_SECONDS)
        before = server.resident_mb()
        drive(server.url, _check_each(stores), 1, 600)
        time.sleep(IDLE_SECONDS)
        bytes_each = (server.resident_mb() - before) * 1_000_000 / stores
        last = f"/stores/{name_store(stores - 1)}/v2/check"
        rounds = [(_measure(server, last, seconds), _measure(other, "/v2/check", seconds)) for _ in range(ROUNDS)]
    ratios = [of_many / of_single for of_many, of_single in rounds]
    return _Figures(statistics.median(ready), bytes_each, ratios, 1_000 * statistics.median(many for many, _ in rounds))


def _check_each(stores: int) -> Iterator[bytes]:
    for number in range(stores):
        for _ in range(2):  # the second one is cached
            yield request_bytes("POST", f"/stores/{name_store(number)}/v2/check", BODY)


def _measure(server: Server, path: str, seconds: int) -> float:
    """Returns the p50 of a cached check in seconds."""
    request = request_bytes("POST", path, BODY)
    return statistics.median(drive(server.url, itertools.repeat(request), 1, seconds).latencies)
