"""Holds the statements on objects."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.versions import build_statements

OBJECT = build_statements("object", ("object_type", "object_id"), "meta")
INSERT_MISSING_OBJECT = f"{OBJECT.insert} ON CONFLICT DO NOTHING"
OBJECTS_CREATED = f"""
SELECT object_type, object_id FROM object
WHERE deleted_revision = {ALIVE} AND created_at = ? AND created_revision = ?"""
