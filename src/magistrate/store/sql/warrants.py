"""Holds the statements on warrants, and on the texts of their policies."""

from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.sql.head import HEAD, NEWEST
from magistrate.store.sql.versions import RowStatements

WARRANT_NAMES = ("object_type", "object_id", "relation", "subject_type", "subject_id", "subject_relation")
STORED_WARRANT = ", ".join(
    f"w.{column}" for column in (*WARRANT_NAMES, "policy", "created_at", "number", "starts_at", "expires_at")
)
"""Selects the columns of Warrant from `warrant w`; its policy is a digest."""
READ_WARRANT = STORED_WARRANT.replace("w.policy", "coalesce(p.text, '')").replace("w.", "u.")
"""Selects them from such rows `u` and their `policy p`."""
READ_ROWS = f"SELECT {NEWEST}, h.model_revision, u.read_number, {READ_WARRANT} FROM {HEAD} LEFT JOIN"
"""Begins the statements that read warrants from rows `u`, each with the number of the request that reads it."""
_NAMES = ", ".join(WARRANT_NAMES)
_WARRANT_KEY = f"{_NAMES}, policy"
_WITH_POLICY = "warrant LEFT JOIN policy ON policy.store = :store AND digest = policy"
WARRANT = RowStatements(
    find=f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text, created_at
FROM {_WITH_POLICY}
WHERE warrant.store = :store AND deleted_revision = {ALIVE} AND ({_WARRANT_KEY}) = (?, ?, ?, ?, ?, ?, ?)""",
    end=f"""
UPDATE warrant SET deleted_revision = ?
WHERE store = :store AND ({_WARRANT_KEY}) = (?, ?, ?, ?, ?, ?, ?) AND deleted_revision = {ALIVE}""",
    insert=f"""
INSERT INTO warrant (
    store, {_WARRANT_KEY}, number, created_at, created_revision, starts_at, expires_at, deleted_revision
) VALUES (:store, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {ALIVE})""",
)
WARRANTS_OF_NAMES = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text, created_at
FROM {_WITH_POLICY}
WHERE warrant.store = :store AND deleted_revision = {ALIVE} AND ({_NAMES}) = (?, ?, ?, ?, ?, ?)"""
# A NULL for created_at stands for any.
END_WARRANT_THAT_DIFFERS = f"""{WARRANT.end} AND (created_at <> coalesce(?, created_at)
OR starts_at IS DISTINCT FROM ? OR expires_at IS DISTINCT FROM ?)"""
WARRANTS_ENDED = f"SELECT {_WARRANT_KEY}, created_at FROM warrant WHERE store = :store AND deleted_revision = ?"
INSERT_MISSING_WARRANT = f"{WARRANT.insert} ON CONFLICT DO NOTHING"
# In an order, because on an empty table PostgreSQL would take any index that begins with the store.
NUMBERS_BETWEEN = "SELECT number FROM warrant WHERE store = :store AND number BETWEEN ? AND ? ORDER BY number"

KEEP_POLICY = """
INSERT INTO policy (store, digest, text, reads_clock) VALUES (:store, ?, ?, ?) ON CONFLICT DO NOTHING"""

_OF_OBJECT = f"warrant.store = :store AND object_id = ? AND object_type = ? AND deleted_revision = {ALIVE}"
_OF_SUBJECT = f"warrant.store = :store AND subject_id = ? AND subject_type = ? AND deleted_revision = {ALIVE}"
_WARRANTS_OF = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text FROM {_WITH_POLICY}
WHERE {{of}} AND ({{order}}) > (?, ?, ?, ?, ?) ORDER BY {{order}} LIMIT ?"""
WARRANTS_OF_OBJECT = _WARRANTS_OF.format(
    of=_OF_OBJECT, order="relation, subject_relation, subject_type, subject_id, policy"
)
WARRANTS_OF_SUBJECT = _WARRANTS_OF.format(
    of=_OF_SUBJECT, order="subject_relation, object_type, relation, object_id, policy"
)
END_WARRANTS_OF_OBJECT = f"UPDATE warrant SET deleted_revision = ? WHERE {_OF_OBJECT}"
END_WARRANTS_OF_SUBJECT = f"UPDATE warrant SET deleted_revision = ? WHERE {_OF_SUBJECT}"
_END_EXPIRED_OF = "UPDATE warrant SET deleted_revision = ?, expired_revision = ? WHERE {of} AND expires_at <= ?"
END_EXPIRED_OF_OBJECT = _END_EXPIRED_OF.format(of=_OF_OBJECT)
END_EXPIRED_OF_SUBJECT = _END_EXPIRED_OF.format(of=_OF_SUBJECT)

FIND_NEXT_EXPIRY = f"""
UPDATE head SET next_expiry = (
    SELECT expires_at FROM warrant WHERE store = :store AND deleted_revision = {ALIVE} AND expires_at IS NOT NULL
    ORDER BY expires_at LIMIT 1
) WHERE store = :store"""
EXPIRED_WARRANTS = f"""
SELECT {_WARRANT_KEY}, number, starts_at, expires_at, text
FROM {_WITH_POLICY}
WHERE warrant.store = :store AND deleted_revision = {ALIVE} AND expires_at <= ? ORDER BY expires_at, number LIMIT ?"""
# Not coalesce(expires_at, ...) > ?: PostgreSQL would expect two of three rows to have expired, and read more instead.
UNEXPIRED = "(expires_at <= ?) IS NOT TRUE"
END_EXPIRED_WARRANT = (
    "UPDATE warrant SET deleted_revision = ?, expired_revision = ? WHERE store = :store AND number = ?"
)
END_NUMBERED_WARRANT = f"""
UPDATE warrant SET deleted_revision = ? WHERE store = :store AND number = ? AND deleted_revision = {ALIVE}"""
END_MATCHED_WARRANT = f"{END_NUMBERED_WARRANT} AND {UNEXPIRED}"
NUMBERS_ENDED = "SELECT number FROM warrant WHERE store = :store AND deleted_revision = ?"

# The order makes PostgreSQL read warrant_by_type, instead of the table where it expects to find the few rows at once.
WARRANTS_OF_PATTERN = f"""
SELECT {_NAMES} FROM warrant
WHERE store = :store AND object_type || '#' || relation = ? AND subject_relation = ? AND subject_type = ?
AND subject_id <> '*' AND deleted_revision >= {ALIVE} AND {UNEXPIRED} ORDER BY deleted_revision LIMIT ?"""
WARRANTS_OF_WILDCARD_PATTERN = f"""
SELECT {_NAMES} FROM warrant
WHERE store = :store AND subject_id = '*' AND subject_type = ? AND subject_relation = ? AND object_type = ?
AND relation = ? AND deleted_revision = {ALIVE} AND {UNEXPIRED} LIMIT ?"""

ENDED_WARRANTS = """
SELECT number, deleted_revision FROM warrant
WHERE store = :store AND deleted_revision <= ? ORDER BY deleted_revision LIMIT ?"""
DELETE_ENDED_WARRANT = "DELETE FROM warrant WHERE store = :store AND number = ? AND deleted_revision = ?"

# Each arm reads a range of a partial index, whose condition has to be repeated. CROSS JOIN keeps SQLite from beginning
# with the warrants.
_LIMIT_REACHED = """
SELECT {columns} FROM warrant w WHERE w.store = :store AND w.deleted_revision = {alive}
    AND w.{limit} IS NOT NULL AND w.{limit} > ? AND w.{limit} <= ? AND w.created_revision <= ?
UNION ALL SELECT {columns} FROM warrant w WHERE w.store = :store
    AND w.deleted_revision > ? AND w.deleted_revision < {alive}
    AND w.{limit} IS NOT NULL AND w.{limit} > ? AND w.{limit} <= ? AND w.created_revision <= ?"""
LIST_TIMED_WARRANTS = f"""
SELECT {NEWEST}, {READ_WARRANT}
FROM {HEAD} LEFT JOIN (SELECT * FROM (
    {_LIMIT_REACHED.format(columns=STORED_WARRANT, alive=ALIVE, limit="starts_at")}
    UNION {_LIMIT_REACHED.format(columns=STORED_WARRANT, alive=ALIVE, limit="expires_at")}
    UNION SELECT {STORED_WARRANT} FROM policy c CROSS JOIN warrant w WHERE c.store = :store AND c.reads_clock = 1
        AND w.store = :store AND w.policy = c.digest AND w.policy <> ''
        AND w.deleted_revision > ? AND w.created_revision <= ?
) v LIMIT ?) u ON true LEFT JOIN policy p ON p.store = :store AND p.digest = u.policy"""
