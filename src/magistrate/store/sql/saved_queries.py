"""Holds the statements on saved queries."""

from magistrate.store.sql.head import HEAD, NEWEST

_SAVED = "q.id, q.name, q.description, q.q, q.context, q.created_at, q.created_by"
LIST_SAVED_QUERIES = f"""
SELECT {NEWEST}, {_SAVED} FROM {HEAD} LEFT JOIN saved_query q ON q.store = :store ORDER BY q.name"""
GET_SAVED_QUERY = f"SELECT {NEWEST}, {_SAVED} FROM {HEAD} LEFT JOIN saved_query q ON q.store = :store AND q.id = ?"
FIND_SAVED_QUERY = f"SELECT {_SAVED} FROM saved_query q WHERE q.store = :store AND q.id = ?"
LIST_SAVED_NAMES = "SELECT name FROM saved_query WHERE store = :store"
INSERT_SAVED_QUERY = """
INSERT INTO saved_query (store, id, name, description, q, context, created_at, created_by)
VALUES (:store, ?, ?, ?, ?, ?, ?, ?)"""
UPDATE_SAVED_QUERY = """
UPDATE saved_query SET name = ?, description = ?, q = ?, context = ? WHERE store = :store AND id = ?"""
DELETE_SAVED_QUERY = "DELETE FROM saved_query WHERE store = :store AND id = ?"
