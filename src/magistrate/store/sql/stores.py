"""Holds the statements on the list of stores, which are run for the store `default`, whatever store they name."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from magistrate.store.sql.dialect import Dialect, Parameter
from magistrate.store.sql.head import ADD_KEYS_BITS, MAX_MOVED

HAS_STORES = "SELECT 1 FROM store LIMIT 1"
MAKE_STORE = """
INSERT INTO store (number, id, name, description, cursor_key, created_at, openfga_name) VALUES (?, ?, ?, ?, ?, ?, ?)"""
LAST_NUMBER = "SELECT (SELECT max(number) FROM store), (SELECT max(id) FROM store)"
HAS_ID = "SELECT 1 FROM store WHERE id = ?"
_COLUMNS = """
s.number, s.id, s.name, s.description, h.limits, s.cursor_key, s.created_at, h.deleted_at, h.warrants, h.objects,
s.openfga_name"""
_STORES = f"SELECT {_COLUMNS} FROM store s JOIN head h ON h.store = s.number"
FIND_STORE = f"{_STORES} WHERE s.number = ?"
FIND_NEWEST = "SELECT s.id, h.revision, h.bits FROM store s JOIN head h ON h.store = s.number WHERE s.number = ?"
FIND_NAMED_STORE = f"{_STORES} WHERE s.name = ?"
FIND_STORE_OR_ID = f"{_STORES} WHERE (s.name = ? OR s.id = ?) AND h.deleted_at IS NULL"
_LIST_STORES = f"""
{_STORES} WHERE s.name {{sign}} ? AND s.name >= ? AND s.name < ? AND h.deleted_at IS NULL
ORDER BY s.name {{order}} LIMIT ?"""
LIST_STORES_AFTER = _LIST_STORES.format(sign=">", order="ASC")
LIST_STORES_BEFORE = _LIST_STORES.format(sign="<", order="DESC")
LIST_STORES_BY_ID = f"{_STORES} WHERE s.id > ? AND h.deleted_at IS NULL ORDER BY s.id LIMIT ?"
LIST_STORES_BY_OPENFGA_NAME = f"""
{_STORES} WHERE coalesce(s.openfga_name, s.name) = ? AND s.id > ? AND h.deleted_at IS NULL ORDER BY s.id LIMIT ?"""
LIST_MOVED_STORES = f"""
SELECT d.revision, d.bits, e.revision, e.bits, :first_moved, :end_of_moved,
    a.moved, a.keys_bits, a.deleted_at, a.revision, a.bits, b.bits,
    {_COLUMNS}, h.revision, h.bits, h.model_revision, h.keys_version, h.keys_bits, h.moved
FROM head d LEFT JOIN revision e ON e.store = :store AND e.revision = ?
LEFT JOIN head a ON a.store = ? LEFT JOIN revision b ON b.store = a.store AND b.revision = ?
LEFT JOIN head h ON h.moved >= ? AND h.moved < CASE CAST(? AS BIGINT) WHEN 0 THEN {MAX_MOVED} ELSE :end_of_moved END
LEFT JOIN store s ON s.number = h.store
WHERE d.store = :store"""
"""Begins with the columns that show whether the store `default` still has the history that is known, and then those
that show whether the last change that is known is still there: one of another store."""
UPDATE_STORE = "UPDATE store SET name = ?, description = ? WHERE number = ?"
LIMIT_STORE = f"UPDATE head SET limits = ?, {ADD_KEYS_BITS}, moved = :moved WHERE store = ?"
MARK_STORE_MOVED = "UPDATE head SET moved = :moved WHERE store = ?"
DELETE_STORE = "UPDATE head SET deleted_at = ?, next_expiry = NULL, moved = :moved WHERE store = ?"
LIST_EXPIRED = "SELECT store FROM head WHERE next_expiry <= ? ORDER BY next_expiry"
_PAST = """(
    SELECT revision FROM revision r WHERE r.store = h.store AND reached_at <= ?
    ORDER BY reached_at DESC, revision DESC LIMIT 1)"""
_FIRST = "(SELECT {column} FROM {table} t WHERE t.store = p.store ORDER BY {column} LIMIT 1)"
LIST_OUTDATED = f"""
SELECT p.store, CASE WHEN {
    " OR ".join(
        f"{_FIRST.format(table=table, column=column)} {bound}"
        for table, column, bound in (
            ("object", "deleted_revision", "<= p.ended_by"),
            ("object_type", "deleted_revision", "<= p.ended_by"),
            ("named_policy", "deleted_revision", "<= p.ended_by"),
            ("warrant", "deleted_revision", "<= p.ended_by"),
            ("change", "revision", "<= p.events_by"),
            ("revision", "revision", "< p.events_by"),
            ("idempotency", "written_at", "<= ?"),
            ("watch_ticket", "expires_at", "<= ?"),
            ("decision", "reached_at", "<= ?"),
        )
    )
} THEN 1 ELSE 0 END
FROM (
    SELECT h.store, {_PAST} AS ended_by, {_PAST} AS events_by FROM head h
    WHERE h.store > ? AND h.deleted_at IS NULL ORDER BY h.store LIMIT ?
) p ORDER BY p.store"""
"""Says of the next stores whether they have rows that are past their retention, by the first entries of indexes. The
revision before which nothing is left stays."""

LIST_DELETED_STORES = """
SELECT store, deleted_at, removed_at FROM head WHERE deleted_at IS NOT NULL ORDER BY deleted_at, store"""
BEGIN_REMOVAL = """
UPDATE head SET removed_at = ? WHERE store = ? AND deleted_at IS NOT NULL AND removed_at IS NOT DISTINCT FROM ?
RETURNING 1"""
FREE_NAME = "UPDATE store SET name = NULL WHERE number = ?"
DELETE_HEAD = "DELETE FROM head WHERE store = ?"
DELETE_FREED_STORES = "DELETE FROM store WHERE name IS NULL AND number < (SELECT max(number) FROM store)"
"""Leaves the last one, so that no number is given twice."""
_KEYS = {
    "warrant": "number",
    "change": "revision, position",
    "revision": "revision",
    "decision": "number",
    "object": "object_type, object_id, deleted_revision",
    "object_type": "type, deleted_revision",
    "named_policy": "name, deleted_revision",
    "policy": "digest",
    "warrant_pattern": "object_type, object_id, relation, subject_type, subject_id, subject_relation",
    "idempotency": "owner, key",
    "import": "source",
    "api_key": "digest",
    "caller_key": "id",
    "session_key": "id",
    "watch_ticket": "digest",
    "webhook": "id",
    "webhook_delivery": "webhook, number",
    "saved_query": "id",
    "openfga_model": "id",
}
TABLES = ("store", "head", *_KEYS)
"""Names all tables but `migration`."""
_INTEGERS = frozenset(("number", "revision", "position", "deleted_revision"))


class TableRows(NamedTuple):
    """Holds the statement that deletes some rows of a store from a table: the first ones from a key on, because on
    PostgreSQL a search for any rows passes those that were deleted before. It returns their keys. `first` sorts before
    all keys."""

    delete: str
    first: tuple[Parameter, ...]


@lru_cache(maxsize=2)
def list_stored_rows(dialect: Dialect) -> Sequence[TableRows]:
    """Returns the statements for all tables with rows of stores, but `head` and `store`."""
    return tuple(_describe_rows(table, key, dialect) for table, key in _KEYS.items())


def _describe_rows(table: str, key: str, dialect: Dialect) -> TableRows:
    columns = key.split(", ")
    values = ", ".join("?" * len(columns))
    which = f"store = ? AND ({key}) >= ({values}) ORDER BY {key} LIMIT ?"
    return TableRows(
        dialect.delete_some.format(table=table, key=key, which=which),
        first=tuple(-1 if column in _INTEGERS else "" for column in columns),
    )
