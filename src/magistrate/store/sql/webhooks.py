"""Holds the statements on webhooks and on the attempts to deliver to them."""

from magistrate.store.contract.webhooks import MAX_DELIVERIES
from magistrate.store.sql.head import HEAD, NEWEST

_WEBHOOK = """w.id, w.url, w.filter, w.description, CASE WHEN w.secret IS NULL THEN 0 ELSE 1 END, w.previous_until,
    w.state, w.reason, w.created_at, w.created_by, w.position, w.position_bits, w.position_at, w.skipped,
    w.skipped_bits, w.skipped_at, w.lease, w.due_at, w.attempts"""
LIST_WEBHOOKS = f"""
SELECT {NEWEST}, {_WEBHOOK} FROM {HEAD} LEFT JOIN webhook w ON w.store = :store ORDER BY w.id"""
GET_WEBHOOK = f"SELECT {NEWEST}, {_WEBHOOK} FROM {HEAD} LEFT JOIN webhook w ON w.store = :store AND w.id = ?"
FIND_WEBHOOK = f"SELECT {_WEBHOOK} FROM webhook w WHERE w.store = :store AND w.id = ?"
COUNT_WEBHOOKS = "SELECT count(*) FROM webhook WHERE store = :store"
FIND_POSITION = """
SELECT h.revision, h.bits, r.reached_at
FROM head h LEFT JOIN revision r ON r.store = h.store AND r.revision = h.revision WHERE h.store = :store"""
INSERT_WEBHOOK = """
INSERT INTO webhook (
    store, id, url, filter, description, secret, state, reason, created_at, created_by, position, position_bits,
    position_at, lease, due_at, attempts
) VALUES (:store, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, 0, ?, 0)"""
UPDATE_WEBHOOK = """
UPDATE webhook SET url = ?, filter = ?, description = ?, state = ?, reason = ?, lease = ?, due_at = ?, attempts = ?
WHERE store = :store AND id = ?"""
READ_SECRETS = """
SELECT id, created_at, secret, previous_secret, previous_until FROM webhook WHERE store = :store AND id = ?"""
LIST_SECRETS = """
SELECT id, created_at, secret, previous_secret FROM webhook WHERE store = :store ORDER BY id"""
REPLACE_SECRETS = "UPDATE webhook SET secret = ?, previous_secret = ? WHERE store = :store AND id = ?"
ROTATE_SECRET = """
UPDATE webhook SET
    previous_secret = secret,
    previous_until = CASE WHEN secret IS NULL THEN NULL ELSE CAST(? AS BIGINT) END,
    secret = ?
WHERE store = :store AND id = ?"""
MOVE_WEBHOOK = """
UPDATE webhook SET position = ?, position_bits = ?, position_at = ?, lease = lease + 1, attempts = 0,
    due_at = CASE WHEN due_at IS NULL THEN NULL ELSE 0 END
WHERE store = :store AND id = ?"""
DELETE_WEBHOOK = "DELETE FROM webhook WHERE store = :store AND id = ?"
DELETE_ATTEMPTS = "DELETE FROM webhook_delivery WHERE store = :store AND webhook = ?"
LEASE_WEBHOOK = """
UPDATE webhook SET lease = lease + 1, due_at = ? WHERE store = :store AND id = ? AND due_at <= ? RETURNING 1"""
WRITE_PROGRESS = """
UPDATE webhook SET
    skipped = CASE WHEN CAST(? AS BIGINT) IS NULL THEN skipped ELSE position END,
    skipped_bits = CASE WHEN CAST(? AS BIGINT) IS NULL THEN skipped_bits ELSE position_bits END,
    skipped_at = coalesce(CAST(? AS BIGINT), skipped_at),
    position = ?, position_bits = ?, position_at = ?, due_at = ?, attempts = ?, state = ?, reason = ?
WHERE store = :store AND id = ? AND lease = ? AND due_at IS NOT NULL
RETURNING 1"""
_ATTEMPT = "d.message, d.began_at, d.duration_us, d.status, d.failure, d.revision, d.bits, d.attempt"
LIST_ATTEMPTS = f"""
SELECT {NEWEST}, w.id, {_ATTEMPT} FROM {HEAD} LEFT JOIN webhook w ON w.store = :store AND w.id = ?
LEFT JOIN webhook_delivery d ON d.store = :store AND d.webhook = w.id ORDER BY d.number DESC"""
FIND_LAST_ATTEMPT = """
SELECT coalesce(max(d.number), 0) FROM webhook w LEFT JOIN webhook_delivery d ON d.store = w.store AND d.webhook = w.id
WHERE w.store = :store AND w.id = ? GROUP BY w.id"""
INSERT_ATTEMPT = """
INSERT INTO webhook_delivery (
    store, webhook, number, message, began_at, duration_us, status, failure, revision, bits, attempt
) VALUES (:store, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
TRIM_ATTEMPTS = f"DELETE FROM webhook_delivery WHERE store = :store AND webhook = ? AND number <= ? - {MAX_DELIVERIES}"

LIST_DUE_WEBHOOKS = """
SELECT w.store, w.id FROM webhook w JOIN head h ON h.store = w.store AND h.deleted_at IS NULL
WHERE w.due_at <= ? AND (w.position < h.revision OR w.filter LIKE '%"of":%')
ORDER BY w.due_at, w.store, w.id LIMIT ?"""
COUNT_ALL_WEBHOOKS = """
SELECT coalesce(sum(CASE WHEN w.state = 'enabled' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.state = 'enabled' AND w.attempts > 0 THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.state = 'dead' THEN 1 ELSE 0 END), 0),
    min(CASE WHEN w.state = 'enabled' THEN r.reached_at END)
FROM webhook w JOIN head h ON h.store = w.store AND h.deleted_at IS NULL
LEFT JOIN revision r ON r.store = w.store AND r.revision = w.position + 1"""
LIST_STORES_WITH_WEBHOOKS = "SELECT DISTINCT store FROM webhook ORDER BY store"
"""These are run for the store `default`, whatever stores they name."""
