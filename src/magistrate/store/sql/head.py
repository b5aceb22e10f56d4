"""Holds the statements on the row that each store has in `head`, with its newest revision.

Reads select from `head` in the same statement, so that their rows and the revision that these belong to come from one
snapshot in one round trip."""

NEWEST = "h.revision, h.horizon, h.bits"
"""Begins what each read selects; SqlRevisions.check_revision (store/sql_reads.py) takes these columns."""
HEAD = "(SELECT * FROM head WHERE store = :store AND deleted_at IS NULL) h"
"""Is what each read selects from. There is no row if the store was deleted."""
READ_HEAD = f"SELECT {NEWEST} FROM {HEAD}"
_OPEN_HEAD = f"SELECT {NEWEST}, h.model_revision, h.warrants, h.objects, h.limits FROM"
OPEN_HEAD = f"{_OPEN_HEAD} {HEAD}"
"""Reads what a transaction has to know before it writes; read_head (store/scripts/heads.py) takes these columns."""
LOCK_HEAD = f"{_OPEN_HEAD} head h WHERE store = :store AND deleted_at IS NULL FOR UPDATE"
"""Is that for databases that lock rows."""
LOCK_FREE_HEAD = f"{LOCK_HEAD} SKIP LOCKED"
"""Locks the head if nobody has locked it, and returns no row otherwise."""
MAKE_HEAD = """
INSERT INTO head (
    store, revision, bits, horizon, model_revision, changes_deleted, decisions_deleted, decisions_deleted_at,
    keys_version, keys_bits, warrants, objects, limits, moved
) VALUES (?, ?, ?, 1, ?, 0, 0, 0, 0, '', 0, 0, ?, :moved)"""
MAX_MOVED = 2**63 - 1
ADD_KEYS_BITS = "keys_bits = substr(? || keys_bits, 1, 128)"
"""Keeps the bits of the last 16 changes of keys: more are not made between two looks at them."""
MOVE_HEAD = """
UPDATE head SET revision = ?, bits = ?, warrants = warrants + ?, objects = objects + ?, moved = :moved
WHERE store = :store"""
MOVE_MODEL = "UPDATE head SET model_revision = ? WHERE store = :store"
MOVE_HORIZON = "UPDATE head SET horizon = ? WHERE store = :store AND horizon < ?"
MOVE_DELETED_CHANGES = "UPDATE head SET changes_deleted = ? WHERE store = :store AND changes_deleted < ?"
MOVE_EXPIRY = "UPDATE head SET next_expiry = ? WHERE store = :store AND (next_expiry IS NULL OR next_expiry > ?)"
