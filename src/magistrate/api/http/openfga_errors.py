"""Maps errors to the statuses and codes that OpenFGA's API has for them (docs/openfga.md#errors)."""

from collections.abc import Mapping
from typing import Any

from magistrate import errors
from magistrate.api.http.error_bodies import ERROR_TABLE
from magistrate.api.http.request_scope import ULID

INVALID, INTERNAL = "validation_error", "internal_error"
_UNAVAILABLE = "unavailable"

_ROWS: Mapping[type[errors.MagistrateError], tuple[int, str]] = {
    errors.Forbidden: (403, "forbidden"),
    errors.Conflict: (409, "Aborted"),
    errors.LimitReached: (400, "exceeded_entity_limit"),
    errors.BudgetExceeded: (400, "authorization_model_resolution_too_complex"),
    errors.DeadlineExceeded: (500, "deadline_exceeded"),
    errors.StoreDeleted: (404, "store_id_not_found"),
}
"""Lists the errors that have a row of their own. Clients send again what is answered with any other status than these,
500 and 503, for minutes, so whatever else is refused is a 400."""


def require_ulid(text: str) -> None:
    """Raises OpenFgaRefusal unless a text is a ULID in capitals."""
    if not ULID.fullmatch(text):
        raise errors.OpenFgaRefusal(INVALID, "the id of a store, or of a model, must be a ULID in capitals")


def describe_openfga_error(error: errors.MagistrateError, has_header: bool) -> tuple[int, dict[str, Any]]:
    """Returns the status and the body of the answer to a request that may have a header with a key."""
    status, code = _find_row(error, has_header)
    message = "Internal Server Error" if code == INTERNAL else error.message
    if isinstance(error, errors.InvalidParameter) and not isinstance(error, errors.MissingParameter):
        message = f"{error.parameter} {error.message}"
    return status, {"code": code, "message": message}


def _find_row(error: errors.MagistrateError, has_header: bool) -> tuple[int, str]:
    if isinstance(error, errors.OpenFgaRefusal):
        return 400, error.code
    if isinstance(error, errors.Unauthenticated):
        return 401, "unauthenticated" if has_header else "bearer_token_missing"
    if isinstance(error, errors.NotFound):
        codes = {"Store": "store_id_not_found", "Endpoint": "undefined_endpoint"}
        return (404, codes[error.kind]) if error.kind in codes else (400, INVALID)
    row = _ROWS.get(type(error))
    if row is not None:
        return row
    status = ERROR_TABLE[type(error)].status
    if status == 429:  # Too Many Requests
        return status, "rate_limit_exceeded"
    if status >= 500:  # the first of the faults of a service
        return status, INTERNAL if status == 500 else _UNAVAILABLE  # likewise
    return 400, INVALID
