"""Reads what OpenFGA's API says: names, tuples and authorization models (docs/openfga.md)."""
