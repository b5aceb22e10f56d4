"""Lists the routes of the AuthZEN API (docs/authzen.md): every endpoint is a view of checks or queries."""

from functools import partial

from magistrate.api.authzen import evaluation, search
from magistrate.api.authzen.evaluation import (
    EvaluationAnswer,
    EvaluationsAnswer,
    EvaluationsBody,
    TypedEvaluationsBody,
)
from magistrate.api.authzen.metadata import ENDPOINTS
from magistrate.api.authzen.requests import EvaluationBody
from magistrate.api.authzen.search import (
    ActionSearchAnswer,
    ActionSearchBody,
    EntitySearchAnswer,
    ResourceSearchBody,
    SubjectSearchBody,
)
from magistrate.api.route import Route
from magistrate.operations.callers import Scope

_route = partial(Route, "POST", needs_json_type=True, echoes_id=True)

AUTHZEN_ROUTES: tuple[Route, ...] = (
    _route(
        ENDPOINTS["access_evaluation_endpoint"], evaluation.answer_evaluation,
        "Evaluate whether a subject may take an action on a resource",
        answer=EvaluationAnswer, body=EvaluationBody, is_fast=True,
        scope=Scope.CHECK, list_types=evaluation.list_in_evaluation,
    ),
    _route(
        ENDPOINTS["access_evaluations_endpoint"], evaluation.answer_evaluations,
        "Evaluate several of them at one revision",
        answer=EvaluationsAnswer, body=EvaluationsBody, typed_body=TypedEvaluationsBody, is_fast=True,
        scope=Scope.CHECK, list_types=evaluation.list_in_evaluations,
    ),
    _route(
        ENDPOINTS["search_subject_endpoint"], search.search_subjects,
        "Find the subjects that may take an action on a resource",
        answer=EntitySearchAnswer, body=SubjectSearchBody,
        scope=Scope.QUERY, list_types=evaluation.list_in_evaluation,
    ),
    _route(
        ENDPOINTS["search_resource_endpoint"], search.search_resources,
        "Find the resources on which a subject may take an action",
        answer=EntitySearchAnswer, body=ResourceSearchBody,
        scope=Scope.QUERY, list_types=evaluation.list_in_evaluation,
    ),
    _route(
        ENDPOINTS["search_action_endpoint"], search.search_actions,
        "Find the actions that a subject may take on a resource",
        answer=ActionSearchAnswer, body=ActionSearchBody, is_fast=True,
        scope=Scope.QUERY, list_types=evaluation.list_in_evaluation,
    ),
)  # fmt: skip
