"""The tables of a mirror in real databases: loads, changes, positions, locks, and what is refused."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.errors import InvalidSetting, TargetRefused, TargetUnavailable
from magistrate.mirror.open_target import choose_target
from magistrate.mirror.rows import AccessKey, MirroredAccess, MirrorPosition
from magistrate.mirror.sqlite_target import SqliteMirror
from magistrate.mirror.target import MAX_NAME_LENGTH, MirrorTarget
from tests.databases import PostgresServer
from tests.mirror.tables import read_position, read_rows, row, run_on

OF = "document#viewer@user"
FIRST = MirrorPosition(OF, "one", "one", "2026-11-27T10:00:00.000000Z", True)
SECOND = MirrorPosition(OF, "two", "two-later", "2026-11-27T10:00:01.000000Z", True)
ANN, BOB, EVERYONE = (
    row("document:a#viewer@user:ann"),
    row("document:b#viewer@user:bob"),
    row("document:a#viewer@user:*"),
)
LONGEST = "\U00020000" * 256
"""An id of as many bytes as there may be."""


@pytest.fixture
def url(empty_database_url: str) -> str:
    return empty_database_url


@pytest.fixture
def target(url: str) -> Iterator[MirrorTarget]:
    opened = choose_target(url, "access")
    assert opened.open() is None
    yield opened
    opened.close()


def load(target: MirrorTarget, rows: Sequence[MirroredAccess], position: MirrorPosition = FIRST) -> None:
    target.begin_load()
    target.add_rows(rows)
    target.finish_load(position)


def reopen(target: MirrorTarget) -> MirrorPosition | None:
    """Opens it as soon as the server has noticed that the connection before is gone, which holds the lock."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return target.open()
        except TargetUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_load_shows_nothing_until_it_is_complete(url: str, target: MirrorTarget) -> None:
    target.begin_load()
    target.add_rows([ANN])
    target.add_rows([BOB])
    assert (read_rows(url), read_position(url)) == (set(), None)

    target.finish_load(FIRST)
    assert read_rows(url) == {ANN, BOB}
    assert read_position(url) == (OF, "one", "one")


def test_a_load_that_was_abandoned_is_not_part_of_the_next(url: str, target: MirrorTarget) -> None:
    target.begin_load()
    target.add_rows([ANN])

    load(target, [BOB])

    assert read_rows(url) == {BOB}


def test_a_load_replaces_all_rows_at_once(url: str, target: MirrorTarget) -> None:
    load(target, [ANN, BOB, EVERYONE])
    target.begin_load()
    target.add_rows([BOB._replace(is_conditional=True), EVERYONE, row("folder:x#viewer@user:ann")])
    assert read_rows(url) == {ANN, BOB, EVERYONE}

    target.finish_load(SECOND)

    assert read_rows(url) == {BOB._replace(is_conditional=True), EVERYONE, row("folder:x#viewer@user:ann")}
    assert read_position(url) == (OF, "two", "two-later")


def test_an_empty_load_is_a_load(url: str, target: MirrorTarget) -> None:
    load(target, [ANN])
    load(target, [], SECOND)

    assert (read_rows(url), read_position(url)) == (set(), (OF, "two", "two-later"))


def test_changes_and_the_position_are_one_transaction(url: str, target: MirrorTarget) -> None:
    load(target, [ANN, BOB])

    target.apply({ANN.key: None, BOB.key: True, EVERYONE.key: False}, FIRST, SECOND)

    assert read_rows(url) == {BOB._replace(is_conditional=True), EVERYONE}
    assert read_position(url) == (OF, "two", "two-later")


def test_changes_behind_another_position_are_not_made(url: str, target: MirrorTarget) -> None:
    load(target, [ANN])

    with pytest.raises(TargetUnavailable, match="another mirror has written"):
        target.apply({ANN.key: None}, SECOND, SECOND)

    assert (read_rows(url), read_position(url)) == ({ANN}, (OF, "one", "one"))


def test_it_goes_on_where_it_was_when_it_is_opened_again(url: str, target: MirrorTarget) -> None:
    load(target, [ANN])
    target.apply({BOB.key: False}, FIRST, SECOND)

    assert target.open() == SECOND
    assert read_rows(url) == {ANN, BOB}


def test_another_mirror_of_the_table_is_refused_until_the_first_ends(url: str, target: MirrorTarget) -> None:
    second = choose_target(url, "access")
    with pytest.raises(TargetUnavailable, match="another mirror keeps this table"):
        second.open()
    beside = choose_target(url, "other")
    assert beside.open() is None

    target.close()
    assert second.open() is None
    for opened in (second, beside):
        opened.close()


def test_all_rows_are_read_at_one_position_by_object_in_the_order_of_code_points(
    url: str, target: MirrorTarget
) -> None:
    ids = ["a", "B", "é", "z", "日本", "o'brien", "\U00020000", "\uff5a"]
    load(target, [row(f"document:{object_id}#viewer@user:ann") for object_id in ids])

    reader = choose_target(url, "access")
    with reader.read() as (position, rows):
        target.apply({ANN.key: False}, FIRST, SECOND)
        read = [*rows]
    reader.close()

    assert position == FIRST
    assert [each.key.object_id for each in read] == sorted(ids)


def test_nothing_is_read_before_the_first_load_and_nothing_is_made_for_it(url: str) -> None:
    reader = choose_target(url, "access")
    with reader.read() as (position, rows):
        assert (position, [*rows]) == (None, [])
    reader.close()

    own = choose_target(url, "access")
    assert own.open() is None
    own.close()


def test_ids_can_be_any_unicode_of_any_length(url: str, target: MirrorTarget) -> None:
    keys = [
        AccessKey("d" * 64, LONGEST, "r" * 64, "u" * 64, LONGEST[:-1] + "\U0002a6df"),
        AccessKey("document", "'\"\\;--{}%s", "viewer", "user", "\\N"),
        AccessKey("document", "a\\tb", "viewer", "user", "josé"),
    ]
    rows = {MirroredAccess(key, False) for key in keys}

    load(target, [*rows])
    assert read_rows(url) == rows
    target.apply(dict.fromkeys(keys), FIRST, SECOND)
    assert read_rows(url) == set()
    target.apply(dict.fromkeys(keys, True), SECOND, FIRST)
    assert read_rows(url) == {MirroredAccess(key, True) for key in keys}


def test_the_tables_of_others_are_refused(url: str) -> None:
    run_on(url, "CREATE TABLE access (id text, name text)")
    target = choose_target(url, "access")

    with pytest.raises(TargetRefused, match='the table "access" was not made by a mirror: it has the columns id, name'):
        target.open()

    target.close()
    assert run_on(url, "SELECT * FROM access") == []


@pytest.mark.parametrize(
    "name", ["", 'x"; DROP TABLE y; --', "a b", "1a", "sqlite_a", "a" * (MAX_NAME_LENGTH + 1), "é", "a.b"]
)
def test_names_of_tables_are_plain(name: str) -> None:
    for url in ("sqlite:///x.db", "postgresql://localhost/x"):
        with pytest.raises(InvalidSetting, match="cannot be the name of the table"):
            choose_target(url, name)


def test_a_name_may_be_a_word_of_sql_and_as_long_as_it_may_be(url: str) -> None:
    for name in ("Select", "A" * MAX_NAME_LENGTH):
        target = choose_target(url, name)
        assert target.open() is None
        load(target, [ANN])
        assert target.open() == FIRST
        target.close()
        assert read_rows(url, name) == {ANN}


def test_a_table_that_was_dropped_meanwhile_is_made_again(url: str, target: MirrorTarget) -> None:
    load(target, [ANN])
    run_on(url, "DROP TABLE access")
    run_on(url, "DROP TABLE access_position")

    with pytest.raises(TargetUnavailable):
        target.apply({BOB.key: False}, FIRST, SECOND)

    assert target.open() is None
    assert read_rows(url) == set()


def test_a_file_that_is_no_database_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("own") / "app.db"
    path.write_text("not a database, but a text that is long enough to be read as the head of one" * 20)
    target = choose_target(f"sqlite:///{path}", "access")

    with pytest.raises(TargetRefused, match="not a database"):
        target.open()
    target.close()


def test_a_folder_that_is_not_there_is_reported() -> None:
    with pytest.raises(TargetUnavailable, match="No such file or directory"):
        choose_target("sqlite:////not/there.db", "access").open()


def test_a_database_that_cannot_hold_any_unicode_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_url("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    target = choose_target(url, "access")

    with pytest.raises(TargetRefused, match="encoding LATIN1"):
        target.open()
    target.close()
    postgres.give_back(url)


def test_columns_can_be_compared_with_those_of_the_application(url: str, target: MirrorTarget) -> None:
    load(target, [ANN])
    run_on(url, "CREATE TABLE documents (id text PRIMARY KEY, title text)")
    run_on(url, "INSERT INTO documents VALUES ('a', 'Plan'), ('b', 'Roadmap')")

    joined = "SELECT title FROM documents JOIN access ON object_id = id AND subject_id = 'ann'"
    assert run_on(url, joined) == [("Plan",)]


def test_passwords_are_in_no_message(postgres: PostgresServer) -> None:
    target = choose_target("postgresql://app:t0p-s3cret@127.0.0.1:1/app?sslpassword=0ther", "access")
    with pytest.raises(TargetUnavailable) as error:
        target.open()
    assert "t0p-s3cret" not in str(error.value)
    assert "t0p-s3cret" not in repr(target)

    with pytest.raises(InvalidSetting) as refused:
        choose_target("postgresql://app:t0p-s3cret@[half/app", "access")
    assert "s3cret" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_locks_of_the_application_are_waited_for_with_a_limit(
    url: str, target: MirrorTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(target, [ANN])
    kind = type(target).__module__
    monkeypatch.setattr(sys.modules[kind], "LOCK_SECONDS", 0.1)
    assert target.open() == FIRST
    holder = choose_target(url, "holding")
    holder.open()
    holding = holder._connection  # type: ignore[attr-defined]
    for statement in ("BEGIN IMMEDIATE",) if "sqlite" in url else ("BEGIN", "LOCK TABLE access"):
        holding.execute(statement)

    with pytest.raises(TargetUnavailable, match="cannot be used now"):
        target.apply({BOB.key: False}, FIRST, SECOND)

    holding.execute("ROLLBACK")
    holder.close()
    target.apply({BOB.key: False}, FIRST, SECOND)
    assert read_rows(url) == {ANN, BOB}


def test_a_server_that_answers_no_more_is_given_up(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.new_url()
    target = choose_target(url, "access")
    target.open()
    load(target, [ANN])
    monkeypatch.setattr("magistrate.mirror.postgres_target.STEP_SECONDS", 0.2)

    with postgres.frozen(), pytest.raises(TargetUnavailable):
        target.apply({BOB.key: False}, FIRST, SECOND)

    monkeypatch.undo()
    assert reopen(target) in (FIRST, SECOND)
    target.close()
    postgres.give_back(url)


def test_a_server_that_was_restarted_is_found_again(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    target = choose_target(url, "access")
    target.open()
    load(target, [ANN])
    postgres.terminate_connections(url)

    with pytest.raises(TargetUnavailable):
        target.apply({BOB.key: False}, FIRST, SECOND)
    assert reopen(target) == FIRST
    target.apply({BOB.key: False}, FIRST, SECOND)

    assert read_rows(url) == {ANN, BOB}
    target.close()
    postgres.give_back(url)


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/full.db"
    target = SqliteMirror(str(tmp_path / "full.db"), "access")
    target.open()
    load(target, [ANN])
    many = {row(f"document:{number}#viewer@user:ann").key: False for number in range(5_000)}
    assert target._connection is not None
    target._connection.execute("PRAGMA max_page_count = 20")

    with pytest.raises(TargetUnavailable, match="full"):
        target.apply(many, FIRST, SECOND)
    assert (read_rows(url), read_position(url)) == ({ANN}, (OF, "one", "one"))

    assert target.open() == FIRST  # the limit is that of the connection
    target.apply(many, FIRST, SECOND)
    assert len(read_rows(url)) == 5_001
    target.close()


def test_a_load_does_not_keep_the_application_from_writing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/app.db"
    run_on(url, "CREATE TABLE own (id text)")
    target = choose_target(url, "access")
    target.open()
    target.begin_load()
    with closing(apsw.Connection(f"{tmp_path}/app.db")) as application:
        application.execute("BEGIN IMMEDIATE")
        target.add_rows([ANN])
        application.execute("INSERT INTO own VALUES ('a')")
        application.execute("COMMIT")
    target.finish_load(FIRST)
    target.close()

    assert read_rows(url) == {ANN}


def test_a_role_that_may_not_make_tables_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    run_on(url, "REVOKE CREATE ON SCHEMA public FROM public")
    run_on(url, "DROP ROLE IF EXISTS mirror_reader")
    run_on(url, "CREATE ROLE mirror_reader LOGIN")
    target = choose_target(url.replace("postgres@", "mirror_reader@"), "access")

    with pytest.raises(TargetRefused, match="permission denied for schema public"):
        target.open()
    target.close()
    postgres.give_back(url)
