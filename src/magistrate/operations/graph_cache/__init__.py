"""Keeps the graph cache at the revision of the store, and reads what it misses."""
