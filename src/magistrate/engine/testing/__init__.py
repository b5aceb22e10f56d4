"""Runs the tests of a model in memory: no store, no file and no event loop is needed (docs/model-testing.md)."""
