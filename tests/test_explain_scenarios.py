"""The scenarios with explanations through every door: the engine alone, each store, HTTP, the command line."""

import json
import time
from typing import Any

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.api.endpoints.explain import render_explained
from magistrate.cli.commands import main
from magistrate.engine.evaluation.check import Check
from magistrate.engine.terms import ObjectRef
from magistrate.operations.checks.explain import ExplainedCheck, explain_check
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from tests.cli.runner import CommandRunner
from tests.conftest import POSTGRES_NIGHTLY
from tests.memory_source import completed, explained, model_of
from tests.running import KEY, Client
from tests.scenario_files import Explain, Scenario, explain_scenarios
from tests.scenario_runs import begin, carry_out_over_http, counted, written
from tests.stored_scenarios import both_stores, store_client

__all__ = ["both_stores", "counted", "store_client"]  # fixtures

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in explain_scenarios()]

Answer = dict[str, Any]


def asked(question: Explain) -> Check:
    object_type, object_id, relation, subject = question.claim()
    return Check(ObjectRef(object_type, object_id), relation, subject, question.context)


def summary(answer: Answer, question: Explain) -> Explain:
    """What an answer says, in the form of the scenario."""
    allowed = answer["decision"] == "allowed"
    return Explain(
        ask=answer["check"],
        answer=allowed,
        context=question.context,
        because=tuple(drawn(answer["because"])),
        path=tuple(map(written, answer["path"])) if allowed else None,
        would_allow=None if allowed else tuple(map(changes, answer["wouldAllow"])),
        unknown=tuple(answer["unknown"]),
    )


def drawn(root: Answer) -> list[str]:
    lines, waiting = [], [(root, 0)]
    while waiting:
        node, level = waiting.pop()
        words = ["  " * level + {True: "yes", False: "no"}.get(node["holds"], "?"), node.get("rule") or node["check"]]
        words += [f"by {written(node['via'])}"] if "via" in node else []
        words += [node["outOfForce"]] if "outOfForce" in node else []
        words += [f"({policy(node['policy'])})"] if "policy" in node else []
        words += [f"+{node['cut']}"] if "cut" in node else []
        words += ["loop"] if "loop" in node else []
        lines.append(" ".join(words))
        waiting += [(child, level + 1) for child in reversed(node.get("children", []))]
    return lines


def policy(answer: Answer) -> str:
    held = {True: "holds", False: "does not hold"}.get(answer["holds"], "unknown")
    values = [f"{name}={json.dumps(value)}" for name, value in answer.get("values", {}).items()]
    return ", ".join([held, *values, *(f"no {name}" for name in answer.get("missing", []))])


def changes(suggestion: Answer) -> str:
    context = suggestion["context"]
    example = context.get("example", {})
    assert [*example] == [*context["missing"], *context.get("different", [])]
    effects = suggestion["effects"]
    assert effects["complete"]
    words = [f"others gain {effects['gained']}"] if effects["gained"] else []
    words += [f"others lose {effects['lost']}"] if effects["lost"] else []
    done = " + ".join(
        [
            *(f"delete {written(one)}" for one in suggestion["delete"]),
            *(f"create {written(one)}" for one in suggestion["create"]),
            *([f"send {json.dumps(example)}"] if example else []),
        ]
    )
    return "; ".join([done, *words])


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_an_explanation_by_the_engine(scenario: Scenario) -> None:
    now = time.time_ns() // 1_000
    warrants = scenario.final_warrants(created_at=now)
    model = model_of(
        scenario.final_types(), scenario.written_warrants(), scenario.then.allow, scenario.named_policies()
    )

    for question in scenario.explain:
        explanation, _ = explained(model, warrants, asked(question), now)
        explanation = completed(explanation, model, warrants, asked(question), now)
        answer = msgspec.to_builtins(render_explained(ExplainedCheck(explanation, question.unknown)))
        assert summary(answer, question) == question


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
async def test_an_explanation_over_a_store_writes_nothing(
    scenario: Scenario, counted: tuple[Context, CountingDatabase]
) -> None:
    ctx, database = counted
    await begin(ctx, database, scenario)
    revision = await ctx.store.check()

    for question in scenario.explain:
        found = await explain_check(ctx, asked(question), NO_DEMAND, is_strict=False)
        assert summary(msgspec.to_builtins(render_explained(found.value)), question) == question
        assert found.revision == revision == await ctx.store.check()


@POSTGRES_NIGHTLY
@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_an_explanation_over_http_and_on_the_command_line(scenario: Scenario, store_client: Client) -> None:
    carry_out_over_http(store_client, scenario)

    for question in scenario.explain:
        over_http = store_client.post("/v2/explain", json=question.body())
        assert summary(over_http.json(), question) == question
        context = ("--context", json.dumps(question.context))
        environment = {"MAGISTRATE_SERVER": str(store_client.base_url), "MAGISTRATE_API_KEY": KEY}
        ran = CommandRunner().invoke(
            main, ["explain", "--no-strict", question.ask, *context, "--json"], env=environment
        )
        assert ran.exit_code == (0 if question.answer else 1)
        assert summary(json.loads(ran.stdout), question) == question
        in_words = CommandRunner().invoke(main, ["explain", "--no-strict", question.ask, *context], env=environment)
        assert in_words.stdout.splitlines()[0] == ("allowed" if question.answer else "denied")
        assert len(in_words.stdout.splitlines()) > len(question.because or ())
