"""Misspelled members and parameters of ours are refused, in strict mode all unknown ones; others are ignored."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.api.http.unknown_members import (
    KNOWN_TO_CLIENTS,
    WARRANT_MEMBERS,
    WARRANT_PARAMETERS,
    find_misspelled,
    list_ours,
    list_structs,
)
from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from tests.conftest import STORES, new_database_url
from tests.running import Client, running_service, settings_for

ANN = {"objectType": "user", "objectId": "ann"}
CHECK: dict[str, Any] = {"objectType": "page", "objectId": "a", "relation": "viewer", "subject": ANN}
VALID: dict[str, Any] = {
    "CheckBody": {"warrants": [CHECK]},
    "ExplainBody": CHECK,
    "QueryBody": {"q": "select page where user:ann is viewer"},
    "WarrantBody": CHECK,
    "ObjectTypeBody": {"type": "page", "relations": {"viewer": {}}},
    "NamedPolicyBody": {"name": "p", "expression": "1 == 1"},
}
OF_OURS = [
    pytest.param(route, ours, id=f"{route.method} {route.path} {ours}")
    for route in ROUTES
    if route.body is not None and list_structs(route.body)[0].__name__ in VALID
    for ours in list_ours(list_structs(route.body)[0])
]
WITH_STRICT = [route for route in ROUTES if route.takes_strict]


@pytest.fixture(scope="module")
def defined(shared_client: Client) -> Client:
    shared_client.define({"user": {}, "page": {"viewer": {}}})
    shared_client.grant("page:a#viewer@user:ann")
    return shared_client


def concrete(route: Route) -> str:
    return route.path.replace("{type}", "page").replace("{name}", "p")


def misspellings(name: str) -> Iterator[str]:
    """Each kind of them, but for what is a name that is known."""
    words = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)
    yield from (name.upper(), words, words.replace("_", "-"), f"{name}x", name[:-1], f"{name[:-1]}\u00e9")
    if len(name) > 1:
        yield f"{name[:-2]}{name[-1]}{name[-2]}"
    yield from (f"_{name}", f"{name[0]}{name}", words.upper())


def refused(client: Client, method: str, path: str, body: Any) -> tuple[int, Any]:
    answer = client.request(method, path, content=json.dumps(body))
    return answer.status_code, answer.json()


@pytest.mark.parametrize(("route", "ours"), OF_OURS)
def test_a_misspelled_member_of_ours_is_refused(defined: Client, route: Route, ours: str) -> None:
    structs = list_structs(route.body)
    known = {field.encode_name for field in msgspec.structs.fields(structs[0])} | KNOWN_TO_CLIENTS
    valid = VALID[structs[0].__name__]
    is_batch = isinstance(route.body, type) is False and route.path == "/v2/object-types" and route.method == "PUT"
    is_batch = is_batch or (route.method == "PUT" and route.path in ("/v2/policies", "/v1/object-types"))

    for wrong in misspellings(ours):
        if wrong in known or find_misspelled(wrong, list_ours(structs[0])) != ours:
            continue
        body = {**valid, wrong: None}
        status, error = refused(defined, route.method, concrete(route), [body] if is_batch else body)

        assert status == 400, wrong
        assert error == {
            "code": "invalid_parameter",
            "message": f"is not a member of this request; did you mean {ours}?",
            "parameter": f"[0].{wrong}" if is_batch else wrong,
        }


@pytest.mark.parametrize("wrong", ["asof", "as_of", "AsOf", "contextual", "contextual_warrants", "strictt", "stritc"])
def test_the_fast_path_refuses_what_the_ordinary_one_does(defined: Client, wrong: str) -> None:
    for _ in range(3):
        assert defined.post("/v2/check", json={"warrants": [CHECK]}).status_code == 200
    for body in ({"warrants": [CHECK], wrong: True}, {wrong: True, "warrants": [CHECK]}):
        for _ in range(3):
            status, error = refused(defined, "POST", "/v2/check", body)
            assert (status, error["parameter"]) == (400, wrong)
    added = {"warrants": [CHECK], wrong: [], "contextualWarrants": [CHECK]}
    assert refused(defined, "POST", "/v2/check", added)[0] == 400


def test_members_of_contextual_warrants_are_looked_at(defined: Client) -> None:
    for of_time in ("expires_at", "expiresat", "startAt", "Starts-At"):
        added = CHECK | {of_time: "2020-01-01T00:00:00Z"}
        path = f"contextualWarrants.{of_time}"
        bodies = {
            "/v2/check": {"warrants": [CHECK], "contextualWarrants": [added]},
            "/v2/explain": CHECK | {"contextualWarrants": [added]},
            "/v2/query": VALID["QueryBody"] | {"contextualWarrants": [added]},
        }
        for door, body in bodies.items():
            assert refused(defined, "POST", door, body)[1]["parameter"] == path
        parameters = {**VALID["QueryBody"], "contextualWarrants": json.dumps([added])}
        asked = defined.get("/v2/query", params=parameters)
        assert "did you mean" in asked.json()["message"]


@pytest.mark.parametrize("body", [{"x": 1}, {"x": {"asof": 1}}, {"createdAt": "2020", "warrantToken": "x"}, {"as": 1}])
def test_any_other_member_is_ignored(defined: Client, body: dict[str, Any]) -> None:
    for door, valid in {"/v2/check": VALID["CheckBody"], "/v2/explain": CHECK, "/v2/warrants": CHECK}.items():
        assert defined.post(door, json=valid | body).status_code == 200
    row = defined.get("/v2/warrants", params={"objectId": "a"}).json()["results"][0]
    assert defined.post("/v2/check", json={"warrants": [row]}).json()["result"] == "Authorized"
    assert defined.post("/v2/warrants", json=row).status_code == 200
    context = {"context": {"asof": 1, "strictt": True}}
    assert defined.post("/v2/check", json={"warrants": [CHECK | context], **context}).status_code == 200
    meta = {"objectType": "page", "objectId": "a", "meta": {"asof": 1}}
    assert defined.post("/v2/objects", json=meta).status_code == 200


def test_no_member_that_clients_send_is_taken_for_ours() -> None:
    sent = {*KNOWN_TO_CLIENTS, *(name for names in WARRANT_MEMBERS.values() for name in names)}
    for route in ROUTES:
        for struct in list_structs(route.body) if route.body is not None else ():
            assert not [name for name in sent if find_misspelled(name, list_ours(struct))]
    for route in ROUTES:
        known = {parameter.name for parameter in route.parameters} if not route.path.startswith("/fga/") else set()
        assert not [name for name in WARRANT_PARAMETERS if find_misspelled(name, known - WARRANT_PARAMETERS)]


@pytest.mark.parametrize("route", WITH_STRICT, ids=lambda route: route.path)
def test_a_strict_request_has_known_members_only(defined: Client, route: Route) -> None:
    valid = VALID[list_structs(route.body)[0].__name__]
    unknowns: list[dict[str, Any]] = [{"x": 1}, {"createdAt": "2020"}, {"zzzzz": [{}]}]
    for unknown in unknowns:
        [name] = unknown
        assert refused(defined, "POST", route.path, valid | unknown)[0] == 200
        assert refused(defined, "POST", route.path, valid | unknown | {"strict": False})[0] == 200
        status, error = refused(defined, "POST", route.path, valid | unknown | {"strict": True})
        assert (status, error["code"], error["parameter"]) == (400, "invalid_parameter", name)
    status, error = refused(defined, "POST", f"{route.path}?strict=true", valid | {"x": 1})
    assert (status, error["parameter"]) == (400, "x")


def test_a_strict_check_looks_at_all_levels(defined: Client) -> None:
    inner = CHECK | {"subject": ANN | {"x": 1}}
    for body, parameter in (
        ({"warrants": [CHECK, inner], "op": "batch", "strict": True}, "warrants.subject.x"),
        ({"strict": True, "warrants": [CHECK], "contextualWarrants": [CHECK | {"x": 1}]}, "contextualWarrants.x"),
        ({"warrants": [CHECK | {"strict": True}], "strict": True}, "warrants.strict"),
    ):
        for _ in range(3):
            assert refused(defined, "POST", "/v2/check", body)[1]["parameter"] == parameter


@pytest.fixture(scope="module", params=STORES)
def strict(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("strict"), request)
    with running_service(settings_for(url, strict="true")) as service, Client(service) as client:
        client.define({"user": {}, "page": {"viewer": {}}})
        client.grant("page:a#viewer@user:ann")
        yield client


def test_the_setting_makes_all_reads_strict(strict: Client) -> None:
    for _ in range(3):
        assert refused(strict, "POST", "/v2/check", {"warrants": [CHECK]})[0] == 200
        for body in (
            {"warrants": [CHECK], "x": 1},
            {"warrants": [CHECK | {"x": 1}]},
            {"warrants": [CHECK], "contextualWarrants": [CHECK | {"x": 1}]},
        ):
            assert refused(strict, "POST", "/v2/check", body)[0] == 400
            assert refused(strict, "POST", "/v2/check", body | {"strict": False})[0] == 200
    assert strict.post("/v2/warrants", json=CHECK | {"createdAt": "2020"}).status_code == 200


UNDEFINED = {"code": "invalid_parameter", "message": "object type pag is not defined; did you mean page?"}


def test_an_unknown_type_is_an_invalid_parameter_of_a_strict_request(defined: Client) -> None:
    of_check = {"warrants": [CHECK | {"objectType": "pag"}]}
    token = defined.get("/v2/objects").headers["service-token"]
    for members in ({}, {"asOf": token}, {"op": "allOf"}, {"debug": True}, {"contextualWarrants": [CHECK]}):
        assert refused(defined, "POST", "/v2/check", of_check | members)[0] == 404
        strict = refused(defined, "POST", "/v2/check", of_check | members | {"strict": True})
        assert strict == (400, UNDEFINED | {"parameter": "objectType"})
    explained = refused(defined, "POST", "/v2/explain", CHECK | {"objectType": "pag", "strict": True})
    assert explained == (400, UNDEFINED | {"parameter": "objectType"})
    for q in ("select pag where user:ann is viewer", "select viewer of type user for pag:a"):
        for members in ({}, {"asOf": token}):
            listed = defined.get("/v2/query", params={"q": q, "strict": "true", **members})
            assert (listed.status_code, listed.json()) == (400, UNDEFINED | {"parameter": "q"})
            assert defined.get("/v2/query", params={"q": q, **members}).status_code == 404
            posted = refused(defined, "POST", "/v2/query", {"q": q, "strict": True, **members})
            assert posted == (400, UNDEFINED | {"parameter": "q"})
    for path in ("/v2/objects?objectType=pag", "/v2/warrants?objectType=pag"):
        listed = defined.get(f"{path}&strict=true")
        assert (listed.status_code, listed.json()["message"]) == (400, UNDEFINED["message"])


WITH_PARAMETERS = [
    pytest.param(route, parameter.name, id=f"{route.method} {route.path} {parameter.name}")
    for route in ROUTES
    if not route.path.startswith(("/fga/", "/access/"))
    for parameter in route.parameters
    if parameter.name not in WARRANT_PARAMETERS
]


QUERIES = {
    "/v2/query": "q=select+page+where+user:ann+is+viewer&",
    "/v1/query": "select=warrants&for=subject=user:ann&",
    "/v2/difference": "from=begin&",
}
TYPE = {"type": "page", "relations": {"viewer": {}}}
BODIES: dict[str, Any] = {
    **{f"{version}/object-types/{{type}}": TYPE for version in ("/v1", "/v2")},
    "/v2/policies": [],
    "/v2/model": {},
}


@pytest.mark.parametrize(("route", "ours"), WITH_PARAMETERS)
def test_a_misspelled_parameter_of_ours_is_refused(defined: Client, route: Route, ours: str) -> None:
    known = {parameter.name for parameter in route.parameters}
    own = sorted(known - WARRANT_PARAMETERS)
    given = QUERIES.get(route.path, "")
    body = BODIES.get(route.path, [TYPE] if route.method == "PUT" else TYPE)
    path = concrete(route).replace("{objectType}/{objectId}", "page/a").replace("{id}", "x")
    for wrong in misspellings(ours):
        if wrong in known or wrong in WARRANT_PARAMETERS or find_misspelled(wrong, own) != ours:
            continue
        answer = defined.request(route.method, f"{path}?{given}{wrong}=x", json=body)
        assert answer.json()["message"].endswith(f"; did you mean {ours}?"), wrong
        assert (answer.status_code, answer.json()["parameter"]) == (400, wrong)


@pytest.mark.parametrize("name", ["asOf", "asof", "contextualWarrants", "contextual_warrants", "deubg"])
def test_a_member_in_the_query_string_is_refused(defined: Client, name: str) -> None:
    answer = defined.post(f"/v2/check?{name}=x", json={"warrants": [CHECK]})

    assert answer.status_code == 400
    assert "is no parameter of /v2/check" in answer.json()["message"]


@given(st.text("abAB_-", max_size=5), st.text("abAB_-", min_size=2, max_size=5))
def test_one_edit_is_a_letter_more_less_other_or_two_swapped(text: str, ours: str) -> None:
    def fold(name: str) -> str:
        return name.replace("-", "").replace("_", "").lower()

    one, other = fold(text), fold(ours)
    letters = "ab"
    edits = {one} | {one[:i] + one[i + 1 :] for i in range(len(one))}
    edits |= {one[:i] + sign + one[i:] for i in range(len(one) + 1) for sign in letters}
    edits |= {one[:i] + sign + one[i + 1 :] for i in range(len(one)) for sign in letters}
    edits |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(len(one) - 1)}

    assert (find_misspelled(text, [ours]) is not None) == (other in edits and text != ours)
