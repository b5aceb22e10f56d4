"""Lists the routes of `/fga/v1` (docs/fga-v1.md)."""

from dataclasses import replace
from functools import partial

from magistrate.api.fga import checks, policies, queries, resource_types, resources, schemas, warrants
from magistrate.api.fga.resource_types import FgaTypeAnswer
from magistrate.api.fga.resources import FgaResourceAnswer
from magistrate.api.fga.schemas import FgaSchemaBody
from magistrate.api.fga.views import FGA_PAGE_PARAMETERS, FgaListAnswer, translate_errors
from magistrate.api.fga.warrants import FgaWarrantAnswer
from magistrate.api.route import SEARCH, TEXT, Parameter, Route
from magistrate.api.used_types import (
    list_all,
    list_in_body,
    list_in_elements,
    list_in_parameter,
    list_in_path,
    list_in_query,
    list_none,
)
from magistrate.engine.lists.language import MAX_QUERY_LENGTH
from magistrate.operations.keys.callers import Scope

_TYPE = "resource_type"
_CHECK, _QUERY, _WARRANTS, _SCHEMA = "/fga/v1/check", "/fga/v1/query", "/fga/v1/warrants", "/fga/v1/schema"
_RESOURCES, _ONE_RESOURCE = "/fga/v1/resources", "/fga/v1/resources/{resource_type}/{resource_id}"
_TYPES, _ONE_TYPE = "/fga/v1/resource-types", "/fga/v1/resource-types/{type}"
_POLICIES, _ONE_POLICY = "/fga/v1/policies", "/fga/v1/policies/{name}"

_RESOURCE_LIST = (
    Parameter(_TYPE, "only resources of this type", TEXT),
    Parameter("search", SEARCH.meaning, SEARCH.schema),
    *FGA_PAGE_PARAMETERS,
)
_WARRANT_LIST = (
    *[Parameter(name, "only warrants with this, or with * in place of an id", TEXT) for name in warrants.FILTERS],
    *FGA_PAGE_PARAMETERS,
)
_QUERY_LIST = (
    Parameter("q", "the query: `select document where user:ann is viewer`", TEXT | {"maxLength": MAX_QUERY_LENGTH}),
    Parameter("context", "the variables of policies: the text of a JSON object", TEXT),
    *FGA_PAGE_PARAMETERS,
)

_read = partial(Route, scope=Scope.READ, list_types=list_all)
_write = partial(Route, scope=Scope.WRITE, writes=True)
_define = partial(Route, scope=Scope.MODEL, writes=True, list_types=list_all)
_check = partial(Route, scope=Scope.CHECK, not_found=True)
_query = partial(Route, scope=Scope.QUERY, not_found=True)

_ROUTES: tuple[Route, ...] = (
    _check(
        "POST", _CHECK, checks.answer_check, "Check whether subjects have relations on resources",
        list_types=list_in_elements("checks", _TYPE),
    ),
    _query(
        "GET", _QUERY, queries.list_page, "Find resources a subject has relations on, or subjects that have them",
        parameters=_QUERY_LIST, list_types=list_in_query,
    ),
    _read(
        "GET", _WARRANTS, warrants.list_page, "List warrants",
        answer=FgaListAnswer[FgaWarrantAnswer], parameters=_WARRANT_LIST, list_types=list_in_parameter(_TYPE),
    ),
    _write(
        "POST", _WARRANTS, warrants.write, "Create or delete a warrant, or 1 to 100 of them",
        not_found=True, list_types=list_in_body(_TYPE),
    ),
    _read(
        "GET", _RESOURCES, resources.list_page, "List resources",
        answer=FgaListAnswer[FgaResourceAnswer], parameters=_RESOURCE_LIST, list_types=list_in_parameter(_TYPE),
    ),
    _write(
        "POST", _RESOURCES, resources.create, "Create a resource, or replace its meta",
        list_types=list_in_body(_TYPE),
    ),
    _write(
        "POST", f"{_RESOURCES}/batch", resources.write_batch, "Create or delete 1 to 100 resources",
        not_found=True, list_types=list_in_elements("resources", _TYPE),
    ),
    _read("GET", _ONE_RESOURCE, resources.get, "Get a resource", list_types=list_in_path(_TYPE)),
    _write("PUT", _ONE_RESOURCE, resources.update, "Replace the meta of a resource", list_types=list_in_path(_TYPE)),
    _write(
        "DELETE", _ONE_RESOURCE, resources.delete, "Delete a resource",
        is_typed=False, list_types=list_in_path(_TYPE),
    ),
    _read(
        "GET", _TYPES, resource_types.list_page, "List resource types",
        answer=FgaListAnswer[FgaTypeAnswer], parameters=FGA_PAGE_PARAMETERS,
    ),
    _define("POST", _TYPES, resource_types.create, "Create a resource type, or replace its definition"),
    _define("PUT", _TYPES, resource_types.apply, "Make these 1 to 100 all resource types there are"),
    _read("GET", _ONE_TYPE, resource_types.get, "Get a resource type", list_types=list_in_path("type")),
    _define("PUT", _ONE_TYPE, resource_types.update, "Replace the definition of a resource type"),
    _define("DELETE", _ONE_TYPE, resource_types.delete, "Delete a resource type", is_typed=False),
    _read("GET", _POLICIES, policies.list_page, "List named policies", parameters=FGA_PAGE_PARAMETERS),
    _define("POST", _POLICIES, policies.create, "Create a named policy, or replace its definition"),
    _read("GET", _ONE_POLICY, policies.get, "Get a named policy"),
    _define("PUT", _ONE_POLICY, policies.update, "Replace the definition of a named policy"),
    _define("DELETE", _ONE_POLICY, policies.delete, "Delete a named policy", is_typed=False),
)  # fmt: skip
_SCHEMA_ROUTES: tuple[Route, ...] = (
    _read("GET", _SCHEMA, schemas.get, "Get the whole schema: resource types and policies"),
    _define(
        "POST", _SCHEMA, schemas.apply, "Make this schema, given in text or JSON, the whole schema",
        body=FgaSchemaBody, takes_text=True, is_repeatable=True,
    ),
    _read(
        "POST", f"{_SCHEMA}/convert", schemas.convert, "Convert a schema from text to JSON, or back",
        body=FgaSchemaBody, takes_text=True, list_types=list_none,
    ),
)  # fmt: skip

FGA_ROUTES = (*(replace(route, handler=translate_errors(route.handler)) for route in _ROUTES), *_SCHEMA_ROUTES)
