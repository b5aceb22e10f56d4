"""Determines which requests the audit log records, and records them (docs/operating.md#audit)."""

from time import time_ns

import falcon.asgi

from magistrate.api.audit.log import AuditLog
from magistrate.api.audit.records import ADMINISTRATIVE, CHANGE, MAX_PATH_CHARACTERS, REFUSED, AuditRecord
from magistrate.api.http.consistency_tokens import TOKEN_HEADERS
from magistrate.api.http.rate_limits import RefusedRequests
from magistrate.api.http.request_scope import BODY, CALLER, IS_DECIDED, ROUTE, render_path
from magistrate.api.route import Route
from magistrate.operations.keys.callers import Caller


def audit_answer(
    audit_log: AuditLog,
    refused: RefusedRequests | None,
    req: falcon.asgi.Request,
    resp: falcon.asgi.Response,
    request_id: str,
) -> None:
    """Notes a request that was answered, if it is one that is audited. Of a caller whose requests are refused too
    often, further ones are counted instead."""
    kind = None if IS_DECIDED in req.scope else _find_kind(req.scope.get(ROUTE), resp.status_code)
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
