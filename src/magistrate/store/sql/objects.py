"""Holds the statements on objects."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.versions import build_statements

OBJECT = build_statements("object", ("object_type", "object_id"), "meta")
INSERT_MISSING_OBJECT = f"{OBJECT.insert} ON CONFLICT DO NOTHING"
OBJECTS_CREATED = f"""
SELECT object_type, object_id FROM object
WHERE store = :store AND deleted_revision = {ALIVE} AND created_at BETWEEN ? AND ? AND created_revision = ?
ORDER BY created_at"""
"""Selects what was created at a time, given twice: the order makes PostgreSQL take object_by_creation even on an empty
table, where it expects all indexes to find the same."""
