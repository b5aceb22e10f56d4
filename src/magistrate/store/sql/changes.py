"""Holds the statements on the change log."""

from magistrate.store.sql.head import HEAD

INSERT_CHANGE = """
INSERT INTO change (store, revision, position, action, kind, key, before, after, starts_at, expires_at)
VALUES (:store, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# A subquery limits the changes: for a join, SQLite would build an index of the whole log each time.
LIST_WARRANT_CHANGES = f"""
SELECT h.revision, h.changes_deleted, h.bits, s.revision, s.bits, h.model_revision, found.*
FROM {HEAD} LEFT JOIN revision s ON s.store = :store AND s.revision = ? LEFT JOIN (
    SELECT revision, position, key, action, starts_at, expires_at FROM change
    WHERE store = :store AND revision > ? AND kind = 'warrant' ORDER BY revision, position LIMIT ?
) found ON true"""
# Row values are compared as a range of the primary key.
LIST_CHANGES = f"""
SELECT h.revision, h.changes_deleted, h.bits, found.* FROM {HEAD} LEFT JOIN (
    SELECT revision, position, action, kind, key, before, after, starts_at, expires_at FROM change
    WHERE store = :store AND revision > ? AND revision <= ? AND (revision, position) > (?, ?)
        AND kind IN ('object', 'warrant')
    ORDER BY revision, position LIMIT ?
) found ON true ORDER BY found.revision, found.position"""
OLDEST_CHANGES = """
SELECT revision, position FROM change WHERE store = :store AND revision <= ? ORDER BY revision, position LIMIT ?"""
DELETE_CHANGES = "DELETE FROM change WHERE store = :store AND (revision, position) <= (?, ?)"
