"""Runs the tests of a model in memory: no store, no file and no event loop is needed (docs/model-testing.md).

A reader of some file format, outside the engine, makes a `ModelSuite` (suite.py). `running.py` decides its assertions
with the engine over an overlay that nothing is under, and explains those that fail. `coverage.py` says which relations
and rules of the model no assertion reached.
"""
