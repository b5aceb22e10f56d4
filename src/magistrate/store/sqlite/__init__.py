"""Runs scripts and reads on SQLite."""
