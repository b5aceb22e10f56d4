"""Exposes v1 of the API as a view of the same operations.

`routes.py` lists its routes; most of them are made from the table of resources in `resources.py`. `assignments.py`
stores warrants, and `query.py` translates the query of v1.
"""
