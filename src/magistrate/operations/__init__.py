"""Implements what the service does, one file per noun, as functions of validated values and a context.

`check.py` and `query.py` drive the engine through `evaluating.py`; `graph.py` keeps the graph cache at the store's
revision. `paging.py` (cursors) and `consistency.py` (tokens) serve every list and read. `sessions.py`,
`session_keys.py` and `bearer_tokens.py` issue and verify session tokens; `events.py` and `decision_log.py` list what
changed and how checks were decided. `importing.py` writes chunks of lines, from a file (`line_file.py`) or from the
lists of a source server (`source_lists.py`), and `comparing.py` verifies a migration. `resources.py` holds the tables
that define v1.
"""
