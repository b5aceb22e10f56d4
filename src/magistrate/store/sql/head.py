"""Holds the statements on the row of `head`, which has the newest revision.

Reads select from `head` in the same statement, so that their rows and the revision that these belong to come from one
snapshot in one round trip."""

NEWEST = "h.revision, h.horizon, h.bits"
"""Begins what each read selects; SqlRevisions.check_revision (store/sql_reads.py) takes these columns."""
READ_HEAD = f"SELECT {NEWEST} FROM head h"
LOCK_HEAD = f"SELECT {NEWEST}, h.model_revision FROM head h FOR UPDATE"
"""Is for databases that lock rows."""
READ_IDENTITY = "SELECT store_id, cursor_key FROM head"
MAKE_HEAD = """
INSERT INTO head (
    only_row, store_id, cursor_key, revision, horizon, model_revision, changes_deleted, decisions_deleted,
    decisions_deleted_at, keys_version
) VALUES (1, ?, ?, 0, 1, 0, 0, 0, 0, 0)"""
MOVE_HEAD = "UPDATE head SET revision = ?, bits = ?"
MOVE_MODEL = "UPDATE head SET model_revision = ?"
MOVE_HORIZON = "UPDATE head SET horizon = ? WHERE horizon < ?"
MOVE_DELETED_CHANGES = "UPDATE head SET changes_deleted = ? WHERE changes_deleted < ?"
