"""What SQLite's own tools say of a healthy file. Operators use the version that their system brings."""

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.engine.names import ObjectId, PolicyName, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.contract.keys import SessionKey, StoredKey
from magistrate.store.contract.new_rows import (
    ImportBatch,
    ImportProgress,
    NewModel,
    NewObject,
    NewObjectType,
    NewWarrant,
    Once,
    Stamp,
)
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.contract.webhooks import NewWebhook, WebhookAttempt, WebhookFilter
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1)


def path_of(url: str) -> str:
    database = read_database_url(url)
    assert isinstance(database, SqliteUrl)
    return database.path


async def fill(url: str) -> None:
    """A row in every table, through the store."""
    migrate_store(settings_for(url))
    store = await open_store(settings_for(url))
    types = [NewObjectType(TypeName("document"), '{"relations":{"viewer":{}}}')]
    ann = Subject(TypeName("user"), ObjectId("ann"))
    warrants = [NewWarrant(object_ref("document", "plan"), RelationName("viewer"), ann, "amount < 10")]
    await store.put_object_types(types, lambda definitions: None, STAMP)
    await store.put_objects([NewObject(TypeName("document"), ObjectId("plan"), '{"title":"Plan"}')], STAMP)
    await store.put_objects([NewObject(TypeName("document"), ObjectId("plan"), None)], STAMP)
    await store.put_warrants(warrants, lambda definitions: None, Stamp("ann", 2, Once("key", "0" * 64)))
    progress = ImportProgress("/data/all.jsonl", 1, 1, "0" * 64)
    await store.import_batch(ImportBatch(types), lambda definitions: None, STAMP, progress)
    await store.put_policies([(PolicyName("weekdays"), '{"expression":"day < 6"}')], STAMP)
    await store.keep_key_digest("0" * 64, 1)
    await store.create_key(StoredKey("id", "a", "p", "0" * 64, ("check",), ("document",), 1, "ann"), 10)
    await store.keep_session_key(SessionKey("0" * 16, "1" * 64, 1), 0, 0)
    await store.create_ticket(StoredTicket("a" * 64, "ann", ("events",), None, None, "", 1, None, 5), 0, 1)
    await store.put_openfga_model("{}", NewModel([], []), lambda model: None, STAMP)
    await store.create_saved_query(SavedQuery("q", "mine", "", "select a where user:b is c", None, 1, "ann"), 10)
    await store.create_webhook(
        NewWebhook("w", "https://a.example/", WebhookFilter(), "", "whsec_x", True, 5, "ann"), 10
    )
    attempt = WebhookAttempt("m", 1, 1, 204, "", RevisionId(Revision(1), 1), 1)
    await store.keep_webhook_attempt("w", attempt)
    names = ("document", "plan", "viewer", "user", "ann", "")
    await store.keep_decisions([DecisionRecord(1, True, names, "{}", Revision(1))], 10)
    await store.close()


async def test_the_integrity_check_of_the_standard_library_finds_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    await fill(url)

    with closing(sqlite3.connect(path_of(url))) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()

    assert all(dump(url).values()), "a table is empty"
    assert found == [("ok",)], sqlite3.sqlite_version


def test_tables_without_rowid_declare_their_key_first_and_in_order(tmp_path: Path) -> None:
    """The cause of it, whatever version the tests run on: SQLite 3.40 looks at the column of that number in the
    row as it is stored, which begins with the key."""
    migrate_store(settings_for(f"sqlite:///{tmp_path}/m.db"))
    found = {}
    with closing(apsw.Connection(f"{tmp_path}/m.db")) as connection:
        for _, name, _, _, is_without_rowid, *_ in connection.execute("PRAGMA table_list").fetchall():
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            if is_without_rowid:
                found[str(name)] = [int(str(column[5])) for column in columns]

    assert {"object", "object_type", "change"} <= found.keys()
    for name, places in found.items():
        key_columns = max(places)
        assert places[:key_columns] == list(range(1, key_columns + 1)), name
