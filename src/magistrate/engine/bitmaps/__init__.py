"""Answers queries with bitmaps, from the graph cache, instead of by searches that read warrants."""
