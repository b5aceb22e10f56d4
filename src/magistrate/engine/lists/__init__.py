"""Answers queries: on which objects a subject has a relation, and which subjects have one on an object."""
