"""Answers queries: on which objects a subject has a relation, and which subjects have one on an object.

`language.py` parses a query and `finding.py` chooses the search. `subjects.py` expands from the object towards
subjects; `objects.py` reverse-expands from the subject through `reverse_graph.py`. Both compute result sets
(`result_set.py`): a value for each named id and one for the rest. `set_search.py` computes most lists of objects with
bitmaps instead, from the graph cache and a reverse graph that is kept (`connected_graph.py`); `set_pages.py` cuts pages
out of them. Most lists of subjects are computed likewise by `subject_sets.py`, with `plan_edges.py` in place of the
graph, `subject_nodes.py` for what it computes, and `subject_pages.py` with `subject_reports.py` for its pages;
`subject_bitmaps.py` finds the subjects of many objects at once, for differences.
`object_conditions.py` restricts a list of objects to those that meet its further conditions.
`reports.py` finds the warrant of a row in a list of objects. `candidates.py` checks objects one by one where no order
exists in which to compute sets. `rows.py` has the rows of a result.
"""

from magistrate.engine.query.language import (
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
