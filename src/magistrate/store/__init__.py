"""Stores object types, objects, warrants and the change log, at every retained revision, in SQLite or PostgreSQL."""
