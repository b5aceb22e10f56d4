"""Decides checks.

`check.py` answers one request; `graph.py` keeps the graph cache at the store's revision and answers from it;
`evaluating.py` drives the engine through the reads of everything else. `decision_log.py` records the results.
"""
