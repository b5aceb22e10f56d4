"""Every place of a request in which a consistency token can stand."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import httpx

from magistrate.api.http.consistency_tokens import TOKEN_HEADERS
from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from tests.running import Client
from tests.scenario_files import warrant_body

LOST = {
    "code": "revision_lost",
    "message": "the write of this token is not in the store: it was restored, or failed over without it",
}

READS = [route for route in ROUTES if not route.writes]
CLAIM = warrant_body("document:plan#viewer@user:ann")
PROPOSED = [warrant_body(f"document:plan#viewer@user:new-{number}") for number in range(3)]
ENTITIES = {"subject": {"type": "user", "id": "ann"}, "resource": {"type": "document", "id": "plan"}}
ACTION = {"action": {"name": "viewer"}}

FGA_CLAIM = {
    "resource_type": "document",
    "resource_id": "plan",
    "relation": "viewer",
    "subject": {"resource_type": "user", "resource_id": "ann"},
}

SUBJECTS = "select viewer of type user for document:plan"

PARAMETERS = {
    "/v2/query": {"q": SUBJECTS},
    "/v1/query": {"q": SUBJECTS},
    "/fga/v1/query": {"q": SUBJECTS},
}

BODIES: dict[str, Any] = {
    "/v2/model/plan": [],
    "/v2/model/validate": [],
    "/v2/model/convert": [],
    "/v2/model/test": {"content": "tests: []"},
    "/v2/check": {"warrants": [CLAIM]},
    "/v2/authorize": {"warrants": [CLAIM]},
    "/v2/explain": CLAIM,
    "/v2/query": {"q": SUBJECTS},
    "/v2/difference": {"proposal": {"create": PROPOSED}, "limit": 1},
    "/v2/sessions": {"type": "sess", "userId": "ann"},
    "/v1/sessions": {"type": "sess", "userId": "ann"},
    "/v2/watch/tickets": {},
    "/access/v1/evaluation": ENTITIES | ACTION,
    "/access/v1/evaluations": {"evaluations": [ENTITIES | ACTION]},
    "/access/v1/search/subject": {**ENTITIES, **ACTION, "subject": {"type": "user"}},
    "/access/v1/search/resource": {**ENTITIES, **ACTION, "resource": {"type": "document"}},
    "/access/v1/search/action": ENTITIES,
    "/fga/v1/check": {"checks": [FGA_CLAIM]},
    "/fga/v1/schema/convert": {"schema": ""},
}

AS_OF_BODIES = ["/v2/check", "/v2/authorize", "/v2/explain", "/v2/query"]

FIRST_TOKENS: dict[str, str] = {}
"""The token of the first write of each service, by its URL."""

Send = Callable[[Client, str], httpx.Response]
"""Sends a request that names the write of a token."""


def request(client: Client, route: Route, parameters: Any = (), headers: Any = (), **members: Any) -> httpx.Response:
    """The answer to a request of the route that is well-formed."""
    path = re.sub(r"{\w+}", "x", route.path)
    if (route.method, path) == ("GET", "/v2/difference"):
        parameters = {"from": FIRST_TOKENS[str(client.base_url)], **dict(parameters)}
    given = {**PARAMETERS.get(route.path, {}), **dict(parameters)} if route.method == "GET" else dict(parameters)
    if route.method == "GET":
        return client.get(path, params=given, headers=dict(headers))
    body = BODIES[route.path] | members if members else BODIES[route.path]
    return client.post(path, params=given, json=body, headers=dict(headers))


def send_header(route: Route, header: str, client: Client, text: str) -> httpx.Response:
    return request(client, route, headers={header: text})


def send_parameter(route: Route, parameter: str, client: Client, text: str) -> httpx.Response:
    return request(client, route, {parameter: text})


def send_member(route: Route, client: Client, text: str) -> httpx.Response:
    return request(client, route, asOf=text)


def put_model(given: dict[str, dict[str, str]], client: Client, text: str) -> httpx.Response:
    filled = {name: {key: form.format(text) for key, form in forms.items()} for name, forms in given.items()}
    return client.put("/v2/model", json=[], params=filled.get("params"), headers=filled.get("headers"))


def require(others: Sequence[Any], client: Client, text: str) -> httpx.Response:
    return write(client, *others, {"revision": text})


def list_places() -> Iterator[tuple[str, Send]]:
    for route in READS:
        name = f"{route.method} {route.path}"
        for header in TOKEN_HEADERS:
            yield f"{name} {header}", partial(send_header, route, header)
        named = {one.name for one in route.parameters} & {"asOf", "from", "to"}
        for parameter in sorted(named) + ["after"] * route.path.endswith("-events"):
            yield f"{name} {parameter}", partial(send_parameter, route, parameter)
        if route.method == "POST" and route.path in AS_OF_BODIES:
            yield f"{name} asOf", partial(send_member, route)
    for form in ("{}", '"{}"', 'W/"{}"'):
        yield f"If-Match {form}", partial(put_model, {"headers": {"If-Match": form}})
    yield "expectedRevision", partial(put_model, {"params": {"expectedRevision": "{}"}})
    unmet = {"absent": {"objectType": "document", "objectId": "plan"}}
    yield "revision", partial(require, [])
    yield "revision behind another precondition", partial(require, [unmet])


def write(client: Client, *preconditions: Any) -> httpx.Response:
    created = {"objects": [{"objectType": "document", "objectId": "new"}]}
    return client.post("/v2/writes", json={"preconditions": preconditions, "create": created})


PLACES = dict(list_places())
