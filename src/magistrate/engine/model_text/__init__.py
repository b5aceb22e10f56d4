"""Reads, formats and checks models written as text (docs/models.md), and converts between text and JSON.

`parser.py` reads the lines of a text into a document (`document.py`): `statements.py` reads single statements,
`blocks.py` decides what may stand where, `declaring.py` adds what is declared to the document. `formatter.py` works on
the lines, so that comments stay; `rendering.py` writes a document that has none. `lint.py` finds what is probably a
mistake. Nothing here knows a store, and nothing recurses over what callers write.
"""
