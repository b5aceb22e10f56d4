"""Holds the statements on credentials: the keys of callers, and the secrets that sign session tokens."""

from magistrate.store.sql.head import NEWEST

LIST_KEY_DIGESTS = "SELECT digest FROM api_key"
DELETE_KEY_DIGESTS = "DELETE FROM api_key"
KEEP_KEY_DIGEST = "INSERT INTO api_key (digest, created_at) VALUES (?, ?)"

READ_KEYS_VERSION = f"""
SELECT {NEWEST}, h.keys_version, s.revision, s.bits FROM head h LEFT JOIN revision s ON s.revision = ?"""
MOVE_KEYS_VERSION = "UPDATE head SET keys_version = keys_version + 1"
_KEY = """k.id, k.name, k.prefix, k.digest, k.scopes, k.object_types, k.created_at, k.created_by, k.last_used_at,
    k.expires_at, k.previous_digest, k.previous_until"""
LIST_KEYS = f"SELECT {NEWEST}, h.keys_version, {_KEY} FROM head h LEFT JOIN caller_key k ON true ORDER BY k.id"
LIST_KEY_NAMES = "SELECT name FROM caller_key"
FIND_KEY = f"SELECT {_KEY} FROM caller_key k WHERE k.id = ?"
INSERT_KEY = """
INSERT INTO caller_key (id, name, prefix, digest, scopes, object_types, created_at, created_by, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
ROTATE_KEY = "UPDATE caller_key SET previous_digest = digest, previous_until = ?, prefix = ?, digest = ? WHERE id = ?"
DELETE_KEY = "DELETE FROM caller_key WHERE id = ?"
NOTE_KEY_USE = """
UPDATE caller_key SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) <= ?"""

LIST_SESSION_KEYS = f"""
SELECT {NEWEST}, k.id, k.secret, k.created_at FROM head h
LEFT JOIN session_key k ON true ORDER BY k.created_at DESC, k.id"""
DELETE_SESSION_KEYS = "DELETE FROM session_key WHERE created_at <= ?"
REPLACE_SESSION_SECRET = "UPDATE session_key SET secret = ? WHERE id = ?"
KEEP_SESSION_KEY = "INSERT INTO session_key (id, secret, created_at) VALUES (?, ?, ?)"
