"""Holds the statements on the list of revisions."""

from magistrate.store.sql.head import NEWEST

INSERT_REVISION = """
INSERT INTO revision (called_revision, revision, bits, written_at, actor, request_id, reached_at)
SELECT CASE WHEN n.is_called = 1 THEN n.revision ELSE coalesce(p.called_revision, 0) END,
    n.revision, n.bits, n.written_at, n.actor, n.request_id,
    CASE WHEN p.reached_at > n.written_at THEN p.reached_at ELSE n.written_at END
FROM (SELECT CAST(? AS BIGINT) AS is_called, CAST(? AS BIGINT) AS revision, CAST(? AS BIGINT) AS bits,
    CAST(? AS BIGINT) AS written_at, CAST(? AS TEXT) AS actor, CAST(? AS TEXT) AS request_id) n
LEFT JOIN revision p ON p.revision = n.revision - 1"""
_FIND_REVISION = f"""
SELECT {NEWEST}, h.model_revision, r.revision, r.written_at, r.reached_at, r.bits,
    o.revision, o.written_at, o.reached_at
FROM head h LEFT JOIN revision r ON r.revision = {{found}}
LEFT JOIN revision o ON o.revision = (
    SELECT revision FROM revision WHERE revision >= h.horizon ORDER BY revision LIMIT 1)"""
FIND_BITS = f"SELECT {NEWEST}, r.revision, r.bits FROM head h LEFT JOIN revision r ON r.revision = ?"
LOCATE_REVISION = f"""
SELECT {NEWEST}, s.revision, s.bits, r.revision, r.bits
FROM head h LEFT JOIN revision s ON s.revision = ? LEFT JOIN revision r ON r.revision = ?"""
FIND_EXPECTED = """
SELECT e.revision, e.bits, coalesce(n.called_revision, 0)
FROM head h LEFT JOIN revision n ON n.revision = h.revision LEFT JOIN revision e ON e.revision = ?"""
FIND_REVISION = _FIND_REVISION.format(found="?")
FIND_REVISION_AT = _FIND_REVISION.format(
    found="(SELECT revision FROM revision WHERE reached_at <= ? ORDER BY reached_at DESC, revision DESC LIMIT 1)"
)
REVISIONS_FROM = "SELECT revision, written_at FROM revision WHERE revision >= ? ORDER BY revision LIMIT ?"
NEWEST_REVISION = "SELECT written_at FROM revision ORDER BY revision DESC LIMIT 1"
DELETE_REVISIONS = "DELETE FROM revision WHERE revision <= ?"
