"""Holds the statements on what is kept of requests: the results of those with an idempotency key, and the progress of
imports."""

FIND_ONCE = """
SELECT owner, key, fingerprint, revision, answer, written_at FROM idempotency WHERE (owner, key) = (?, ?)"""
DELETE_ONCE = "DELETE FROM idempotency WHERE owner = ? AND key = ?"
KEEP_ONCE = """
INSERT INTO idempotency (owner, key, fingerprint, revision, answer, written_at) VALUES (?, ?, ?, ?, ?, ?)"""
EXPIRED_ONCE = "SELECT owner, key FROM idempotency WHERE written_at <= ? ORDER BY written_at LIMIT ?"

FIND_IMPORT = "SELECT source, lines, size_bytes, mark FROM import WHERE source = ?"
DELETE_IMPORT = "DELETE FROM import WHERE source = ?"
KEEP_IMPORT = "INSERT INTO import (source, lines, size_bytes, mark) VALUES (?, ?, ?, ?)"
