"""Chooses what the audit log has of a request (docs/operating.md#audit)."""

import re
from time import time_ns
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import falcon
import falcon.asgi
import structlog
from falcon.constants import COMBINED_METHODS

from magistrate import errors
from magistrate.api.audit.log import AuditLog
from magistrate.api.audit.records import ADMINISTRATIVE, CHANGE, MAX_PATH_CHARACTERS, REFUSED, AuditRecord
from magistrate.api.auth.bearer import CHALLENGE
from magistrate.api.endpoints import public
from magistrate.api.http.consistency_tokens import TOKEN_HEADERS
from magistrate.api.http.content_coding import GZIP
from magistrate.api.http.error_bodies import ERROR_TABLE, INTERNAL_ERROR, RETRY_AFTER_SECONDS, error_body
from magistrate.api.http.fast_path import ECHOED_HEADER
from magistrate.api.http.json_values import render_json
from magistrate.api.http.ledger import Ledger
from magistrate.api.http.rate_limits import RefusedRequests
from magistrate.api.route import Route
from magistrate.operations.keys.callers import Caller

SLASH_IN_ID = "\N{DIVISION SLASH}"
"""Stands for a slash that is part of an id, encoded as %2F, in the path of a request until the path has been divided
into segments. No id contains this character."""

HAS_SLASH = "magistrate.has_slash_in_id"
"""Names the member of the scope of requests whose path contains SLASH_IN_ID."""


def decode_path(raw_path: bytes) -> str:
    """Returns a path that contains %2F with SLASH_IN_ID in its place, so that it does not divide an id."""
    pieces = re.split("%2[fF]", raw_path.decode("ascii"))
    return SLASH_IN_ID.join(unquote(piece).replace(SLASH_IN_ID, "\N{REPLACEMENT CHARACTER}") for piece in pieces)


def is_utf8(raw_path: bytes) -> bool:
    """Returns whether a path, which is percent-encoded, is UTF-8."""
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return False
    return True


def render_path(req: falcon.asgi.Request) -> str:
    """Returns the path for messages and logs."""
    return req.path.replace(SLASH_IN_ID, "%2F") if HAS_SLASH in req.scope else req.path


ROUTE, CALLER, BODY = "magistrate.route", "magistrate.caller", "magistrate.body"
"""Name the entries of the ASGI scope that say which route a request matched, who sent it, and its body, as far as that
is known. A body is there once it has been decoded."""


def audit_answer(
    audit_log: AuditLog,
    refused: RefusedRequests | None,
    req: falcon.asgi.Request,
    resp: falcon.asgi.Response,
    request_id: str,
) -> None:
    """Notes a request that was answered, if it is one that is audited. Of a caller whose requests are refused too
    often, further ones are counted instead."""
    kind = _find_kind(req.scope.get(ROUTE), resp.status_code)
    if kind is None:
        return
    caller: Caller | None = req.scope.get(CALLER)
    if kind == REFUSED and refused is not None and caller is not None and not refused.admit_actor(caller.identity):
        refused.count_actor(caller.actor, resp.status_code)
        return
    record = AuditRecord(
        time_ns() // 1_000,
        kind,
        None if caller is None else caller.actor,
        request_id,
        method=req.method,
        path=render_path(req)[:MAX_PATH_CHARACTERS],
        status=resp.status_code,
        token=resp.get_header(TOKEN_HEADERS[0]) if kind == CHANGE else None,
        body=req.scope.get(BODY, b""),
    )
    audit_log.note(record)


def _find_kind(route: Route | None, status: int) -> str | None:
    """Returns the kind of an audited request, or None for one that is not."""
    if status in (401, 403):
        return REFUSED
    if route is None:
        return None
    return ADMINISTRATIVE if route.is_administrative else CHANGE if route.writes else None


LEDGER = "magistrate.ledger"
STARTED = "magistrate.started"
REQUEST_ID = "magistrate.request_id"
SOURCE = "magistrate.source"
"""Name what `Application` adds to the scope of a request: SOURCE only if it is one of too many of this source that have
no valid key."""


def finish_answer(req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
    request_id: str = req.scope[REQUEST_ID]
    resp.set_header("Warrant-Request-Id", request_id)
    route: Route | None = req.scope.get(ROUTE)
    if route is not None and route.echoes_id and (echoed := req.get_header(ECHOED_HEADER)) is not None:
        resp.set_header(ECHOED_HEADER, echoed)
    ledger: Ledger = req.scope[LEDGER]
    route_path, status, started = req.uri_template or "", resp.status_code, req.scope[STARTED]
    if SOURCE in req.scope:
        ledger.count_answer(req.method, route_path, status, started)
        return
    ledger.record_answer(req.method, route_path, status, started, path=render_path(req), request_id=request_id)
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
    resp.status = ERROR_TABLE[type(error)].status
    resp.data = render_json(error_body(error))
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
