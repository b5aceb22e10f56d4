"""Checks over HTTP with contextual warrants, such as the groups in a user's token, beside the same cached checks
without."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random

import msgspec

from benchmarks.callers import DOCUMENT, OPERATOR_KEY, USER, VIEWER, count_steps, open_service
from benchmarks.checks import SEED, Case, loaded_case
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Check
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.api.calls import Service
from magistrate.api.endpoints.public import JSON
from magistrate.api.http.fast_path import FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest
from magistrate.api.route_table import ROUTES
from magistrate.engine.evaluation import evaluation as engine
from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.new_rows import NewWarrant

SIZE = 10_000
QUESTIONS = 1_000
ROUNDS = 5
WARM_UP = 2
"""Rounds that do not count: in the first the warrants are read, and after it the groups of the subjects."""
NUMBERS = (0, 1, 10, 100)
"""How many contextual warrants a check has. Each user has some groups, which come with all checks of this user."""
NONE_APART = -1
"""Stands for none, in the rounds that have others each time."""
OTHERS_EACH_TIME = -100
"""Stands for 100 contextual warrants that are others in each check. The service does not keep as many."""
STEPS = 4
"""How many checks are made until the instructions of one are counted, that included."""
TARGET = 3
"""How much dearer such a check may be than the same one without."""


@dataclass(slots=True)
class Figures:
    """Of each round, with one number of contextual warrants: processor time of the server and median latency, of one
    check in microseconds."""

    processor: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)


def measure_contextual_warrants(seconds: int) -> str:
    """A table, a row for each store and number. Each case ends after `seconds`, or when all checks are made."""
    rows: list[Sequence[str]] = []
    for store, databases in STORES.items():
        with ExitStack() as stack:
            dataset = DATASETS["drive"](SIZE, SEED)
            known = sorted({row[1] for row in dataset.warrants() if row[0] == "group"})
            groups = [*known, *(f"elsewhere-{number}" for number in range(max(NUMBERS)))]
            case = loaded_case(store, stack.enter_context(databases())("contextual"), dataset)
            server = stack.enter_context(serving(case.url))
            rows += _rows(store, _measure(server, case, groups, seconds))
    header = ("", "processor µs", "of none", "p50 µs", "of none", "target")
    return markdown_table(f"Cached checks with contextual warrants (drive data set, {SIZE:,} warrants)", header, rows)


def _measure(server: Server, case: Case, groups: Sequence[str], seconds: int) -> dict[int, Figures]:
    """Those that are others each time take turns with none apart: the service evicts warrants for them."""
    asked = case.asked[:QUESTIONS]
    figures = _take_turns(server, {number: _requests(asked, number, groups) for number in NUMBERS}, seconds)
    others = {number: _requests(asked, number, groups) for number in (0, OTHERS_EACH_TIME)}
    apart = _take_turns(server, others, seconds)
    return {**figures, NONE_APART: apart[0], OTHERS_EACH_TIME: apart[OTHERS_EACH_TIME]}


def _take_turns(server: Server, bodies: Mapping[int, Sequence[bytes]], seconds: int) -> dict[int, Figures]:
    figures = {number: Figures() for number in bodies}
    for round_number in range(ROUNDS + WARM_UP):
        for number in bodies:
            before = server.cpu_seconds()
            latencies = drive(server.url, iter(bodies[number]), 1, seconds).latencies
            spent = server.cpu_seconds() - before
            if round_number >= WARM_UP:
                figures[number].processor.append(spent / len(latencies) * 1_000_000)
                figures[number].latency.append(statistics.median(latencies) * 1_000_000)
    return figures


def _requests(asked: Sequence[Check], number: int, groups: Sequence[str]) -> list[bytes]:
    choices = Random(SEED)
    users = sorted({one.subject_id for one in asked})
    groups_of = {user: choices.sample(groups, abs(number)) for user in users}
    return [
        request_bytes(
            "POST",
            "/v2/check",
            _body(one, groups_of[one.subject_id] if number >= 0 else choices.sample(groups, -number)),
        )
        for one in asked
    ]


def _body(question: Check, groups: Sequence[str]) -> bytes:
    subject = {"objectType": question.subject_type, "objectId": question.subject_id}
    names = {"objectType": question.object_type, "objectId": question.object_id, "relation": question.relation}
    body: dict[str, object] = {"warrants": [{**names, "subject": subject}]}
    if groups:
        body["contextualWarrants"] = [
            {"objectType": "group", "objectId": group, "relation": "member", "subject": subject} for group in groups
        ]
    return msgspec.json.encode(body)


async def count_instructions(database_url: str) -> Mapping[int, int]:
    """How many instructions of the interpreter a cached check takes, by the number of its contextual warrants, which
    are others than those of all checks before."""
    async with open_service(database_url) as service:
        context = service.context
        team = read_object_type(TypeName("group"), None, {RelationName("member"): RuleDefinition()})
        await put_object_types(context, [team], context.stamp("bench"))
        checked = Check("document", "plan", "viewer", "user", "ann")
        document, ann = ObjectRef(DOCUMENT, ObjectId("plan")), Subject(USER, ObjectId("ann"))
        staff = Subject(TypeName("group"), ObjectId("staff"), RelationName("member"))
        member = NewWarrant(ObjectRef(TypeName("group"), ObjectId("staff")), RelationName("member"), ann)
        stored = [NewWarrant(document, VIEWER, staff), member]
        await create_warrants(context, stored, context.stamp("bench"), str)
        groups = [f"group-{number:04d}" for number in range(max(NUMBERS) * (1 + STEPS))]
        await check_all(context, [engine.Check(document, VIEWER, ann)], NO_DEMAND)
        return {number: _count_checks(service, checked, number, groups) for number in NUMBERS}


def _count_checks(service: Service, checked: Check, number: int, groups: Sequence[str]) -> int:
    fast_path = FastPath(lambda: service, ROUTES, Ledger())
    bodies = [_body(checked, groups[number * step :][:number]) for step in range(STEPS)]
    headers = {"authorization": f"ApiKey {OPERATOR_KEY}", "content-type": JSON, "content-length": f"{len(bodies[0])}"}
    first = fast_path.begin_request(
        b"POST", b"/v2/check", [(name.encode(), value.encode()) for name, value in headers.items()]
    )
    assert isinstance(first, BegunRequest)
    waiting, head = iter(bodies), first.head

    def answer() -> bytes | None:
        pending = fast_path.begin(head)
        return None if pending is None else fast_path.answer(pending, next(waiting), [])

    return count_steps(answer)


def _rows(store: str, figures: dict[int, Figures]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for number, one in figures.items():
        if number == NONE_APART:
            continue
        none = figures[NONE_APART if number == OTHERS_EACH_TIME else 0]
        name = f"{store}, {abs(number) or 'no'} contextual warrant{'' if number == 1 else 's'}"
        name += ", others in each check" if number == OTHERS_EACH_TIME else ""
        rows.append(
            (
                name,
                f"{statistics.median(one.processor):.0f}",
                f"{_ratio(one.processor, none.processor):.1f}" if number else "",
                f"{statistics.median(one.latency):.0f}",
                f"{_ratio(one.latency, none.latency):.1f}" if number else "",
                f"≤ {TARGET}" if number else "",
            )
        )
    return rows


def _ratio(own: Sequence[float], none: Sequence[float]) -> float:
    """The median over the rounds, each compared with its own."""
    return statistics.median(one / other for one, other in zip(own, none, strict=True))
