"""Holds the statements on the list of revisions."""

from magistrate.store.sql.head import HEAD, NEWEST

INSERT_REVISION = """
INSERT INTO revision (store, called_revision, revision, bits, written_at, actor, request_id, reached_at)
SELECT n.store, CASE WHEN n.is_called = 1 THEN n.revision ELSE coalesce(p.called_revision, 0) END,
    n.revision, n.bits, n.written_at, n.actor, n.request_id,
    CASE WHEN p.reached_at > n.written_at THEN p.reached_at ELSE n.written_at END
FROM (SELECT CAST(:store AS BIGINT) AS store, CAST(? AS BIGINT) AS is_called,
    CAST(? AS BIGINT) AS revision, CAST(? AS BIGINT) AS bits,
    CAST(? AS BIGINT) AS written_at, CAST(? AS TEXT) AS actor, CAST(? AS TEXT) AS request_id) n
LEFT JOIN revision p ON p.store = :store AND p.revision = n.revision - 1"""
_FIND_REVISION = f"""
SELECT {NEWEST}, h.model_revision, r.revision, r.written_at, r.reached_at, r.bits,
    o.revision, o.written_at, o.reached_at
FROM {HEAD} LEFT JOIN revision r ON r.store = :store AND r.revision = {{found}}
LEFT JOIN revision o ON o.store = :store AND o.revision = (
    SELECT revision FROM revision WHERE store = :store AND revision >= h.horizon ORDER BY revision LIMIT 1)"""
FIND_BITS = f"""
SELECT {NEWEST}, r.revision, r.bits FROM {HEAD} LEFT JOIN revision r ON r.store = :store AND r.revision = ?"""
LOCATE_REVISION = f"""
SELECT {NEWEST}, s.revision, s.bits, r.revision, r.bits
FROM {HEAD} LEFT JOIN revision s ON s.store = :store AND s.revision = ?
LEFT JOIN revision r ON r.store = :store AND r.revision = ?"""
FIND_EXPECTED = f"""
SELECT e.revision, e.bits, coalesce(n.called_revision, 0)
FROM {HEAD} LEFT JOIN revision n ON n.store = :store AND n.revision = h.revision
LEFT JOIN revision e ON e.store = :store AND e.revision = ?"""
FIND_REVISION = _FIND_REVISION.format(found="?")
FIND_REVISION_AT = _FIND_REVISION.format(
    found="(SELECT revision FROM revision WHERE store = :store AND reached_at <= ? "
    "ORDER BY reached_at DESC, revision DESC LIMIT 1)"
)
REVISIONS_FROM = """
SELECT revision, written_at FROM revision WHERE store = :store AND revision >= ? ORDER BY revision LIMIT ?"""
LAST_WRITE = "SELECT max(written_at) FROM revision"
"""Looks at all revisions of all stores, and is for diagnosis only."""
DELETE_REVISIONS = "DELETE FROM revision WHERE store = :store AND revision <= ?"
