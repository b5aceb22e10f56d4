"""Serves the HTTP API: connections, authentication, one table of routes, and the bodies and handlers of each noun.

`routes.py` is the table from which the router, the OpenAPI document and `/docs` are generated; each noun (`check.py`,
`objects.py`, `warrants.py` ...) has one file of bodies and handlers. `routes_v1.py`, `resources.py`, `assignments.py`
and `legacy_query.py` expose v1 as a view of the same operations. `auth.py`, `bearer.py`, `provider.py`,
`provider_keys.py`, `fetched_keys.py` and `key_url.py` identify the caller. `protocol.py` and `client_transport.py`
limit what a connection may send, hold and leave unread; `fast_path_protocol.py` and `fast_path.py` are the fast path;
`deadline.py` gives each request one deadline; `supervisor.py` and `accepting.py` accept connections and hand them to
workers. `error_table.py` alone knows status codes. Handlers decide nothing: they validate, call an operation, and
render its result.
"""
