"""Lists of what someone has access to, and of who has access to something: their pages, in this process and over HTTP,
and the memory that the largest take."""

import gc
import re
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import uvloop

from benchmarks.bare_rows import row_counts
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.counting import CountingDatabase, counting_store
from benchmarks.databases import STORES, NewDatabase
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Dataset
from benchmarks.first_lists import HEADER as FIRST_HEADER
from benchmarks.first_lists import measure_first_lists
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.list_memory import HEADER, measure_list_memory
from benchmarks.loading import load_for_queries
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import ObjectsQuery, read_query
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import Listings, StoredRow
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.paging import MAX_LIMIT, Page, read_page_request
from magistrate.wiring.contexts import LISTS_SHARE, context_of

KEPT_BYTES = 4_000_000_000
"""Is enough for every list of the data sets."""

SIZE = 1_000_000
SEED = 1
PAGE_SIZE = 25
LATER_PAGE = 100
"""Or the last one, if there are fewer."""
ROUNDS = 4
CHECKS = 200
REQUESTS = 20
MAX_SECONDS = 60
"""For what is sent only once."""

TARGET_ROWS = SIZE // 100
"""About the length of the list of objects whose first page has a target."""
MAX_ROWS = SIZE // 10

TARGET_SQLITE_MS = 60
TARGET_CHECKS_A_ROW = 10
TARGET_OF_PAGE_1 = 1.5


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set in a database of its own. `seconds`: how long it took to write."""

    store: str
    url: str
    dataset: Dataset
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.dataset.name}, {self.store}"


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds in one round: for page 1, for a check of the data set, for the later page if the
    listing was kept, and if it was not. The latter two are None where there is no later page."""

    first: float
    check: float
    kept: float | None
    anew: float | None


@dataclass(slots=True)
class Case:
    """A query on a database. `cursor` leads to the later page, number `later`. The statements are those of page 1;
    `seconds` is the time it has had so far."""

    loaded: Loaded
    text: str
    about: int
    asked: QueryRequest
    row_count: int = 0
    later: int = 1
    cursor: str | None = None
    statements: int = 0
    seconds: float = 0.0
    times: list[Times] = field(default_factory=list)

    @property
    def is_of_objects(self) -> bool:
        return isinstance(self.asked.query, ObjectsQuery)

    def question(self, row: QueryRow) -> Check:
        """The check that must authorize, or there would be no such row."""
        query = self.asked.query
        if isinstance(query, ObjectsQuery):
            return Check(ObjectRef(row.type, row.id), row.relation, Subject(query.subject.type, query.subject.id))
        return Check(query.object, row.relation, Subject(row.type, row.id))


def measure_lists(seconds: int) -> str:
    """Seven tables. Loading takes two or three minutes; then each case is measured ROUNDS times, but begins no further
    round after `seconds`."""
    with ExitStack() as stack:
        loaded = [
            _loaded(store, new_database, name)
            for store, new_database in [(store, stack.enter_context(make())) for store, make in STORES.items()]
            for name in DATASETS
        ]
        cases = [case for one in loaded for case in _cases(one)]
        with on_core(SERVER_CORE):
            uvloop.run(_ask_in_process(loaded, cases, seconds))  # the loop the service has
        over_http = [_http_row(case, seconds) for case in cases if case.is_of_objects and case.about == TARGET_ROWS]
        first = [
            row
            for one in loaded
            for row in uvloop.run(measure_first_lists(one.url, one.dataset, one.name, TARGET_ROWS))
        ]
        of_sqlite = [one for one in loaded if one.store == "SQLite"]
        held = [uvloop.run(measure_list_memory(one.url, one.dataset, one.name)) for one in of_sqlite]
        memory = [_memory_row(case) for case in cases if case.about == MAX_ROWS]
        loading = [_loading_row(one) for one in loaded]
    return "\n".join(
        [
            markdown_table("What it takes to load", ("", "warrants", "objects", "seconds"), loading),
            _pages_table("Objects that a user has access to", [case for case in cases if case.is_of_objects]),
            _pages_table("Users that have access to an object", [case for case in cases if not case.is_of_objects]),
            markdown_table("Lists of which nothing is cached, processor time of page 1", FIRST_HEADER, first),
            markdown_table("Page 1 over HTTP, one connection", _HTTP_HEADER, over_http),
            markdown_table("Memory of a process for its first list", _MEMORY_HEADER, memory),
            markdown_table("Memory of the warrants that are held for lists of objects", HEADER, held),
        ]
    )


def _loaded(store: str, new_database: NewDatabase, name: str) -> Loaded:
    url, dataset = new_database(name), DATASETS[name](SIZE, SEED)
    started = time.perf_counter()
    load_for_queries(url, dataset)
    seconds = time.perf_counter() - started
    with serving(url) as server:
        bodies = [{"type": name, "relations": relations} for name, relations in dataset.types.items()]
        requests = (request_bytes("POST", "/v2/object-types", msgspec.json.encode(body)) for body in bodies)
        drive(server.url, requests, 1, MAX_SECONDS)
    return Loaded(store, url, dataset, seconds)


def _cases(loaded: Loaded) -> list[Case]:
    return [
        Case(loaded, query.text, query.about, QueryRequest(read_query(query.text), {}))
        for query in loaded.dataset.queries()
    ]


async def _ask_in_process(loaded: Sequence[Loaded], cases: Sequence[Case], seconds: int) -> None:
    opened = {one.url: await counting_store(one.url) for one in loaded}
    gc.collect()
    gc.freeze()  # as each worker does when it starts
    settings = read_settings({"cache_bytes": "0"}, {})  # a check is what it costs with its reads
    contexts = {url: context_of(store, settings) for url, (store, _) in opened.items()}
    row_counts: dict[str, int] = {}
    for case in cases:
        await _look_through(case, contexts[case.loaded.url], row_counts)
    for round_number in range(ROUNDS):
        checks = {one.url: await _usual_check_ms(one, contexts[one.url]) for one in loaded}
        for case in cases:
            if case.seconds < seconds:
                url, started = case.loaded.url, time.perf_counter()
                anew_first = bool(round_number % 2)
                case.times.append(await _asked(case, contexts[url], opened[url][1], checks[url], anew_first))
                case.seconds += time.perf_counter() - started
    for store, _ in opened.values():
        await store.close()


async def _look_through(case: Case, context: Context, row_counts: dict[str, int]) -> None:
    """Finds the cursor, and counts the rows, the same ones on each store; plans and statements are made meanwhile."""
    context = replace(context, caches=replace(context.caches, listings=Listings(KEPT_BYTES)))  # keeps whatever is found
    await _page(context, case, None)
    if case.text not in row_counts:
        row_counts[case.text] = await _row_count(case, context)
    case.row_count = row_counts[case.text]
    case.later = min(LATER_PAGE, -(-case.row_count // PAGE_SIZE))
    before = (case.later - 1) * PAGE_SIZE
    while before:
        case.cursor = (await _page(context, case, case.cursor, min(before, MAX_LIMIT))).next_cursor
        before -= min(before, MAX_LIMIT)


async def _row_count(case: Case, context: Context) -> int:
    count, cursor, is_last = 0, None, False
    while not is_last:
        page = await _page(context, case, cursor, MAX_LIMIT)
        count, cursor, is_last = count + len(page.rows), page.next_cursor, page.next_cursor is None
    return count


async def _page(context: Context, case: Case, cursor: str | None, limit: int = PAGE_SIZE) -> Page[StoredRow]:
    parameters = {"limit": str(limit), **({} if cursor is None else {"nextCursor": cursor})}
    wanted = read_page_request(QUERY_LIST, parameters, context.store.identity)
    return (await list_page(context, case.asked, wanted, NO_DEMAND)).value


async def _asked(
    case: Case, context: Context, database: CountingDatabase, usual_check_ms: float, anew_first: bool
) -> Times:
    """One round. The later page is worked out anew first or last, in turn: what comes later finds the caches of the
    database filled. Raises RuntimeError if a check does not authorize a row of page 1."""
    anew = await _anew_ms(case, context) if anew_first else None
    process = _with_nothing_kept(context)
    database.reads = 0
    first, page = await _timed(process, case, None)
    case.statements = database.reads
    kept = None if case.cursor is None else (await _timed(process, case, case.cursor))[0]
    await _demand_authorized([case.question(found.row) for found in page.rows], context)
    return Times(first, usual_check_ms, kept, await _anew_ms(case, context) if anew is None else anew)


async def _anew_ms(case: Case, context: Context) -> float | None:
    """The later page where nothing is kept, as if another process computed it."""
    return None if case.cursor is None else (await _timed(_with_nothing_kept(context), case, case.cursor))[0]


def _with_nothing_kept(context: Context) -> Context:
    """The model is kept all the same."""
    return replace(
        context, caches=replace(context.caches, listings=Listings(read_settings({}, {}).cache_bytes // LISTS_SHARE))
    )


async def _timed(context: Context, case: Case, cursor: str | None) -> tuple[float, Page[StoredRow]]:
    started = time.perf_counter()
    page = await _page(context, case, cursor)
    return (time.perf_counter() - started) * 1_000, page


async def _usual_check_ms(loaded: Loaded, context: Context) -> float:
    """Of the checks of the data set, whatever the answers are."""
    questions = [
        Check(
            ObjectRef(TypeName(asked.object_type), ObjectId(asked.object_id)),
            RelationName(asked.relation),
            Subject(TypeName(asked.subject_type), ObjectId(asked.subject_id)),
        )
        for asked in loaded.dataset.questions(CHECKS, SEED)
    ]
    times = []
    for question in questions:
        started = time.perf_counter()
        await check_all(context, [question], NO_DEMAND)
        times.append((time.perf_counter() - started) * 1_000)
    return statistics.median(times)


async def _demand_authorized(rows: Sequence[Check], context: Context) -> None:
    found = await check_all(context, rows, NO_DEMAND)
    for row, answer in zip(rows, found.value, strict=True):
        if not answer.is_authorized:
            raise RuntimeError(f"{row} is a row, but a check does not authorize it")


_PAGES_HEADER = (
    "",
    "rows",
    "statements",
    "page 1 ms",
    "target",
    "checks a row",
    "target",
    "later page",
    "kept, ms",
    "anew, ms",
    "of page 1",
    "target",
)
_HTTP_HEADER = ("", "rows", "found anew p50 ms", "kept p50 ms")
_MEMORY_HEADER = ("", "rows", "MB before", "MB more at most", "bytes a row")


def _pages_table(title: str, cases: Sequence[Case]) -> str:
    rows = [(*_first_page_cells(case), *_later_page_cells(case)) for case in cases]
    return markdown_table(f"{title}, pages of {PAGE_SIZE}", _PAGES_HEADER, rows)


def _first_page_cells(case: Case) -> tuple[str, ...]:
    shown = min(PAGE_SIZE, case.row_count)
    has_target = case.is_of_objects and case.about == TARGET_ROWS
    return (
        case.loaded.name,
        f"{case.row_count:,}",
        str(case.statements),
        f"{statistics.median(one.first for one in case.times):.1f}",
        f"≤ {TARGET_SQLITE_MS}" if has_target and case.loaded.store == "SQLite" else "",
        f"{statistics.median(one.first / shown / one.check for one in case.times):.1f}",
        f"≤ {TARGET_CHECKS_A_ROW}" if has_target else "",
    )


def _later_page_cells(case: Case) -> tuple[str, ...]:
    """A listing that is too large is not kept: both times are those of working it out."""
    later = [(one.first, one.kept, one.anew) for one in case.times if one.kept is not None and one.anew is not None]
    if not later:
        return ("",) * 5
    return (
        f"{case.later:,}",
        f"{statistics.median(kept for _, kept, _ in later):.1f}",
        f"{statistics.median(anew for _, _, anew in later):.1f}",
        f"{statistics.median(anew / first for first, _, anew in later):.2f}",
        f"≤ {TARGET_OF_PAGE_1}",
    )


def _http_row(case: Case, seconds: int) -> tuple[str, ...]:
    """The first request is not counted: in it the model is read."""
    with serving(case.loaded.url) as server:
        drive(server.url, iter([_request(case.text)]), 1, MAX_SECONDS)
        anew = drive(server.url, (_request(case.text, number) for number in range(1, REQUESTS)), 1, seconds)
        kept = drive(server.url, (_request(case.text) for _ in range(REQUESTS)), 1, seconds)
    medians = [statistics.median(driven.latencies) * 1_000 for driven in (anew, kept)]
    return (case.loaded.name, f"{case.row_count:,}", *(f"{milliseconds:.1f}" for milliseconds in medians))


def _memory_row(case: Case) -> tuple[str, ...]:
    """Of a server that has answered a small query before."""
    small = case.loaded.dataset.queries()[0].text
    with serving(case.loaded.url) as server:
        drive(server.url, iter([_request(small)]), 1, MAX_SECONDS)
        before = _peak_bytes(server)
        drive(server.url, iter([_request(case.text)]), 1, MAX_SECONDS)
        more = _peak_bytes(server) - before
    name = f"{case.loaded.name}, {'objects' if case.is_of_objects else 'users'}"
    return name, f"{case.row_count:,}", f"{before / 1e6:.0f}", f"{more / 1e6:.0f}", f"{more / case.row_count:,.0f}"


def _peak_bytes(server: Server) -> int:
    """The most memory it has held so far, shared libraries included."""
    [kib] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{server.pid}/status").read_text(), re.MULTILINE)
    return int(kib) * 1024


def _request(text: str, number: int = 0) -> bytes:
    """For page 1. Each number makes it a query of its own: it is a variable that no policy looks at."""
    parameters = {"q": text, "limit": PAGE_SIZE, "context": f'{{"number":{number}}}'}
    return request_bytes("GET", f"/v2/query?{urlencode(parameters)}")


def _loading_row(loaded: Loaded) -> tuple[str, ...]:
    counts = row_counts(loaded.url)
    return loaded.name, f"{counts['warrant']:,}", f"{counts['object']:,}", f"{loaded.seconds:.1f}"
