"""Lists how the access of two revisions differs, or of the newest one and a proposal (docs/difference.md)."""
