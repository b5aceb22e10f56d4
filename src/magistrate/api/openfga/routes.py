"""Lists the routes of OpenFGA's API (docs/openfga.md). They have a table of their own: the OpenAPI document of this
service does not describe them, because others do."""

from functools import partial

from magistrate.api.openfga import (
    assertions,
    batches,
    changes,
    checks,
    expansion,
    models,
    objects,
    reads,
    stores,
    users,
    writes,
)
from magistrate.api.route import TEXT, Parameter, Route
from magistrate.api.used_types import list_all, list_none
from magistrate.operations.keys.callers import Scope

_STORES, _STORE = "/stores", "/stores/{store_id}"
_MODELS = f"{_STORE}/authorization-models"
_ASSERTIONS = f"{_STORE}/assertions/{{model_id}}"

_PAGE = (
    Parameter("page_size", "how many rows a page has at most", TEXT),
    Parameter("continuation_token", "where the page begins", TEXT),
)

_operate = partial(Route, scope=Scope.STORES, list_types=list_none)
_read = partial(Route, scope=Scope.READ, list_types=list_all)
_define = partial(Route, scope=Scope.MODEL, writes=True, list_types=list_all)

OPENFGA_ROUTES: tuple[Route, ...] = (
    _operate("POST", _STORES, stores.create_store, "Create a store", writes=True, is_repeatable=True, status=201),
    _operate(
        "GET", _STORES, stores.list_stores, "List stores",
        parameters=(*_PAGE, Parameter("name", "only stores of this name", TEXT)),
    ),
    _read("GET", _STORE, stores.get_store, "Get a store", also_for=Scope.STORES),
    _operate("DELETE", _STORE, stores.remove_store, "Delete a store", writes=True, is_typed=False, status=204),
    Route(
        "POST", f"{_STORE}/check", checks.answer_check, "Check whether a user has a relation on an object",
        is_fast=True, scope=Scope.CHECK, list_types=list_all,
    ),
    Route(
        "POST", f"{_STORE}/batch-check", batches.answer_batch, "Answer 1 to 50 checks",
        is_fast=True, scope=Scope.CHECK, list_types=list_all,
    ),
    _read("POST", f"{_STORE}/expand", expansion.answer_expand, "Show who has a relation, one level deep"),
    _read("POST", f"{_STORE}/list-objects", objects.answer_objects, "List the objects on which a user has a relation"),
    _read(
        "POST", f"{_STORE}/streamed-list-objects", objects.stream_objects, "List them as a stream of lines",
        answer=None, stream=objects.LINES,
    ),
    _read("POST", f"{_STORE}/list-users", users.answer_users, "List the users who have a relation on an object"),
    _read("POST", f"{_STORE}/read", reads.read, "Read the tuples that are stored"),
    _read(
        "GET", f"{_STORE}/changes", changes.answer_changes, "List what was written and deleted, the oldest first",
        parameters=(
            Parameter("type", "only tuples on objects of this type", TEXT),
            Parameter("start_time", "from which time on, in RFC 3339; a continuation token wins over it", TEXT),
            *_PAGE,
        ),
    ),
    Route(
        "POST", f"{_STORE}/write", writes.write, "Write and delete up to 100 tuples, all or none",
        writes=True, is_repeatable=True, may_conflict=True, scope=Scope.WRITE, list_types=list_all,
    ),
    _define(
        "POST", _MODELS, models.write_model, "Write an authorization model, which is the newest then",
        is_repeatable=True, status=201,
    ),
    _read("GET", _MODELS, models.list_models, "List authorization models, the newest first", parameters=_PAGE),
    _read("GET", f"{_MODELS}/{{model_id}}", models.get_model, "Get an authorization model"),
    _define(
        "PUT", _ASSERTIONS, assertions.put_assertions, "Replace the assertions of an authorization model",
        is_typed=False, status=204,
    ),
    _read("GET", _ASSERTIONS, assertions.get_assertions, "Get the assertions of an authorization model"),
)  # fmt: skip
