"""The OpenAPI document: complete, true to the routes, and true to what the service answers."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from magistrate.api import openapi
from magistrate.api.openapi import REQUEST_EXAMPLES
from magistrate.api.route_table import ROUTES
from tests.browser.console_places import load_example
from tests.conftest import STORES, new_database_url
from tests.running import KEY, Client, running_service, settings_for

DOCUMENT = openapi.document()
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA_WITHOUT_BOUNDS = schemathesis.openapi.from_dict(DOCUMENT)
"""Generates no request for each bound of each parameter."""
SCHEMA_WITHOUT_BOUNDS.config.phases.coverage.enabled = False
for each_schema in (SCHEMA, SCHEMA_WITHOUT_BOUNDS):
    each_schema.config.max_stream_events = 1  # the first always comes at once

QUICK = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def test_the_document_is_served_and_has_every_route(shared_client: Client) -> None:
    served = shared_client.get("/openapi.json").json()

    operations = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert served == DOCUMENT
    assert served["openapi"].startswith("3.1")
    assert operations == {(route.method, route.path) for route in ROUTES}


def test_every_reference_leads_somewhere_and_operation_ids_are_unique() -> None:
    names = re.findall(r"'#/components/schemas/([^']+)'", str(DOCUMENT))
    ids = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]

    assert set(names) <= set(DOCUMENT["components"]["schemas"])
    assert len(ids) == len(set(ids)) == len(ROUTES)


def test_every_request_is_in_a_group() -> None:
    groups = [tag["name"] for tag in DOCUMENT["tags"]]
    used = {tag for methods in DOCUMENT["paths"].values() for each in methods.values() for tag in each["tags"]}

    assert used == {*groups}
    assert all(len(each["tags"]) == 1 for methods in DOCUMENT["paths"].values() for each in methods.values())


def test_a_past_that_is_not_kept_is_a_documented_answer_of_each_request_that_can_name_it(shared_client: Client) -> None:
    past = "2020-01-01T00:00:00Z"
    requests_of_past = {"/v2/difference": {"from": past}, "/v2/objects": {"asOf": past}, "/v2/policies": {"asOf": past}}

    for path, parameters in requests_of_past.items():
        assert shared_client.get(path, params=parameters).status_code == 410
        assert "410" in DOCUMENT["paths"][path]["get"]["responses"], path


def test_examples_are_those_of_requests_that_work(client: Client) -> None:
    load_example(client)
    operations = [(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods]

    for (method, path), example in REQUEST_EXAMPLES.items():
        inside = {name for name in example.parameters if f"{{{name}}}" in path}
        query = {name: value for name, value in example.parameters.items() if name not in inside}
        answer = client.request(method, path.format(**example.parameters), params=query, json=example.body)
        described = DOCUMENT["paths"][path][method.lower()]
        assert answer.status_code == 200, (method, path, answer.text)
        assert {one["name"] for one in described["parameters"] if "example" in one} == {*example.parameters}
        if example.body is not None:
            assert described["requestBody"]["content"]["application/json"]["example"] == example.body
    assert {*REQUEST_EXAMPLES} <= {*operations}


def operations_under(*prefixes: str) -> pytest.MarkDecorator:
    """Runs a test for each operation whose path begins so, as a pair of method and path."""
    parameters = [
        pytest.param((method.upper(), path), id=f"{method.upper()} {path}")
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
        if path.startswith(prefixes)
    ]
    return pytest.mark.parametrize("operation", parameters)


@pytest.fixture(scope="module")
def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, requests.Session]]:
    """A service on each store by its URL, and the connections to it."""
    with ExitStack() as stack:
        sessions = {}
        for store in STORES:
            url = new_database_url(store, tmp_path_factory.mktemp(store), request)
            service = stack.enter_context(running_service(settings_for(url)))
            sessions[service] = stack.enter_context(requests.Session())
            sessions[service].trust_env = False
        yield sessions


def validate_answers(
    operation: tuple[str, str],
    limits: settings,
    services: dict[str, requests.Session],
    schema: Any = SCHEMA,
) -> None:
    """Sends the generated requests: valid ones to each service, invalid ones to the services in turn.

    The requests are generated here and not by `schema.parametrize()`, which generates all 16,000 of them in each
    process that collects the tests.
    """

    turns = cycle(services)

    def validate(case: Any) -> None:
        for url in [next(turns)] if case.meta.generation.mode.is_negative else services:
            case.call_and_validate(url, services[url], {"Authorization": f"ApiKey {KEY}"}, CHECKS)

    method, path = operation
    included = schema.include(method=method, path=path)
    [generated] = get_all_tests(schema=included, test_func=validate, settings=limits, given_kwargs=None)
    assert isinstance(generated, Ok)
    _, send_all = generated.ok()
    send_all()


@operations_under("/v2/", "/access/", "/v1/", "/fga/v1/")
def test_no_request_gets_a_server_error_or_an_undocumented_answer(
    operation: tuple[str, str], services: dict[str, requests.Session]
) -> None:
    validate_answers(operation, QUICK, services, SCHEMA_WITHOUT_BOUNDS)


@pytest.mark.nightly
@operations_under("/v1/")
def test_no_request_of_v1_at_a_bound_does_either(
    operation: tuple[str, str], services: dict[str, requests.Session]
) -> None:
    """Half of them are those of v2 by another name, the others few handlers by many names."""
    validate_answers(operation, QUICK, services)


@pytest.mark.nightly
@operations_under("/v2/", "/access/", "/fga/v1/")
def test_nor_do_many_requests(operation: tuple[str, str], services: dict[str, requests.Session]) -> None:
    validate_answers(operation, settings(QUICK, max_examples=30), services)
