"""The OpenAPI document: complete, true to the routes, and true to what the service answers."""

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from magistrate.api import openapi
from magistrate.api.examples import EXAMPLES
from magistrate.api.routes import ROUTES
from tests.browser.console_places import load_example
from tests.conftest import STORES
from tests.running import Client

DOCUMENT = openapi.document()
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

schema = schemathesis.openapi.from_dict(DOCUMENT)
v2, v1, fga_v1 = (schema.include(path_regex=f"^/{names}/") for names in ("(v2|access)", "v1", "fga/v1"))

QUICK = settings(
    max_examples=12,
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


def test_examples_are_those_of_requests_that_work(client: Client) -> None:
    load_example(client)
    operations = [(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods]

    for (method, path), example in EXAMPLES.items():
        inside = {name for name in example.parameters if f"{{{name}}}" in path}
        query = {name: value for name, value in example.parameters.items() if name not in inside}
        answer = client.request(method, path.format(**example.parameters), params=query, json=example.body)
        described = DOCUMENT["paths"][path][method.lower()]
        assert answer.status_code == 200, (method, path, answer.text)
        assert {one["name"] for one in described["parameters"] if "example" in one} == {*example.parameters}
        if example.body is not None:
            assert described["requestBody"]["content"]["application/json"]["example"] == example.body
    assert {*EXAMPLES} <= {*operations}


def validate(case: Any, client: Client) -> None:
    headers = {"Authorization": client.headers["authorization"]}
    case.call_and_validate(base_url=str(client.base_url), headers=headers, checks=CHECKS)


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
@v2.parametrize()
@QUICK
def test_no_request_gets_a_server_error_or_an_undocumented_answer(case: Any, shared_client: Client) -> None:
    validate(case, shared_client)


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
@v1.parametrize()
@settings(QUICK, max_examples=3)
def test_no_request_of_v1_does_either(case: Any, shared_client: Client) -> None:
    """Half of them are those of v2 by another name, the others few handlers by many names."""
    validate(case, shared_client)


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
@fga_v1.parametrize()
@settings(QUICK, max_examples=5)
def test_no_request_of_fga_v1_does_either(case: Any, shared_client: Client) -> None:
    validate(case, shared_client)
