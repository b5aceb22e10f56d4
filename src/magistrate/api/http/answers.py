"""Finishes the answers of requests: adds headers, counts and audits them, and answers with errors."""

from typing import Any

import falcon
import falcon.asgi
import structlog
from falcon.constants import COMBINED_METHODS

from magistrate import errors
from magistrate.api.audit.requests import audit_answer
from magistrate.api.auth.bearer import CHALLENGE
from magistrate.api.endpoints import public
from magistrate.api.http.content_coding import GZIP
from magistrate.api.http.error_bodies import ERROR_TABLE, INTERNAL_ERROR, RETRY_AFTER_SECONDS, error_body
from magistrate.api.http.fast_path import ECHOED_HEADER
from magistrate.api.http.json_values import render_json
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.openfga_errors import describe_openfga_error
from magistrate.api.http.request_scope import LEDGER, OPENFGA, REQUEST_ID, ROUTE, SOURCE, SPAN, STARTED, render_path
from magistrate.api.route import Route


def finish_answer(req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
    request_id: str = req.scope[REQUEST_ID]
    resp.set_header("Warrant-Request-Id", request_id)
    if OPENFGA in req.scope:
        resp.set_header("X-Request-Id", request_id)
        resp.set_header("Fga-Request-Id", request_id)  # the one that its SDKs put into their exceptions
    route: Route | None = req.scope.get(ROUTE)
    if route is not None and route.echoes_id and (echoed := req.get_header(ECHOED_HEADER)) is not None:
        resp.set_header(ECHOED_HEADER, echoed)
    ledger: Ledger = req.scope[LEDGER]
    route_path, status, started = req.uri_template or "", resp.status_code, req.scope[STARTED]
    if SOURCE in req.scope:
        ledger.count_answer(req.method, route_path, status, started)
        return
    ledger.record_answer(
        req.method,
        route_path,
        status,
        started,
        path=render_path(req),
        request_id=request_id,
        span=req.scope.get(SPAN),
    )
    if ledger.audit_log is not None:
        audit_answer(ledger.audit_log, ledger.refused, req, resp, request_id=request_id)


TRY_AGAIN = (
    errors.StoreUnavailable,
    errors.ProviderUnavailable,
    errors.DeadlineExceeded,
    errors.TooManyRequests,
    errors.Overloaded,
)
"""Lists the errors whose answers say when to try again."""

log = structlog.get_logger()


async def answer_error(
    req: falcon.asgi.Request, resp: falcon.asgi.Response, error: errors.MagistrateError, path: dict[str, Any]
) -> None:
    """Answers with the status and body of an error."""
    if OPENFGA in req.scope:
        resp.status, body = describe_openfga_error(error, has_header=req.get_header("Authorization") is not None)
    else:
        resp.status, body = ERROR_TABLE[type(error)].status, error_body(error)
    resp.data = render_json(body)
    resp.content_type = public.JSON
    if isinstance(error, TRY_AGAIN):
        resp.set_header("Retry-After", RETRY_AFTER_SECONDS)
    if isinstance(error, errors.StoreUnavailable | errors.DeadlineExceeded):
        log.warning(
            "unavailable",
            outage="store",
            method=req.method,
            path=render_path(req),
            error=error.message,
            cause=repr(error.__cause__),
        )
    if isinstance(error, errors.Unauthenticated):
        resp.set_header("WWW-Authenticate", CHALLENGE)
    if isinstance(error, errors.UnsupportedCoding):
        resp.set_header("Accept-Encoding", GZIP)
    if isinstance(error, errors.BodyTooLarge | errors.BodyTooSlow):
        # The rest of the body is still to come and would not be read.
        resp.set_header("Connection", "close")
    finish_answer(req, resp)
    if resp.status_code == 500:
        log.error("fault", method=req.method, path=render_path(req), exc_info=error)


async def answer_http_error(
    req: falcon.asgi.Request, resp: falcon.asgi.Response, error: falcon.HTTPError, path: dict[str, Any]
) -> None:
    """Answers the requests that Falcon refuses by itself: paths without a route, unknown methods and unreadable
    headers."""
    if error.status_code == 404 or req.method not in COMBINED_METHODS:
        await answer_error(req, resp, errors.NotFound("Endpoint", render_path(req)), path)
    else:
        await answer_error(
            req, resp, errors.InvalidRequest(error.description or error.title or "Invalid request"), path
        )


async def answer_fault(
    req: falcon.asgi.Request, resp: falcon.asgi.Response, error: Exception, path: dict[str, Any]
) -> None:
    """Answers and logs an error that nobody raised on purpose."""
    resp.status = 500
    resp.data = render_json(INTERNAL_ERROR)
    resp.content_type = public.JSON
    finish_answer(req, resp)
    log.error("fault", method=req.method, path=render_path(req), exc_info=error)
