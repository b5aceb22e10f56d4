"""Reads worked examples from magistrate/examples: each is a model as text and a file with its tests, whose warrants and
checks `serve --example` loads and prints (docs/cli.md#worked-examples)."""

import asyncio
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from magistrate.engine.explanation.explanation import WORK_FOR_SUGGESTIONS
from magistrate.engine.testing.suite_run import AssertionOutcome
from magistrate.engine.testing.suites import CheckAssertion, read_suite
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


def complete_outcome_now(outcome: AssertionOutcome) -> AssertionOutcome:
    """Returns the outcome with all that would allow its check, and the effects of that. It runs an event loop of its
    own."""

    async def complete() -> AssertionOutcome:
        return await complete_outcome(outcome, limit_work(WORK_FOR_SUGGESTIONS + WORK_FOR_EFFECTS))

    return asyncio.run(complete())
