"""Reads, compiles and evaluates policies, the conditions that warrants carry (docs/policies.md)."""
