"""Holds the statements on the table of migrations."""

CREATE_TABLE = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL)"
READ_VERSION = "SELECT coalesce(max(number), 0) FROM migration"
INSERT_MIGRATION = "INSERT INTO migration (number, name) VALUES (?, ?)"
