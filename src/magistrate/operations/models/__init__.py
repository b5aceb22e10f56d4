"""Reads, writes, compiles and tests models: their object types and policies, one at a time and as a whole."""
