"""Reads the models, relationships and tests of OpenFGA and SpiceDB, and converts them (docs/coming-from.md)."""
