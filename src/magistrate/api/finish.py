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
"""Name what `Application` adds to the scope of a request."""


def finish_answer(req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
    request_id: str = req.scope[REQUEST_ID]
    resp.set_header("Warrant-Request-Id", request_id)
    route: Route | None = req.scope.get(ROUTE)
    if route is not None and route.echoes_id and (echoed := req.get_header(ECHOED_HEADER)) is not None:
        resp.set_header(ECHOED_HEADER, echoed)
    ledger: Ledger = req.scope[LEDGER]
    ledger.record_answer(
        req.method, req.uri_template or "", render_path(req), resp.status_code, request_id, req.scope[STARTED]
    )
    if ledger.audit_log is not None:
        audit_answer(ledger.audit_log, req, resp, request_id)
