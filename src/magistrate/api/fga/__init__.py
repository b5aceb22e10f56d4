"""Exposes `/fga/v1`, the API of the last hosted generation, as a view of v2.

`routes.py` lists its routes. Their handlers translate a request to one of v2, let the handler of v2 answer it, and
translate the answer; `names.py` has the members that are called differently, `lists.py` adapts pages. What v2 has in
another form has modules of its own: `decision_tree.py` renders explanations, and `schema_json.py` converts models.
"""
