"""Answers queries: on which objects a subject has a relation, and which subjects have one on an object."""

from magistrate.engine.lists.language import (
    MAX_QUERY_LENGTH,
    ObjectCondition,
    ObjectsQuery,
    Query,
    SubjectsQuery,
    hide_undefined_types,
    measure_queries,
    read_grammar,
    read_query,
)

__all__ = [
    "MAX_QUERY_LENGTH",
    "ObjectCondition",
    "ObjectsQuery",
    "Query",
    "SubjectsQuery",
    "hide_undefined_types",
    "measure_queries",
    "read_grammar",
    "read_query",
]
