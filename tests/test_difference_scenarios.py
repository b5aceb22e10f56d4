"""The scenarios with differences through every door: the oracle, each store, HTTP, the command line."""

import json
import time
from typing import Any

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.cli.commands import main
from magistrate.operations.consistency import NO_DEMAND, write_token
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.difference.proposal import Proposal, list_proposed_difference
from magistrate.operations.difference.revisions import RevisionsRequest, list_difference
from magistrate.store.contract.revisions import RevisionId
from tests.access import AccessRow, difference
from tests.access import access as access_of
from tests.cli.runner import CommandRunner
from tests.conftest import POSTGRES_NIGHTLY
from tests.memory_source import model_of
from tests.running import KEY, Client
from tests.scenario_files import (
    Changes,
    Difference,
    Scenario,
    Step,
    difference_scenarios,
    warrant_body,
)
from tests.scenario_rows import EVERYTHING
from tests.scenario_runs import carry_out, carry_out_over_http, counted, emptied, new
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in difference_scenarios()]


def shown(row: AccessRow, is_gained: bool) -> str:
    text = f"{'gained' if is_gained else 'lost'} {row.type}:{row.id}#{row.relation}@{row.subject_type}:{row.subject_id}"
    return f"{text} in a context" if row.is_conditional else text


def shown_answer(row: dict[str, Any]) -> str:
    subject = row["subject"]
    names = (row["objectType"], row["objectId"], row["relation"], subject["objectType"], subject["objectId"])
    return shown(AccessRow(*names, row.get("conditional", False)), row["change"] == "gained")


def proposed_types(asked: Difference) -> dict[str, Any]:
    types: dict[str, Any] = msgspec.to_builtins(asked.define_types)
    return types


def after(scenario: Scenario, asked: Difference) -> Scenario:
    """The scenario with the proposal made, and without the changes that were made before."""
    left = [one.render() for one in scenario.final_warrants()]
    types = msgspec.convert(scenario.final_types() | proposed_types(asked), type(scenario.types))
    changes = Changes(delete_warrants=asked.delete)
    return msgspec.structs.replace(scenario, types=types, warrants=(*left, *asked.create), then=changes, limits={})


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_the_oracle_finds_the_same_differences(scenario: Scenario) -> None:
    now = time.time_ns() // 1_000

    def access(state: Scenario) -> frozenset[AccessRow]:
        return access_of(state.final_types(), state.final_warrants(now), state.final_objects(), now)

    for asked in scenario.difference:
        states = (scenario, after(scenario, asked)) if asked.since is None else (scenario.until(asked.since), scenario)
        narrowing = read_narrowing(asked.of, None, None, None)
        patterns = narrowing.patterns
        rows = [
            shown(row, is_gained)
            for row, is_gained in difference(*map(access, states))
            if patterns is None or any(one.covers(row.type, row.relation, row.subject_type) for one in patterns)
        ]
        assert rows == list(asked.rows)


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_differences_over_a_store(scenario: Scenario, counted: tuple[Context, CountingDatabase]) -> None:
    ctx, database = counted
    await database.transact(lambda head: emptied())
    revisions = await carry_out(ctx, scenario)

    for asked in scenario.difference:
        narrowing = read_narrowing(asked.of, None, None, None)
        if asked.since is None:
            types = list(model_of(proposed_types(asked)).types.values())
            proposal = Proposal([new(text) for text in asked.create], [new(text) for text in asked.delete], types)
            found = await list_proposed_difference(ctx, proposal, narrowing, EVERYTHING, NO_DEMAND)
        else:
            token = write_token(ctx.store.identity, RevisionId(revisions[asked.since], None))
            found = await list_difference(ctx, RevisionsRequest(token, None, narrowing), EVERYTHING, NO_DEMAND)
        rows = [shown(AccessRow(*row.change[:6]), row.change.is_gained) for row in found.value.rows]
        assert rows == list(asked.rows)
        assert [row for row in found.value.rows if not any(row.cause)] == []


@POSTGRES_NIGHTLY
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_differences_over_http_and_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    tokens = carry_out_over_http(store_client, scenario)

    for asked in scenario.difference:
        answer = over_http(store_client, asked, tokens)
        printed = on_the_command_line(store_client, asked, tokens)
        assert [shown_answer(row) for row in answer["results"]] == list(asked.rows)
        assert printed == answer


def proposal_body(asked: Difference) -> dict[str, Any]:
    types = [{"type": name, "relations": relations} for name, relations in proposed_types(asked).items()]
    warrants = {"create": asked.create, "delete": asked.delete}
    return {name: list(map(warrant_body, texts)) for name, texts in warrants.items()} | {"objectTypes": types}


def over_http(client: Client, asked: Difference, tokens: dict[Step, str]) -> dict[str, Any]:
    narrower = {} if asked.of is None else {"of": asked.of}
    if asked.since is None:
        answer = client.post("/v2/difference", json={"proposal": proposal_body(asked), "limit": 1_000, **narrower})
    else:
        parameters = {"from": tokens[asked.since], "limit": "1000", **narrower}
        answer = client.get("/v2/difference", params=parameters)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def on_the_command_line(client: Client, asked: Difference, tokens: dict[Step, str]) -> dict[str, Any]:
    environment = {"MAGISTRATE_SERVER": str(client.base_url), "MAGISTRATE_API_KEY": KEY}
    command = ["diff", "--json", "--all", *([] if asked.of is None else ["--of", asked.of])]
    typed = None
    if asked.since is not None:
        command += ["--from", tokens[asked.since]]
    elif asked.define_types:
        command += ["--proposal", "-"]
        typed = json.dumps(proposal_body(asked))
    else:
        command += [f"--create={text}" for text in asked.create] + [f"--delete={text}" for text in asked.delete]
    ran = CommandRunner().invoke(main, command, env=environment, input=typed)
    assert ran.exit_code == 0, ran.output
    printed: dict[str, Any] = json.loads(ran.stdout)
    return printed
