"""Differences of access on the drive data set, in this process: of a proposal that gives a group of ten people a folder
of 1,000 documents, beside checks of its rows, of two revisions 1,000 changes apart, and of a proposed rule, with and
without bitmaps."""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from random import Random
from typing import NamedTuple

import msgspec
import uvloop

from benchmarks.checks import SEED, Case, loaded_case
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import user_id
from benchmarks.datasets.drive import TYPES
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND, write_token
from magistrate.operations.context import Context
from magistrate.operations.difference import comparison as bitmap_comparing
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import DifferenceRow
from magistrate.operations.difference.proposal import Proposal, list_proposed_difference, proposal_kind
from magistrate.operations.difference.revisions import RevisionsRequest, list_difference, revisions_kind
from magistrate.operations.paging import ListKind, Page, PageRequest, read_page_request
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewObject, NewWarrant
from magistrate.store.contract.revisions import RevisionId
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import open_store

SIZES = (10_000, 1_000_000)
PEOPLE = 10
DOCUMENTS = 1_000
CHANGES = 1_000
ROUNDS = 3
PAGE_SIZE = 1_000
RULE_ROWS = 20

TARGET_OF_CHECKS = 10
TARGET_OF_SIZES = 1.3
TARGET_OF_CHANGES_MS = 1_000

Read = Callable[[PageRequest], Awaitable[Snapshot[Page[DifferenceRow]]]]


class Figures(NamedTuple):
    """Holds milliseconds: of the first page with 25 rows of the proposal, of all its rows, of checks of these, of all
    rows between the two revisions, and of the first RULE_ROWS of the rule with bitmaps and without."""

    store: str
    size: int
    first_page: float
    proposal: float
    checks: float
    rows: int
    revisions: float
    rows_between: int
    rule: float
    rule_evaluated: float


def measure_differences(seconds: int) -> str:
    """A table, a row for each store and size. Loading takes a minute or two; `seconds` has no effect."""
    with ExitStack() as stack:
        made = {store: stack.enter_context(databases()) for store, databases in STORES.items()}
        cases = [
            loaded_case(store, new_database(f"differences-{size}"), DATASETS["drive"](size, SEED))
            for store, new_database in made.items()
            for size in SIZES
        ]
        with on_core(SERVER_CORE):
            return table([uvloop.run(figures_of(case)) for case in cases])


def table(figures: Sequence[Figures]) -> str:
    smallest = {one.store: one for one in figures if one.size == min(SIZES)}
    rows = [
        (
            f"{one.store}, {one.size:,} warrants",
            f"{one.first_page:.0f}",
            f"{one.proposal:.0f} ({one.rows:,} rows)",
            f"{one.proposal / one.checks:.1f}",
            f"{one.proposal / smallest[one.store].proposal:.2f}",
            f"{one.revisions:.0f} ({one.rows_between:,} rows)",
            f"{one.rule:.0f} ({one.rule_evaluated / one.rule:.1f})",
        )
        for one in figures
    ]
    header = (
        "",
        "proposal, first 25 rows, ms",
        "all rows, ms",
        f"of checks of its rows (≤ {TARGET_OF_CHECKS})",
        f"of the smaller size (≤ {TARGET_OF_SIZES})",
        f"{CHANGES:,} changes, all rows, ms (≤ {TARGET_OF_CHANGES_MS:,})",
        f"rule of all documents, first {RULE_ROWS} rows, ms (without bitmaps: times)",
    )
    return markdown_table("Differences of access (drive data set)", header, rows)


async def figures_of(case: Case) -> Figures:
    store = await open_store(read_settings({"database_url": case.url}, {}))
    settings = {"cache_bytes": "0", "max_query_work": "100000000", "max_check_work": "100000000"}
    context = context_of(store, read_settings(settings, {}))
    proposal = await _prepare(context)
    kind, read = proposal_kind(proposal, Narrowing()), _read_proposal(context, proposal)
    first_page, proposed, checked = [], [], []
    for _ in range(ROUNDS):
        first_page.append((await _timed(_list_pages(context, kind, read, 25, 1)))[0])
        took, rows = await _timed(_list_pages(context, kind, read, PAGE_SIZE))
        proposed.append(took)
        checked.append((await _timed(_check_rows(context, rows)))[0])
    request = await _change(context, case)
    kind, read = revisions_kind(request), _read_revisions(context, request)
    between = [await _timed(_list_pages(context, kind, read, PAGE_SIZE)) for _ in range(ROUNDS)]
    rule = [
        await _measure_rule(context, few)
        for _ in range(ROUNDS)
        for few in (bitmap_comparing.MIN_BITMAP_NODES, sys.maxsize)
    ]
    await store.close()
    return Figures(
        case.store,
        case.size,
        min(first_page),
        min(proposed),
        min(checked),
        len(rows),
        min(took for took, _ in between),
        len(between[0][1]),
        min(rule[::2]),
        min(rule[1::2]),
    )


async def _measure_rule(context: Context, few_nodes: int) -> float:
    """Measures the difference that a rule without the exclusion would make to all documents that exist, which are those
    of `_change`. Bitmaps are used from so many objects on."""
    rules = TYPES["document"] | {"viewer": {"inheritIf": "reader"}}
    document = read_object_type("document", None, msgspec.convert(rules, dict[str, RuleDefinition | None]))
    proposal = Proposal(object_types=[document])
    kind, read = proposal_kind(proposal, Narrowing()), _read_proposal(context, proposal)
    bitmap_comparing.MIN_BITMAP_NODES, former = few_nodes, bitmap_comparing.MIN_BITMAP_NODES
    try:
        return (await _timed(_list_pages(context, kind, read, RULE_ROWS, 1)))[0]
    finally:
        bitmap_comparing.MIN_BITMAP_NODES = former


async def _prepare(context: Context) -> Proposal:
    """Writes a group of ten people and a folder of documents, and returns the proposal that gives one the other."""
    people = [new_warrant("group", "ten", "member", "user", user_id(number)) for number in range(PEOPLE)]
    documents = [new_warrant("document", f"new-{n}", "parent", "folder", "new") for n in range(DOCUMENTS)]
    inside = new_warrant("folder", "new", "parent", "folder", "folder-0")
    await create_warrants(context, [*people, *documents, inside], context.stamp("bench"), str)
    return Proposal([new_warrant("folder", "new", "viewer", "group", "ten", "member")])


async def _change(context: Context, case: Case) -> RevisionsRequest:
    """Writes many revisions, each of one warrant that shares a document with a user. Both are made to exist before,
    because data sets are loaded without objects."""
    generator, stamp = Random(SEED), context.stamp("bench")
    documents = sorted({one.object_id for one in case.asked if one.object_type == "document"})
    users = sorted({one.subject_id for one in case.asked})
    existing = [("document", name) for name in documents] + [("user", name) for name in users]
    await context.store.put_objects([NewObject(TypeName(of), ObjectId(name), None) for of, name in existing], stamp)
    before = await context.store.check()
    for _ in range(CHANGES):
        new = new_warrant("document", generator.choice(documents), "reader", "user", generator.choice(users))
        await create_warrants(context, [new], stamp, str)
    return RevisionsRequest(write_token(context.store.identity, RevisionId(before, None)), None, Narrowing())


def new_warrant(
    object_type: str, object_id: str, relation: str, subject_type: str, subject_id: str, group: str = ""
) -> NewWarrant:
    subject = Subject(TypeName(subject_type), ObjectId(subject_id), group)
    return NewWarrant(ObjectRef(TypeName(object_type), ObjectId(object_id)), RelationName(relation), subject)


def _read_proposal(context: Context, proposal: Proposal) -> Read:
    return lambda wanted: list_proposed_difference(context, proposal, Narrowing(), wanted, NO_DEMAND)


def _read_revisions(context: Context, request: RevisionsRequest) -> Read:
    return lambda wanted: list_difference(context, request, wanted, NO_DEMAND)


async def _list_pages(
    context: Context, kind: ListKind[DifferenceRow], read: Read, page_size: int, most: int | None = None
) -> list[DifferenceRow]:
    """Returns the rows of all pages, or of so many."""
    parameters, pages = {"limit": str(page_size)}, 0
    rows: list[DifferenceRow] = []
    while True:
        page = (await read(read_page_request(kind, parameters, context.store.identity))).value
        rows += page.rows
        pages += 1
        if page.next_cursor is None or pages == most:
            return rows
        parameters["nextCursor"] = page.next_cursor


async def _check_rows(context: Context, rows: Sequence[DifferenceRow]) -> int:
    """Checks every row in batches of a page; returns how many are allowed."""
    allowed = 0
    for start in range(0, len(rows), PAGE_SIZE):
        changes = [row.change for row in rows[start : start + PAGE_SIZE]]
        checks = [
            Check(ObjectRef(one.type, one.id), one.relation, Subject(one.subject_type, one.subject_id))
            for one in changes
        ]
        found = await check_all(context, checks, NO_DEMAND)
        allowed += sum(decision.is_authorized for decision in found.value)
    return allowed


async def _timed(work: Awaitable[list[DifferenceRow] | int]) -> tuple[float, list[DifferenceRow]]:
    started = time.perf_counter()
    found = await work
    took = (time.perf_counter() - started) * 1_000
    return took, found if isinstance(found, list) else []
