"""Rows of queries in the form in which scenarios write them."""

from typing import Any

from magistrate.engine.lists import results as rows
from magistrate.engine.lists.language import read_query
from magistrate.engine.names import TypeName
from magistrate.engine.subjects import split_subject_type
from magistrate.engine.warrants.overlay import Overlay
from magistrate.operations.paging import PageRequest
from magistrate.store.contract.lists import Slice
from tests.memory_source import Found, found, model_of
from tests.oracle_queries import Row
from tests.scenario_files import (
    ASKED_AT,
    CREATED_AT,
    Query,
    Scenario,
    added_warrants,
)
from tests.scenario_runs import written

EVERYTHING = PageRequest(Slice("id", 1_000))


def name_found(subject_type: str, object_id: str) -> str:
    """The object or the group of a row, whose type is `team#member`, in written form."""
    of_type, relation = split_subject_type(TypeName(subject_type))
    return f"{of_type}:{object_id}#{relation}" if relation else f"{of_type}:{object_id}"


def written_forms(row: Row) -> list[str]:
    """The row as scenarios write it, with each warrant that it may have."""
    found = f"{name_found(row.type, row.id)}#{row.relation} {'I' if row.is_implicit else 'E'}"
    return [f"{found} {warrant.render() if warrant else '-'}" for warrant in row.acceptable]


def through_the_engine(scenario: Scenario, query: Query) -> Found:
    model = model_of(
        scenario.final_types(), scenario.written_warrants(), scenario.then.allow, scenario.named_policies()
    )
    warrants, objects = scenario.final_warrants(created_at=CREATED_AT), scenario.final_objects()
    overlay = Overlay(added_warrants(query.contextual, CREATED_AT))
    extended = overlay.extend_model(model)
    return found(extended, warrants, objects, read_query(query.q), query.context, ASKED_AT, overlay)


def shown_row(row: rows.QueryRow) -> str:
    kind = "I" if row.is_implicit else "E"
    return f"{name_found(row.type, row.id)}#{row.relation} {kind} {row.warrant.render() if row.warrant else '-'}"


def written_row(row: dict[str, Any]) -> str:
    """A row of an answer as scenarios write it."""
    group = f"#{row['subjectRelation']}" if "subjectRelation" in row else ""
    found = f"{row['objectType']}:{row['objectId']}{group}#{row['relation']} {'I' if row['isImplicit'] else 'E'}"
    return f"{found} {'-' if row['warrant'] is None else written(row['warrant'])}"
