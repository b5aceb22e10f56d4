"""Holds the statements on the change log."""

INSERT_CHANGE = """
INSERT INTO change (revision, position, action, kind, key, before, after, starts_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# A subquery limits the changes: for a join, SQLite would build an index of the whole log each time.
LIST_WARRANT_CHANGES = """
SELECT h.revision, h.changes_deleted, h.bits, s.revision, s.bits, h.model_revision, found.*
FROM head h LEFT JOIN revision s ON s.revision = ? LEFT JOIN (
    SELECT revision, position, key, action, starts_at, expires_at FROM change
    WHERE revision > ? AND kind = 'warrant' ORDER BY revision, position LIMIT ?
) found ON true"""
# Row values are compared as a range of the primary key.
LIST_CHANGES = """
SELECT h.revision, h.changes_deleted, h.bits, found.* FROM head h LEFT JOIN (
    SELECT revision, position, action, kind, key, before, after, starts_at, expires_at FROM change
    WHERE revision > ? AND revision <= ? AND (revision, position) > (?, ?) AND kind IN ('object', 'warrant')
    ORDER BY revision, position LIMIT ?
) found ON true ORDER BY found.revision, found.position"""
OLDEST_CHANGES = "SELECT revision, position FROM change WHERE revision <= ? ORDER BY revision, position LIMIT ?"
DELETE_CHANGES = "DELETE FROM change WHERE (revision, position) <= (?, ?)"
