"""Lists the routes of the AuthZEN API (docs/authzen.md): every endpoint is a view of checks or queries."""

import re
from collections.abc import Mapping
from functools import partial

from magistrate.api.authzen import evaluations, searches
from magistrate.api.authzen.evaluations import EvaluationsAnswer, EvaluationsBody, TypedEvaluationsBody
from magistrate.api.authzen.requests import EvaluationBody
from magistrate.api.http.json_values import render_json
from magistrate.api.route import Route
from magistrate.errors import NotFound
from magistrate.operations.keys.callers import Scope

WELL_KNOWN = "/.well-known/authzen-configuration"

ENDPOINTS: Mapping[str, str] = {
    "access_evaluation_endpoint": "/access/v1/evaluation",
    "access_evaluations_endpoint": "/access/v1/evaluations",
    "search_subject_endpoint": "/access/v1/search/subject",
    "search_resource_endpoint": "/access/v1/search/resource",
    "search_action_endpoint": "/access/v1/search/action",
}
"""Maps members of the document to the paths of routes."""

OBJECT_TYPES = "/v2/object-types"
"""Is where a caller with a key finds the actions of each type. The document itself needs no key, so it has none of
them."""


_NAMED_STORE = re.compile(r"(/stores/[A-Za-z0-9-]{1,63})?")
"""Matches what names a store in a path, or nothing. No store has another name or id."""


def render_metadata(public_url: str, path: str) -> bytes:
    """Returns the document for the path of a request. `public_url` is absolute, without a slash at its end. If it has a
    path, that follows the well-known one. A path that names a store, before the well-known one or behind all of it,
    gets the URLs of that store, which need not exist: nobody learns here which stores there are.

    Raises NotFound for another path, or if the service does not know its URL."""
    if not public_url:
        raise NotFound("Endpoint", path, ": the service was started without --public-url")
    own_path = "/".join([WELL_KNOWN, *public_url.split("/", 3)[3:]])
    before, _, behind = path.partition(own_path)
    named = before or behind
    if own_path not in path or (before and behind) or not _NAMED_STORE.fullmatch(named):
        raise NotFound("Endpoint", path)
    url = public_url + named
    paths = {**ENDPOINTS, "actions_endpoint": OBJECT_TYPES}
    return render_json({"policy_decision_point": url, **{member: url + endpoint for member, endpoint in paths.items()}})


_check = partial(Route, "POST", scope=Scope.CHECK, needs_json_type=True, echoes_id=True, is_fast=True)
_search = partial(
    Route, "POST", scope=Scope.QUERY, needs_json_type=True, echoes_id=True, list_types=evaluations.list_in_evaluation
)

AUTHZEN_ROUTES: tuple[Route, ...] = (
    _check(
        ENDPOINTS["access_evaluation_endpoint"], evaluations.answer_evaluation,
        "Evaluate whether a subject may take an action on a resource",
        body=EvaluationBody, list_types=evaluations.list_in_evaluation,
    ),
    _check(
        ENDPOINTS["access_evaluations_endpoint"], evaluations.answer_evaluations,
        "Evaluate several of them at one revision",
        answer=EvaluationsAnswer, body=EvaluationsBody, typed_body=TypedEvaluationsBody,
        list_types=evaluations.list_in_evaluations,
    ),
    _search(
        ENDPOINTS["search_subject_endpoint"], searches.search_subjects,
        "Find the subjects that may take an action on a resource",
    ),
    _search(
        ENDPOINTS["search_resource_endpoint"], searches.search_resources,
        "Find the resources on which a subject may take an action",
    ),
    _search(
        ENDPOINTS["search_action_endpoint"], searches.search_actions,
        "Find the actions that a subject may take on a resource", is_fast=True,
    ),
)  # fmt: skip
