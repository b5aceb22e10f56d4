"""Defines the bodies and the handlers of the endpoints, one file per noun.

Handlers decide nothing: they validate, call an operation, and render its result. `check.py`, `query.py`, `warrants.py`,
`objects.py`, `object_types.py`, `sessions.py` and `events.py` are the nouns of v2; `public.py` holds the pages beside
the API, such as health and metrics.
"""
