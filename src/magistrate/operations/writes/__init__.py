"""Writes warrants and objects, and deletes what has expired or is past its retention."""
