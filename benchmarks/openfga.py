"""OpenFGA's API beside the same requests to /v2, of one store: checks, batches of 50, lists of objects, whole and as a
stream, and writes of 100 tuples. Cached checks are also compared in instructions of the interpreter."""

import asyncio
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from benchmarks.callers import count_request_steps, open_service
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Check, WarrantRow
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import closed_loop
from benchmarks.mixed.mixes import PLACES
from benchmarks.mixed.openfga import OpenFga, fill_openfga
from benchmarks.mixed.openfga_model import OpenFgaModel
from benchmarks.mixed.warrant_api import WarrantApi, warrant_body
from benchmarks.mixed.wire import answered
from benchmarks.server import API_KEY, Server, serving
from benchmarks.table import markdown_table
from magistrate.api.calls import Service
from magistrate.api.openfga.routes import OPENFGA_ROUTES
from magistrate.engine.evaluation import check as engine
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.openfga.documents import read_document
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.openfga.models import put_document
from magistrate.operations.paging import MAX_LIMIT
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stores import DEFAULT_NAME

DATASET, SIZE, SEED = "drive", 10_000, 1
QUESTIONS, LISTED = 2_000, 60
ROUNDS, WARM_UP = 6, 1
BATCH = 50
WRITTEN = 100

TARGET = 1.1
"""How much dearer a check may be, and a batch."""
MAX_INSTRUCTIONS = 1.2
"""How many more instructions a batch may take: it has more of them, and shorter ones."""
TARGET_OF_WRITES = 1 / 0.7
"""Of a write of 100 tuples: it has to reach 70 % of the speed of /v2/writes."""

PAIRS = {
    "check": ("/v2/check", TARGET, 3_000),
    f"batch-check of {BATCH}": (f"/v2/check of {BATCH}", TARGET, 1_000),
    "list-objects": ("/v2/query, all rows", 1.0, 60),
    "streamed-list-objects": ("/v2/query, all rows", 1.0, 60),
    f"write of {WRITTEN}": (f"/v2/writes of {WRITTEN}", TARGET_OF_WRITES, 60),
}
"""Maps each request to the one it is compared with, how much dearer it may be, and how many there are in a round: they
take some tenths of a second, because processor time is counted in hundredths."""


@dataclass(slots=True)
class Pair:
    """Requests to both, without an end, and the processor time of the server for one of each in each round, in
    microseconds."""

    own: Iterator[bytes]
    other: Iterator[bytes]
    microseconds: list[tuple[float, float]] = field(default_factory=list)


def measure_openfga(seconds: int) -> str:
    """Two tables. Each case ends after `seconds` at most in each round."""
    rows: list[Sequence[str]] = []
    for store, databases in STORES.items():
        with ExitStack() as stack:
            new_database = stack.enter_context(databases())
            server = stack.enter_context(serving(new_database("openfga")))
            pairs = _build_pairs(server)
            for name, pair in pairs.items():  # one after another: writes would evict what checks have cached
                _measure_pair(server, name, pair, seconds)
            rows += [_row(store, name, pair) for name, pair in pairs.items()]
    header = ("", "processor µs", "the same by /v2", "ratio", "target")
    over_http = markdown_table(f"OpenFGA's API ({DATASET} data set, {SIZE:,} tuples)", header, rows)
    return f"{over_http}\n{_tabulate_instructions()}"


def _row(store: str, name: str, pair: Pair) -> Sequence[str]:
    other, target, _ = PAIRS[name]
    ratio = statistics.median(own / compared for own, compared in pair.microseconds)
    own, compared = (statistics.median(each) for each in zip(*pair.microseconds, strict=True))
    figures = (f"{own:,.0f}", f"{compared:,.0f}", f"{ratio:.2f}", f"≤ {target:.2f}")
    return (f"{store}, {name} (compared with {other})", *figures)


def _measure_pair(server: Server, name: str, pair: Pair, seconds: int) -> None:
    number = PAIRS[name][2]
    for round_number in range(WARM_UP + ROUNDS):
        sides = [pair.own, pair.other]
        if is_reversed := bool(round_number % 2):
            sides.reverse()
        taken = [_measure_processor(server, islice(each, number), seconds) for each in sides]
        if is_reversed:
            taken.reverse()
        if round_number >= WARM_UP:
            pair.microseconds.append((taken[0], taken[1]))


def _measure_processor(server: Server, requests: Iterator[bytes], seconds: int) -> float:
    before = server.cpu_seconds()
    count = len(closed_loop(server.url, map(Ask, requests), 1, seconds).latencies)
    return (server.cpu_seconds() - before) / count * 1_000_000


def _build_pairs(server: Server) -> Mapping[str, Pair]:
    """Fills a new store through OpenFGA's API, and returns the pairs, of the same checks and lists."""
    dataset, place = DATASETS[DATASET](SIZE, SEED), PLACES[DATASET]
    written = [place.of_user("any", "any"), place.of_group("any", "any"), place.member("any", "any")]
    openfga = fill_openfga(server.url, dataset, written, API_KEY)
    api, of_store = WarrantApi(), partial(_name_store, store=openfga.store)
    asked = dataset.questions(QUESTIONS, SEED)
    batches = [asked[start : start + BATCH] for start in range(0, len(asked), BATCH)]
    listed = [one for one in filter(place.is_of, asked[:LISTED]) if _fits(server, openfga, one)]
    lists = [of_store(_list_all(one)) for one in listed]
    return {
        "check": Pair(cycle(map(openfga.check, asked)), cycle([of_store(api.check(one)) for one in asked])),
        f"batch-check of {BATCH}": Pair(
            cycle([_batch(openfga, some) for some in batches]), cycle([of_store(api.batch(some)) for some in batches])
        ),
        "list-objects": Pair(cycle(map(openfga.list_objects, listed)), cycle(lists)),
        "streamed-list-objects": Pair(cycle(map(partial(_stream, openfga), listed)), cycle(lists)),
        f"write of {WRITTEN}": Pair(
            map(openfga.write_all, _make_rows("own")), map(of_store, map(_write_all, _make_rows("other")))
        ),
    }


def _fits(server: Server, openfga: OpenFga, question: Check) -> bool:
    """Returns whether a list is a single page of /v2/query."""
    return len(openfga.listed(answered(server.url, openfga.list_objects(question))).ids) <= MAX_LIMIT


def _batch(openfga: OpenFga, checks: Sequence[Check]) -> bytes:
    """Returns a batch as SDKs send it: the ids of its checks are UUIDs, and the model comes last."""
    path, content = _divide(openfga.batch(checks))
    body = msgspec.json.decode(content)
    body["authorization_model_id"] = body.pop("authorization_model_id")
    for number, item in enumerate(body["checks"]):
        item["correlation_id"] = str(UUID(int=number * 2**90, version=4))
    return request_bytes("POST", path, msgspec.json.encode(body), openfga.authorization)


def _name_store(request: bytes, store: str) -> bytes:
    """Returns a request to /v2 that is about this store."""
    return request.replace(b" /v2/", f" /stores/{store}/v2/".encode(), 1)


def _list_all(question: Check) -> bytes:
    text = f"select {question.object_type} where user:{question.subject_id} is {question.relation}"
    return request_bytes("GET", f"/v2/query?{urlencode({'q': text, 'limit': MAX_LIMIT})}")


def _stream(openfga: OpenFga, question: Check) -> bytes:
    return openfga.list_objects(question).replace(b"/list-objects ", b"/streamed-list-objects ", 1)


def _make_rows(prefix: str) -> Iterator[list[WarrantRow]]:
    """Yields rows that are not there, to be written together."""
    place, number = PLACES[DATASET], 0
    while True:
        yield [place.of_user(f"{prefix}-{number}", f"user-{user}") for user in range(WRITTEN)]
        number += 1


def _write_all(rows: Sequence[WarrantRow]) -> bytes:
    """Returns the write of these rows as what the tuples of OpenFGA's API are."""
    warrants = [warrant_body((*row[:2], f"direct_{row[2]}", *row[3:])) for row in rows]
    return request_bytes("POST", "/v2/writes", msgspec.json.encode({"create": {"warrants": warrants}}))


def _tabulate_instructions() -> str:
    with tempfile.TemporaryDirectory() as folder:
        counted = asyncio.run(count_instructions(f"sqlite:///{folder}/m.db"))
    rows = [
        [name, f"{own:,}", f"{other:,}", f"{own / other:.2f}", f"≤ {TARGET if 'check' in name else MAX_INSTRUCTIONS}"]
        for name, (own, other) in counted.items()
    ]
    return markdown_table("Cached checks", ("", "instructions", "the same by /v2/check", "ratio", "target"), rows)


TYPES = [
    {"type": "user"},
    {
        "type": "document",
        "relations": {"viewer": {"this": {}}},
        "metadata": {"relations": {"viewer": {"directly_related_user_types": [{"type": "user"}]}}},
    },
]


async def count_instructions(database_url: str) -> Mapping[str, tuple[int, int]]:
    """How many instructions cached checks take, and the same by /v2/check, whose heads are known. Every second check is
    denied; the ids of checks in a batch are as long as those that SDKs make."""
    asked = [Check("document", f"d{number}", "viewer", "user", f"u{number}") for number in range(BATCH)]
    async with open_service(database_url) as service:
        context = service.context
        document = read_document("1.1", msgspec.json.decode(msgspec.json.encode(TYPES)), None)
        model_id = (await put_document(context, document, context.stamp("bench"))).value
        checks = [_as_check(each) for each in asked]
        warrants = [NewWarrant(check.object, RelationName("direct_viewer"), check.subject) for check in checks[::2]]
        await create_warrants(context, warrants, context.stamp("bench"), str)
        await check_all(context, checks, NO_DEMAND)  # now they are cached
        await context.caches.openfga.find_newest()
        default = service.stores.find(DEFAULT_NAME)
        assert default is not None
        openfga, api = OpenFga(default.id, model_id, OpenFgaModel({}, ()), ""), WarrantApi()
        return {
            name: _count_both(service, own, _name_store(other, default.id))
            for name, own, other in (
                ("check", openfga.check(asked[0]), api.check(asked[0])),
                ("denied check", openfga.check(asked[1]), api.check(asked[1])),
                (f"batch of {BATCH}", _batch(openfga, asked), api.batch(asked)),
            )
        }


def _count_both(service: Service, own: bytes, other: bytes) -> tuple[int, int]:
    path, content = _divide(own)
    return (
        count_request_steps(service, path, content, "Bearer", OPENFGA_ROUTES),
        count_request_steps(service, *_divide(other)),
    )


def _divide(request: bytes) -> tuple[str, bytes]:
    """Returns the path and the body of a request."""
    head, _, content = request.partition(b"\r\n\r\n")
    return head.split(b" ")[1].decode(), content


def _as_check(question: Check) -> engine.Check:
    return engine.Check(
        ObjectRef(TypeName(question.object_type), ObjectId(question.object_id)),
        RelationName(question.relation),
        Subject(TypeName(question.subject_type), ObjectId(question.subject_id)),
    )
