"""Serves the HTTP API of OpenFGA below `/stores` as a view of the same operations (docs/openfga.md)."""
