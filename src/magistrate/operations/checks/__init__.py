"""Decides checks.

`check.py` decides the checks of one request, a `check_batch.py`: at once or with reads by walks of the graph cache
(`graph_rounds.py`), which `graph.py` keeps at the store's revision, or by a walk over rows that are read for it alone
(`walking_ahead.py`), otherwise by an evaluation (`check_run.py`).
`evaluating.py` drives evaluations of checks and queries through their reads. `decision_log.py` records the results.
`explain.py` explains a check: `new_links.py` suggests links where nothing else would allow it, and `effects.py` counts
what each suggestion would change for others.
"""
