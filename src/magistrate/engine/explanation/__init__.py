"""Explains checks: why one is allowed or denied, and what would allow it (docs/explain.md)."""
