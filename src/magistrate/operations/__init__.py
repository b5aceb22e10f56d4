"""Implements what the service does, one file per noun, as functions of validated values and a context.

`checks/` and `query.py` drive the engine. `paging.py` (cursors) and `consistency.py` (tokens) serve every list and
read; `opaque_tokens.py` encodes both. `events.py` lists what changed and how checks were decided, `sessions/` issues
and verifies session tokens, `expiry.py` ends what has expired, `importing/` imports lines and moves from a source
server, and `resources.py` holds the tables that define v1. `callers.py` says what callers may do, and `keys.py` manages
their keys.
"""
