"""Holds the statements on recorded decisions."""

from magistrate.store.sql.head import HEAD, NEWEST

LAST_DECISION = f"""
SELECT coalesce(d.number, h.decisions_deleted), coalesce(d.reached_at, 0)
FROM {HEAD} LEFT JOIN decision d ON d.store = :store
AND d.number = (SELECT max(number) FROM decision WHERE store = :store)"""
INSERT_DECISION = """
INSERT INTO decision (
    store, number, stored_revision, reached_at, decided_at, action, key, context, revision, contextual_warrants,
    is_partial, actor, request_id, bits
) VALUES (:store, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
FIND_DECISION = f"""
SELECT {NEWEST}, d.decided_at, d.action, d.key, d.context, d.revision, d.contextual_warrants, d.is_partial,
    d.actor, d.request_id, d.bits
FROM {HEAD} LEFT JOIN decision d ON d.store = :store AND d.number = ? AND d.stored_revision = ?"""
LAST_SURPLUS_DECISION = """
SELECT number FROM decision
WHERE store = :store AND number <= ? AND number < (SELECT min(number) FROM decision WHERE store = :store) + ?
ORDER BY number DESC LIMIT 1"""
# Whoever follows the events has to know what is gone, and where it was.
MOVE_DELETED_DECISIONS = """
UPDATE head SET decisions_deleted = ?,
    decisions_deleted_at = (SELECT stored_revision FROM decision WHERE store = :store AND number = ?)
WHERE store = :store"""
DELETE_DECISIONS = "DELETE FROM decision WHERE store = :store AND number <= ?"
OLDEST_DECISIONS = """
SELECT number FROM decision WHERE store = :store AND reached_at <= ? ORDER BY reached_at, number LIMIT ?"""
