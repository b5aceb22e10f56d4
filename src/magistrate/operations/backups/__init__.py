"""Writes backups of stores, restores them, and verifies what was restored (docs/backup.md)."""
