"""Finishes every answer: gives it the ids of its request, and records it in the ledger and in the audit log."""

import falcon.asgi

from magistrate.api.auditing import ROUTE, audit_answer
from magistrate.api.paths import render_path
from magistrate.api.route import Route
from magistrate.api.server.fast_path import ECHOED_HEADER
from magistrate.api.server.ledger import Ledger

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
    ledger.record_answer(req.method, route_path, render_path(req), status, request_id, started)
    if ledger.audit_log is not None:
        audit_answer(ledger.audit_log, ledger.refused, req, resp, request_id)
