"""Reads warrants for evaluations: those of the store, together with those that a request brings."""
