"""Holds the statements on the table of migrations."""

CREATE_TABLE = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL)"
LIST_MIGRATIONS = "SELECT number, name FROM migration ORDER BY number"
READ_VERSION = "SELECT coalesce(max(number), 0) FROM migration"
INSERT_MIGRATION = "INSERT INTO migration (number, name) VALUES (?, ?)"
