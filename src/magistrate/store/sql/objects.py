"""Holds the statements on objects."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.head import NEWEST

GET_OBJECT = f"""
SELECT {NEWEST}, o.object_type, o.object_id, o.meta, o.created_at FROM head h
LEFT JOIN object o ON o.object_type = ? AND o.object_id = ? AND o.deleted_revision = {ALIVE}"""
GET_OBJECT_AT = f"""
SELECT {NEWEST}, o.object_type, o.object_id, o.meta, o.created_at FROM head h
LEFT JOIN object o ON o.object_type = ? AND o.object_id = ? AND o.created_revision <= ? AND o.deleted_revision > ?"""
FIND_OBJECT = f"""
SELECT object_type, object_id, meta, created_at FROM object
WHERE object_type = ? AND object_id = ? AND deleted_revision = {ALIVE}"""
FIND_OBJECTS = f"""
SELECT object_type, object_id, meta, created_at FROM object
WHERE deleted_revision = {ALIVE} AND (object_type, object_id) IN"""
END_OBJECT = f"""
UPDATE object SET deleted_revision = ? WHERE object_type = ? AND object_id = ? AND deleted_revision = {ALIVE}"""
INSERT_OBJECT = f"""
INSERT INTO object (object_type, object_id, meta, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, ?, {ALIVE})"""
INSERT_MISSING_OBJECT = f"{INSERT_OBJECT} ON CONFLICT DO NOTHING"
OBJECTS_CREATED = f"""
SELECT object_type, object_id FROM object
WHERE deleted_revision = {ALIVE} AND created_at = ? AND created_revision = ?"""
ENDED_OBJECTS = """
SELECT object_type, object_id, deleted_revision FROM object
WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_OBJECT = "DELETE FROM object WHERE object_type = ? AND object_id = ? AND deleted_revision = ?"
