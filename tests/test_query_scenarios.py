"""The oracle's queries against rows worked out by hand, then the queries of all scenarios: against the oracle, and
through every door.
"""

import json
from typing import Any

import pytest

from benchmarks.counting import CountingDatabase
from magistrate.cli.commands import main
from magistrate.engine.lists.language import read_query
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.errors import NotFound
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from tests import oracle, oracle_queries
from tests.cli.runner import CommandRunner
from tests.conftest import POSTGRES_NIGHTLY
from tests.oracle_queries import Facts, Row
from tests.running import KEY, Client
from tests.scenario_files import (
    ASKED_AT,
    CREATED_AT,
    Query,
    Scenario,
    contextual_body,
    contextual_options,
    query_scenarios,
    stored_warrant,
)
from tests.scenario_rows import EVERYTHING, shown_row, through_the_engine, written_forms, written_row
from tests.scenario_runs import begin, carry_out_over_http, counted, new
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures


EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in query_scenarios()]


def rows_of(model: dict[str, dict[str, Any]], warrants: list[str], objects: str, q: str) -> list[Row]:
    """The oracle's rows where the policies are only the words yes, no and broken; `objects` are those that exist."""
    stored = [stored_warrant(text, number, CREATED_AT) for number, text in enumerate(warrants, start=1)]
    refs = [
        ObjectRef(TypeName(of_type), ObjectId(object_id))
        for of_type, object_id in (text.split(":") for text in objects.split())
    ]
    outcomes = {"yes": True, "no": False, "broken": None}
    return oracle_queries.list_rows(Facts(model, stored, refs, lambda warrant: outcomes[warrant.policy]), read_query(q))


def shown(rows: list[Row]) -> list[str]:
    """Rows as scenarios write them, each with the warrant to report."""
    return [written_forms(row)[0] for row in rows]


OWNED: dict[str, dict[str, Any]] = {"document": {"owner": {}, "viewer": {"inheritIf": "owner"}}, "user": {}}


def test_objects_are_found_by_type_and_relation_if_they_exist() -> None:
    warrants = ["document:*#owner@user:ann", "document:b#viewer@user:ann", "document:c#viewer@user:ann[no]"]
    model = OWNED | {"folder": {"owner": {}}}

    assert shown(rows_of(model, warrants, "document:b document:a folder:f", "select * where user:ann is viewer")) == [
        "document:a#viewer I document:*#owner@user:ann",
        "document:b#viewer E document:b#viewer@user:ann",
    ]
    assert rows_of(model, warrants, "document:a ghost:g", "select folder where user:ann is *") == []
    assert shown(rows_of(model, warrants, "document:a", "select explicit document where user:ann is *")) == [
        "document:a#owner E document:*#owner@user:ann"
    ]


def test_subjects_are_found_by_type_if_they_exist_and_a_wildcard_where_a_warrant_settles_it() -> None:
    warrants = ["document:a#viewer@user:*", "document:a#owner@robot:r2", "document:b#owner@ghost:g"]

    assert shown(
        rows_of(OWNED, warrants, "user:ann robot:r2 robot:d2", "select viewer of type user for document:a")
    ) == [
        "user:*#viewer E document:a#viewer@user:*",
        "user:ann#viewer E document:a#viewer@user:*",
    ]
    assert shown(rows_of(OWNED, warrants, "robot:r2 robot:d2", "select viewer of type * for document:a")) == [
        "robot:r2#viewer I document:a#owner@robot:r2",
        "user:*#viewer E document:a#viewer@user:*",
    ]


def test_a_row_that_rests_on_noneof_has_no_warrant_and_is_no_wildcard() -> None:
    model = {
        "document": {"banned": {}, "guest": {"inheritIf": "noneOf", "rules": [{"inheritIf": "banned"}]}},
        "user": {},
    }
    warrants = ["document:a#banned@user:bob"]

    rows = rows_of(model, warrants, "user:ann user:bob", "select guest of type user for document:a")

    assert rows == [Row("user", "ann", "guest", None, True, (None,))]


FOLDERS: dict[str, dict[str, Any]] = {
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "user": {},
}
VIEWERS = "select viewer of type user for folder:a"


@pytest.mark.parametrize(
    ("warrants", "expected"),
    [
        (["folder:a#parent@folder:x", "folder:x#viewer@user:ann"], ["folder:x#viewer@user:ann"]),
        (["folder:a#viewer@user:ann", "folder:a#parent@folder:a"], ["folder:a#viewer@user:ann"]),
        (
            [
                "folder:a#parent@folder:x",
                "folder:a#parent@folder:y",
                "folder:y#viewer@user:ann",
                "folder:x#viewer@user:ann",
            ],
            ["folder:x#viewer@user:ann"],
        ),
        (
            ["folder:a#parent@folder:a", "folder:a#parent@folder:y", "folder:y#viewer@user:ann"],
            ["folder:y#viewer@user:ann"],
        ),
        (
            [
                "folder:a#parent@folder:b",
                "folder:b#parent@folder:a",
                "folder:a#parent@folder:x",
                "folder:b#parent@folder:y",
                "folder:a#parent@folder:z[no]",
                "folder:x#viewer@user:ann",
                "folder:y#viewer@user:ann",
                "folder:y#viewer@user:*[broken]",
                "folder:z#viewer@user:ann",
            ],
            ["folder:y#viewer@user:ann", "folder:x#viewer@user:ann"],
        ),
    ],
)
def test_any_warrant_the_walk_can_reach_may_be_reported_once_it_came_back_to_where_it_was(
    warrants: list[str], expected: list[str]
) -> None:
    [row] = rows_of(FOLDERS, warrants, "user:ann", VIEWERS)

    assert [warrant and warrant.render() for warrant in row.acceptable] == expected
    assert row.warrant == row.acceptable[0]


def test_objects_are_reported_with_the_one_warrant_at_their_own_end_even_in_a_circle() -> None:
    warrants = ["folder:a#parent@folder:b", "folder:b#parent@folder:a", "folder:a#viewer@user:ann"]

    rows = rows_of(FOLDERS, warrants, "folder:a folder:b", "select folder where user:ann is viewer")

    assert shown(rows) == ["folder:a#viewer E folder:a#viewer@user:ann", "folder:b#viewer I folder:b#parent@folder:a"]
    assert [len(row.acceptable) for row in rows] == [1, 1]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("select document where ghost:g is ghost", None),
        ("select * where user:ann is *", None),
        ("select document, ghost, spirit where user:ann is *", "ghost"),
        ("select * of type * for document:a", None),
        ("select * of type * for ghost:g", "ghost"),
        ("select * of type user, spirit for ghost:g", "spirit"),
    ],
)
def test_the_first_type_that_is_not_defined_is_missing(q: str, expected: str | None) -> None:
    assert oracle_queries.undefined_type(OWNED, read_query(q)) == expected


def facts(scenario: Scenario, query: Query) -> Facts:
    policy_holds = scenario.policies_in(query.context, ASKED_AT)
    warrants = oracle.in_force(scenario.warrants_with(query.contextual, CREATED_AT), ASKED_AT)
    return Facts(scenario.final_types(), warrants, scenario.final_objects(query.contextual), policy_holds)


def demand_rows(scenario: Scenario, query: Query, found: list[str]) -> None:
    """That the oracle finds these rows, written as in scenarios."""
    rows = oracle_queries.list_rows(facts(scenario, query), read_query(query.q))
    expected = [next((form for form in forms if form in found), forms[0]) for forms in map(written_forms, rows)]
    assert found == expected, query.q


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_a_scenario_expects_the_rows_that_the_oracle_finds(scenario: Scenario) -> None:
    for query in scenario.queries:
        assert oracle_queries.undefined_type(scenario.final_types(), read_query(query.q)) == query.missing, query.q
        if query.rows is not None:
            demand_rows(scenario, query, list(query.rows))


def test_scenarios_query_all_kinds_of_rows_in_both_directions() -> None:
    asked = [(read_query(query.q), query.rows or ()) for scenario in query_scenarios() for query in scenario.queries]
    kinds = {(type(query), row.split(" ")[1], row.endswith(" -")) for query, rows in asked for row in rows}

    assert len(kinds) == 2 * 3  # explicit, implicit, and implicit without a warrant


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_queries_through_the_engine(scenario: Scenario) -> None:
    for query, levels in zip(scenario.queries, scenario.query_levels, strict=True):
        if query.missing is not None:
            with pytest.raises(NotFound, match=query.missing):
                through_the_engine(scenario, query)
            continue
        answer = through_the_engine(scenario, query)
        demand_rows(scenario, query, [shown_row(row) for row in answer.rows])
        assert answer.levels == levels, query.q


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_queries_over_a_store_read_once_for_each_level(
    scenario: Scenario, counted: tuple[Context, CountingDatabase]
) -> None:
    ctx, database = counted
    await begin(ctx, database, scenario)

    for query in scenario.queries:
        asked = QueryRequest(read_query(query.q), query.context, [new(text) for text in query.contextual])
        database.reads = 0
        if query.missing is not None:
            with pytest.raises(NotFound, match=query.missing):
                await list_page(ctx, asked, EVERYTHING, NO_DEMAND)
            continue
        page = (await list_page(ctx, asked, EVERYTHING, NO_DEMAND)).value
        demand_rows(scenario, query, [shown_row(one.row) for one in page.rows])
        answer = through_the_engine(scenario, query)
        has_meta = any(one.row.id != WILDCARD for one in page.rows)
        # The revision, what there is, the meta of the rows, whether the object of the query exists.
        beside = 1 + answer.listed_types + has_meta + answer.looks_up_itself
        assert database.reads == answer.levels + beside, query.q


@POSTGRES_NIGHTLY
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_queries_over_http_and_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    carry_out_over_http(store_client, scenario)

    for query in scenario.queries:
        context = json.dumps(query.context)
        contextual = contextual_body(query.contextual)
        texts = {name: json.dumps(value) for name, value in contextual.items()}
        over_http = store_client.get("/v2/query", params={"q": query.q, "context": context, "limit": 1000, **texts})
        body = {"q": query.q, "context": query.context, "limit": 1000, **contextual}
        posted = store_client.post("/v2/query", json=body)
        counted = store_client.post("/v2/query", json=body | {"limit": 1, "total": True})
        ran = CommandRunner().invoke(
            main,
            [
                *("query", "--no-strict", query.q, "--context", context, "--json", "--all"),
                *contextual_options(query.contextual),
            ],
            env={"MAGISTRATE_SERVER": str(store_client.base_url), "MAGISTRATE_API_KEY": KEY},
        )
        if query.missing is not None:
            error = over_http.json()
            assert (error["code"], error["type"], error["key"]) == ("not_found", "ObjectType", query.missing), query.q
            assert (over_http.status_code, ran.exit_code) == (404, 2), (query.q, ran.output)
            continue
        assert (over_http.status_code, ran.exit_code) == (200, 0), (query.q, over_http.text, ran.output)
        demand_rows(scenario, query, [written_row(row) for row in over_http.json()["results"]])
        assert counted.json()["total"] == len(over_http.json()["results"]), query.q
        for other in (posted.json(), json.loads(ran.stdout)):
            if query.contextual:  # the time of a contextual warrant is that of its request
                demand_rows(scenario, query, [written_row(row) for row in other["results"]])
            else:
                assert other == over_http.json(), query.q
