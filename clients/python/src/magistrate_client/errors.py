"""Defines every error that a client raises. They mirror the codes of the service (docs/api.md#errors).

MagistrateError
├── InvalidUse                  arguments that no request can be made of; nothing was sent
├── ObjectSetTooLarge           more objects than a condition on one's own rows can have; nothing is cut off
├── Denied                      `require` found that a check is denied; carries `reason`, perhaps an `explanation`
├── Unreachable                 no complete answer came; carries `url`, `idempotency_key` of a write
│   └── CallTimeout             the time of the call is over
└── Refused                     the service answered with an error; carries `status`, `code`, `request_id`, `details`
    ├── InvalidRequest
    │   ├── InvalidParameter    carries `parameter`
    │   │   ├── NotAllowed      a warrant that the allowed types of its relation forbid; carries `allowed`
    │   │   └── OrphanedWarrants  a model that forbids stored warrants; carries `warrants`
    │   └── InvalidModel        carries `errors`
    ├── Unauthenticated         no key, or one that is unknown or expired
    ├── Forbidden               the key may not make this request
    ├── NotFound
    ├── Conflict
    │   ├── LimitReached        carries `limit`
    │   ├── PreconditionFailed  carries `index`
    │   └── RevisionLost        the write of a token is not in the store any more
    ├── Gone                    older than what is kept
    ├── TooManyRequests         carries `retry_after`
    ├── Unavailable             carries `retry_after`
    ├── ReadOnly                the service only reads; carries `primary`
    ├── BudgetExceeded          the result is unknown, and never "no"
    └── InternalError
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magistrate_client.explanations import Explanation


class MagistrateError(Exception):
    """Represents any error of this package. `message` never has a key."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidUse(MagistrateError):
    """Reports arguments that no request can be made of, so that nothing was sent."""


class ObjectSetTooLarge(MagistrateError):
    """Reports that a subject has a relation on more objects than fit into a condition of a database."""


class Denied(MagistrateError):
    """Reports that a subject does not have a relation on an object. `explanation` is there if it was requested."""

    def __init__(self, reason: str, explanation: Explanation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.explanation = explanation


class Unreachable(MagistrateError):
    """Reports that no complete answer of a Magistrate came.

    Whether a write was made is then not known. `idempotency_key` is that of the write: to send it again with this key
    makes it at most once."""

    def __init__(self, message: str, url: str, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.url = url
        self.idempotency_key = idempotency_key


class CallTimeout(Unreachable):
    """Reports that the time of a call was over before a complete answer came."""


class Refused(MagistrateError):
    """Reports an answer that is an error. `details` has all members of its body."""

    def __init__(
        self,
        message: str,
        status: int,
        code: str | None = None,
        request_id: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after
        self.idempotency_key: str | None = None

    @property
    def parameter(self) -> str | None:
        """Returns the name of the part of the request that is wrong, where there is one."""
        named = self.details.get("parameter")
        return named if isinstance(named, str) else None


class InvalidRequest(Refused):
    """Reports a request that the service cannot accept as it is."""


class InvalidParameter(InvalidRequest):
    """Reports that one named part of a request, `parameter`, is wrong."""


class NotAllowed(InvalidParameter):
    """Reports a warrant to a subject that its relation does not allow: `allowed` are the forms that it does."""

    @property
    def allowed(self) -> list[str]:
        return [str(form) for form in self.details.get("allowed", ())]


class OrphanedWarrants(InvalidParameter):
    """Reports a model that forbids stored warrants: `warrants` are some of them."""

    @property
    def warrants(self) -> list[str]:
        return [str(warrant) for warrant in self.details.get("warrants", ())]


class InvalidModel(InvalidRequest):
    """Reports a model that cannot be used; `errors` has all that is wrong with it."""

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        return [*self.details.get("errors", ())]


class Unauthenticated(Refused):
    """Reports that the key is missing, unknown, or expired."""


class Forbidden(Refused):
    """Reports that the key may not make this request."""


class NotFound(Refused):
    """Reports that what the request is about does not exist."""


class Conflict(Refused):
    """Reports that what is stored stands in the way of the request."""


class LimitReached(Conflict):
    """Reports a write that would exceed the `limit` of its store with this name."""

    @property
    def limit(self) -> str:
        return str(self.details.get("limit", ""))


class PreconditionFailed(Conflict):
    """Reports that a precondition of a write does not hold: the first that does not has the place `index`, from 0."""

    @property
    def index(self) -> int | None:
        place = self.details.get("index")
        return place if isinstance(place, int) else None


class RevisionLost(Conflict):
    """Reports that the write of a token is not in the store: it was restored, or failed over without it.

    The client has forgotten its token, so the next call reads what there is."""


class Gone(Refused):
    """Reports that what the request is about is older than what is kept."""


class TooManyRequests(Refused):
    """Reports that the caller may send the next request after `retry_after` seconds."""


class Unavailable(Refused):
    """Reports that the service, or a proxy before it, cannot answer now."""


class ReadOnly(Refused):
    """Reports a write to a service that only reads."""

    @property
    def primary(self) -> str | None:
        """Returns the URL of a service that writes, if the service names one."""
        url = self.details.get("primary")
        return url if isinstance(url, str) else None


class BudgetExceeded(Refused):
    """Reports that a decision would exceed its budget: its result is unknown, and never "no"."""


class InternalError(Refused):
    """Reports a fault of the service."""


ERRORS_BY_CODE: Mapping[str, type[Refused]] = {
    "invalid_request": InvalidRequest,
    "invalid_parameter": InvalidParameter,
    "missing_required_parameter": InvalidParameter,
    "not_allowed": NotAllowed,
    "stranded_warrants": OrphanedWarrants,
    "invalid_model": InvalidModel,
    "unauthorized": Unauthenticated,
    "token_expired": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "conflict": Conflict,
    "limit_reached": LimitReached,
    "precondition_failed": PreconditionFailed,
    "revision_lost": RevisionLost,
    "gone": Gone,
    "too_many_requests": TooManyRequests,
    "unavailable": Unavailable,
    "read_only": ReadOnly,
    "budget_spent": BudgetExceeded,
    "internal_error": InternalError,
}


def choose_error(status: int, code: str | None) -> type[Refused]:
    """Returns the class for an answer; a code that is not known is judged by its status."""
    if code is not None and code in ERRORS_BY_CODE:
        return ERRORS_BY_CODE[code]
    if status == 429:
        return TooManyRequests
    return InvalidRequest if status < 500 else InternalError if status == 500 else Unavailable
