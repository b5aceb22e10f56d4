"""Holds the statements on named policies, and those that find the warrants of a pattern; see sql.py."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.statements import NEWEST
from magistrate.store.sql.tables import TableListing

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

_REVISIONS = " UNION ALL ".join(
    f"SELECT {column} AS r FROM {table}"
    for table in ("object_type", "named_policy")
    for column in ("created_revision", "deleted_revision")
)
MODEL_CHANGED = f"SELECT h.horizon, (SELECT max(r) FROM ({_REVISIONS}) c WHERE r < {ALIVE}) FROM head h"

POLICIES = TableListing(
    table="named_policy",
    columns=("name", "definition", "created_at"),
    sorts={"name": ("name",)},
    indexes={("name",): "named_policy_by_name"},
)

_PATTERN = "object_type, object_id, relation, subject_type, subject_id, subject_relation"
LIST_PATTERNS = f"SELECT {_PATTERN} FROM warrant_form"
_UNEXPIRED = "(expires_at IS NULL OR expires_at > ?)"
# The order makes PostgreSQL read warrant_by_type, instead of the table where it expects to find the few rows at once.
WARRANTS_OF_PATTERN = f"""
SELECT {_PATTERN} FROM warrant
WHERE object_type || '#' || relation = ? AND subject_relation = ? AND subject_type = ? AND subject_id <> '*'
AND deleted_revision >= {ALIVE} AND {_UNEXPIRED} ORDER BY deleted_revision LIMIT ?"""
WARRANTS_OF_WILDCARD_PATTERN = f"""
SELECT {_PATTERN} FROM warrant
WHERE subject_id = '*' AND subject_type = ? AND subject_relation = ? AND object_type = ? AND relation = ?
AND deleted_revision = {ALIVE} AND {_UNEXPIRED} LIMIT ?"""
