"""What the holder of a key may do, for every route of the table and every scope."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from magistrate.api import openapi
from magistrate.api.authzen.routes import WELL_KNOWN
from magistrate.api.endpoints.public import PAGES
from magistrate.api.route import Route
from magistrate.api.route_table import FORWARD_ROUTE, ROUTES
from magistrate.operations.keys.callers import Scope
from tests.issuing import issue_key
from tests.running import Client
from tests.scenario_files import warrant_body

METADATA = (WELL_KNOWN, f"{WELL_KNOWN}/{{base:path}}")
PAGE_SCOPES = {page.path: page.scope for page in PAGES}
SCOPED = [
    *((route.method, route.path, route.scope) for route in ROUTES),
    *(("GET", path, scope) for path, scope in PAGE_SCOPES.items() if scope is not None),
]


@pytest.fixture(scope="module")
def scoped(shared_client: Client) -> Iterator[dict[Scope, Client]]:
    """A client with a key for each scope, which has no other."""
    with ExitStack() as stack:
        keys = {scope: issue_key(shared_client, f"only-{scope}", scope) for scope in Scope}
        yield {scope: stack.enter_context(Client(str(shared_client.base_url), key)) for scope, key in keys.items()}


@pytest.mark.parametrize("scope", Scope)
def test_a_key_may_use_the_routes_of_its_scope_and_no_others(scoped: dict[Scope, Client], scope: Scope) -> None:
    for method, path, needed in SCOPED:
        answer = scoped[scope].request(method, re.sub(r"\{\w+\}", "x", path), content=b"")

        place = f"{method} {path}"
        assert answer.status_code != 401, place
        if scope in (needed, Scope.ADMIN):
            assert answer.status_code != 403, f"{place}: {answer.text}"
        else:
            message = f"this request needs the scope {needed}, which only-{scope} does not have"
            assert (answer.status_code, answer.json()) == (403, {"code": "forbidden", "message": message}), place


def test_every_route_has_one_of_the_scopes_and_only_pages_that_tell_nothing_have_none() -> None:
    assert {FORWARD_ROUTE.scope, *(scope for _, _, scope in SCOPED)} == {*Scope}
    assert {path for path, scope in PAGE_SCOPES.items() if scope is None} == {
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs",
        *METADATA,
    }


def test_reads_never_need_the_scopes_of_writes() -> None:
    """Checked against what is known of a route in other ways."""
    writing = {Scope.WRITE, Scope.MODEL, Scope.KEYS}
    for route in ROUTES:
        assert (route.scope in writing) == route.writes or route.path.startswith(
            ("/v2/keys", "/v2/stores", "/v2/webhooks", "/v2/restore")
        ), route.path
        is_about_model = any(
            part in route.path for part in ("/object-types", "/resource-types", "/policies", "/schema", "/v2/model")
        )
        assert (route.scope is Scope.MODEL) == (is_about_model and route.writes), route.path


def test_a_route_without_a_scope_cannot_be_defined() -> None:
    given = {"method": "GET", "path": "/v2/x", "handler": ROUTES[0].handler, "summary": "x"}

    with pytest.raises(TypeError, match="scope"):
        Route(**given, list_types=ROUTES[0].list_types)  # type: ignore[arg-type]  # a mistake
    with pytest.raises(TypeError, match="list_types"):
        Route(**given, scope=Scope.READ)  # type: ignore[arg-type]  # a mistake


def test_the_document_tells_the_scope_of_every_route() -> None:
    paths = openapi.document()["paths"]

    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert operation["description"] == f"Needs the scope `{route.scope}`."
        assert operation["security"] == [{"ApiKey": [route.scope]}, {"Bearer": [route.scope]}]
        assert "403" in operation["responses"]


def test_the_scope_is_looked_at_before_the_body(scoped: dict[Scope, Client]) -> None:
    assert scoped[Scope.CHECK].post("/v2/objects", content=b"{no json").status_code == 403
    assert scoped[Scope.WRITE].post("/v2/objects", content=b"{no json").status_code == 400


def test_a_key_without_the_scope_of_checks_gets_no_answer_however_warm_the_check_is(
    shared_client: Client, scoped: dict[Scope, Client]
) -> None:
    shared_client.define({"folder": {"viewer": {}}})
    shared_client.grant("folder:a#viewer@user:ann")
    body = {"warrants": [warrant_body("folder:a#viewer@user:ann")]}
    for _ in range(2):
        assert shared_client.post("/v2/check", json=body).json()["result"] == "Authorized"
        assert scoped[Scope.CHECK].post("/v2/check", json=body).json()["result"] == "Authorized"

    for path in ("/v2/check", "/v2/authorize"):
        assert scoped[Scope.QUERY].post(path, json=body).status_code == 403
