"""No statement reads a whole table, with and without statistics: the plans are held here."""

import itertools
import re
from collections.abc import Callable, Iterator

import apsw
import psycopg
import pytest
from msgspec.structs import replace

from magistrate.config.database_url import PostgresUrl, SqliteUrl, read_database_url
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
from magistrate.store.contract.events import EventFilter, EventPosition, EventsOfKind, Place
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.postgres.database import PostgresDatabase
from magistrate.store.sql.backups import LIST_ALL_OBJECTS, LIST_ALL_POLICIES, LIST_ALL_TYPES, LIST_ALL_WARRANTS
from magistrate.store.sql.changes import DELETE_CHANGES, LIST_CHANGES, LIST_WARRANT_CHANGES, OLDEST_CHANGES
from magistrate.store.sql.decisions import (
    DELETE_DECISIONS,
    FIND_DECISION,
    LAST_DECISION,
    LAST_SURPLUS_DECISION,
    OLDEST_DECISIONS,
)
from magistrate.store.sql.dialect import Clause, Dialect, Parameter, bind_store, number_parameters
from magistrate.store.sql.events import events_statement, follow_statement
from magistrate.store.sql.keys import READ_KEYS_VERSION
from magistrate.store.sql.lists import (
    ENDED_BY_EXPIRY,
    OBJECT_NAMES,
    OBJECTS,
    WARRANTS,
    ListFilter,
    list_statement,
    match_statement,
)
from magistrate.store.sql.models import FIND_PATTERN, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT, OBJECTS_CREATED
from magistrate.store.sql.postgres import find_each
from magistrate.store.sql.reads import ahead_statement, objects_statement, read_statement, split_objects
from magistrate.store.sql.revisions import (
    DELETE_REVISIONS,
    FIND_BITS,
    FIND_EXPECTED,
    FIND_REVISION,
    FIND_REVISION_AT,
    INSERT_REVISION,
    LOCATE_REVISION,
    REVISIONS_FROM,
)
from magistrate.store.sql.sqlite import build_lookups
from magistrate.store.sql.stores import LIST_DELETED_STORES, LIST_EXPIRED, LIST_OUTDATED, list_stored_rows
from magistrate.store.sql.warrants import (
    END_EXPIRED_OF_OBJECT,
    END_EXPIRED_OF_SUBJECT,
    END_EXPIRED_WARRANT,
    END_NUMBERED_WARRANT,
    END_WARRANT_THAT_DIFFERS,
    END_WARRANTS_OF_OBJECT,
    END_WARRANTS_OF_SUBJECT,
    ENDED_WARRANTS,
    EXPIRED_WARRANTS,
    FIND_NEXT_EXPIRY,
    LIST_TIMED_WARRANTS,
    NUMBERS_BETWEEN,
    NUMBERS_ENDED,
    WARRANT,
    WARRANTS_ENDED,
    WARRANTS_OF_OBJECT,
    WARRANTS_OF_PATTERN,
    WARRANTS_OF_SUBJECT,
    WARRANTS_OF_WILDCARD_PATTERN,
)
from magistrate.store.sqlite.database import SqliteDatabase
from magistrate.wiring.stores import migrate_store
from tests.databases import PostgresServer
from tests.running import settings_for

ROWS = 20_000
OF_ONE_OBJECT = (OBJECT.get, OBJECT.find, OBJECT.end)
HARMLESS_SCANS = {"h", "2-ROW", "CONSTANT", "n", "ids", "found"}
"""Of the one row of head, and of what was sent or found."""
MEMBERS: dict[str, tuple[str | int, ...]] = {
    "name": ("1Ann", "id-5", "type-3"),
    "email": ("0", "id-5", "type-3"),
}
BOUNDARIES: dict[str, tuple[str | int, ...]] = {
    "objectId": ("id-5", "type-3"),
    "createdAt": (ROWS // 2, "id-100", "type-3"),
    "objectType": ("type-3", "id-5"),
}

Spoken = Callable[[Dialect], Clause]
"""A statement, given the dialect of a store."""


def relation_results(wanted: Slice, equal: dict[str, str], at: int | None = None) -> Spoken:
    return lambda dialect: list_statement(OBJECTS, wanted, ListFilter(equal), at, dialect)


def looked_up(statement: str, *values: str | int | None) -> Spoken:
    return lambda dialect: Clause(statement, values)


def found_together(statement: str, *keys: tuple[str, ...]) -> Spoken:
    [(together, values)] = build_lookups(statement, keys)
    return lambda dialect: Clause(together, tuple(values))


ANN = Subject(TypeName("user"), ObjectId("id-5"))
AFTER = ("a",) * 5
GROUPS = WarrantsByObject(TypeName("type-3"), (RelationName("editor"), RelationName("viewer")), None)
TO_USERS = WarrantsBySubject(TypeName("type-3"), GROUPS.relations, TypeName("user"), "member")
LINKED = TypeName("type-3")
IDS = tuple(ObjectId(f"id-{number}") for number in range(50))


def read_together(at: int | None, *reads: AnyRead, with_expired: bool = False) -> Spoken:
    revision = None if at is None else Revision(at)
    return lambda dialect: read_statement(reads, revision, 1_000, dialect, with_expired)


def read_ahead(at: int | None, ids: int) -> Spoken:
    """Of users, groups and links; each leads to any other."""
    requests = (GROUPS, replace(GROUPS, subjects=Subject(TypeName("user"), NOBODY)), replace(GROUPS, subjects=LINKED))
    steps = [
        FollowingRead((0, 2), GROUPS.type, subject_relation, place)
        for subject_relation in ("member", None)
        for place in range(len(requests))
    ]
    ahead = ReadsAhead(ReadOutline(requests, {}, frozenset(), {}, (0, 1, 2), (), tuple(steps), (), 0), ANN)
    reads = [PlacedRead(place, IDS[:ids]) for place in range(len(requests))]
    revision = None if at is None else Revision(at)
    return lambda dialect: ahead_statement(reads, ahead, revision, 200, dialect)


def objects_found(*refs: ObjectRef) -> Spoken:
    [ids] = split_objects(refs)
    return lambda dialect: objects_statement(ids, Revision(5), dialect)


def names_listed(equal: dict[str, str]) -> Spoken:
    wanted, only = Slice("objectType", 1_000, boundary=("type-3", "id-5")), ListFilter(equal)
    return lambda dialect: list_statement(OBJECT_NAMES, wanted, only, 5, dialect)


BY_MEMBER = [
    pytest.param(
        relation_results(Slice(sort, 25, boundary=boundary), {"object_type": "type-3"}, at), id=f"{sort}-{at=}"
    )
    for sort, boundary in MEMBERS.items()
    for at in (None, 5)
]
"""All living objects of the type are read and sorted, but no others; of what ended since, the index is read for all
types and the rows of this one."""
LISTS_AS_OF = [
    pytest.param(names_listed({"object_type": "type-3"}), id="names-of-type"),
    pytest.param(names_listed({}), id="names"),
    *[
        pytest.param(
            relation_results(
                Slice(sort, 25, boundary=BOUNDARIES[sort]), {"object_type": "type-3"} if filtered else {}, at=5
            ),
            id=f"as-of-{sort}-{filtered=}",
        )
        for sort, filtered in itertools.product(BOUNDARIES, (False, True))
    ],
]
LISTS = [
    *[
        pytest.param(
            relation_results(
                Slice(sort, 25, descending, BOUNDARIES[sort] if bounded else None, backwards),
                {"object_type": "type-3"} if filtered else {},
            ),
            id=f"{sort}-{filtered=}-{bounded=}-{descending=}-{backwards=}",
        )
        for sort, filtered, bounded, descending, backwards in itertools.product(
            BOUNDARIES, (False, True), (False, True), (False, True), (False, True)
        )
        if bounded or not backwards
    ],
]
LOOKUPS = [
    pytest.param(looked_up(OBJECT.get, "type-3", "id-100"), id="get"),
    pytest.param(looked_up(OBJECT.get_at, "type-3", "id-100", 5, 5), id="get-as-of"),
    pytest.param(looked_up(OBJECT.find, "type-3", "id-100"), id="find"),
    pytest.param(found_together(OBJECT.find, ("type-3", "id-3"), ("type-4", "id-4")), id="find-any"),
    pytest.param(objects_found(*(ObjectRef(TypeName("type-3"), object_id) for object_id in IDS)), id="find-objects"),
    pytest.param(objects_found(ObjectRef(TypeName("a"), IDS[0]), ObjectRef(TypeName("b"), IDS[0])), id="find-types"),
    pytest.param(looked_up(OBJECTS_CREATED, 100, 100, 1), id="created"),
    pytest.param(looked_up(OBJECT.end, 9, "type-3", "id-100"), id="end"),
    pytest.param(looked_up(OBJECT.list_ended, 5, 100), id="ended"),
    pytest.param(looked_up(LIST_WARRANT_CHANGES, 5, 5, 100), id="touches"),
]


def expired_listed(at: int | None) -> Spoken:
    wanted = Slice("createdAt", 25, boundary=(ROWS // 2, ROWS // 2))
    return lambda dialect: list_statement(ENDED_BY_EXPIRY, wanted, ListFilter(), at, dialect)


def warrants_listed(only: ListFilter) -> Spoken:
    boundary = (ROWS // 2, ROWS // 2)
    return lambda dialect: list_statement(WARRANTS, Slice("createdAt", 25, boundary=boundary), only, None, dialect)


MATCHED: dict[str, dict[str, str]] = {
    "object": {"object_type": "type-3", "object_id": "id-3", "subject_type": "user"},
    "object-alone": {"object_id": "*"},
    "subject": {"subject_type": "user", "subject_id": "id-3", "relation": "viewer"},
    "subject-alone": {"subject_id": "id-3"},
    "both": {"object_id": "id-3", "subject_id": "id-3"},
    "relation-of-type": {"object_type": "type-3", "relation": "viewer"},
    "relation-of-type-to-groups": {"object_type": "type-3", "relation": "viewer", "subject_relation": "member"},
    "type": {"object_type": "type-3"},
    "relation": {"relation": "viewer"},
    "subject-type": {"subject_type": "user", "subject_relation": "member"},
}


def matched(equal: dict[str, str], up_to: Revision | None = None) -> Spoken:
    return lambda dialect: match_statement(equal, 1_000, 5, dialect, up_to)


MATCHES = [pytest.param(matched(equal), id=f"match-{name}") for name, equal in MATCHED.items()]
MATCHES += [pytest.param(matched(equal, Revision(9)), id=f"match-{name}-up-to") for name, equal in MATCHED.items()]
KEY = ("type-3", "id-10", "viewer", "user", "id-3", "", "")
PATTERNS = frozenset(
    WarrantPattern(warrant_names(*names))
    for names in (("type-3", "", "viewer", "user", "", "member"), ("type-4", "", "editor", "user", "*", ""))
)
SORTED_LISTS = [
    pytest.param(warrants_listed(ListFilter({}, {"object_id": ("id-3", "*")})), id="list-warrants-of-object"),
    pytest.param(warrants_listed(ListFilter({}, {"subject_id": ("id-3", "*")})), id="list-warrants-of-subject"),
    pytest.param(warrants_listed(ListFilter(patterns=PATTERNS)), id="list-warrants-of-patterns"),
]
"""Whose few rows are found first, and then sorted."""
PLACES = "(?, ?, ?, ?, ?, ?, ?)"
READS: dict[str, AnyRead] = {
    "subject": WarrantRead(replace(GROUPS, subjects=ANN), IDS),
    "groups": WarrantRead(GROUPS, IDS),
    "links": WarrantRead(replace(GROUPS, subjects=TypeName("user")), IDS),
    "one-object": WarrantRead(GROUPS, IDS[:1]),
    "subject-everywhere": WarrantRead(replace(GROUPS, subjects=ANN), None),
    "groups-everywhere": WarrantRead(GROUPS, None),
    "links-everywhere": WarrantRead(replace(GROUPS, subjects=TypeName("user")), None),
    "reverse": ReverseWarrantRead(TO_USERS, IDS),
    "reverse-one-subject": ReverseWarrantRead(TO_USERS, IDS[:1]),
    "reverse-everywhere": ReverseWarrantRead(TO_USERS, None),
}
OF_WARRANTS = [
    *[
        pytest.param(read_together(at, read, with_expired=with_expired), id=f"read-{at=}-{with_expired=}-{name}")
        for at in (None, 5)
        for with_expired in (False, True)
        for name, read in READS.items()
    ],
    pytest.param(
        read_together(None, WarrantRead(GROUPS, IDS), WarrantRead(replace(GROUPS, subjects=ANN), IDS)),
        id="read-two-shapes",
    ),
    pytest.param(read_together(None), id="read-nothing"),
    *[
        pytest.param(read_ahead(at, ids), id=f"read-ahead-{at=}-{ids=}")
        for at, ids in itertools.product((None, 5), (1, 5))
    ],
    pytest.param(looked_up(WARRANT.find, *KEY), id="find-warrant"),
    pytest.param(found_together(WARRANT.find, KEY, KEY), id="find-any-warrant"),
    pytest.param(looked_up(WARRANT.end, 9, *KEY), id="end-warrant"),
    pytest.param(looked_up(END_WARRANT_THAT_DIFFERS, 9, *KEY, 5, 6, 7), id="end-warrant-that-differs"),
    pytest.param(looked_up(FIND_NEXT_EXPIRY), id="find-next-expiry"),
    pytest.param(looked_up(LIST_TIMED_WARRANTS, *(5, 9, 3, 4, 5, 9, 3) * 2, 4, 3, 100), id="list-timed-warrants"),
    pytest.param(looked_up(EXPIRED_WARRANTS, 5, 100), id="expired-warrants"),
    pytest.param(looked_up(END_EXPIRED_WARRANT, 9, 9, 100), id="end-expired-warrant"),
    pytest.param(looked_up(WARRANTS_ENDED, 9), id="warrants-ended"),
    pytest.param(looked_up(END_NUMBERED_WARRANT, 9, 100), id="end-numbered-warrant"),
    pytest.param(looked_up(NUMBERS_BETWEEN, 100, 200), id="numbers-between"),
    pytest.param(looked_up(ENDED_WARRANTS, 5, 100), id="ended-warrants"),
    pytest.param(
        looked_up(WARRANTS_OF_PATTERN, "type-3#viewer", "", "user", 5, 11),
        id="of-pattern",
    ),
    pytest.param(
        looked_up(WARRANTS_OF_WILDCARD_PATTERN, "user", "", "type-3", "viewer", 5, 11),
        id="of-wildcard-pattern",
    ),
    pytest.param(looked_up(WARRANTS_OF_OBJECT, "id-100", "type-3", *AFTER, 100), id="of-object"),
    pytest.param(looked_up(WARRANTS_OF_SUBJECT, "id-100", "user", *AFTER, 100), id="of-subject"),
    pytest.param(looked_up(END_WARRANTS_OF_OBJECT, 9, "id-100", "type-3"), id="end-of-object"),
    pytest.param(looked_up(END_WARRANTS_OF_SUBJECT, 9, "id-100", "user"), id="end-of-subject"),
    pytest.param(looked_up(END_EXPIRED_OF_OBJECT, 9, 9, "id-100", "type-3", 5), id="end-expired-of-object"),
    pytest.param(looked_up(END_EXPIRED_OF_SUBJECT, 9, 9, "id-100", "user", 5), id="end-expired-of-subject"),
    pytest.param(warrants_listed(ListFilter()), id="list-warrants"),
    pytest.param(warrants_listed(ListFilter(unexpired_at=ROWS)), id="list-unexpired-warrants"),
    pytest.param(expired_listed(None), id="list-expired-warrants"),
    pytest.param(expired_listed(5), id="list-expired-warrants-as-of"),
    pytest.param(warrants_listed(ListFilter({"object_type": "type-3"})), id="list-warrants-of-type"),
    pytest.param(looked_up(NUMBERS_ENDED, 9), id="numbers-ended"),
    *SORTED_LISTS,
    *MATCHES,
]


EVENT_KINDS = {
    "resource": (EventsOfKind("object"), EventsOfKind("object-type")),
    "access": (EventsOfKind("warrant"), EventsOfKind("decision")),
    "of-one": (EventsOfKind("object", None, {0: "type-3", 1: "id-5"}),),
    "decisions": (EventsOfKind("decision", "denied", {1: "id-5"}),),
}


def events_listed(kinds: str, bounded: bool, descending: bool, backwards: bool, in_span: bool) -> Spoken:
    wanted = Slice("createdAt", 25, descending, (ROWS // 2, 0, 1) if bounded else None, backwards)
    span = (ROWS // 4, 3 * ROWS // 4) if in_span else (None, None)
    return lambda dialect: events_statement(wanted, EventFilter(EVENT_KINDS[kinds], *span), dialect)


def events_followed(kinds: str, place: Place | None) -> Spoken:
    only, after = EventFilter(EVENT_KINDS[kinds]), None if place is None else EventPosition(place)
    return lambda dialect: follow_statement(after, 25, only, dialect)


FOLLOWED = [
    pytest.param(events_followed(kinds, place), id=f"follow-{kinds}-{place}")
    for kinds in EVENT_KINDS
    for place in (None, (ROWS // 2, 0, 1), (ROWS // 2, 1, ROWS // 2))
]
EVENTS = [
    *FOLLOWED,
    *(
        pytest.param(events_listed(kinds, *options), id=f"{kinds}-{options}")
        for kinds in EVENT_KINDS
        for options in itertools.product((False, True), repeat=4)
        if options[0] or not options[2]
    ),
]
OF_EVENTS = [
    pytest.param(looked_up(REVISIONS_FROM, 100, 101), id="revisions-from"),
    pytest.param(looked_up(OLDEST_CHANGES, 100, 100), id="oldest-changes"),
    pytest.param(looked_up(DELETE_CHANGES, 100, 1), id="forget-changes"),
    pytest.param(looked_up(DELETE_REVISIONS, 100), id="forget-revisions"),
    pytest.param(looked_up(LIST_ALL_POLICIES, "a", 100, 100), id="all-policies"),
    pytest.param(looked_up(LIST_ALL_TYPES, "a", 100, 100), id="all-types"),
    pytest.param(looked_up(LIST_ALL_OBJECTS, "document", "a", 100, 100), id="all-objects"),
    pytest.param(looked_up(LIST_ALL_WARRANTS, 100, 100, 100), id="all-warrants"),
    pytest.param(looked_up(OLDEST_DECISIONS, 100, 100), id="oldest-decisions"),
    pytest.param(looked_up(DELETE_DECISIONS, 100), id="forget-decisions"),
    pytest.param(looked_up(LAST_SURPLUS_DECISION, 100, 100), id="surplus"),
    pytest.param(looked_up(LAST_DECISION), id="last-decision"),
    pytest.param(looked_up(FIND_DECISION, 100, 100), id="find-decision"),
    pytest.param(looked_up(LIST_CHANGES, 5, 100, 5, 1, 100), id="list-changes"),
    pytest.param(looked_up(FIND_REVISION, 100), id="find-revision"),
    pytest.param(looked_up(FIND_REVISION_AT, 100), id="find-revision-at"),
    pytest.param(looked_up(FIND_BITS, 100), id="find-bits"),
    pytest.param(looked_up(LOCATE_REVISION, 100, 50), id="locate-revision"),
    pytest.param(looked_up(FIND_EXPECTED, 100), id="find-expected"),
    pytest.param(looked_up(READ_KEYS_VERSION, 100), id="read-keys-version"),
    pytest.param(looked_up(INSERT_REVISION, 1, ROWS, 7, ROWS, "key", "request"), id="insert-revision"),
]


def few_sorts(spoken: Spoken) -> int:
    """Of rows that are few: those found; those that ended and what they are merged with, both sides of a boundary."""
    if spoken in [param.values[0] for param in LISTS_AS_OF]:
        return 4
    return 3 if spoken in [param.values[0] for param in SORTED_LISTS] else 1


def warrant_rows() -> list[tuple[object, ...]]:
    """In the order of the table's columns. A fifth of them of groups, a ninth with an expiry; an object has about 50,
    of two relations."""
    relations, groups = ("viewer", "editor"), ("", "", "", "", "member")
    return [
        (
            DEFAULT_STORE,
            number,
            f"type-{number % 7}",
            f"id-{number % 400}",
            relations[number % 2],
            "user",
            f"id-{number // 3}",
            groups[number % 5],
            "",
            number,
            1,
            ALIVE,
            None,
            None if number % 9 else ROWS + number,
            None,
        )
        for number in range(ROWS)
    ]


def rows() -> list[tuple[str, str, None, int, int]]:
    return [(f"type-{number % 7}", f"id-{number}", None, number, 1) for number in range(ROWS)]


def log_rows() -> dict[str, list[tuple[object, ...]]]:
    """Three changes a revision, the third of an object."""
    kinds = ("warrant", "warrant", "object")
    key = '["type-3","id-5","viewer","user","id-3",""]'
    decided = ("allowed", key, None, 1, 7, None, 0, "key", "request")
    return {
        "revision": [(DEFAULT_STORE, number, 7, number, number, number, "key", "request") for number in range(1, ROWS)],
        "change": [
            (DEFAULT_STORE, number, place, "created", kinds[place], key, None, None, None, None)
            for number in range(1, ROWS)
            for place in range(3)
        ],
        "decision": [(DEFAULT_STORE, *[number] * 4, *decided) for number in range(1, ROWS)],
    }


@pytest.fixture(scope="module", params=["no statistics", "statistics"])
def sqlite_connection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    url = f"sqlite:///{tmp_path_factory.mktemp('plans')}/magistrate.db"
    migrate_store(settings_for(url))
    database = read_database_url(url)
    assert isinstance(database, SqliteUrl)
    connection = apsw.Connection(database.path)
    with connection:  # one transaction
        insertion = number_parameters(OBJECT.insert, "?")
        connection.executemany(insertion, [(DEFAULT_STORE, *row) for row in rows()])
        connection.executemany(f"INSERT INTO warrant VALUES ({', '.join('?' * 15)})", warrant_rows())
        for table, log in log_rows().items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(log[0]))})", log)
    if request.param == "statistics":
        connection.execute("ANALYZE")
    return connection


@pytest.fixture(scope="module")
def postgres_connection(postgres: PostgresServer) -> Iterator[psycopg.Connection[tuple[str, ...]]]:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    connection = psycopg.connect(database.conninfo, autocommit=True)
    with connection.cursor().copy("COPY object FROM STDIN") as copy:
        for of_type, object_id, meta, created_at, revision in rows():
            copy.write_row((DEFAULT_STORE, of_type, object_id, ALIVE, meta, created_at, revision))
    with connection.cursor().copy("COPY warrant FROM STDIN") as copy:
        for row in warrant_rows():
            copy.write_row(row)
    for table, log in log_rows().items():
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for logged in log:
                copy.write_row(logged)
    connection.execute("ANALYZE")
    yield connection
    connection.close()


def sqlite_plan(connection: apsw.Connection, spoken: Spoken) -> list[str]:
    statement = spoken(SqliteDatabase.dialect)
    text, values = bind(statement, "?")
    return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


def postgres_plan(connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken) -> list[str]:
    text, values = bind(spoken(PostgresDatabase.dialect), "$")
    return [line for (line,) in psycopg.RawCursor(connection).execute(f"EXPLAIN {text}", values)]


def bind(statement: Clause, sign: str) -> tuple[str, tuple[Parameter, ...]]:
    return number_parameters(statement.sql, sign), bind_store(statement.sql, DEFAULT_STORE, statement.values)


def scanned(plan: list[str]) -> list[str]:
    """What is read from end to end though it may be long, by its name in the statement."""
    names = [line.split()[1] for line in plan if line.startswith("SCAN")]
    return [name for name in names if name not in HARMLESS_SCANS]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("SELECT meta FROM object", "object"),
        ("SELECT definition FROM object_type", "object_type"),
        ("SELECT o.meta FROM head h LEFT JOIN object o ON true", "o"),
        ("SELECT c.key FROM head h LEFT JOIN change c ON true", "c"),
    ],
)
def test_reading_a_whole_table_would_be_noticed(sqlite_connection: apsw.Connection, statement: str, name: str) -> None:
    assert scanned(sqlite_plan(sqlite_connection, looked_up(statement))) == [name]


@pytest.mark.parametrize("spoken", LISTS)
def test_a_list_is_read_in_the_order_of_an_index_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    of_table = [line for line in plan if line.split()[1:2] == ["object"]]
    assert of_table
    assert all(line.startswith("SEARCH") for line in of_table), plan
    # One sort: that of the few rows that were found.
    assert sum("TEMP B-TREE" in line for line in plan) <= 1, plan


@pytest.mark.parametrize("spoken", LISTS_AS_OF)
def test_a_list_as_of_a_revision_is_searched_for_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    of_table = [line for line in plan if line.split()[1:2] == ["object"]]
    assert of_table
    assert all(line.startswith("SEARCH") for line in of_table), plan


@pytest.mark.parametrize("spoken", BY_MEMBER)
def test_a_list_by_a_member_reads_the_living_of_one_type_on_sqlite(
    sqlite_connection: apsw.Connection, spoken: Spoken
) -> None:
    of_living = "(store=? AND deleted_revision=? AND object_type=?)"
    of_ended = "(store=? AND deleted_revision>? AND deleted_revision<?)"

    plan = sqlite_plan(sqlite_connection, spoken)

    of_table = [line for line in plan if line.split()[1:2] == ["object"]]
    by_type = "SEARCH object USING INDEX object_by_type"
    assert set(of_table) <= {f"{by_type} {of_living}", f"{by_type} {of_ended}"}, plan
    # The page and the probe of what lies behind its boundary.
    assert sum(line.endswith(of_living) for line in of_table) == 2, plan


@pytest.mark.parametrize("spoken", LOOKUPS)
def test_a_lookup_is_a_search_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    assert not scanned(plan), plan
    assert not [line for line in plan if "AUTOMATIC" in line], plan  # an index of the whole table, made each time
    assert not [line for line in plan if "TEMP B-TREE" in line], plan


@pytest.mark.parametrize("spoken", OF_WARRANTS)
def test_warrants_are_searched_for_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    of_table = [line for line in plan if line.split()[1:2] in (["warrant"], ["w"])]
    assert of_table
    assert all(line.startswith("SEARCH") for line in of_table), plan


@pytest.mark.parametrize("spoken", MATCHES)
def test_warrants_that_match_are_found_by_an_index_and_not_sorted(
    sqlite_connection: apsw.Connection, postgres_connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken
) -> None:
    on_sqlite = sqlite_plan(sqlite_connection, spoken)
    on_postgres = postgres_plan(postgres_connection, spoken)

    assert not [line for line in on_sqlite if "TEMP B-TREE" in line], on_sqlite
    assert not [line for line in on_postgres if "Sort" in line], "\n".join(on_postgres)
    assert [line for line in on_postgres if re.search("Index Scan (using|on) warrant_by_", line)], "\n".join(
        on_postgres
    )


@pytest.mark.parametrize("spoken", EVENTS)
def test_events_are_read_in_the_order_of_time_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    of_logs = [line for line in plan if line.split()[1] in ("r", "c", "o")]
    assert of_logs
    assert all(line.startswith("SEARCH") or line in ("SCAN c", "SCAN r") for line in of_logs), plan
    # One sort: that of the few rows that were found.
    assert sum("TEMP B-TREE" in line for line in plan) <= 1, plan


def explain_for_any_values(connection: psycopg.Connection[tuple[str, ...]], statement: str) -> list[str]:
    """Returns the plan of a statement whose parameters have no values yet."""
    if connection.info.server_version < 16_00_00:
        pytest.skip("PostgreSQL explains such statements since version 16")
    return [line for (line,) in connection.execute(f"EXPLAIN (GENERIC_PLAN) {statement}")]


@pytest.mark.parametrize("is_for_any_values", [False, True])
@pytest.mark.parametrize("spoken", EVENTS)
def test_events_are_read_in_the_order_of_time_on_postgresql(
    postgres_connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken, is_for_any_values: bool
) -> None:
    plan = (
        explain_for_any_values(postgres_connection, bind(spoken(PostgresDatabase.dialect), "$")[0])
        if is_for_any_values
        else postgres_plan(postgres_connection, spoken)
    )

    assert not [line for line in plan if re.search("(Seq|Bitmap Heap) Scan on (change|revision|decision)", line)], plan
    assert not [line for line in plan if "Hash" in line or "Merge Join" in line], "\n".join(plan)
    # In the order of an index but for the changes of one revision; and one sort of the few rows that were found.
    assert sum(" Sort  (" in f" {line}" and "Incremental" not in line for line in plan) <= 1, "\n".join(plan)


@pytest.mark.parametrize("most", [1, 100])
def test_a_read_stops_at_its_limit_however_many_rows_there_are_on_sqlite(
    sqlite_connection: apsw.Connection, most: int
) -> None:
    ids = tuple(ObjectId(f"id-{number}") for number in range(ROWS))
    statement = read_statement([WarrantRead(GROUPS, ids)], None, most, SqliteDatabase.dialect)
    instructions = 0

    def count_instruction() -> bool:
        nonlocal instructions
        instructions += 1
        return False

    sqlite_connection.set_progress_handler(count_instruction, 1)
    found = sqlite_connection.execute(*bind(statement, "?")).fetchall()
    sqlite_connection.set_progress_handler(None)

    assert len(found) == most
    assert instructions <= 1_000 + 500 * most


@pytest.mark.parametrize("spoken", OF_EVENTS)
def test_logs_are_searched_by_an_index(
    sqlite_connection: apsw.Connection, postgres_connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken
) -> None:
    on_sqlite = sqlite_plan(sqlite_connection, spoken)
    on_postgres = postgres_plan(postgres_connection, spoken)

    assert not scanned(on_sqlite), on_sqlite
    assert not [line for line in on_postgres if re.search("Seq Scan on (change|revision|decision)", line)], on_postgres


@pytest.mark.parametrize("spoken", BY_MEMBER)
def test_a_list_by_a_member_reads_one_type_on_postgresql(
    postgres_connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken
) -> None:
    plan = postgres_plan(postgres_connection, spoken)

    read = [line for line in plan if re.search(" on object( |$)", line) and "Bitmap Heap Scan" not in line]
    conditions = [line for line in plan if "Index Cond" in line]
    assert not [line for line in read if "Index" not in line], "\n".join(plan)
    assert len(conditions) >= 2, "\n".join(plan)
    assert all("(object_type = 'type-3'" in line for line in conditions), "\n".join(plan)


@pytest.mark.parametrize("spoken", [*LISTS, *LISTS_AS_OF, *LOOKUPS, *OF_WARRANTS])
def test_no_statement_scans_the_table_on_postgresql(
    postgres_connection: psycopg.Connection[tuple[str, ...]], spoken: Spoken
) -> None:
    plan = postgres_plan(postgres_connection, spoken)

    assert not [line for line in plan if re.search("Seq Scan on (object|warrant)", line)], "\n".join(plan)
    assert sum("Sort  (" in line for line in plan) <= few_sorts(spoken), "\n".join(plan)


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        *[(text, ("object_type", "object_id", "deleted_revision")) for text in OF_ONE_OBJECT],
        (find_each(OBJECT.find), ("object_type", "object_id", "deleted_revision")),
        (find_each(OBJECT_TYPE.find), ("type", "deleted_revision")),
        (find_each(FIND_PATTERN), ("object_type", "object_id", "relation", "subject_relation")),
        (OBJECTS_CREATED, ("created_at", "deleted_revision")),
        (NUMBERS_BETWEEN, ("number",)),
        (WARRANTS_ENDED, ("deleted_revision",)),
        (NUMBERS_ENDED, ("deleted_revision",)),
    ],
)
def test_a_lookup_prepared_on_an_empty_table_stays_a_lookup_on_postgresql(
    postgres: PostgresServer, statement: str, columns: tuple[str, ...]
) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))
    numbered = number_parameters(statement, "$")

    with psycopg.connect(url, autocommit=True) as connection:
        plan = explain_for_any_values(connection, numbered)

    conditions = [line for line in plan if "Index Cond" in line and "Index Cond: (store = $1)" not in line]
    assert len(conditions) == 1, "\n".join(plan)
    assert all(column in conditions[0] for column in columns), conditions[0]


@pytest.mark.parametrize("is_empty", [True, False])
def test_many_warrants_are_each_looked_up_on_postgresql(
    postgres: PostgresServer, postgres_connection: psycopg.Connection[tuple[str, ...]], is_empty: bool
) -> None:
    """As prepared with or without rows, and however many keys there are."""
    url = postgres.new_url()
    migrate_store(settings_for(url))
    statement = number_parameters(find_each(WARRANT.find), "$")

    with psycopg.connect(url, autocommit=True) as empty:
        connection = empty if is_empty else postgres_connection
        plan = explain_for_any_values(connection, statement)

    [condition] = [line for line in plan if "Index Cond" in line and "object_id" in line]
    assert "subject_id" in condition
    assert not [line for line in plan if "Seq Scan on warrant" in line or "Hash" in line], "\n".join(plan)


@pytest.mark.parametrize(
    "spoken",
    [
        looked_up(LIST_EXPIRED, 5),
        looked_up(LIST_DELETED_STORES),
        looked_up(LIST_OUTDATED, 5, 6, 6, 5, 6, 1, 100),
        *(looked_up(rows.delete, 2, *rows.first, 100) for rows in list_stored_rows(SqliteDatabase.dialect)),
    ],
)
def test_work_on_stores_is_searched_for_on_sqlite(sqlite_connection: apsw.Connection, spoken: Spoken) -> None:
    plan = sqlite_plan(sqlite_connection, spoken)

    assert {*scanned([line for line in plan if "head_by_" not in line])} <= {"p"}  # a thousand stores
    assert not [line for line in plan if "TEMP B-TREE" in line]


@pytest.mark.parametrize("is_for_any_values", [False, True])
def test_rows_of_deleted_stores_are_deleted_by_their_places_on_postgresql(
    postgres_connection: psycopg.Connection[tuple[str, ...]], is_for_any_values: bool
) -> None:
    tables = list_stored_rows(PostgresDatabase.dialect)
    for rows in [rows for rows in tables if re.search(" (warrant|object) ", rows.delete)]:
        spoken = looked_up(rows.delete, 2, *rows.first, 100)
        plan = (
            explain_for_any_values(postgres_connection, bind(spoken(PostgresDatabase.dialect), "$")[0])
            if is_for_any_values
            else postgres_plan(postgres_connection, spoken)
        )

        assert [line for line in plan if "Tid Scan" in line], plan
        [index] = [line for line in plan if "Index" in line and "Scan" in line]
        assert "_pkey" in index, plan
