"""Lookups of many keys at once, on SQLite."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.database import Find
from magistrate.store.sql.dialect import Parameter, bind_store
from magistrate.store.sql.insertions import ROWS_AT_ONCE, join_insertions
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.sqlite import KEYS_AT_ONCE, MIN_KEYS_COMPARED, build_lookups, number_placeholders
from magistrate.store.sql.warrants import WARRANT
from magistrate.store.sqlite.files import migrate_sqlite, open_connection

OBJECTS = [(of_type, f"id-{number}") for of_type in ("document", "folder") for number in range(2 * KEYS_AT_ONCE)]
STORED = OBJECTS[::2]
WARRANTS = [
    (of_type, f"id-{object_ref}", "viewer", "user", f"id-{subject}", group, "")
    for of_type, object_ref, subject, group in product(("document", "folder"), range(40), range(20), ("", "member"))
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path = str(tmp_path_factory.mktemp("lookups") / "m.db")
    migrate_sqlite(path, 1_000)
    with closing(open_connection(path, 1_000)) as connection:
        connection.execute("BEGIN")
        insert(connection, OBJECT.insert, [(*key, None, 5, 1) for key in STORED])
        warrants = [(*key, place, 5, 1, None, None) for place, key in enumerate(WARRANTS[::2])]
        insert(connection, WARRANT.insert, warrants)
        connection.execute("COMMIT")
        yield connection


def insert(connection: apsw.Connection, statement: str, rows: Sequence[tuple[Parameter, ...]]) -> None:
    connection.executemany(number_placeholders(statement), [(DEFAULT_STORE, *row) for row in rows])


def find_keys(connection: apsw.Connection, find: Find, width: int) -> list[tuple[object, ...]]:
    rows = [
        row
        for text, values in build_lookups(find.statement, find.keys)
        for row in connection.execute(number_placeholders(text), bind_store(text, DEFAULT_STORE, tuple(values)))
    ]
    return sorted(row[:width] for row in rows)


lengths = st.one_of(
    st.integers(1, 3), st.integers(MIN_KEYS_COMPARED - 1, MIN_KEYS_COMPARED + 2), st.integers(1, KEYS_AT_ONCE + 40)
)


def keys_among(keys: Sequence[tuple[str, ...]]) -> st.SearchStrategy[list[tuple[str, ...]]]:
    """Keys that follow each other at some distance, so that they are alike in columns or not."""
    slices = st.tuples(st.integers(0, len(keys) - 1), lengths, st.sampled_from([1, 2, 40]))
    return slices.map(lambda one: [*keys[one[0] :: one[2]]][: one[1]])


@given(keys_among(OBJECTS))
def test_all_objects_that_are_stored_are_found(connection: apsw.Connection, keys: list[tuple[str, ...]]) -> None:
    found = find_keys(connection, Find(OBJECT.find, keys), 2)

    assert found == sorted(set(keys) & set(STORED))


def test_objects_of_two_types_are_looked_up_by_type() -> None:
    keys = [(of_type, f"id-{number}") for number in range(500) for of_type in ("document", "user")]

    looked_up = list(build_lookups(OBJECT.find, keys))

    assert [values[0] for _, values in looked_up] == ["document", "user"]
    assert [len(values) for _, values in looked_up] == [1 + 512, 1 + 512]


@given(keys_among(WARRANTS))
def test_all_warrants_that_are_stored_are_found(connection: apsw.Connection, keys: list[tuple[str, ...]]) -> None:
    found = find_keys(connection, Find(WARRANT.find, keys), 7)

    assert found == sorted(set(keys) & set(WARRANTS[::2]))


@pytest.mark.parametrize("count", [1, 2, MIN_KEYS_COMPARED, KEYS_AT_ONCE])
@pytest.mark.parametrize("stride", [1, 80])
def test_keys_are_searched_in_the_index_of_the_whole_key(connection: apsw.Connection, count: int, stride: int) -> None:
    find = Find(WARRANT.find, [*WARRANTS[::stride]][:count])
    connection.execute("ANALYZE")

    statements = list(build_lookups(find.statement, find.keys))

    assert 1 <= len(statements) <= 2  # one for each object type
    columns = ("object_type", "object_id", "relation", "subject_type", "subject_id", "subject_relation")
    for text, values in statements:
        explained = number_placeholders(f"EXPLAIN QUERY PLAN {text}")
        plan = [str(row[3]) for row in connection.execute(explained, (DEFAULT_STORE, *values))]
        [search] = [step for step in plan if step.startswith("SEARCH warrant")]
        assert all(f"{column}=?" in search for column in columns), plan
        assert not [step for step in plan if step.startswith("SCAN") and "VALUES" not in step]


def test_keys_that_are_alike_in_columns_send_these_once(connection: apsw.Connection) -> None:
    alike = [("document", f"id-{number}", "viewer", "user", "id-1", "", "") for number in range(MIN_KEYS_COMPARED)]
    unlike = [*WARRANTS[::80]][:MIN_KEYS_COMPARED]

    sent = [sum(len(values) for _, values in build_lookups(WARRANT.find, keys)) for keys in (alike, unlike)]

    assert sent[0] == MIN_KEYS_COMPARED + 6
    assert sent[1] > 2 * MIN_KEYS_COMPARED


def test_inserting_many_rows_leaves_other_statements_prepared(connection: apsw.Connection) -> None:
    find = Find(OBJECT.find, OBJECTS[: KEYS_AT_ONCE // 2])
    rows = [("note", f"id-{number}", None, 5, 1) for number in range(1_000)]
    prepared = []
    for _ in range(3):
        connection.execute("BEGIN")
        find_keys(connection, find, 2)
        for statement, values in join_insertions(OBJECT.insert, rows):
            insert(connection, statement, values)
        connection.execute("ROLLBACK")
        prepared.append(connection.cache_stats()["misses"])

    assert prepared[1:] == [prepared[0]] * 2


@pytest.mark.parametrize("count", [0, 1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE])
def test_joined_insertions_insert_each_row_once(connection: apsw.Connection, count: int) -> None:
    rows = [("note", f"id-{number}", None, 5, 1) for number in range(count)]
    connection.execute("BEGIN")
    for statement, values in join_insertions(OBJECT.insert, rows):
        insert(connection, statement, values)
    stored = connection.execute("SELECT object_id FROM object WHERE object_type = 'note'").fetchall()
    connection.execute("ROLLBACK")

    assert sorted(stored) == sorted((row[1],) for row in rows)
