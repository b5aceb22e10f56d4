"""Imports lines, from a file or from a source server, and verifies a migration.

`importer.py` writes the lines of a `line_file.py` in chunks, which `chunk.py` validates. `warrant_server.py` is the
client of a source server, whose lists `source_lists.py` reads as lines; `comparing.py` compares both sides: their rows,
which `compared_rows.py` builds, with `row_differences.py`, and the checks drawn by `sampled_checks.py`;
`check_loops.py` tells which of them loop.
"""
