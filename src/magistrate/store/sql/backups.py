"""Holds the statements that list all rows of a store at one revision, and that put a store into its initial state."""

from magistrate.store.contract.backups import ROWS_AT_ONCE
from magistrate.store.sql.head import HEAD, NEWEST
from magistrate.store.sql.stores import TABLES
from magistrate.store.sql.warrants import READ_WARRANT, WARRANT_NAMES

MEASURE_CONTENTS = f"SELECT {NEWEST}, h.warrants, h.objects FROM {HEAD}"


def _list_rows(table: str, key: tuple[str, ...], content: tuple[str, ...], selected: str, joined: str = "") -> str:
    """Returns the statement that lists the first rows behind one with this key, at a revision, which it is given twice.
    The limit is no parameter: PostgreSQL would plan for a tenth of the table."""
    keys = ", ".join(key)
    return f"""
SELECT {NEWEST}, {selected} FROM {HEAD} LEFT JOIN (
    SELECT {", ".join((*key, *content))} FROM {table}
    WHERE store = :store AND ({keys}) > ({", ".join("?" * len(key))}) AND created_revision <= ? AND deleted_revision > ?
    ORDER BY {keys} LIMIT {ROWS_AT_ONCE}
) found ON true{joined} ORDER BY {", ".join(f"found.{column}" for column in key)}"""


LIST_ALL_POLICIES = _list_rows("named_policy", ("name",), ("definition", "created_at"), selected="found.*")
LIST_ALL_TYPES = _list_rows("object_type", ("type",), ("definition", "created_at"), selected="found.*")
LIST_ALL_OBJECTS = _list_rows("object", ("object_type", "object_id"), ("meta", "created_at"), selected="found.*")
LIST_ALL_WARRANTS = _list_rows(
    "warrant",
    ("number",),
    (*WARRANT_NAMES, "policy", "created_at", "starts_at", "expires_at"),
    selected=READ_WARRANT.replace("u.", "found."),
    joined=" LEFT JOIN policy p ON p.store = :store AND p.digest = found.policy",
)
LIST_ALL_DIGESTS = "SELECT digest, created_at FROM api_key WHERE store = :store ORDER BY digest"

RESTORE_HEAD = """
UPDATE head SET revision = ?, bits = ?, horizon = ?, model_revision = ?, changes_deleted = ?, warrants = ?, objects = ?,
    decisions_deleted = coalesce((SELECT max(number) FROM decision WHERE store = :store), decisions_deleted),
    decisions_deleted_at = 0, moved = :moved
WHERE store = :store"""
"""Moves the head of a store to the revision that a restore makes, whatever it was at."""
_KEPT = ("store", "head", "api_key", "caller_key")
DELETE_STORED_ROWS = tuple(f"DELETE FROM {table} WHERE store = :store" for table in TABLES if table not in _KEPT)
INSERT_RESTORED_KEY = """
INSERT INTO caller_key (
    store, id, name, prefix, digest, scopes, object_types, created_by, previous_digest, created_at, expires_at,
    previous_until
)
SELECT n.store, n.id, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
    CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)
FROM (SELECT CAST(:store AS BIGINT) AS store, CAST(? AS TEXT) AS id) n
WHERE NOT EXISTS (SELECT 1 FROM caller_key k WHERE k.id = n.id)
ON CONFLICT DO NOTHING"""
"""Leaves a key alone that any store has: it belongs to one. Reads the keys of all stores."""
INSERT_RESTORED_WEBHOOK = """
INSERT INTO webhook (
    store, id, url, filter, description, state, reason, created_at, created_by, position, position_bits, position_at,
    lease, attempts
)
SELECT n.store, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
    CAST(? AS BIGINT), CAST(? AS TEXT), n.revision, n.bits, r.reached_at, 0, 0
FROM head n JOIN revision r ON r.store = n.store AND r.revision = n.revision WHERE n.store = :store"""
INSERT_RESTORED_DIGEST = """
INSERT INTO api_key (store, digest, created_at) VALUES (:store, ?, ?) ON CONFLICT DO NOTHING"""
