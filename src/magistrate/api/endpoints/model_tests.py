"""Defines the body and the handler of /v2/model/test, which runs a test file (docs/model-testing.md#over-http)."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.explain import ExplainAnswer, render_explained
from magistrate.api.endpoints.models import COST, render_stored_model
from magistrate.api.http.json_values import render_json
from magistrate.api.http.request_values import WrittenBody
from magistrate.engine.names import Revision
from magistrate.engine.testing.suite_run import AssertionOutcome
from magistrate.engine.testing.suites import GivenModel, read_suite
from magistrate.engine.testing.yaml_documents import read_yaml
from magistrate.engine.text.json_documents import ModelBody
from magistrate.errors import InvalidRequest
from magistrate.operations.checks.explain import ExplainedCheck
from magistrate.operations.models.tests import MAX_ASSERTIONS, MAX_TEST_WARRANTS, run_model_tests
from magistrate.operations.models.whole_models import read_whole_model
from magistrate.operations.scheduling import checkpoint, is_time_up, offload

MAX_TEST_CHARACTERS = 262_144
"""Limits the text of a test file in a request (256 Ki)."""
MAX_TEST_VALUES = 20_000
"""Limits the values in a test file. All are freed at once, in some milliseconds in which no other thread runs."""
COST_OF_YAML = 16
"""Sets how many times as long YAML takes as reading as many bytes of definitions."""
NAME_OF_STORED = "the model of the service"

_MODELS = ("model", "model_file")


class TestSetup(msgspec.Struct):
    """Represents the warrants that all tests of a file begin with."""

    warrants: list[str | dict[str, Any]] = []


class ModelTestBody(msgspec.Struct):
    """Represents a test file. Without `model` it is the stored model that is tested; `now` is the time of the request
    unless it is given."""

    model: Annotated[str | ModelBody | None, msgspec.Meta(description="the model, as text or JSON")] = None
    now: Annotated[str | None, msgspec.Meta(extra_json_schema={"format": "date-time"})] = None
    setup: Annotated[TestSetup | None, msgspec.Meta(description=f"{MAX_TEST_WARRANTS:,} warrants at most")] = None
    tests: Annotated[list[dict[str, Any]], msgspec.Meta(description=f"{MAX_ASSERTIONS:,} at most")] = []


class ModelTestResult(msgspec.Struct, omit_defaults=True):
    """Represents what a test came to. One that did not pass has a `failure`, which says what is the case instead, and
    an `explanation`, if there is a check to explain."""

    name: str
    passed: bool
    failure: str = ""
    explanation: ExplainAnswer | None = None


class ModelTestAnswer(msgspec.Struct):
    """Represents the results of all tests, in the order of the file. A test with `checks` has a result for each."""

    passed: int
    failed: int
    results: list[ModelTestResult]


async def run(call: Call[WrittenBody]) -> Answer[ModelTestAnswer]:
    """Answers with the result of each test; nothing is written, and no stored warrant is read."""
    value = await _read_value(call.body)
    model, revision = await _read_given_model(call, value)
    read = partial(read_suite, value, _refuse_file, call.context.now(), given_model=model)
    size = len(call.body.text) + (0 if model is None else len(model.text))
    outcomes = await run_model_tests(call.context, read, size * COST)
    failed = sum(bool(outcome.failure) for outcome in outcomes)
    results = []
    for outcome in outcomes:
        results.append(_render_outcome(outcome))
        if is_time_up():
            await checkpoint()
    return Answer(ModelTestAnswer(len(outcomes) - failed, failed, results), revision)


async def _read_value(body: WrittenBody) -> object:
    """Returns the value of a file in YAML or JSON. Raises InvalidRequest with the place of the fault."""
    if len(body.text) > MAX_TEST_CHARACTERS:
        raise InvalidRequest(
            f"the file has more than {MAX_TEST_CHARACTERS} characters; `magistrate model test` runs larger ones"
        )
    if body.fault is not None:
        raise body.fault
    if body.is_json:
        return body.value
    read = partial(read_yaml, body.text, "the file", MAX_TEST_VALUES)
    value: object = await offload(read, len(body.text) * COST_OF_YAML)
    return value


async def _read_given_model(call: Call[WrittenBody], value: object) -> tuple[GivenModel | None, Revision]:
    """Returns the stored model if the file has none, and the revision of the answer."""
    if not isinstance(value, Mapping) or any(name in value for name in _MODELS):
        return None, await call.context.store.check()
    stored = await read_whole_model(call.context, call.freshness)
    rendered = await render_stored_model(stored.value, is_text=False)
    return GivenModel(NAME_OF_STORED, render_json(rendered).decode()), stored.revision


def _refuse_file(name: str) -> str:
    raise InvalidRequest(
        "the service reads no files: write the model into the test file as `model`, or leave out `model_file` to test "
        "the stored model"
    )


def _render_outcome(outcome: AssertionOutcome) -> ModelTestResult:
    explained = None if outcome.explanation is None else render_explained(ExplainedCheck(outcome.explanation, ()))
    return ModelTestResult(outcome.assertion.name, not outcome.failure, outcome.failure, explained)
