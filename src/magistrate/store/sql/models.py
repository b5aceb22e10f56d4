"""Holds the statements on the model: object types, named policies and the patterns of warrants."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.head import NEWEST

GET_OBJECT_TYPE = f"""
SELECT {NEWEST}, t.type, t.definition, t.created_at FROM head h
LEFT JOIN object_type t ON t.type = ? AND t.deleted_revision = {ALIVE}"""
GET_OBJECT_TYPE_AT = f"""
SELECT {NEWEST}, t.type, t.definition, t.created_at FROM head h
LEFT JOIN object_type t ON t.type = ? AND t.created_revision <= ? AND t.deleted_revision > ?"""
LIST_DEFINITIONS = f"SELECT type, definition FROM object_type WHERE deleted_revision = {ALIVE} ORDER BY type"
FIND_OBJECT_TYPES = f"""
SELECT type, definition, created_at FROM object_type WHERE deleted_revision = {ALIVE} AND (type) IN"""
FIND_OBJECT_TYPE = f"SELECT type, definition, created_at FROM object_type WHERE type = ? AND deleted_revision = {ALIVE}"
END_OBJECT_TYPE = f"UPDATE object_type SET deleted_revision = ? WHERE type = ? AND deleted_revision = {ALIVE}"
INSERT_OBJECT_TYPE = f"""
INSERT INTO object_type (type, definition, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, {ALIVE})"""
ENDED_OBJECT_TYPES = """
SELECT type, deleted_revision FROM object_type WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_OBJECT_TYPE = "DELETE FROM object_type WHERE type = ? AND deleted_revision = ?"

_POLICY = "SELECT name, definition, created_at FROM named_policy"
GET_POLICY = f"""
SELECT {NEWEST}, p.name, p.definition, p.created_at FROM head h
LEFT JOIN named_policy p ON p.name = ? AND p.deleted_revision = {ALIVE}"""
GET_POLICY_AT = f"""
SELECT {NEWEST}, p.name, p.definition, p.created_at FROM head h
LEFT JOIN named_policy p ON p.name = ? AND p.created_revision <= ? AND p.deleted_revision > ?"""
LIST_POLICY_NAMES = f"SELECT name FROM named_policy WHERE deleted_revision = {ALIVE} ORDER BY name"
FIND_POLICY = f"{_POLICY} WHERE name = ? AND deleted_revision = {ALIVE}"
FIND_POLICIES = f"{_POLICY} WHERE deleted_revision = {ALIVE} AND (name) IN"
END_POLICY = f"UPDATE named_policy SET deleted_revision = ? WHERE name = ? AND deleted_revision = {ALIVE}"
INSERT_POLICY = f"""
INSERT INTO named_policy (name, definition, created_at, created_revision, deleted_revision)
VALUES (?, ?, ?, ?, {ALIVE})"""
ENDED_POLICIES = """
SELECT name, deleted_revision FROM named_policy WHERE deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_POLICY = "DELETE FROM named_policy WHERE name = ? AND deleted_revision = ?"

_PATTERN = "object_type, object_id, relation, subject_type, subject_id, subject_relation"
LIST_PATTERNS = f"SELECT {_PATTERN} FROM warrant_pattern"
FIND_PATTERN = f"SELECT {_PATTERN} FROM warrant_pattern WHERE ({_PATTERN}) = (?, ?, ?, ?, ?, ?)"
FIND_PATTERNS = f"SELECT {_PATTERN} FROM warrant_pattern WHERE ({_PATTERN}) IN"
INSERT_PATTERN = f"INSERT INTO warrant_pattern ({_PATTERN}) VALUES (?, ?, ?, ?, ?, ?)"

_MODEL = f"""
SELECT {NEWEST}, h.model_revision, m.*{{span}} FROM head h LEFT JOIN (
    SELECT 'type' AS kind, type, definition, '' AS c, '' AS d, '' AS e, '' AS f FROM object_type WHERE {{alive}}
    UNION ALL SELECT 'policy', name, definition, '', '', '', '' FROM named_policy WHERE {{alive}}
    UNION ALL SELECT 'pattern', {_PATTERN} FROM warrant_pattern
) m ON true ORDER BY m.kind, m.type"""
READ_MODEL = _MODEL.format(alive=f"deleted_revision = {ALIVE}", span="")
_TYPES_CHANGED = " UNION ALL ".join(
    f"SELECT {column} AS r FROM {table}"
    for table in ("object_type", "named_policy")
    for column in ("created_revision", "deleted_revision")
)
READ_MODEL_AT = _MODEL.format(
    alive="created_revision <= ? AND deleted_revision > ?",
    span=f""",
    (SELECT max(r) FROM ({_TYPES_CHANGED}) c WHERE r <= ?), (SELECT min(r) FROM ({_TYPES_CHANGED}) c WHERE r > ?)""",
)
MODEL_CHANGED = f"SELECT h.horizon, (SELECT max(r) FROM ({_TYPES_CHANGED}) c WHERE r < {ALIVE}) FROM head h"
