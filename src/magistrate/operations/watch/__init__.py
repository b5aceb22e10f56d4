"""Follows the writes of a store as they are made, for readers inside and outside of the process (docs/watch.md)."""
