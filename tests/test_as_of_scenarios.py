"""The `as_of` sections of all scenarios through every door: the engine alone, each store, HTTP, the command line."""

import json
import time

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.cli.commands import main
from magistrate.engine.lists.language import read_query
from magistrate.errors import NotFound
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.checks.explain import explain_check
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, pin_page
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from tests.cli.runner import CommandRunner
from tests.conftest import POSTGRES_NIGHTLY
from tests.memory_source import evaluated, model_of
from tests.running import KEY, Client
from tests.scenario_files import STEPS, Check, Query, Scenario, scenarios_of_the_past, warrant_body
from tests.scenario_rows import EVERYTHING, shown_row, through_the_engine, written_row
from tests.scenario_runs import answer_of, asked, carry_out, carry_out_over_http, counted, demand_answer, emptied
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in scenarios_of_the_past()]


def test_scenarios_check_as_of_every_step() -> None:
    asked = {past.after for scenario in scenarios_of_the_past() for past in scenario.as_of}

    assert asked == set(STEPS)


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_a_step_through_the_engine(scenario: Scenario) -> None:
    now = time.time_ns() // 1_000
    for past in scenario.as_of:
        state = scenario.until(past.after)
        model = model_of(state.final_types(), state.written_warrants(), state.then.allow, state.named_policies())
        for question in past.checks:
            [node], _ = evaluated(model, state.final_warrants(created_at=now), [asked(question)], now)
            assert answer_of(node) == question.answer, (past.after, question.ask)
        for query in past.queries:
            if query.missing is None:
                rows = [shown_row(row) for row in through_the_engine(state, query).rows]
                assert rows == list(query.rows or ()), (past.after, query.q)


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_as_of_a_step_over_a_store(scenario: Scenario, counted: tuple[Context, CountingDatabase]) -> None:
    ctx, database = counted
    await database.transact(lambda head: emptied())
    after = await carry_out(ctx, scenario)

    for past in scenario.as_of:
        as_of = AsOf(revision=after[past.after])
        for question in past.checks:
            assert await answer_as_of(ctx, question, as_of) == (question.answer, question.missing), question.ask
            explained = await explain_check(ctx, asked(question), NO_DEMAND, is_strict=False, as_of=as_of)
            assert explained.value.explanation.is_allowed == (question.answer is True), question.ask
        for query in past.queries:
            assert await rows_as_of(ctx, query, as_of) == (query.rows, query.missing), query.q


async def answer_as_of(ctx: Context, question: Check, as_of: AsOf) -> tuple[bool | str, str | None]:
    """The answer, and the type that is not defined."""
    try:
        decisions = await PendingChecks(ctx, [asked(question)], ALL_NEEDED, NO_DEMAND).decide_as_of(as_of)
    except NotFound as missing:
        return "missing", missing.key
    assert decisions.revision == as_of.revision
    return decisions.value[0].is_authorized, None


async def rows_as_of(ctx: Context, query: Query, as_of: AsOf) -> tuple[tuple[str, ...] | None, str | None]:
    """The rows, and the type that is not defined."""
    wanted = await pin_page(ctx, EVERYTHING, as_of, NO_DEMAND)
    try:
        page = await list_page(ctx, QueryRequest(read_query(query.q), query.context, now=wanted.now), wanted, NO_DEMAND)
    except NotFound as missing:
        return None, missing.key
    assert page.revision == as_of.revision
    return tuple(shown_row(one.row) for one in page.value.rows), None


@POSTGRES_NIGHTLY
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_as_of_a_step_over_http_and_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    after = carry_out_over_http(store_client, scenario)

    for past in scenario.as_of:
        token = after[past.after]
        for question in past.checks:
            body = {"warrants": [question.body()], "asOf": token}
            short, with_path = (store_client.post("/v2/check", json=body | more) for more in ({}, {"debug": True}))
            demand_answer(msgspec.structs.replace(question, path=None), short.json())
            demand_answer(question, with_path.json())
            context = json.dumps(question.context)
            code, printed = run("check", question.ask, "--context", context, token=token, client=store_client)
            assert code == {True: 0, False: 1, "missing": 2}[question.answer], printed
            demand_explanation(question, token, store_client)
        for query in past.queries:
            context = json.dumps(query.context)
            parameters = {"q": query.q, "context": context, "asOf": token, "limit": "1000"}
            over_http = store_client.get("/v2/query", params=parameters)
            code, printed = run("query", query.q, "--context", context, "--all", token=token, client=store_client)
            if query.rows is None:
                assert (over_http.json()["key"], code) == (query.missing, 2)
                continue
            assert [written_row(row) for row in over_http.json()["results"]] == list(query.rows), query.q
            assert (over_http.headers["Warrant-Token"], code) == (token, 0)
            assert json.loads(printed) == over_http.json()


def demand_explanation(question: Check, token: str, client: Client) -> None:
    """The explanation as of this token, over HTTP and on the command line, decides the same. What is not defined is
    denied and named."""
    body = {**warrant_body(question.ask), "context": question.context, "asOf": token}
    over_http = client.post("/v2/explain", json=body)
    context = json.dumps(question.context)
    code, printed = run("explain", question.ask, "--context", context, token=token, client=client)

    assert over_http.headers["Warrant-Token"] == token
    assert over_http.json()["decision"] == ("allowed" if question.answer is True else "denied")
    assert code == (0 if question.answer is True else 1)
    assert json.loads(printed) == over_http.json()
    if question.missing is not None:
        assert any(question.missing in one for one in over_http.json()["unknown"])


def run(*arguments: str, token: str, client: Client) -> tuple[int, str]:
    """The exit code and the output of a command as of this token."""
    environment = {"MAGISTRATE_SERVER": str(client.base_url), "MAGISTRATE_API_KEY": KEY}
    command = [*arguments, "--no-strict", "--json", "--as-of", token]
    ran = CommandRunner().invoke(main, command, env=environment)
    return ran.exit_code, ran.stdout
