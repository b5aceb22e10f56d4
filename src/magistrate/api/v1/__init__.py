"""Serves v1 of the API as a view of the same operations."""
