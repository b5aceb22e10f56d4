"""Holds the statements on what is kept of requests: the results of those with an idempotency key, and the progress of
imports."""

FIND_ONCE = """
SELECT owner, key, fingerprint, revision, answer, written_at FROM idempotency
WHERE store = :store AND (owner, key) = (?, ?)"""
DELETE_ONCE = "DELETE FROM idempotency WHERE store = :store AND owner = ? AND key = ?"
KEEP_ONCE = """
INSERT INTO idempotency (store, owner, key, fingerprint, revision, answer, written_at)
VALUES (:store, ?, ?, ?, ?, ?, ?)"""
EXPIRED_ONCE = """
SELECT owner, key FROM idempotency WHERE store = :store AND written_at <= ? ORDER BY written_at LIMIT ?"""

FIND_IMPORT = "SELECT source, lines, size_bytes, mark FROM import WHERE store = :store AND source = ?"
DELETE_IMPORT = "DELETE FROM import WHERE store = :store AND source = ?"
KEEP_IMPORT = "INSERT INTO import (store, source, lines, size_bytes, mark) VALUES (:store, ?, ?, ?, ?)"
