"""Caches warrants in memory, exact at one revision, within bounds in bytes."""
