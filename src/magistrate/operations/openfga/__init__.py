"""Does what OpenFGA's API needs beyond checks, queries and writes: it keeps authorization models (docs/openfga.md)."""
