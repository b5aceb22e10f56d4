"""Holds the statements on the model: object types, named policies and the patterns of warrants."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.head import HEAD, NEWEST
from magistrate.store.sql.versions import build_statements
from magistrate.store.sql.warrants import WARRANT_NAMES

OBJECT_TYPE = build_statements("object_type", ("type",), "definition")
LIST_DEFINITIONS = (
    f"SELECT type, definition FROM object_type WHERE store = :store AND deleted_revision = {ALIVE} ORDER BY type"
)

NAMED_POLICY = build_statements("named_policy", ("name",), "definition")
LIST_POLICIES = f"""
SELECT name, definition FROM named_policy WHERE store = :store AND deleted_revision = {ALIVE} ORDER BY name"""
LIST_POLICY_NAMES = f"SELECT name FROM named_policy WHERE store = :store AND deleted_revision = {ALIVE} ORDER BY name"

_PATTERN = ", ".join(WARRANT_NAMES)
LIST_PATTERNS = f"SELECT {_PATTERN} FROM warrant_pattern WHERE store = :store"
FIND_PATTERN = f"SELECT {_PATTERN} FROM warrant_pattern WHERE store = :store AND ({_PATTERN}) = (?, ?, ?, ?, ?, ?)"
INSERT_PATTERN = f"INSERT INTO warrant_pattern (store, {_PATTERN}) VALUES (:store, ?, ?, ?, ?, ?, ?)"

_MODEL = f"""
SELECT {NEWEST}, h.model_revision, m.*{{span}} FROM {HEAD} LEFT JOIN (
    SELECT 'type' AS kind, type, definition, '' AS c, '' AS d, '' AS e, '' AS f FROM object_type
    WHERE store = :store AND {{alive}}
    UNION ALL SELECT 'policy', name, definition, '', '', '', '' FROM named_policy
    WHERE store = :store AND {{alive}}
    UNION ALL SELECT 'pattern', {_PATTERN} FROM warrant_pattern WHERE store = :store
) m ON true ORDER BY m.kind, m.type"""
READ_MODEL = _MODEL.format(alive=f"deleted_revision = {ALIVE}", span="")
_TYPES_CHANGED = " UNION ALL ".join(
    f"SELECT {column} AS r FROM {table} WHERE store = :store"
    for table in ("object_type", "named_policy")
    for column in ("created_revision", "deleted_revision")
)
READ_MODEL_AT = _MODEL.format(
    alive="created_revision <= ? AND deleted_revision > ?",
    span=f""",
    (SELECT max(r) FROM ({_TYPES_CHANGED}) c WHERE r <= ?), (SELECT min(r) FROM ({_TYPES_CHANGED}) c WHERE r > ?)""",
)
MODEL_CHANGED = f"SELECT h.horizon, (SELECT max(r) FROM ({_TYPES_CHANGED}) c WHERE r < {ALIVE}) FROM {HEAD}"
