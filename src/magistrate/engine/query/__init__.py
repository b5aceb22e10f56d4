"""Queries: on which objects a subject has a relation, which subjects have one on an object
(docs/compatibility.md#query)."""

from magistrate.engine.query.language import (
    MAX_QUERY_LENGTH,
    ObjectsQuery,
    Query,
    SubjectsQuery,
    read_grammar,
    read_query,
)

__all__ = ["MAX_QUERY_LENGTH", "ObjectsQuery", "Query", "SubjectsQuery", "read_grammar", "read_query"]
