"""Holds the statements on recorded decisions."""

from magistrate.store.sql.head import NEWEST

LAST_DECISION = """
SELECT coalesce(d.number, h.decisions_deleted), coalesce(d.reached_at, 0)
FROM head h LEFT JOIN decision d ON d.number = (SELECT max(number) FROM decision)"""
INSERT_DECISION = """
INSERT INTO decision (
    number, stored_revision, reached_at, decided_at, action, key, context, revision, contextual_warrants, is_partial,
    actor, request_id, bits
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
FIND_DECISION = f"""
SELECT {NEWEST}, d.decided_at, d.action, d.key, d.context, d.revision, d.contextual_warrants, d.is_partial,
    d.actor, d.request_id, d.bits
FROM head h LEFT JOIN decision d ON d.number = ? AND d.stored_revision = ?"""
LAST_SURPLUS_DECISION = """
SELECT number FROM decision WHERE number <= ? AND number < (SELECT min(number) FROM decision) + ?
ORDER BY number DESC LIMIT 1"""
# Whoever follows the events has to know what is gone, and where it was.
MOVE_DELETED_DECISIONS = """
UPDATE head SET decisions_deleted = ?,
    decisions_deleted_at = (SELECT stored_revision FROM decision WHERE number = ?)"""
DELETE_DECISIONS = "DELETE FROM decision WHERE number <= ?"
OLDEST_DECISIONS = "SELECT number FROM decision WHERE reached_at <= ? ORDER BY reached_at, number LIMIT ?"
