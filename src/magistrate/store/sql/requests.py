"""Holds the statements on what is kept of requests: the results of those with an idempotency key, and the progress of
imports."""

# The column is named after the actor, but holds the owner.
_FIND_ONCE = "SELECT actor, key, fingerprint, revision, answer, written_at FROM idempotency WHERE"
FIND_ONCE = f"{_FIND_ONCE} actor = ? AND key = ?"
FIND_ANY_ONCE = f"{_FIND_ONCE} (actor, key) IN"
DELETE_ONCE = "DELETE FROM idempotency WHERE actor = ? AND key = ?"
KEEP_ONCE = """
INSERT INTO idempotency (actor, key, fingerprint, revision, answer, written_at) VALUES (?, ?, ?, ?, ?, ?)"""
EXPIRED_ONCE = "SELECT actor, key FROM idempotency WHERE written_at <= ? ORDER BY written_at LIMIT ?"

# The column is named after the mark of a file, but also holds the marks of other sources.
FIND_IMPORT = "SELECT source, lines, size_bytes, digest FROM import WHERE source = ?"
DELETE_IMPORT = "DELETE FROM import WHERE source = ?"
KEEP_IMPORT = "INSERT INTO import (source, lines, size_bytes, digest) VALUES (?, ?, ?, ?)"
