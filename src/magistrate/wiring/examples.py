"""Reads worked examples from magistrate/examples: each is a model as text and a file with its tests, whose warrants and
checks `serve --example` loads and prints (docs/cli.md#worked-examples)."""

import asyncio
from importlib.resources import files
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.api.endpoints.explain import render_explained
from magistrate.engine.explanation.explanation import WORK_FOR_SUGGESTIONS
from magistrate.engine.testing.suite_run import AssertionOutcome
from magistrate.engine.testing.suites import CheckAssertion, read_suite
from magistrate.operations.checks.explain import ExplainedCheck
from magistrate.operations.checks.suggestions import WORK_FOR_EFFECTS
from magistrate.operations.models.examples import Example, ExampleObject, Try
from magistrate.operations.models.tests import complete_outcome
from magistrate.operations.scheduling import limit_work

TESTS = "model.test.yaml"
OBJECTS = "objects.json"
"""Names the file with the objects that have meta, if there are any."""


def read_example(name: str) -> Example:
    """Returns the example of this name, which must exist."""
    from magistrate.engine.testing.yaml_documents import read_yaml  # only for examples: imports PyYAML

    folder = files("magistrate").joinpath("examples", name)
    value = read_yaml(folder.joinpath(TESTS).read_text(), TESTS)
    suite = read_suite(value, lambda file: folder.joinpath(file).read_text(), now=0)
    tries = [
        Try(
            replace(assertion.check, context={}).render(), assertion.is_allowed, assertion.name, assertion.check.context
        )
        for assertion in suite.assertions
        if isinstance(assertion, CheckAssertion)
    ]
    objects = folder.joinpath(OBJECTS)
    bodies = msgspec.json.decode(objects.read_bytes(), type=list[ExampleObject]) if objects.is_file() else []
    return Example(value["name"], suite.types, suite.policies, suite.warrants, tries=tries, objects=bodies)


def explain_outcome(outcome: AssertionOutcome) -> dict[str, Any]:
    """Returns the explanation of an outcome, which must have one, as /v2/explain answers it. That of a denied check has
    all that would allow it, and the effects of that. It runs an event loop of its own."""

    async def complete() -> AssertionOutcome:
        return await complete_outcome(outcome, limit_work(WORK_FOR_SUGGESTIONS + WORK_FOR_EFFECTS))

    explanation = outcome.explanation
    if explanation is not None and not explanation.is_allowed:
        explanation = asyncio.run(complete()).explanation
    assert explanation is not None
    rendered: dict[str, Any] = msgspec.to_builtins(render_explained(ExplainedCheck(explanation, ())))
    return rendered
