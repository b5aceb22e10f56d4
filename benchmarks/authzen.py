"""The AuthZEN API over HTTP, beside the same cached checks by /v2/check: an evaluation, a hundred of them, and a search
for actions over twenty relations. Evaluations are also compared in instructions of the interpreter."""

import asyncio
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice

import msgspec

from benchmarks.callers import DOCUMENT, USER, VIEWER, count_request_steps, open_service
from benchmarks.checks import SEED, loaded_case
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Check
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.engine.evaluation import check as engine
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant

SIZE = 10_000
ROUNDS = 7
WARM_UP = 2
"""Rounds that do not count: in the first the warrants are read, and after it the groups of the subjects."""
BATCH = 100
RELATIONS = 20
MACHINES = 100

TARGET = 1.15
"""How much dearer an evaluation may be than a check."""

PAIRS = {
    "evaluation": ("check", TARGET, 5_000),
    f"{BATCH} evaluations": (f"batch of {BATCH} checks", TARGET, 1_000),
    f"search for actions over {RELATIONS} relations": ("check of one of the relations", 3.0, 3_000),
}
"""Maps each request to the one it is compared with, how much dearer it may be, and how many there are in a round: they
take some tenths of a second, because processor time is counted in hundredths."""


@dataclass(slots=True)
class Figures:
    """Of each round: processor time of the server for one request, in microseconds."""

    processor: list[float] = field(default_factory=list)


def measure_authzen(seconds: int) -> str:
    """A table, a row for each store and request. Each case ends after `seconds` at most."""
    rows: list[Sequence[str]] = []
    for store, databases in STORES.items():
        with ExitStack() as stack:
            case = loaded_case(store, stack.enter_context(databases())("authzen"), DATASETS["drive"](SIZE, SEED))
            server = stack.enter_context(serving(case.url))
            _define_machines(server, seconds)
            rows += _rows(store, _measure(server, _all_requests(case.asked), seconds))
    header = ("", "processor µs", "the same by /v2/check", "ratio", "target")
    over_http = markdown_table(f"The AuthZEN API (drive data set, {SIZE:,} warrants)", header, rows)
    return f"{over_http}\n{_tabulate_instructions()}"


def _tabulate_instructions() -> str:
    with tempfile.TemporaryDirectory() as folder:
        counted = asyncio.run(count_instructions(f"sqlite:///{folder}/m.db"))
    rows = [
        [name, f"{own:,}", f"{other:,}", f"{own / other:.2f}", f"≤ {TARGET}"] for name, (own, other) in counted.items()
    ]
    return markdown_table("Evaluations", ("", "instructions", "the same by /v2/check", "ratio", "target"), rows)


async def count_instructions(database_url: str) -> Mapping[str, tuple[int, int]]:
    """How many instructions cached evaluations take, and the same by /v2/check, whose heads are known. Every second
    check is denied."""
    asked = [Check(DOCUMENT, f"d{number}", VIEWER, USER, f"u{number}") for number in range(BATCH)]
    similar = [Check(DOCUMENT, f"d{number}", VIEWER, USER, "u0") for number in range(BATCH)]
    members = _as_evaluation(similar[0])
    resources = [{"resource": _as_evaluation(one)["resource"]} for one in similar]
    compared = {
        "evaluation": (_as_evaluation(asked[0]), asked[:1]),
        "denied evaluation": (_as_evaluation(asked[1]), asked[1:2]),
        f"{BATCH} evaluations": ({"evaluations": [*map(_as_evaluation, asked)]}, asked),
        f"{BATCH} evaluations of resources alone": (
            {"subject": members["subject"], "action": members["action"], "evaluations": resources},
            similar,
        ),
    }
    async with open_service(database_url) as service:
        context = service.context
        checks = [_as_check(each) for each in (*asked, *similar)]
        warrants = [NewWarrant(check.object, check.relation, check.subject) for check in checks[:BATCH:2]]
        await create_warrants(context, warrants, context.stamp("bench"), str)
        await check_all(context, checks, NO_DEMAND)  # now they are cached
        counts = {}
        for name, (evaluations, same) in compared.items():
            path, op = ("evaluation", {}) if len(same) == 1 else ("evaluations", {"op": "batch"})
            own = count_request_steps(service, f"/access/v1/{path}", msgspec.json.encode(evaluations))
            body = {**op, "warrants": [*map(_as_warrant, same)]}
            counts[name] = own, count_request_steps(service, "/v2/check", msgspec.json.encode(body))
        return counts


def _as_check(question: Check) -> engine.Check:
    subject = Subject(TypeName(question.subject_type), ObjectId(question.subject_id))
    object_ref = ObjectRef(TypeName(question.object_type), ObjectId(question.object_id))
    return engine.Check(object_ref, RelationName(question.relation), subject)


def _define_machines(server: Server, seconds: int) -> None:
    """Writes a type with RELATIONS relations, of which each inherits the next, and machines that some users have the
    relations of."""
    relations: dict[str, object] = {f"can-{number}": {"inheritIf": f"can-{number + 1}"} for number in range(RELATIONS)}
    relations[f"can-{RELATIONS - 1}"] = {}
    machine = {"type": "machine", "relations": relations}
    warrants = [
        {
            "objectType": "machine",
            "objectId": f"m{number}",
            "relation": f"can-{number % RELATIONS}",
            "subject": {"objectType": "user", "objectId": f"u{number}"},
        }
        for number in range(MACHINES)
    ]
    bodies = {"/v2/object-types": machine, "/v2/warrants": warrants}
    requests = (request_bytes("POST", path, msgspec.json.encode(body)) for path, body in bodies.items())
    drive(server.url, requests, 1, seconds)


def _all_requests(asked: Sequence[Check]) -> Mapping[str, list[bytes]]:
    batches = [asked[start : start + BATCH] for start in range(0, len(asked), BATCH)]
    machines = range(MACHINES)
    return {
        "check": [_request("/v2/check", {"warrants": [_as_warrant(one)]}) for one in asked],
        "evaluation": [_request("/access/v1/evaluation", _as_evaluation(one)) for one in asked],
        f"batch of {BATCH} checks": [
            _request("/v2/check", {"op": "batch", "warrants": [*map(_as_warrant, some)]}) for some in batches
        ],
        f"{BATCH} evaluations": [
            _request("/access/v1/evaluations", {"evaluations": [*map(_as_evaluation, some)]}) for some in batches
        ],
        "check of one of the relations": [
            _request("/v2/check", {"warrants": [_as_warrant(_machine_check(number))]}) for number in machines
        ],
        f"search for actions over {RELATIONS} relations": [
            _request("/access/v1/search/action", _as_evaluation(_machine_check(number))) for number in machines
        ],
    }


def _machine_check(number: int) -> Check:
    return Check("machine", f"m{number}", "can-0", "user", f"u{number}")


def _request(path: str, body: object) -> bytes:
    return request_bytes("POST", path, msgspec.json.encode(body))


def _as_warrant(question: Check) -> dict[str, object]:
    subject = {"objectType": question.subject_type, "objectId": question.subject_id}
    names = {"objectType": question.object_type, "objectId": question.object_id, "relation": question.relation}
    return {**names, "subject": subject}


def _as_evaluation(question: Check) -> dict[str, object]:
    return {
        "subject": {"type": question.subject_type, "id": question.subject_id},
        "action": {"name": question.relation},
        "resource": {"type": question.object_type, "id": question.object_id},
    }


def _measure(server: Server, requests: Mapping[str, list[bytes]], seconds: int) -> Mapping[str, Figures]:
    figures = {name: Figures() for name in requests}
    for round_number in range(ROUNDS + WARM_UP):
        for own, (other, _, number) in PAIRS.items():
            for name in (own, other):
                before = server.cpu_seconds()
                answered = len(drive(server.url, islice(cycle(requests[name]), number), 1, seconds).latencies)
                spent = server.cpu_seconds() - before
                if round_number >= WARM_UP:
                    figures[name].processor.append(spent / answered * 1_000_000)
    return figures


def _rows(store: str, figures: Mapping[str, Figures]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for own, (other, target, _) in PAIRS.items():
        pairs = zip(figures[own].processor, figures[other].processor, strict=True)
        ratio = statistics.median(one / compared for one, compared in pairs)
        medians = [statistics.median(figures[name].processor) for name in (own, other)]
        name = f"{store}, {own} (compared with a {other})"
        rows.append((name, f"{medians[0]:.0f}", f"{medians[1]:.0f}", f"{ratio:.2f}", f"≤ {target}"))
    return rows
