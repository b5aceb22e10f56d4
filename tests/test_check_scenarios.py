"""The scenarios of check-*.yaml through every door: the engine alone, each store, HTTP, the command line."""

import json
import time
from dataclasses import replace

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.cli.commands import main
from magistrate.engine.warrants.overlay import Overlay
from magistrate.errors import NotFound
from magistrate.operations.context import Context
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.readers import prefetching_reader
from tests.cli.runner import CommandRunner
from tests.conftest import POSTGRES_NIGHTLY
from tests.memory_source import evaluated, found_paths, model_of
from tests.running import KEY, Client
from tests.scenario_files import (
    Scenario,
    added_warrants,
    contextual_body,
    contextual_options,
    scenarios,
)
from tests.scenario_runs import (
    answer_of,
    asked,
    begin,
    carry_out_over_http,
    counted,
    decision_of,
    demand_answer,
)
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in scenarios()]


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_a_scenario_through_the_engine(scenario: Scenario) -> None:
    now = time.time_ns() // 1_000
    warrants = scenario.final_warrants(created_at=now)
    model = model_of(
        scenario.final_types(), scenario.written_warrants(), scenario.then.allow, scenario.named_policies()
    )

    for question, levels in zip(scenario.checks, scenario.levels, strict=True):
        overlay = Overlay(added_warrants(question.contextual, now))
        extended = overlay.extend_model(model)
        [node], read = evaluated(extended, warrants, [asked(question)], now, overlay=overlay)
        assert (answer_of(node), read) == (question.answer, levels), question.ask
        if question.missing is not None:
            assert node.missing_type() == question.missing
        if question.path is not None:
            [path] = found_paths(extended, warrants, [asked(question)], now, overlay)
            assert [warrant.render() for warrant in path or ()] == list(question.path)


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_a_scenario_over_a_store_reads_once_for_each_level_or_ahead(
    scenario: Scenario, counted: tuple[Context, CountingDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, database = counted
    await begin(ctx, database, scenario)

    for question, levels in zip(scenario.checks, scenario.levels, strict=True):
        database.reads = 0
        with monkeypatch.context() as by_levels:
            by_levels.setattr(prefetching_reader, "MAX_TIMES", 0)
            by_levels.setattr("magistrate.operations.checks.evaluators.predict_reads", lambda model, batch: None)
            without_path = await decision_of(ctx, question)
        assert database.reads == max(levels, 1), question.ask  # the revision has to be read in any case
        database.reads = 0
        ahead = await decision_of(ctx, question)
        assert (str(ahead), 1 <= database.reads <= max(levels, 1)) == (str(without_path), True), question.ask
        decision = await decision_of(ctx, question, with_path=True)
        if isinstance(decision, NotFound):
            assert (question.answer, question.missing) == ("missing", decision.key), question.ask
            continue
        assert without_path == decision._replace(path=()), question.ask
        assert decision.is_authorized == question.answer, question.ask
        if question.implicit is not None:
            assert decision.is_implicit == question.implicit, question.ask
        if question.path is not None:
            assert [warrant.render() for warrant in decision.path] == list(question.path)


@POSTGRES_NIGHTLY
@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_a_scenario_with_a_graph_before_and_after_it_is_filled(
    scenario: Scenario, counted: tuple[Context, CountingDatabase]
) -> None:
    ctx, database = counted
    await begin(ctx, database, scenario)
    with_graph = replace(
        ctx, caches=replace(ctx.caches, graph=LiveGraph(ctx.store, ctx.caches.models, 1_000_000, ctx.now))
    )

    for question in [*scenario.checks, *scenario.checks]:
        decision = await decision_of(with_graph, question)
        if isinstance(decision, NotFound):
            assert (question.answer, question.missing) == ("missing", decision.key), question.ask
        else:
            assert decision.is_authorized == question.answer, question.ask
            assert question.implicit in (None, decision.is_implicit), question.ask


@POSTGRES_NIGHTLY
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_a_scenario_over_http_and_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    carry_out_over_http(store_client, scenario)

    for question in scenario.checks:
        body = {"warrants": [question.body()], **contextual_body(question.contextual)}
        over_http = store_client.post("/v2/check", json={**body, "debug": True})
        demand_answer(question, over_http.json())
        short = store_client.post("/v2/check", json=body)
        demand_answer(msgspec.structs.replace(question, path=None), short.json())
        ran = CommandRunner().invoke(
            main,
            [
                *("check", "--no-strict", question.ask, "--context", json.dumps(question.context)),
                *("--json", "--explain", *contextual_options(question.contextual)),
            ],
            env={"MAGISTRATE_SERVER": str(store_client.base_url), "MAGISTRATE_API_KEY": KEY},
        )
        codes = {True: 0, False: 1, "missing": 2}
        assert ran.exit_code == codes[question.answer], (question.ask, ran.output)
        if question.answer != "missing":
            demand_answer(question, json.loads(ran.stdout))
