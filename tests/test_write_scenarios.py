"""The writes of write-*.yaml through every door: the engine alone, each store, HTTP, the command line; with the checks
after each of them."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.engine.truth import TRUE
from magistrate.errors import InvalidParameter, NotFound, PreconditionFailed
from magistrate.operations.context import Context
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.writes.warrants import create_warrants, delete_matching, read_exact_filter, write
from magistrate.store.contract.new_rows import NewObject, NewWarrant, write_outcome
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite as StoreWrite
from magistrate.store.contract.store import Precondition
from tests import oracle
from tests.cli.cases import Magistrate
from tests.memory_source import evaluated, model_of
from tests.running import Client
from tests.scenario_files import (
    AtomicWrite,
    Check,
    CreateAgain,
    DeleteByFilter,
    Limits,
    Outcome,
    Scenario,
    WarrantLimits,
    WriteStep,
    warrant_bodies,
    warrant_body,
    write_scenarios,
)
from tests.scenario_files import Precondition as WrittenPrecondition
from tests.scenario_runs import answer_of, asked, begin, carry_out_over_http, counted, decision_of, demand_answer, new
from tests.scenario_writes import State, expected
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in write_scenarios()]
MEMBERS = ("objectType", "objectId", "relation", "subjectType", "subjectId", "subjectRelation")


def test_scenarios_write_in_every_way() -> None:
    steps = [step for scenario in write_scenarios() for step in scenario.writes]

    assert {type(step) for step in steps} == {AtomicWrite, DeleteByFilter, CreateAgain}
    assert all(any(step.checks for step in scenario.writes) for scenario in write_scenarios())


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_the_writes_of_a_scenario_by_the_book(scenario: Scenario) -> None:
    """The outcomes are those of the documentation; the checks are those of the engine and of the oracle."""
    now = time.time_ns() // 1_000
    state, ever = State(scenario), scenario.written_warrants()

    for step in scenario.writes:
        assert state.carry_out(step) == expected(step)
        stored = state.stored(now)
        ever += stored
        for question in step.checks:
            model = model_of(scenario.final_types(), ever, scenario.then.allow, scenario.named_policies())
            [node], _ = evaluated(model, stored, [asked(question)], now)
            assert answer_of(node) == question.answer == oracle_allows(scenario, state, question, now), question.ask


def oracle_allows(scenario: Scenario, state: State, question: Check, now: int) -> bool:
    in_force = oracle.in_force(state.stored(now), now)
    return (
        TRUE.name
        == oracle.check(
            scenario.final_types(),
            in_force,
            *question.claim(),
            scenario.policies_in(question.context, now),
        ).name
    )


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_the_writes_of_a_scenario_over_a_store(
    scenario: Scenario, counted: tuple[Context, CountingDatabase]
) -> None:
    """The checks are made without the graph cache, and with one that follows the writes."""
    ctx, database = counted
    await begin(ctx, database, scenario)
    with_graph = replace(
        ctx, caches=replace(ctx.caches, graph=LiveGraph(ctx.store, ctx.caches.models, 1_000_000, ctx.now))
    )
    before = await ctx.store.check()

    for step in scenario.writes:
        newest = await ctx.store.check()
        assert await carry_out_in_store(ctx, step, {"newest": newest, "older": before}) == expected(step)
        before = newest
        for question in step.checks:
            for by in (ctx, with_graph, with_graph):
                decision = await decision_of(by, question, with_path=by is ctx)
                assert not isinstance(decision, NotFound)
                assert decision.is_authorized == question.answer, question.ask
                assert question.implicit in (None, decision.is_implicit), question.ask
                if question.path is not None and by is ctx:
                    assert [warrant.render() for warrant in decision.path] == list(question.path)


async def carry_out_in_store(ctx: Context, step: WriteStep, revisions: dict[str, Revision]) -> object:
    if isinstance(step, DeleteByFilter):
        given = {member: step.where.get(member) for member in MEMBERS}
        deleted = await delete_matching(ctx, read_exact_filter(given), 1_000, lambda: ctx.stamp("ann"), step.dry_run)
        assert not deleted.value.has_more
        return deleted.value.deleted
    if isinstance(step, CreateAgain):
        created = await create_warrants(ctx, new_warrants(step.warrants, step.limits), ctx.stamp("ann"), str)
        return tuple(write_outcome(row, created.revision) for row in created.value)
    wanted = StoreWrite(
        [read_precondition(one, revisions) for one in step.preconditions],
        [new(text) for text in step.delete.warrants],
        [*map(read_ref, step.delete.objects)],
        [NewObject(ref.type, ref.id, None) for ref in map(read_ref, step.create.objects)],
        new_warrants(step.create.warrants, step.create.limits),
    )
    try:
        counts = (await write(ctx, wanted, ctx.stamp("ann"), lambda place: f"create.warrants[{place}].")).value
    except PreconditionFailed as failed:
        return Outcome(failed=failed.index)
    except NotFound as missing:
        return Outcome(missing=written_name(missing.kind, missing.key))
    except InvalidParameter as refused:
        return Outcome(refused=refused.parameter)
    return Outcome(counts.created, counts.deleted, counts.unchanged)


def read_ref(text: str) -> ObjectRef:
    return object_ref(*text.split(":"))


def written_name(kind: str, key: str) -> str:
    """What is missing, as the scenario names it: a warrant, or an object such as `document:plan`."""
    return key if kind == "Warrant" else f"{kind}:{key}"


def new_warrants(written: Sequence[str], limits: WarrantLimits) -> list[NewWarrant]:
    return [msgspec.structs.replace(new(text), **limits.get(text, Limits()).as_times()) for text in written]


def read_precondition(one: WrittenPrecondition, revisions: dict[str, Revision]) -> Precondition:
    if one.revision is not None:
        return Precondition(RevisionId(revisions[one.revision], None))
    text = one.exists or one.absent or ""
    required = new(text) if "@" in text else read_ref(text)
    return Precondition(required, is_absent=one.absent is not None)


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_the_writes_of_a_scenario_over_http(scenario: Scenario, store_client: Client) -> None:
    carry_out_over_http(store_client, scenario)
    before = newest_token(store_client)

    for step in scenario.writes:
        newest = newest_token(store_client)
        tokens = {"newest": newest, "older": before}
        assert carry_out_step_over_http(store_client, step, tokens) == expected(step)
        before = newest
        for question in step.checks:
            body = {"warrants": [question.body()]}
            short, with_path = (store_client.post("/v2/check", json=body | more) for more in ({}, {"debug": True}))
            demand_answer(msgspec.structs.replace(question, path=None), short.json())
            demand_answer(question, with_path.json())


def newest_token(client: Client) -> str:
    headers = {"Warrant-Token": "latest"}
    return client.get("/v2/object-types", params={"limit": 1}, headers=headers).headers["Warrant-Token"]


def carry_out_step_over_http(client: Client, step: WriteStep, tokens: dict[str, str]) -> object:
    if isinstance(step, DeleteByFilter):
        answer = client.post("/v2/warrants/delete", json={"filter": step.where, "dryRun": step.dry_run}).json()
        assert not answer["more"]
        return answer["deleted"]
    if isinstance(step, CreateAgain):
        created = client.post("/v2/warrants", json=warrant_bodies(step.warrants, step.limits))
        return tuple(created.headers["Warrant-Outcome"].split(", "))
    written = client.post("/v2/writes", json=write_body(step, tokens))
    answer = written.json()
    match written.status_code:
        case 409:
            return Outcome(failed=answer["index"])
        case 404:
            return Outcome(missing=written_name(answer["type"], answer["key"]))
        case 400:
            return Outcome(refused=answer["parameter"])
        case _:
            return Outcome(**answer)


def write_body(step: AtomicWrite, tokens: dict[str, str]) -> dict[str, Any]:
    """The body of the request, as a program sends it."""
    return {
        "preconditions": [
            {"revision": tokens[one.revision]}
            if one.revision
            else {name: ref_body(text) for name, text in (("exists", one.exists), ("absent", one.absent)) if text}
            for one in step.preconditions
        ],
        "delete": {
            "warrants": [warrant_body(text) for text in step.delete.warrants],
            "objects": [ref_body(text) for text in step.delete.objects],
        },
        "create": {
            "objects": [ref_body(text) for text in step.create.objects],
            "warrants": warrant_bodies(step.create.warrants, step.create.limits),
        },
    }


def ref_body(text: str) -> dict[str, Any]:
    if "@" in text:
        return warrant_body(text)
    of_type, object_id = text.split(":")
    return {"objectType": of_type, "objectId": object_id}


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_the_writes_of_a_scenario_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    magistrate = Magistrate(str(store_client.base_url))
    carry_out_over_http(store_client, scenario)
    before = newest_token(store_client)

    for step in scenario.writes:
        newest = newest_token(store_client)
        tokens = {"newest": newest, "older": before}
        assert carry_out_on_the_command_line(magistrate, step, tokens) == expected_there(step)
        before = newest
        for question in step.checks:
            context = ("--context", json.dumps(question.context))
            ran = magistrate("check", "--no-strict", question.ask, *context, "--json", "--explain")
            assert ran.exit_code == (0 if question.answer else 1), ran.output
            demand_answer(question, json.loads(ran.stdout))


def expected_there(step: WriteStep) -> object:
    """What comes of the step; of a write that fails, the words by which the message names the reason."""
    if not isinstance(step, AtomicWrite):
        return expected(step)
    outcome = step.outcome
    if outcome.failed is not None:
        return f"preconditions[{outcome.failed}] does not hold"
    if outcome.missing is not None:
        name = outcome.missing if "@" in outcome.missing else outcome.missing.replace(":", " ")
        return f"{name} not found"
    return outcome.refused or outcome


def carry_out_on_the_command_line(magistrate: Magistrate, step: WriteStep, tokens: dict[str, str]) -> object:
    if isinstance(step, DeleteByFilter):
        where = ",".join(f"{name}={value}" for name, value in step.where.items())
        options = ["--dry-run"] if step.dry_run else []
        return magistrate.json("warrants", "delete", "--where", where, *options)["deleted"]
    if isinstance(step, CreateAgain):
        return tuple(create_alone(magistrate, text, step.limits.get(text, Limits())) for text in step.warrants)
    file = json.dumps(write_file(step, tokens))
    if isinstance(said := expected_there(step), str):
        message = magistrate.failed("write", "-", typed=file)
        return said if said in message else message
    return Outcome(**json.loads(magistrate.done("write", "-", "--json", typed=file)))


def create_alone(magistrate: Magistrate, text: str, limits: Limits) -> str:
    options = ["--starts", limits.starts_at] if limits.starts_at else []
    options += ["--expires", limits.expires_at] if limits.expires_at else []
    return magistrate.done("warrants", "create", text, *options).split()[0]


def write_file(step: AtomicWrite, tokens: dict[str, str]) -> dict[str, Any]:
    """The same body, as people write it: warrants and objects are texts."""
    bodies = warrant_bodies(step.create.warrants, step.create.limits)
    return {
        "preconditions": [
            {"revision": tokens[one.revision]} if one.revision else msgspec.to_builtins(one)
            for one in step.preconditions
        ],
        "delete": {"warrants": step.delete.warrants, "objects": step.delete.objects},
        "create": {
            "objects": step.create.objects,
            "warrants": [
                body if text in step.create.limits else text
                for text, body in zip(step.create.warrants, bodies, strict=True)
            ],
        },
    }
