"""No statement looks at rows of another store: SQLite's programs of all statements are read, and each search in a table
or an index begins with the number of the store that runs the statement, or with that of a row which was found so. What
is run on PostgreSQL is the same text, but for the pieces of the dialect."""

import importlib
import itertools
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import apsw
import pytest
from msgspec.structs import replace

import magistrate.store.sql
from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.read_ahead import NOBODY, FollowingRead, PlacedRead, ReadOutline, ReadsAhead
from magistrate.engine.warrants.reader import (
    AnyRead,
    ReverseWarrantRead,
    WarrantRead,
    WarrantsByObject,
    WarrantsBySubject,
)
from magistrate.engine.warrants.warrant import WarrantPattern, warrant_names
from magistrate.store.contract.events import EventFilter, EventPosition, EventsOfKind
from magistrate.store.contract.lists import Slice
from magistrate.store.sql.dialect import STORE_PARAMETER, Clause, number_parameters
from magistrate.store.sql.events import events_statement, follow_statement
from magistrate.store.sql.lists import (
    ENDED_BY_EXPIRY,
    OBJECT_NAMES,
    OBJECT_TYPES,
    OBJECTS,
    POLICIES,
    WARRANTS,
    ListFilter,
    TableListing,
    list_statement,
    match_statement,
)
from magistrate.store.sql.models import FIND_PATTERN, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.reads import ahead_statement, objects_statement, read_statement, split_objects
from magistrate.store.sql.sqlite import SQLITE, build_lookups
from magistrate.store.sql.stores import TableRows, list_stored_rows
from magistrate.store.sql.warrants import WARRANT, WARRANT_NAMES
from magistrate.wiring.stores import migrate_store
from tests.running import settings_for

STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
INSERTION = re.compile(r"\s*INSERT INTO \w+ \(\s*store, ")
OF_HEADS = re.compile("all of head$|head where |SEARCH (head|h|store|s) ")
SCANS = ("Rewind", "Last")
SEARCHES = ("SeekGE", "SeekGT", "SeekLE", "SeekLT", "Found", "NotFound")

ANN = Subject(TypeName("user"), ObjectId("ann"))
IDS = (ObjectId("a"), ObjectId("b"))
BY_OBJECT = WarrantsByObject(TypeName("a"), (RelationName("b"), RelationName("c")), None)
BY_SUBJECT = WarrantsBySubject(TypeName("a"), BY_OBJECT.relations, TypeName("user"), "member")
READS: list[AnyRead] = [
    *(
        WarrantRead(replace(BY_OBJECT, subjects=subjects), ids)
        for subjects in (None, ANN, TypeName("user"))
        for ids in (None, IDS[:1], IDS)
    ),
    *(ReverseWarrantRead(BY_SUBJECT, ids) for ids in (None, IDS[:1], IDS)),
]
EVENT_KINDS = (
    (EventsOfKind("object"), EventsOfKind("object-type")),
    (EventsOfKind("warrant"), EventsOfKind("decision")),
    (EventsOfKind("object", None, {0: "a", 1: "b"}),),
    (EventsOfKind("decision", "denied", {1: "a"}),),
)

OF_POSTGRES = {"LOCK_HEAD", "LOCK_FREE_HEAD", "MOVE_HEAD_IF_UNCHANGED", "INSERT_REVISIONS"}
"""Has those that SQLite cannot compile."""
NO_STATEMENTS = {"READ_ROWS": "is the beginning of statements", **dict.fromkeys(OF_POSTGRES, "is for PostgreSQL")}
ABOUT_ALL_STORES = {
    "backups.INSERT_RESTORED_KEY": "leaves out a key that any store has",
    "keys.LIST_ALL_KEYS": "reads the keys of all stores",
    "webhooks.COUNT_ALL_WEBHOOKS": "counts those of all stores for metrics",
    "webhooks.LIST_DUE_WEBHOOKS": "finds those of all stores that have something to be delivered",
    "webhooks.LIST_STORES_WITH_WEBHOOKS": "finds the stores whose secrets are to be encrypted",
    "revisions.LAST_WRITE": "shows an operator when the database was last written to",
    "schema.INSERT_MIGRATION": "is about the schema",
    "schema.READ_VERSION": "is about the schema",
    "sqlite.HAS_MIGRATIONS": "is about the schema",
    "sqlite.PROBE_INDEXES": "is about the schema",
    "sqlite.PROBE_TABLES": "is about the schema",
}
"""Look at rows of all stores, in other tables than `store` and `head`."""
OF_A_STATED_STORE = {"keys.LIST_STORE_KEYS": 1}
"""Have the number of a store as this parameter."""


class Instruction(NamedTuple):
    """An instruction of SQLite's virtual machine."""

    address: int
    name: str
    p1: int
    p2: int
    p3: int
    p4: Any


def list_texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """The statements in a constant, which may be a struct of them."""
    if isinstance(value, str):
        if STATEMENT.match(value) and "{" not in value:
            yield name, value
    elif isinstance(value, tuple):
        for part in value:
            yield from list_texts(name, part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from list_texts(f"{name}.{field.name}", getattr(value, field.name))


def list_constants() -> dict[str, set[str]]:
    """Every statement of the package, by the module and the name of its constant. Those with an underscore are parts of
    others."""
    found = defaultdict(set)
    for module in pkgutil.iter_modules(magistrate.store.sql.__path__):
        if module.name != "postgres":
            for name, value in vars(importlib.import_module(f"magistrate.store.sql.{module.name}")).items():
                for place, text in () if name.startswith("_") else list_texts(f"{module.name}.{name}", value):
                    found[place].add(text)
    return found


def list_built() -> Iterator[Clause]:
    """Statements that are built, in all their forms."""
    for at in (None, Revision(5)):
        for listing in (OBJECTS, OBJECT_NAMES, OBJECT_TYPES, POLICIES, WARRANTS, ENDED_BY_EXPIRY):
            yield from build_lists(listing, at)
        for read, with_expired in itertools.product(READS, (False, True)):
            yield read_statement([read], at, 9, SQLITE, with_expired)
        yield read_statement(READS, at, 9, SQLITE)
        yield build_ahead(at)
        for length in range(1, len(WARRANT_NAMES) + 1):
            for names in itertools.combinations(WARRANT_NAMES, length):
                yield match_statement(dict.fromkeys(names, "a"), 9, 5, SQLITE, at)
    [ids] = split_objects([ObjectRef(TypeName("a"), object_id) for object_id in IDS])
    yield objects_statement(ids, Revision(5), SQLITE)
    yield from build_finds()
    for kinds, span in itertools.product(EVENT_KINDS, ((None, None), (5, 9))):
        for place in (None, (5, 0, 1), (5, 1, 7)):
            yield events_statement(Slice("createdAt", 25, boundary=place), EventFilter(kinds, *span), SQLITE)
            yield follow_statement(place and EventPosition(place), 25, EventFilter(kinds), SQLITE)


def build_lists(listing: TableListing, at: Revision | None) -> Iterator[Clause]:
    selected = {*listing.columns, *listing.members.values()}
    for sort, columns in listing.sorts.items():
        if not selected.issuperset(columns):
            continue
        boundary = ("a",) * len(columns)
        for bound, backwards in ((None, False), (boundary, False), (boundary, True)):
            for only in list_filters(listing, sort):
                part = Slice(sort, 25, boundary=bound, backwards=backwards)
                yield list_statement(listing, part, only, at, SQLITE)


def build_finds() -> Iterator[Clause]:
    """Of one key, and of several keys that are alike in all columns but one."""
    for statement, keys in itertools.product((OBJECT.find, WARRANT.find, OBJECT_TYPE.find, FIND_PATTERN), (1, 40)):
        others = ["a"] * (statement.rpartition("(")[2].count("?") - 1)
        for sql, values in build_lookups(statement, [(*others, str(number)) for number in range(keys)]):
            yield Clause(sql, tuple(values))


def list_filters(listing: TableListing, sort: str) -> Iterator[ListFilter]:
    if "object_type" in listing.columns:
        yield ListFilter({"object_type": "a"})
    if sort not in listing.members:
        yield ListFilter()
        yield ListFilter(text="a" if listing.searched else None)
    if listing.narrowing:
        yield ListFilter({}, {"object_id": ("a", "*")})
        yield ListFilter(patterns=frozenset([WarrantPattern(warrant_names("a", "", "b", "c", "", ""))]))


def build_ahead(at: Revision | None) -> Clause:
    requests = (BY_OBJECT, replace(BY_OBJECT, subjects=Subject(TypeName("user"), NOBODY)))
    steps = tuple(FollowingRead((0, 1), BY_OBJECT.type, name, 0) for name in ("member", None))
    ahead = ReadsAhead(ReadOutline(requests, {}, frozenset(), {}, (0, 1), (), steps, (), 0), ANN)
    return ahead_statement([PlacedRead(place, IDS) for place in range(len(requests))], ahead, at, 9, SQLITE)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    url = f"sqlite:///{tmp_path_factory.mktemp('columns')}/magistrate.db"
    migrate_store(settings_for(url))
    database = read_database_url(url)
    assert isinstance(database, SqliteUrl)
    return apsw.Connection(database.path)


def explain(connection: apsw.Connection, what: str, statement: str) -> list[tuple[Any, ...]]:
    """The rows of EXPLAIN or EXPLAIN QUERY PLAN, but for `moved`, which is found in the heads of all stores."""
    numbered = number_parameters(statement, "?")
    parameters = max(map(int, re.findall(r"\?(\d+)", numbered)), default=0)
    return connection.execute(f"{what} {numbered}", (None,) * parameters).fetchall()


def find_foreign_rows(connection: apsw.Connection, statement: str, store_parameter: int) -> list[str]:
    """What the statement looks at that may be of another store, in the tables that begin with the number of one."""
    tables = {
        page: table
        for table, page in connection.execute("SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0")
        if connection.execute(f"SELECT name FROM pragma_table_info('{table}') LIMIT 1").get == "store"
    }
    program = [Instruction(*row[:6]) for row in explain(connection, "EXPLAIN", statement)]
    cursors = {
        each.p1: tables[each.p2] for each in program if each.name in ("OpenRead", "OpenWrite") and each.p2 in tables
    }
    sources = find_sources(program, cursors)
    foreign = []
    for each in program:
        if each.p1 in cursors and each.name in SCANS:
            foreign.append(f"all of {cursors[each.p1]}")
        elif each.p1 in cursors and each.name in SEARCHES and each.p4:
            for source in sources[each.p3] - {f"?{store_parameter}", "store", "Null"}:  # nothing is found by NULL
                foreign.append(f"{cursors[each.p1]} where store = {source}")
    plan = [str(row[3]) for row in explain(connection, "EXPLAIN QUERY PLAN", statement)]
    searches = [line for line in plan if line.startswith("SEARCH") and re.search(r"USING .*(INDEX|KEY)", line)]
    return foreign + [line for line in searches if "(store=?" not in line]


def find_sources(program: list[Instruction], cursors: Mapping[int, str]) -> dict[int, set[str]]:
    """Where the value of each register may come from: a parameter, or the column `store` of a row."""
    sources = defaultdict[int, set[str]](set)
    copies = []
    for each in program:
        match each.name:
            case "Variable":
                sources[each.p2].add(f"?{each.p1}")
            case "Column":
                sources[each.p3].add("store" if each.p1 in cursors and each.p2 == 0 else f"column of {each.p1}")
            case "Integer" | "Int64" | "String8" | "Null" | "Function" | "Rowid":
                target = each.p3 if each.name == "Function" else each.p2
                sources[target].add(each.name)
            case "SCopy" | "IntCopy":
                copies.append((each.p1, each.p2))
            case "Copy" | "Move":
                copies += [(each.p1 + place, each.p2 + place) for place in range(each.p3 + 1)]
    for _ in range(len(copies)):
        for source, target in copies:
            sources[target] |= sources[source]
    return sources


CONSTANTS = list_constants()
CHECKED = sorted(name for name in CONSTANTS if name.split(".")[1] not in NO_STATEMENTS and name not in ABOUT_ALL_STORES)


def test_statements_that_sqlite_cannot_compile_name_their_store() -> None:
    """Each table that they read or write is one whose rows are those of the store."""
    statements = [one for name, each in CONSTANTS.items() if name.split(".")[1] in OF_POSTGRES for one in each]

    assert len(statements) >= len(OF_POSTGRES)
    for statement in statements:
        tables = re.findall(r"(?:FROM|UPDATE|JOIN|INTO) (head|revision|change)\b", statement)
        assert statement.count(STORE_PARAMETER) >= len(tables) - statement.count("= h.store") > 0, statement


def test_statements_are_found() -> None:
    assert len(CHECKED) > 80
    assert CONSTANTS.keys() >= ABOUT_ALL_STORES.keys() | OF_A_STATED_STORE.keys()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT meta FROM object",
        "SELECT meta FROM object WHERE store >= :store",
        "SELECT o.meta FROM object o, warrant w WHERE o.store = :store AND w.number = ? AND o.object_id = w.object_id",
        "SELECT meta FROM object WHERE store = :store OR object_id = ?",
        "SELECT meta FROM object WHERE store = ? AND object_id = :store",
        "SELECT max(number) FROM warrant",
        "UPDATE warrant SET deleted_revision = ? WHERE number = ?",
        "DELETE FROM policy WHERE digest = ? AND store > :store",
        "SELECT text FROM policy WHERE store IN (:store, ?)",
    ],
)
def test_a_row_of_another_store_would_be_noticed(connection: apsw.Connection, statement: str) -> None:
    assert find_foreign_rows(connection, statement, 1)


@pytest.mark.parametrize("name", CHECKED)
def test_a_statement_looks_at_rows_of_its_store(connection: apsw.Connection, name: str) -> None:
    for statement in CONSTANTS[name]:
        foreign = find_foreign_rows(connection, statement, OF_A_STATED_STORE.get(name, 1))
        if name.startswith(("stores.", "sqlite.PROBE_")):
            foreign = [each for each in foreign if not OF_HEADS.match(each)]
        assert not foreign, statement


def test_statements_that_are_built_look_at_rows_of_their_store(connection: apsw.Connection) -> None:
    for statement in dict.fromkeys(clause.sql for clause in list_built()):
        assert STORE_PARAMETER in statement
        assert not find_foreign_rows(connection, statement, 1), statement


@pytest.mark.parametrize("rows", list_stored_rows(SQLITE))
def test_only_rows_of_the_stated_store_are_removed(connection: apsw.Connection, rows: TableRows) -> None:
    """The rows that are deleted are found by the keys of a subquery, which begin with the store."""
    assert re.search(r"WHERE \(store, .*\) IN \(SELECT store, .* WHERE store = \? ", rows.delete)

    foreign = find_foreign_rows(connection, rows.delete, 1)

    assert not [each for each in foreign if not re.search(r" where store = column of \d+$", each)]


@pytest.mark.parametrize("name", [name for name in CHECKED if not name.startswith(("stores.", "head.MAKE_HEAD"))])
def test_a_row_is_written_to_the_store(name: str) -> None:
    for statement in CONSTANTS[name]:
        if statement.lstrip().startswith("INSERT"):
            assert INSERTION.match(statement), statement
            assert re.search(r"VALUES \(:store, |SELECT n.store, |SELECT :store, ", statement), statement
