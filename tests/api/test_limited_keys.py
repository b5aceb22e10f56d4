"""Keys that are limited to object types (docs/security.md#object-types): what each route lets them do."""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.callers import BODY, count_steps, open_service, write_checked_warrant
from magistrate.api.auth.callers import list_secrets
from magistrate.api.http.fast_path import FastPath
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.pipeline import BegunRequest
from magistrate.api.route_table import ROUTES
from magistrate.api.used_types import list_all, list_none
from magistrate.engine.names import TypeName
from magistrate.operations.keys.caller_keys import KeyDraft, create_key
from magistrate.operations.keys.callers import ALL_SCOPES, Caller, Scope
from magistrate.store.contract.stores import DEFAULT_STORE
from tests.api.named_types import REQUESTS, insert, of
from tests.issuing import issue_key
from tests.running import Client
from tests.scenario_files import warrant_body

OTHER_TYPE = "keys is limited to some object types, and this request uses folder"
NOT_LIMITED = "keys is limited to some object types, and this request is not limited to them"

MODEL = {
    "folder": {"viewer": {}},
    "document": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "team": {"member": {}},
}


@pytest.fixture(scope="module")
def limited(shared_client: Client) -> Iterator[Client]:
    """It may do everything with documents."""
    shared_client.define(MODEL)
    shared_client.grant("document:a#parent@folder:f", "folder:f#viewer@team:t#member", "team:t#member@user:ann")
    shared_client.put("/v2/objects/user/ann", json={"meta": {"email": "ann@example.org"}}).raise_for_status()
    shared_client.post("/v2/objects", json={"objectType": "document", "objectId": "a", "meta": {"title": "A"}})
    secret = issue_key(shared_client, "keys", "admin", objectTypes=["document", "tenant"])
    with Client(str(shared_client.base_url), secret) as client:
        yield client


NEWEST_ROUTES = {(one.method, one.path): one.list_types for one in ROUTES if one.path.startswith(("/v2/", "/access/"))}
FOR_ALL_TYPES_ALONE = sorted(route for route, list_types in NEWEST_ROUTES.items() if list_types is list_all)
ABOUT_NO_OBJECTS = ("/v2/keys", "/v2/stores", "/v2/watch/tickets", "/v2/model/validate", "/v2/model/convert")
"""The beginnings of the paths of all routes whose answers do not depend on objects, warrants or the stored model."""


def send(client: Client, method: str, of_type: str, request: tuple[str, dict[str, str], Any]) -> Any:
    path, parameters, body = insert([*request], of_type)
    return client.request(method, path, params=parameters, json=body)


def test_there_is_a_request_for_every_route_that_names_object_types() -> None:
    """A new route needs one in tests/api/named_types.py."""
    without = {route for route, list_types in NEWEST_ROUTES.items() if list_types is list_none}

    assert {*NEWEST_ROUTES} == {*REQUESTS, *FOR_ALL_TYPES_ALONE, *without}
    assert all(path.startswith(ABOUT_NO_OBJECTS) for _, path in without)


@pytest.mark.parametrize("route", REQUESTS, ids=" ".join)
def test_another_object_type_is_refused_wherever_it_is_named(limited: Client, route: tuple[str, str]) -> None:
    method, _ = route

    refused = send(limited, method, "folder", REQUESTS[route])
    allowed = send(limited, method, "tenant", REQUESTS[route])

    assert (refused.status_code, refused.json()) == (403, {"code": "forbidden", "message": OTHER_TYPE})
    assert allowed.status_code != 403, allowed.text


@pytest.mark.parametrize("route", FOR_ALL_TYPES_ALONE, ids=" ".join)
def test_what_uses_types_that_are_not_named_is_refused(limited: Client, route: tuple[str, str]) -> None:
    takes_array = route == ("PUT", "/v2/policies")
    refused = limited.request(*route, content=b"[]" if takes_array else b"{}")

    assert (refused.status_code, refused.json()) == (403, {"code": "forbidden", "message": NOT_LIMITED})


@pytest.mark.parametrize(
    "request_",
    [
        ("GET", "/v2/objects", {}, None),
        ("GET", "/v2/objects", {"objectType": ""}, None),
        ("GET", "/v2/warrants", {"subjectId": "ann"}, None),
        ("POST", "/v2/warrants/delete", {}, {"filter": {"subjectType": "user"}}),
        ("POST", "/v2/warrants/delete", {}, {}),
        ("PUT", "/v2/object-types", {"replace": "true"}, [{"type": "document", "relations": {}}]),
        ("GET", "/v2/query", {"q": "select * where user:ann is viewer"}, None),
        (
            "POST",
            "/v2/query",
            {},
            {"q": "select document where user:ann is viewer", "contextualWarrants": [of("document")]},
        ),
        (
            "GET",
            "/v2/query",
            {"q": "select document where user:ann is viewer", "contextualWarrants": "[]"},
            None,
        ),
        ("POST", "/v2/check", {}, {"warrants": [of("document")], "contextualWarrants": [of("document")]}),
        ("GET", "/v2/resource-events", {}, None),
        ("GET", "/v2/access-events", {"subjectId": "ann"}, None),
        ("GET", "/v2/watch", {"subjectType": "user"}, None),
        ("GET", "/v2/watch/access", {"of": "document#viewer@user"}, None),
        ("GET", "/v1/query", {"select": "warrants", "for": "subject=user:ann"}, None),
        ("GET", "/v1/query", {"q": "select * where user:ann is viewer"}, None),
    ],
)
def test_a_list_or_filter_has_to_name_an_object_type(limited: Client, request_: tuple[str, str, Any, Any]) -> None:
    method, path, parameters, body = request_

    refused = limited.request(method, path, params=parameters, json=body)

    assert (refused.status_code, refused.json()["message"]) == (403, NOT_LIMITED)


def test_every_part_of_a_write_is_looked_at(limited: Client) -> None:
    ref = {"objectType": "folder", "objectId": "f"}
    for body in (
        {"create": {"objects": [ref]}},
        {"delete": {"objects": [ref]}},
        {"delete": {"warrants": [of("folder")]}},
        {"preconditions": [{"exists": ref}], "create": {"warrants": [of("document")]}},
        {"preconditions": [{"absent": of("folder")}], "create": {"warrants": [of("document")]}},
    ):
        refused = limited.post("/v2/writes", json=body)

        assert (refused.status_code, refused.json()["message"]) == (403, OTHER_TYPE)


def test_the_resources_of_v1_have_the_types_of_their_objects(limited: Client) -> None:
    for route in ROUTES:
        if re.match(r"/v1/(users|tenants|roles|permissions|features|pricing-tiers)", route.path):
            body = b"[]" if route.method == "DELETE" else b"{}"
            answer = limited.request(route.method, re.sub(r"\{\w+\}", "x", route.path), content=body)
            is_tenants_own = re.fullmatch(r"/v1/tenants(/\{tenantId\})?|/v1/users/\{userId\}/tenants", route.path)
            assert (answer.status_code == 403) == (is_tenants_own is None), f"{route.method} {route.path}"


def test_a_check_is_decided_from_warrants_on_all_types_but_shows_none(limited: Client) -> None:
    body = {"warrants": [warrant_body("document:a#viewer@user:ann")], "debug": True}

    for _ in range(3):
        assert limited.post("/v2/check", json=body).json() == {
            "code": 200,
            "result": "Authorized",
            "isImplicit": True,
        }


def test_subjects_may_be_of_any_type(limited: Client) -> None:
    body = warrant_body("document:new#viewer@team:t#member")

    assert limited.post("/v2/warrants", json=body).status_code == 200
    assert limited.ask("document:new#viewer@user:ann").json()["result"] == "Authorized"
    assert limited.delete_json("/v2/warrants", body).status_code == 200


def test_the_rows_of_a_query_show_no_meta_and_no_warrant_of_another_type(limited: Client) -> None:
    [found] = limited.get("/v2/query", params={"q": "select document where user:ann is viewer"}).json()["results"]
    subjects = limited.get("/v2/query", params={"q": "select viewer of type user for document:a"}).json()["results"]

    assert found["meta"] == {"title": "A"}
    assert found["warrant"] is None or found["warrant"]["objectType"] == "document"
    assert [(row["objectId"], row.get("meta"), row["warrant"]) for row in subjects] == [
        ("ann", None, subjects[0]["warrant"])
    ]
    assert subjects[0]["warrant"] is None or subjects[0]["warrant"]["objectType"] == "document"


def test_lists_of_its_types_are_answered(limited: Client, shared_client: Client) -> None:
    for path, parameters in (
        ("/v2/objects", {"objectType": "document"}),
        ("/v2/warrants", {"objectType": "document"}),
        ("/v2/access-events", {"objectType": "document"}),
        ("/v2/resource-events", {"resourceType": "document"}),
        ("/v2/query", {"q": "select document where user:ann is viewer"}),
    ):
        assert limited.get(path, params=parameters).json()["results"], path
    for path, parameters in (
        ("/v2/objects", {"objectType": "document"}),
        ("/v2/warrants", {"objectType": "document"}),
    ):
        mine, all_of_them = (one.get(path, params=parameters).json() for one in (limited, shared_client))
        assert mine["results"] == all_of_them["results"]


MAX_SETS = 300


@pytest.mark.anyio
async def test_a_check_with_one_of_many_sets_of_object_types_takes_as_long_as_with_one(tmp_path: Path) -> None:
    """Counted in instructions. No class is made for a set of object types, and nothing more is kept."""
    async with open_service(f"sqlite:///{tmp_path}/m.db") as service:
        await write_checked_warrant(service)
        context, operator = service.context, Caller("bench", ALL_SCOPES)
        secrets = []
        for number in range(MAX_SETS):
            draft = KeyDraft(f"key-{number}", (Scope.CHECK,), (TypeName("document"), TypeName(f"type-{number}")), None)
            secrets.append((await create_key(context, operator, draft)).value.secret)
        service.keys.replace((), list_secrets((await context.store.list_keys()).keys, DEFAULT_STORE))
        fast_path = FastPath(lambda: service, ROUTES, Ledger())
        length = (b"content-length", str(len(BODY)).encode())

        def check(secret: str) -> None:
            headers = [(b"authorization", f"ApiKey {secret}".encode()), length]
            pending = fast_path.begin_request(b"POST", b"/v2/check", headers)
            assert isinstance(pending, BegunRequest)
            assert fast_path.answer(pending, BODY, []) is not None

        def check_with_two_keys() -> bool:
            check(secrets[0])
            check(secrets[1])
            return True

        alone = count_steps(check_with_two_keys)
        with unchanged_classes():
            for secret in secrets:
                check(secret)
        among_many = count_steps(check_with_two_keys)
        kept = fast_path.measure_kept()
        for secret in secrets:
            check(secret)

    assert among_many == alone
    assert fast_path.measure_kept() == kept


@contextmanager
def unchanged_classes() -> Iterator[None]:
    """Fails if classes were made meanwhile that are still there."""
    before = sum(isinstance(one, type) for one in gc.get_objects())
    yield
    assert sum(isinstance(one, type) for one in gc.get_objects()) == before
