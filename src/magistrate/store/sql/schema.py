"""Holds the statements on the table of migrations."""

CREATE_TABLE = (
    "CREATE TABLE IF NOT EXISTS migration "
    "(number BIGINT PRIMARY KEY, name TEXT NOT NULL, breaks_before BIGINT NOT NULL)"
)
LIST_MIGRATIONS = "SELECT * FROM migration ORDER BY number"
"""Returns number, name and breaks_before. A store from before the first release lacks the last, which identifies it."""
READ_VERSION = "SELECT coalesce(max(number), 0), coalesce(max(breaks_before), 0) FROM migration"
INSERT_MIGRATION = "INSERT INTO migration (number, name, breaks_before) VALUES (?, ?, ?)"
