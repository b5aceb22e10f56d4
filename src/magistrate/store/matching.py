"""Builds the statement that finds the warrants to delete by filter.

It reads one range of an index, in its order, so that it can stop as soon as it has found enough."""

from collections.abc import Mapping

from magistrate.engine.terms import Revision
from magistrate.store.contract import ALIVE
from magistrate.store.sql import UNEXPIRED, Clause, Dialect, Parameter

_COLUMNS = (
    "object_type, object_id, relation, subject_type, subject_id, subject_relation, "
    "coalesce(text, ''), created_at, number"
)
_TYPE_AND_RELATION = "object_type || '#' || relation"


def match_statement(
    equal: Mapping[str, str], most: int, at: int, dialect: Dialect, up_to: Revision | None = None
) -> Clause:
    """Returns a statement that selects (revision, *columns of Warrant) for up to `most` warrants as of
    `Store.match_warrants`, or one row whose columns are NULL if there is none."""
    index, order = _choose_index(equal)
    conditions: dict[str, Parameter] = {f"{column} = ?": value for column, value in equal.items()}
    if index == "warrant_by_type":
        conditions[f"{_TYPE_AND_RELATION} = ?"] = f"{equal['object_type']}#{equal['relation']}"
    conditions[UNEXPIRED] = at
    if up_to is not None:
        conditions["created_revision <= ?"] = up_to
    holds = " AND ".join([*conditions, f"deleted_revision = {ALIVE}"])
    rows = f"SELECT * FROM warrant{dialect.index_hint.format(index)} WHERE {holds}{order} LIMIT ?"
    statement = (
        f"SELECT h.revision, {_COLUMNS} FROM head h LEFT JOIN ({rows}) found ON true "
        "LEFT JOIN policy ON digest = policy"
    )
    return Clause(statement, (*conditions.values(), most))


def _choose_index(equal: Mapping[str, str]) -> tuple[str, str]:
    """Returns the index to read, and the order that makes PostgreSQL, which takes no hint, choose it."""
    if "object_id" in equal:
        return "warrant_by_object", ""
    if "subject_id" in equal:
        return "warrant_by_subject", ""
    if "object_type" in equal and "relation" in equal:
        return "warrant_by_type", ""
    return "warrant_by_creation", " ORDER BY created_at, number"
