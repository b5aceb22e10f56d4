"""Maps each error to its status, its code and the attributes that its body shows (docs/compatibility.md#errors)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from magistrate import errors
from magistrate.api.http.json_values import render_json


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Holds the status and code of an error. `members` maps names in the body to attributes of the error, in order; one
    whose attribute is None is absent."""

    status: int
    code: str
    members: Mapping[str, str]


_PARAMETER = {"parameter": "parameter"}

ERROR_TABLE: Mapping[type[errors.MagistrateError], ErrorRow] = {
    errors.MagistrateError: ErrorRow(500, "internal_error", {}),
    errors.InvalidSetting: ErrorRow(500, "internal_error", {}),
    errors.InvalidRequest: ErrorRow(400, "invalid_request", {}),
    errors.InvalidModel: ErrorRow(400, "invalid_model", {"errors": "errors"}),
    errors.InvalidParameter: ErrorRow(400, "invalid_parameter", _PARAMETER),
    errors.MissingParameter: ErrorRow(400, "missing_required_parameter", _PARAMETER),
    errors.UnknownMember: ErrorRow(400, "invalid_parameter", _PARAMETER),
    errors.NotAllowed: ErrorRow(400, "not_allowed", {**_PARAMETER, "allowed": "allowed"}),
    errors.OrphanedWarrants: ErrorRow(400, "stranded_warrants", {**_PARAMETER, "warrants": "warrants"}),
    errors.BodyTooLarge: ErrorRow(413, "invalid_request", {}),
    errors.BodyTooSlow: ErrorRow(408, "invalid_request", {}),
    errors.UnsupportedCoding: ErrorRow(415, "invalid_request", {}),
    errors.OpenFgaRefusal: ErrorRow(400, "invalid_request", {}),
    errors.DamagedBackup: ErrorRow(400, "invalid_request", {}),
    errors.KeyReused: ErrorRow(422, "invalid_parameter", _PARAMETER),
    errors.Unauthenticated: ErrorRow(401, "unauthorized", {}),
    errors.InvalidToken: ErrorRow(401, "unauthorized", {}),
    errors.TokenExpired: ErrorRow(401, "token_expired", {}),
    errors.Forbidden: ErrorRow(403, "forbidden", {}),
    errors.TooManyRequests: ErrorRow(429, "too_many_requests", {}),
    errors.TooManyRefused: ErrorRow(429, "too_many_requests", {}),
    errors.StoreRateExceeded: ErrorRow(429, "too_many_requests", {}),
    errors.NotFound: ErrorRow(404, "not_found", {"type": "kind", "key": "key"}),
    errors.StoreDeleted: ErrorRow(404, "not_found", {}),
    errors.Conflict: ErrorRow(409, "conflict", {}),
    errors.LimitReached: ErrorRow(409, "limit_reached", {"limit": "limit"}),
    errors.PreconditionFailed: ErrorRow(409, "precondition_failed", {"index": "index"}),
    errors.ModelChanged: ErrorRow(412, "precondition_failed", {}),
    errors.RevisionLost: ErrorRow(409, "revision_lost", {}),
    errors.RevisionUnavailable: ErrorRow(410, "gone", {}),
    errors.NotRetained: ErrorRow(410, "gone", {"oldest": "oldest"}),
    errors.EventsNotKept: ErrorRow(410, "gone", {}),
    errors.NotReplayable: ErrorRow(410, "gone", {}),
    errors.BudgetExceeded: ErrorRow(503, "budget_spent", {}),
    errors.ReadOnly: ErrorRow(503, "read_only", {"primary": "primary"}),
    errors.StoreUnavailable: ErrorRow(503, "unavailable", {}),
    errors.NotReplicated: ErrorRow(503, "unavailable", {}),
    errors.HistoryReplaced: ErrorRow(503, "unavailable", {}),
    errors.SchemaMismatch: ErrorRow(503, "unavailable", {}),
    errors.SigningKeysLocked: ErrorRow(503, "unavailable", {}),
    errors.OutcomeUnknown: ErrorRow(503, "unavailable", {}),
    errors.DeadlineExceeded: ErrorRow(503, "unavailable", {}),
    errors.Overloaded: ErrorRow(503, "unavailable", {}),
    errors.ProviderUnavailable: ErrorRow(503, "unavailable", {}),
    errors.RulesUnavailable: ErrorRow(503, "unavailable", {}),
    errors.ServiceUnreachable: ErrorRow(500, "internal_error", {}),
    errors.TargetUnavailable: ErrorRow(500, "internal_error", {}),
    errors.TargetRefused: ErrorRow(500, "internal_error", {}),
    errors.AnswerTooSlow: ErrorRow(500, "internal_error", {}),
    errors.AnswerTooLarge: ErrorRow(500, "internal_error", {}),
    errors.RequestRefused: ErrorRow(500, "internal_error", {}),
}

INTERNAL_ERROR = {"code": "internal_error", "message": "Internal Server Error"}
"""Holds the body of every answer to an internal error, which reveals nothing about the cause."""


def error_body(error: errors.MagistrateError) -> dict[str, Any]:
    row = ERROR_TABLE[type(error)]
    if row.status == 500:
        return {**INTERNAL_ERROR}
    members: dict[str, Any] = {name: getattr(error, attribute) for name, attribute in row.members.items()}
    shown = {name: value for name, value in members.items() if value is not None}
    return {"code": row.code, "message": error.message, **shown}


Send = Callable[[dict[str, Any]], Awaitable[None]]

RETRY_AFTER_SECONDS = "1"


async def send_error(
    send: Send, error: errors.MagistrateError, request_id: str, further_headers: Mapping[str, str]
) -> None:
    """Sends the answer to a request that the web framework does not answer, and that may be sent again."""
    body, status = render_json(error_body(error)), ERROR_TABLE[type(error)].status
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "warrant-request-id": request_id,
        "retry-after": RETRY_AFTER_SECONDS,
        **further_headers,
    }
    raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw_headers})
    await send({"type": "http.response.body", "body": body})
