"""What errors and warnings say about names that their caller may not see (docs/security.md#object-types).

Every request is sent twice, with a name that exists and with one that does not: a caller that may see neither cannot
tell them from each other."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from magistrate.api.fga.routes import FGA_ROUTES
from magistrate.api.route_table import ROUTES
from magistrate.api.used_types import list_all, list_none
from tests.api.named_types import REQUESTS, insert
from tests.conftest import STORES, new_database_url
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

EXISTING, MISSING, MISSPELT = "secretproject", "phantomobject", "secretprojekt"
"""Three names of one length, the last of which is similar to the first."""
RELATION, OTHER_RELATION = "keeper", "keepr"
MODEL: dict[str, Any] = {
    "folder": {"viewer": {}},
    "document": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    EXISTING: {RELATION: {}},
}
SECRETS = (EXISTING, RELATION, "secretpolicy")
"""The names that no error may contain unless the request does."""


@pytest.fixture(scope="module", params=[(store, strict) for store in STORES for strict in (0, 1)], ids=str)
def admin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    store, strict = request.param
    url = new_database_url(store, tmp_path_factory.mktemp("names"), request)
    with running_service(settings_for(url, strict=strict)) as served, Client(served) as client:
        client.define(MODEL)
        client.post("/v2/policies", json={"name": "secretpolicy", "expression": "true"}).raise_for_status()
        client.grant("document:a#parent@folder:f", f"{EXISTING}:s#{RELATION}@user:ann")
        yield client


@pytest.fixture(scope="module")
def limited(admin: Client) -> Iterator[Client]:
    """It may do everything with documents, and with a type that does not exist."""
    secret = issue_key(admin, "limited", "admin", objectTypes=["document", "secretprojects"])
    with Client(str(admin.base_url), secret) as client:
        yield client


@pytest.fixture(scope="module")
def user(admin: Client) -> Iterator[Client]:
    token = admin.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
    with Client(str(admin.base_url)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


def subject(relation: str = "") -> dict[str, str]:
    return {"objectType": "{}", "objectId": "x"} | ({"relation": relation} if relation else {})


def check_of(relation: str = "") -> dict[str, Any]:
    return {"objectType": "document", "objectId": "a", "relation": "viewer", "subject": subject(relation)}


def fga_warrant(relation: str = "") -> dict[str, Any]:
    group = {"relation": relation} if relation else {}
    of_subject = {"resource_type": "{}", "resource_id": "x", **group}
    return {"resource_type": "document", "resource_id": "a", "relation": "viewer", "subject": of_subject}


def rule(relation: str) -> dict[str, Any]:
    return {"viewer": {"inheritIf": relation, "ofType": "{}", "withRelation": "parent"}, "parent": {}}


GROUPS = ("", RELATION, OTHER_RELATION)
AUTHZEN = {
    "subject": {"type": "{}", "id": "x"},
    "action": {"name": "viewer"},
    "resource": {"type": "document", "id": "a"},
}
Request = tuple[str, str, dict[str, str], Any]
OF_SUBJECTS: list[Request] = [
    *[("POST", path, {}, {"warrants": [check_of(one)]}) for path in ("/v2/check", "/v2/authorize") for one in GROUPS],
    *[("POST", "/v2/check", {}, {"warrants": [check_of(one)], "strict": True, "debug": True}) for one in GROUPS],
    *[
        (method, path, {"q": text, "strict": "true"} if method == "GET" else {}, {"q": text, "strict": True})
        for method, path in (
            ("GET", "/v2/query"),
            ("POST", "/v2/query"),
            ("GET", "/v1/query"),
            ("GET", "/fga/v1/query"),
        )
        for text in (
            "select viewer of type {} for document:nothing",
            "select viewer of type {}, user for document:nothing",
            "select document where {}:x is viewer",
            f"select document where {{}}:x#{RELATION} is viewer",
            f"select viewer of type {{}}#{RELATION} for document:nothing",
            f"select viewer of type {{}}#{OTHER_RELATION} for document:nothing",
            f"select viewer of type document#viewer, {{}}#{OTHER_RELATION} for document:nothing",
            "select document where user:ann is viewer and {}:x is viewer",
            "select document where user:ann is viewer and not {}:x is viewr",
        )
    ],
    ("GET", "/v1/query", {"select": "warrants", "for": "object=document:nothing", "where": "subject={}"}, None),
    *[
        (
            "GET",
            f"/{version}/warrants",
            {"objectType": "document", "objectId": "nothing", "strict": "true", **only},
            None,
        )
        for version in ("v2", "v1")
        for only in (
            {"subjectType": "{}"},
            {"subjectType": "{}", "subjectRelation": RELATION},
            {"subjectType": "{}", "subjectRelation": OTHER_RELATION},
            {"subjectRelation": OTHER_RELATION},
        )
    ],
    *[("POST", f"/{version}/warrants", {}, check_of(one)) for version in ("v2", "v1") for one in GROUPS],
    *[("DELETE", "/v2/warrants", {}, check_of(one)) for one in GROUPS],
    ("POST", "/v2/writes", {}, {"create": {"warrants": [check_of(OTHER_RELATION)]}}),
    ("POST", "/v2/warrants/delete", {}, {"filter": {"objectType": "document", "subjectType": "{}"}}),
    ("GET", "/v2/access-events", {"objectType": "document", "subjectType": "{}", "type": "access_denied"}, None),
    *[("POST", route.path, {}, AUTHZEN) for route in ROUTES if route.path.startswith("/access/v1/eval")],
    ("POST", "/access/v1/search/subject", {}, AUTHZEN | {"resource": {"type": "document", "id": "nothing"}}),
    ("POST", "/access/v1/search/resource", {}, AUTHZEN),
    ("POST", "/access/v1/search/action", {}, AUTHZEN),
    *[("POST", "/fga/v1/check", {}, {"op": "any_of", "checks": [fga_warrant(one)]}) for one in GROUPS],
    ("GET", "/fga/v1/warrants", {"resource_type": "document", "subject_type": "{}"}, None),
    ("POST", "/fga/v1/warrants", {}, [{"op": "create", **fga_warrant(OTHER_RELATION)}]),
    *[
        (method, path, {"keepExisting": "true"}, insert_body)
        for one in (RELATION, OTHER_RELATION)
        for method, path, insert_body in (
            ("POST", "/v2/object-types", {"type": "document", "relations": rule(one)}),
            ("PUT", "/v2/object-types/document", {"relations": rule(one)}),
            ("PUT", "/v2/object-types", [{"type": "document", "relations": rule(one)}]),
            ("POST", "/v1/object-types", {"type": "document", "relations": rule(one)}),
            (
                "POST",
                "/v2/object-types",
                {"type": "document", "relations": {"viewer": {}}, "allowedTypes": {"viewer": [f"{{}}#{one}", "user"]}},
            ),
        )
    ],
]
"""Requests on documents; `{}` stands for the type of subjects, or one that a rule names."""


def describe(client: Client, request: Request, name: str) -> tuple[int, str, str]:
    """The status, the body and the warnings of an answer, without what it says of the name itself."""
    method, path, parameters, body = insert([*request], name)
    answer = client.request(method, path, params=parameters, json=None if method == "GET" else body)
    for secret in SECRETS:
        if secret not in f"{path}{parameters}{body}":
            assert secret not in answer.text + answer.headers.get("Warning", ""), answer.text
    told = re.sub(r'"(createdAt|created_at|warrant_token|processingTime)": ?("[^"]*"|[0-9]+)', "", answer.text)
    return answer.status_code, told.replace(name, "{}"), answer.headers.get("Warning", "").replace(name, "{}")


@pytest.mark.parametrize("request_", OF_SUBJECTS, ids=lambda one: f"{one[0]} {one[1]}")
def test_whether_a_name_exists_that_a_limited_key_may_not_see_is_not_told(limited: Client, request_: Request) -> None:
    existing, missing, misspelt = (describe(limited, request_, name) for name in (EXISTING, MISSING, MISSPELT))

    assert existing[0] != 404
    assert existing == missing == misspelt


@pytest.mark.parametrize("route", REQUESTS, ids=" ".join)
@pytest.mark.parametrize("strict", [{}, {"strict": "true"}], ids=["", "strict"])
def test_whether_an_object_type_exists_that_a_limited_key_may_not_use_is_not_told(
    limited: Client, route: tuple[str, str], strict: dict[str, str]
) -> None:
    path, parameters, body = REQUESTS[route]
    request = (route[0], path, parameters | strict, body)

    existing, missing, misspelt = (describe(limited, request, name) for name in (EXISTING, MISSING, MISSPELT))

    assert existing[0] == 403
    assert existing == missing == misspelt


@pytest.mark.parametrize("route", REQUESTS, ids=" ".join)
def test_no_other_type_is_suggested_for_an_own_one_that_does_not_exist(limited: Client, route: tuple[str, str]) -> None:
    path, parameters, body = REQUESTS[route]
    if route[0] == "GET" or path.startswith(("/v2/check", "/v2/authorize", "/access/")):
        describe(limited, (route[0], path, parameters | {"strict": "true"}, body), "secretprojects")


ROUTES_OF_USERS = [route for route in ROUTES if route.takes_bearer]


@pytest.mark.parametrize("route", ROUTES_OF_USERS, ids=lambda route: route.path)
@pytest.mark.parametrize("members", [{}, {"strict": True}, {"debug": True}, {"op": "batch"}], ids=str)
@pytest.mark.parametrize("relation", [RELATION, OTHER_RELATION])
def test_whether_a_name_exists_is_not_told_to_a_user(
    user: Client, route: Any, members: dict[str, Any], relation: str
) -> None:
    check = {"objectType": "{}", "objectId": "x", "relation": relation}
    request: Request = ("POST", route.path, {}, {"warrants": [check], **members})

    existing, missing, misspelt = (describe(user, request, name) for name in (EXISTING, MISSING, MISSPELT))

    assert existing[0] == 200
    assert existing == missing == misspelt


def test_whether_a_type_exists_that_a_rule_names_is_not_told(limited: Client) -> None:
    """By what a limited key can do with its own type."""
    found = []
    for name in (EXISTING, MISSING):
        model = insert({"type": "document", "relations": rule(RELATION)}, name)
        limited.post("/v2/object-types", params={"keepExisting": "true"}, json=model).raise_for_status()
        limited.post("/v2/warrants", json=insert(check_of() | {"relation": "parent"}, name)).raise_for_status()
        asked = {"objectType": "document", "objectId": "a", "relation": "viewer"}
        check = {**asked, "subject": {"objectType": "user", "objectId": "nobody"}}
        evaluation = {**AUTHZEN, "subject": {"type": "user", "id": "nobody"}}
        fga = fga_warrant() | {"subject": {"resource_type": "user", "resource_id": "nobody"}}
        requests: list[Request] = [
            ("POST", "/v2/check", {}, {"warrants": [check]}),
            ("POST", "/v2/check", {}, {"warrants": [check], "strict": True, "debug": True}),
            ("POST", "/fga/v1/check", {}, {"op": "any_of", "checks": [fga]}),
            ("POST", "/access/v1/evaluation", {}, evaluation),
            ("GET", "/v2/query", {"q": "select viewer of type user for document:a"}, None),
            ("GET", "/v2/query", {"q": "select document where user:nobody is viewer"}, None),
            ("GET", "/v1/query", {"select": "warrants", "for": "object=document:a,subject=user:nobody"}, None),
        ]
        found.append([describe(limited, request, name) for request in requests])
        limited.delete_json("/v2/warrants", insert(check_of() | {"relation": "parent"}, name)).raise_for_status()

    assert found[0] == found[1]
    assert {status for status, *_ in found[0]} == {200}


def test_the_holder_of_an_unlimited_key_is_helped(admin: Client) -> None:
    of_folder = check_of() | {"objectType": "folder"}
    refused = admin.post("/v2/check", json=insert({"warrants": [of_folder], "strict": True}, "secretprojeckt"))
    written = admin.post("/v2/object-types", json=insert({"type": "document", "relations": rule(RELATION)}, MISSPELT))

    assert f"did you mean {EXISTING}?" in refused.json()["message"]
    assert f"did you mean {EXISTING}?" in written.headers["Warning"]


def test_a_limited_key_is_helped_with_its_own_names(limited: Client) -> None:
    body = {"type": "document", "relations": {"viewer": {"inheritIf": "editr"}, "editor": {}}}
    checked = {"warrants": [check_of() | {"relation": "viewr", "subject": {"objectType": "user", "objectId": "a"}}]}

    written = limited.post("/v2/object-types", json=body)
    refused = limited.post("/v2/check", json=checked | {"strict": True})

    assert "did you mean editor?" in written.headers["Warning"]
    assert "did you mean viewer?" in refused.json()["message"]


def test_a_loop_through_other_types_does_not_name_them(admin: Client, limited: Client) -> None:
    loop = {"inheritIf": "noneOf", "rules": [{"inheritIf": RELATION, "ofType": "secretloop", "withRelation": "parent"}]}
    of_document = {"inheritIf": "viewer", "ofType": "document", "withRelation": "parent"}
    admin.define({"secretloop": {"parent": {}, "inner": of_document, RELATION: {"inheritIf": "inner"}}})

    refused = limited.post("/v2/object-types", json={"type": "document", "relations": {"parent": {}, "viewer": loop}})

    assert refused.status_code == 400
    assert "document#viewer" in refused.json()["message"]
    assert "inner" not in refused.text
    assert "secretloop" not in refused.text


def test_there_is_a_request_for_every_route_that_names_types() -> None:
    """A new one needs requests here, or in tests/api/test_limited_keys.py, for what it says about other types."""
    routes = [route for route in (*ROUTES, *FGA_ROUTES) if route.list_types not in (list_all, list_none)]
    tried = {(method, path.partition("?")[0]) for method, path, *_ in OF_SUBJECTS} | {*REQUESTS}

    left = {(route.method, route.path) for route in routes} - tried

    assert all(path.startswith(("/v1/", "/fga/v1/re")) or path in NAMES_NO_OTHER for _, path in left), left


NAMES_NO_OTHER: tuple[str, ...] = ()
"""The routes whose requests name the types alone that their caller may use."""
