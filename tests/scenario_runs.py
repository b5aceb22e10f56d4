"""Runs the steps of scenarios, in an engine, a store, over HTTP, or by commands."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.evaluation import evaluation
from magistrate.engine.evaluation.check import Decision
from magistrate.engine.evaluation.nodes import CheckNode
from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef, object_ref, type_name
from magistrate.engine.truth import TRUE, UNDEFINED
from magistrate.errors import NotFound
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.models.object_types import delete_object_type, put_object_types
from magistrate.operations.models.policies import put_policies
from magistrate.operations.writes.objects import delete_objects
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.database import Execute, Script
from magistrate.wiring.contexts import context_of
from tests.conftest import STORES, new_database_url
from tests.memory_source import model_of
from tests.running import Client, settings_for
from tests.scenario_files import (
    Check,
    Scenario,
    Step,
    claim,
    stored_warrant,
    warrant_body,
)


def asked(question: Check) -> evaluation.Check:
    object_type, object_id, relation, subject = question.claim()
    return evaluation.Check(ObjectRef(object_type, object_id), relation, subject, question.context)


def answer_of(node: CheckNode) -> bool | str:
    return "missing" if node.value == UNDEFINED else node.value == TRUE


@pytest.fixture(scope="module", params=STORES)
async def counted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("counted"), request)
    store, database = await counting_store(url)
    yield context_of(store, settings_for(url, cache_bytes=0)), database
    await store.close()


def emptied() -> Script[None]:
    for table in ("warrant", "warrant_pattern", "object", "object_type", "named_policy"):
        yield Execute(f"DELETE FROM {table}", [()])


def new(written: str) -> NewWarrant:
    object_type, object_id, relation, subject = claim(written)
    return NewWarrant(ObjectRef(object_type, object_id), relation, subject, stored_warrant(written, 0, 0).policy)


async def begin(ctx: Context, database: CountingDatabase, scenario: Scenario) -> None:
    """Leaves nothing of what was there before, and the model known."""
    await database.transact(lambda head: emptied())
    await carry_out(ctx, scenario)
    await ctx.caches.models.at(await ctx.store.check(), (await ctx.store.read_model()).value.written_at)


async def carry_out(ctx: Context, scenario: Scenario) -> dict[Step, Revision]:
    """Writes what the scenario begins with, then does what it says. Returns the newest revision after each step."""
    after: dict[Step, Revision] = {}
    if scenario.policies:
        await put_policies(ctx, [*scenario.named_policies().values()], ctx.stamp("ann"))
    await put_object_types(ctx, list(model_of(scenario.first_types()).types.values()), ctx.stamp("ann"))
    if scenario.warrants:
        warrants = [msgspec.structs.replace(new(text), **scenario.limits_of(text)) for text in scenario.warrants]
        await create_warrants(ctx, warrants, ctx.stamp("ann"), str)
    after["warrants"] = await ctx.store.check()
    for name in scenario.then.drop_types:
        await delete_object_type(ctx, type_name(name, "type"), ctx.stamp("ann"))
    after["drop_types"] = await ctx.store.check()
    if scenario.then.define_types:
        changed = {name: scenario.final_types()[name] for name in scenario.then.define_types}
        await put_object_types(ctx, list(model_of(changed).types.values()), ctx.stamp("ann"))
    after["define_types"] = await ctx.store.check()
    if scenario.then.allow:
        changed = {name: scenario.final_types()[name] for name in scenario.then.allow}
        limited = model_of(changed, allowed=scenario.then.allow).types.values()
        await put_object_types(ctx, list(limited), ctx.stamp("ann"), keeps_orphaned=True)
    after["allow"] = await ctx.store.check()
    if scenario.then.delete_warrants:
        await delete_warrants(ctx, [new(text) for text in scenario.then.delete_warrants], ctx.stamp("ann"))
    after["delete_warrants"] = await ctx.store.check()
    if refs := [object_ref(*text.split(":", 1)) for text in scenario.then.delete_objects]:
        await delete_objects(ctx, refs, ctx.stamp("ann"))
    return {**after, "delete_objects": await ctx.store.check()}


async def decision_of(ctx: Context, question: Check, with_path: bool = False) -> Decision | NotFound:
    try:
        contextual = [new(text) for text in question.contextual]
        return (await check(ctx, [asked(question)], ALL_NEEDED, NO_DEMAND, with_path, contextual)).value[0]
    except NotFound as missing:
        return missing


def carry_out_over_http(client: Client, scenario: Scenario) -> dict[Step, str]:
    """Does the same, and returns the token of each step if the scenario has checks as of one."""
    after: dict[Step, str] = {}

    def end(step: Step) -> None:
        if scenario.as_of or scenario.difference:
            after[step] = client.get("/v2/object-types", params={"limit": 1}).headers["Warrant-Token"]

    client.begin_with(scenario.first_types(), scenario.policy_bodies())
    client.write(scenario.bodies())
    end("warrants")
    for name in scenario.then.drop_types:
        client.delete(f"/v2/object-types/{name}").raise_for_status()
    end("drop_types")
    client.define({name: scenario.final_types()[name] for name in scenario.then.define_types})
    end("define_types")
    limited = [
        {"type": name, "relations": scenario.final_types()[name], "allowedTypes": allowed}
        for name, allowed in scenario.then.allow.items()
    ]
    if limited:
        client.put("/v2/object-types", json=limited, params={"keepExisting": "true"}).raise_for_status()
    end("allow")
    for text in scenario.then.delete_warrants:
        client.delete_json("/v2/warrants", warrant_body(text)).raise_for_status()
    end("delete_warrants")
    for text in scenario.then.delete_objects:
        client.delete(f"/v2/objects/{text.replace(':', '/', 1)}").raise_for_status()
    end("delete_objects")
    return after


def written(row: dict[str, Any]) -> str:
    """A warrant of an answer in its written form."""
    subject = row["subject"]
    group = f"#{subject['relation']}" if "relation" in subject else ""
    policy = f"[{row['policy']}]" if "policy" in row else ""
    claimed = f"{row['objectType']}:{row['objectId']}#{row['relation']}"
    return f"{claimed}@{subject['objectType']}:{subject['objectId']}{group}{policy}"


def demand_answer(question: Check, body: dict[str, Any]) -> None:
    if question.answer == "missing":
        assert (body["code"], body["type"], body["key"]) == ("not_found", "ObjectType", question.missing), question.ask
        return
    assert body["code"] == (200 if question.answer else 403), question.ask
    assert body["result"] == ("Authorized" if question.answer else "Not Authorized")
    if question.implicit is not None:
        assert body["isImplicit"] == question.implicit, question.ask
    if question.path is not None:
        paths = list(body.get("decisionPath", {}).values()) or [[]]
        assert [[written(row) for row in path] for path in paths] == [list(question.path)]
