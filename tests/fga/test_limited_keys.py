"""Keys that are limited to object types (docs/security.md#object-types), in every route of /fga/v1."""

from collections.abc import Iterator
from typing import Any

import pytest

from magistrate.api.fga.routes import FGA_ROUTES
from magistrate.api.used_types import list_all, list_none
from tests.fga.requests import check, fga_warrant, write
from tests.issuing import issue_key
from tests.running import Client

ONE, OTHER = fga_warrant("document:l-x#owner@user:ann"), fga_warrant("folder:l-x#viewer@user:ann")
REQUESTS: dict[tuple[str, str], Any] = {
    ("POST", "/fga/v1/check"): {"op": "any_of", "checks": [ONE, OTHER]},
    ("GET", "/fga/v1/query"): "?q=select folder where user:ann is viewer",
    ("GET", "/fga/v1/warrants"): "?resource_type=folder",
    ("POST", "/fga/v1/warrants"): [ONE, OTHER],
    ("GET", "/fga/v1/resources"): "?resource_type=folder",
    ("POST", "/fga/v1/resources"): {"resource_type": "folder"},
    ("POST", "/fga/v1/resources/batch"): {"op": "create", "resources": [{"resource_type": "folder"}]},
    ("GET", "/fga/v1/resources/{resource_type}/{resource_id}"): None,
    ("PUT", "/fga/v1/resources/{resource_type}/{resource_id}"): {},
    ("DELETE", "/fga/v1/resources/{resource_type}/{resource_id}"): None,
    ("GET", "/fga/v1/resource-types/{type}"): None,
}
"""A request for each route that names types, one of them a folder; a text is behind the path."""
LISTS = {(route.method, route.path): route.list_types for route in FGA_ROUTES}
FOR_ALL_TYPES_ALONE = sorted(route for route, list_types in LISTS.items() if list_types is list_all)


@pytest.fixture(scope="module")
def limited(fga: Client) -> Iterator[Client]:
    """It may do everything with documents."""
    secret = issue_key(fga, "fga-limited", "admin", objectTypes=["document"])
    with Client(str(fga.base_url), secret) as client:
        yield client


def test_there_is_a_request_for_every_route_that_names_types() -> None:
    without = {route for route, list_types in LISTS.items() if list_types is list_none}

    assert {*LISTS} == {*REQUESTS, *FOR_ALL_TYPES_ALONE, *without}
    assert without == {("POST", "/fga/v1/schema/convert")}


@pytest.mark.parametrize("route", REQUESTS, ids=" ".join)
def test_another_type_is_refused_wherever_it_is_named(limited: Client, route: tuple[str, str]) -> None:
    (method, path), request = route, REQUESTS[route]
    url = path.replace("{resource_type}", "folder").replace("{type}", "folder").replace("{resource_id}", "l-x")

    if isinstance(request, str):
        refused = limited.request(method, url + request)
    else:
        refused = limited.request(method, url, json=request)

    assert refused.status_code == 403, refused.text
    assert "this request uses folder" in refused.json()["message"]


@pytest.mark.parametrize("route", FOR_ALL_TYPES_ALONE, ids=" ".join)
def test_what_uses_types_that_are_not_named_is_refused(limited: Client, route: tuple[str, str]) -> None:
    takes_array = route == ("PUT", "/fga/v1/resource-types")

    assert limited.request(*route, content=b"[]" if takes_array else b"{}").status_code == 403


def test_a_check_shows_no_tree(limited: Client, fga: Client) -> None:
    write(fga, "document:l-doc#owner@user:ann")

    answer = check(limited, "document:l-doc#viewer@user:ann", debug=True)

    assert answer.keys() == {"result", "is_implicit", "warrant_token"}
    assert answer["result"] == "authorized"
