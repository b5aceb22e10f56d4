"""Holds the statements on credentials: the keys of callers, and the secrets that sign session tokens."""

from magistrate.store.sql.head import ADD_KEYS_BITS, HEAD, NEWEST

LIST_KEY_DIGESTS = "SELECT digest FROM api_key WHERE store = :store"
DELETE_KEY_DIGESTS = "DELETE FROM api_key WHERE store = :store"
KEEP_KEY_DIGEST = "INSERT INTO api_key (store, digest, created_at) VALUES (:store, ?, ?)"

READ_KEYS_VERSION = f"""
SELECT {NEWEST}, h.keys_version, s.revision, s.bits
FROM {HEAD} LEFT JOIN revision s ON s.store = :store AND s.revision = ?"""
MOVE_KEYS_VERSION = f"""
UPDATE head SET keys_version = keys_version + 1, {ADD_KEYS_BITS}, moved = :moved WHERE store = :store"""
_KEY = """k.id, k.name, k.prefix, k.digest, k.scopes, k.object_types, k.created_at, k.created_by, k.last_used_at,
    k.expires_at, k.previous_digest, k.previous_until"""
LIST_KEYS = f"""
SELECT {NEWEST}, h.keys_version, {_KEY} FROM {HEAD} LEFT JOIN caller_key k ON k.store = :store ORDER BY k.id"""
_LIST_STORE_KEYS = f"""
SELECT k.store, {_KEY} FROM caller_key k JOIN head h ON h.store = k.store AND h.deleted_at IS NULL"""
LIST_ALL_KEYS = f"{_LIST_STORE_KEYS} ORDER BY k.store, k.id"
LIST_STORE_KEYS = f"{_LIST_STORE_KEYS} WHERE k.store = ? ORDER BY k.id"
"""Are run for the store `default`, whatever store they name."""
LIST_KEY_NAMES = "SELECT name FROM caller_key WHERE store = :store"
FIND_KEY = f"SELECT {_KEY} FROM caller_key k WHERE k.store = :store AND k.id = ?"
INSERT_KEY = """
INSERT INTO caller_key (store, id, name, prefix, digest, scopes, object_types, created_at, created_by, expires_at)
VALUES (:store, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
ROTATE_KEY = """
UPDATE caller_key SET previous_digest = digest, previous_until = ?, prefix = ?, digest = ?
WHERE store = :store AND id = ?"""
DELETE_KEY = "DELETE FROM caller_key WHERE store = :store AND id = ?"
NOTE_KEY_USE = """
UPDATE caller_key SET last_used_at = ? WHERE store = :store AND id = ? AND coalesce(last_used_at, 0) <= ?"""

LIST_SESSION_KEYS = f"""
SELECT {NEWEST}, k.id, k.secret, k.created_at FROM {HEAD}
LEFT JOIN session_key k ON k.store = :store ORDER BY k.created_at DESC, k.id"""
DELETE_SESSION_KEYS = "DELETE FROM session_key WHERE store = :store AND created_at <= ?"
REPLACE_SESSION_SECRET = "UPDATE session_key SET secret = ? WHERE store = :store AND id = ?"
KEEP_SESSION_KEY = "INSERT INTO session_key (store, id, secret, created_at) VALUES (:store, ?, ?, ?)"
