"""Defines what writes and differences answer, and reads the answers of calls.

Readers raise LookupError, TypeError or ValueError for what no Magistrate answers: nothing else is ever "allowed"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Literal, NamedTuple, TypeVar

from magistrate_client.refs import Warrant, read_warrant_row

_Row = TypeVar("_Row")

_RESULTS = {(200, "Authorized"): True, (403, "Not Authorized"): False}


class Written(NamedTuple):
    """Says how many warrants and objects a write created, deleted, and found as they should be. `token` names it."""

    created: int
    deleted: int
    unchanged: int
    token: str


class AccessChange(NamedTuple):
    """Is access that was gained or lost, perhaps only with some contexts; `access` has the subject, the relation and
    the object. `cause` has the warrants and types that led to it."""

    change: Literal["gained", "lost"]
    access: Warrant
    conditional: bool
    cause: Mapping[str, Any]


def read_access_change(row: Mapping[str, Any]) -> AccessChange:
    """Returns a row of a difference."""
    return AccessChange(row["change"], read_warrant_row(row), row.get("conditional", False), row.get("cause", {}))


def read_result(answer: Mapping[str, Any]) -> bool:
    """Returns the result of a check."""
    return _RESULTS[answer["code"], answer["result"]]


def read_results(count: int, answers: list[Mapping[str, Any]]) -> list[bool]:
    """Returns the results of so many checks."""
    if not isinstance(answers, list) or len(answers) != count:
        raise ValueError(f"there are not {count} results")
    return [read_result(answer) for answer in answers]


def read_written(token: str, answer: Mapping[str, Any]) -> Written:
    """Returns the result of a write with this token."""
    return Written(answer["created"], answer["deleted"], answer["unchanged"], token)


def read_page(read: Callable[[Any], _Row], page: Mapping[str, Any]) -> tuple[list[_Row], str | None]:
    """Returns the rows of a page, and the cursor of the next one, None at the end."""
    return [read(row) for row in page["results"]], page.get("nextCursor")


def read_id(row: Mapping[str, Any]) -> str:
    """Returns the object or subject of a row of a query, which may be a group."""
    group = row.get("subjectRelation")
    return f"{row['objectType']}:{row['objectId']}" + (f"#{group}" if group else "")
