"""Holds the SQL statements by name, a file a table; nothing else in the package has SQL in it."""
