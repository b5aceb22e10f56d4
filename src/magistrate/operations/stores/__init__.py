"""Makes, changes and deletes the stores of a database, and finds the one that a request is about (docs/stores.md)."""
