"""Defines every error that this service raises on purpose. Their status codes are in api/http/error_bodies.py.

MagistrateError
├── InvalidSetting            a flag or environment variable that is not valid; the service does not start
├── InvalidRequest            the caller can fix it
│   ├── InvalidModel          carries `errors`, all that is wrong with a model
│   ├── InvalidParameter      carries `parameter`, the name of what is wrong
│   │   ├── MissingParameter  it is required and absent, empty or null
│   │   ├── NotAllowed        a warrant that the allowed types of its relation forbid; carries `allowed`
│   │   ├── UnknownMember     a body has a member that is misspelled or, in strict mode, not known
│   │   └── OrphanedWarrants  object types that forbid stored warrants; carries `warrants`, some of them
│   ├── BodyTooLarge          carries `limit`, in bytes
│   ├── BodyTooSlow           carries `limit_ms`
│   ├── UnsupportedCoding     the body has a content coding that is not decoded
│   ├── OpenFgaRefusal        carries `code`, that of OpenFGA's API
│   ├── DamagedBackup         a file is no backup, or not as it was written
│   └── KeyReused             an idempotency key came back with another request
├── Unauthenticated           no key, or one that is unknown
│   ├── InvalidToken          a bearer token without a valid signature of a trusted issuer for this service
│   └── TokenExpired          the bearer token was valid before
├── Forbidden                 the caller is known, and may not make this request
├── TooManyRequests           the caller has made as many requests as it may for now
│   ├── TooManyRefused        without a valid key, from the address of the caller
│   └── StoreRateExceeded     all callers of the store together have
├── NotFound                  carries `kind` and `key`
├── StoreDeleted              the store that the request is about was deleted meanwhile
├── Conflict                  what is stored stands in the way of the request
├── LimitReached              carries `limit`, the name of the limit of the store that a write would exceed
├── PreconditionFailed        carries `index`, the place of the precondition in its request
├── ModelChanged              the stored model is not the one that a write expects
├── BudgetExceeded               a decision would exceed its budget; it is unknown, and never "no"
├── RevisionLost              a token names a write that the store does not hold
├── RevisionUnavailable       carries `revision`, which is already collected or not written yet
├── NotRetained               what was stored at a past time is not kept any more; carries `oldest`
├── EventsNotKept             events behind a position are not kept any more
├── NotReplayable             a recorded decision cannot be made again, because what it takes was not kept
├── ReadOnly                  this service writes nothing; carries `primary`, the URL of one that does
├── StoreUnavailable          try again later; nothing of the request was kept
│   ├── NotReplicated         a service that only reads has not received the write that a token names
│   ├── HistoryReplaced       the store was restored, or failed over, while the request ran
│   ├── SchemaMismatch        the store is reachable but not at the schema this version needs
│   ├── SigningKeysLocked     the keys of session tokens are encrypted with a key that is not known
│   └── OutcomeUnknown        a write was being committed when the store stopped answering
├── DeadlineExceeded          a request took longer than it may; carries `limit_ms`
├── Overloaded                too many requests are waiting; this one was not begun
├── ProviderUnavailable       a bearer token cannot be verified now; try again later
├── RulesUnavailable          the rules for gateways have not been valid since the service started
├── ServiceUnreachable        a client got no answer from a service; carries `url`
│   ├── AnswerTooSlow         a service that had answered before did not answer a check in time
│   └── AnswerTooLarge        a client stopped reading an answer; a smaller page may fit
├── RequestRefused            a client was refused; carries `status`, `code`, `parameter`, `request_id`
├── TargetUnavailable         the database that a mirror writes to cannot be used now
└── TargetRefused             a mirror cannot write to a database or a table as it is
"""

from collections.abc import Sequence

UNKNOWN_WRITE = "whether it was made is not known: look, or send it again, with the same Idempotency-Key if it had one"


class MagistrateError(Exception):
    """Represents any error of this service; `message` is in the user's words and safe to show to the caller."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidSetting(MagistrateError):
    """Names the setting and what is wrong with its value."""


class InvalidRequest(MagistrateError):
    """Reports that the request as a whole cannot be parsed or is inconsistent."""


class InvalidModel(InvalidRequest):
    """Reports that a model cannot be used; `errors` has all that is wrong with it, in the form of the API."""

    def __init__(self, message: str, errors: list[dict[str, str | int]]) -> None:
        super().__init__(message)
        self.errors = errors


class InvalidParameter(InvalidRequest):
    """Reports that one named part of the request is wrong."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter

    def within(self, prefix: str) -> "InvalidParameter":
        """Returns the same error for an element: `prefix` is put before the parameter's name."""
        return InvalidParameter(prefix + self.parameter, self.message)


class MissingParameter(InvalidParameter):
    """Reports that a required part of the request is absent, empty or null."""

    def __init__(self, parameter: str, message: str | None = None) -> None:
        super().__init__(parameter, message or f"Missing required parameter {parameter}")

    def within(self, prefix: str) -> "MissingParameter":
        return MissingParameter(prefix + self.parameter, self.message)


class NotAllowed(InvalidParameter):
    """Reports a warrant to a subject that its relation does not allow: `allowed` are the forms that it does."""

    def __init__(self, parameter: str, message: str, allowed: Sequence[str]) -> None:
        super().__init__(parameter, message)
        self.allowed = [*allowed]

    def within(self, prefix: str) -> "NotAllowed":
        return NotAllowed(prefix + self.parameter, self.message, self.allowed)


class OpenFgaRefusal(InvalidRequest):
    """Reports that a request of OpenFGA's API is refused, with the code that this has there."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnknownMember(InvalidParameter):
    """Reports a member of a body that is misspelled or, in strict mode, not known."""

    def within(self, prefix: str) -> "UnknownMember":
        return UnknownMember(prefix + self.parameter, self.message)


class OrphanedWarrants(InvalidParameter):
    """Reports object types whose allowed types forbid stored warrants: `warrants` are the first of them, in written
    form."""

    def __init__(self, warrants: Sequence[str], has_more: bool) -> None:
        some = ", ".join(warrants) + (", and others" if has_more else "")
        super().__init__(
            "allowedTypes",
            f"stored warrants would not be allowed any more: {some}; delete them, allow them, or keep them without "
            "effect with keepExisting=true",
        )
        self.warrants = [*warrants]


class BodyTooLarge(InvalidRequest):
    """Reports that the request body exceeds the limit; reading stopped there."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Request body must not be larger than {limit} bytes")
        self.limit = limit


class BodyTooSlow(InvalidRequest):
    """Reports that the request body was not complete in time."""

    def __init__(self, limit_ms: int) -> None:
        super().__init__(f"Request body was not complete within {limit_ms} milliseconds")
        self.limit_ms = limit_ms


class UnsupportedCoding(InvalidRequest):
    """Reports that a request body has a content coding that is not decoded, or several."""


class DamagedBackup(InvalidRequest):
    """Reports that a file is no backup, or that it is not as it was written."""


class KeyReused(InvalidParameter):
    """Reports that an idempotency key was used again with another method, path or body than the first time."""

    def __init__(self) -> None:
        super().__init__("Idempotency-Key", "was used before with another request")


class Unauthenticated(MagistrateError):
    """Reports that the request carries no key, or none that this service knows."""


class InvalidToken(Unauthenticated):
    """Reports that a bearer token is not valid; the reason is not disclosed to anyone."""

    def __init__(self) -> None:
        super().__init__("Invalid token")


class TokenExpired(Unauthenticated):
    """Reports that the bearer token was valid for a period that is over."""

    def __init__(self) -> None:
        super().__init__("Token is expired.")


class Forbidden(MagistrateError):
    """Reports that the caller is known, but may not make this request."""


class TooManyRequests(MagistrateError):
    """Reports that the caller exceeds its rate limit, and may try again in a second."""

    def __init__(self, message: str = "Too many requests.") -> None:
        super().__init__(message)


class TooManyRefused(TooManyRequests):
    """Reports that the request carries no valid key, like too many others from the same address."""

    def __init__(self) -> None:
        super().__init__("Too many requests without a valid key come from this address.")


class StoreRateExceeded(TooManyRequests):
    """Reports that the store gets as many requests as it may for now, from all callers together."""

    def __init__(self) -> None:
        super().__init__("Too many requests to this store.")


class NotFound(MagistrateError):
    """Names what does not exist: `kind` is its type in the caller's words, `key` its identifier. The `hint` is appended
    to the message."""

    def __init__(self, kind: str, key: str, hint: str = "") -> None:
        super().__init__(f"{kind} {key} not found{hint}")
        self.kind = kind
        self.key = key


class Conflict(MagistrateError):
    """Reports that a request cannot be done beside what is stored; the message says what to change."""


class LimitReached(MagistrateError):
    """Reports that a write would make its store hold more than the limit of the store allows, which is called `limit`;
    nothing was written."""

    def __init__(self, limit: str, most: int) -> None:
        super().__init__(
            f"the store may hold {most} {limit} and this write would exceed that, so nothing was written; delete "
            f"{limit} that are not needed, or have the operator raise the limit"
        )
        self.limit = limit


class PreconditionFailed(MagistrateError):
    """Reports that a precondition of a write does not hold, so nothing was written: `index` is its place, from 0, and
    `reason` says what holds instead."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"preconditions[{index}] does not hold: {reason}; nothing was written")
        self.index = index


class ModelChanged(MagistrateError):
    """Reports that the model has changed since the revision that a write of a whole model names."""

    def __init__(self) -> None:
        super().__init__("the model has changed since that token; nothing was written. Read it and try again")


class BudgetExceeded(MagistrateError):
    """Reports that a request exceeded its budget: `limit` is the number of nodes and warrants that it may look at."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer needs to look at more than {limit} nodes and warrants; it is not known")
        self.limit = limit


class RevisionLost(MagistrateError):
    """Reports that a token names a write that the store does not hold, although another may have its number."""

    def __init__(self) -> None:
        super().__init__("the write of this token is not in the store: it was restored, or failed over without it")


class RevisionUnavailable(MagistrateError):
    """Reports that a read requested a revision that is already collected or not written yet."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"revision {revision} cannot be read: it is collected or not written yet")
        self.revision = revision


class NotRetained(MagistrateError):
    """Reports that a read as of the past goes back further than what is kept: `oldest` is the oldest time that can be
    read, in RFC 3339, and `is_first` says that nothing was stored before it."""

    def __init__(self, oldest: str, is_first: bool = False) -> None:
        reason = "nothing was stored yet" if is_first else "what was stored then is not kept any more"
        super().__init__(f"{reason}; the oldest time that can be read is {oldest}")
        self.oldest = oldest


class EventsNotKept(MagistrateError):
    """Reports that a follower of events is too late: some that came after the place where it stands are not kept any
    more."""

    def __init__(self) -> None:
        super().__init__("some events after this place are not kept any more; begin again with after=begin")


class NotReplayable(MagistrateError):
    """Reports that a recorded decision cannot be made again; `reason` says what was not kept."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the decision cannot be replayed: it {reason}")


class ReadOnly(MagistrateError):
    """Reports that a service writes nothing, as on a standby of PostgreSQL: `primary` is the URL of one that does, None
    if it was not configured."""

    def __init__(self, primary: str | None = None) -> None:
        super().__init__(f"this service only reads; send writes to {primary or 'one that writes'}")
        self.primary = primary


class StoreUnavailable(MagistrateError):
    """Reports that the store cannot be reached or cannot do its work now; the request can be sent again."""


class StoreDeleted(MagistrateError):
    """Reports that the store that a request is about was deleted meanwhile."""

    def __init__(self) -> None:
        super().__init__("the store was deleted")


class NotReplicated(StoreUnavailable):
    """Reports that a token names a write which a service that only reads has not received. It cannot know whether the
    write was lost or is on its way."""

    def __init__(self) -> None:
        super().__init__(
            "the write of this token has not arrived at this service, which only reads; try again, or elsewhere"
        )


class HistoryReplaced(StoreUnavailable):
    """Reports that the store turned out to have another history than the one that the request began with."""

    def __init__(self) -> None:
        super().__init__("the store was restored, or failed over without its last writes, meanwhile; try again")


class SchemaMismatch(StoreUnavailable):
    """Reports that the store answers, but its schema is not the one this version of Magistrate was written for."""


class SigningKeysLocked(StoreUnavailable):
    """Reports that the keys that session tokens are signed with are encrypted in the store and cannot be decrypted."""

    def __init__(self, has_keys: bool) -> None:
        cause = "with another secret key than those of the file" if has_keys else "and no secret key was given"
        what_to_do = "add the line with that key to the file" if has_keys else "give its file with --secret-key-file"
        super().__init__(
            f"the keys of sessions in the database are encrypted {cause}; {what_to_do}, "
            "or end all sessions with `magistrate sessions revoke`"
        )


class OutcomeUnknown(StoreUnavailable):
    """Reports that the store stopped answering while a write was being committed: it was made as a whole, or not at
    all."""

    def __init__(self) -> None:
        super().__init__(f"the database stopped answering while the write was being committed; {UNKNOWN_WRITE}")


class DeadlineExceeded(MagistrateError):
    """Reports that the request was not answered in time. `may_have_written` means that its write may have been made."""

    def __init__(self, limit_ms: int, may_have_written: bool) -> None:
        consequence = f"; {UNKNOWN_WRITE}" if may_have_written else ""
        super().__init__(f"the request was not answered within {limit_ms} milliseconds{consequence}")
        self.limit_ms = limit_ms


class Overloaded(MagistrateError):
    """Reports that more requests are waiting than can be answered soon, so this one was refused before it began."""

    def __init__(self) -> None:
        super().__init__("the service has more requests than it can answer now; nothing of this one was done")


class ProviderUnavailable(MagistrateError):
    """Reports that the keys that a bearer token may be signed with cannot be fetched, so the token cannot be
    verified."""


class RulesUnavailable(MagistrateError):
    """Reports that the file of rules for gateways has not been valid since the service started."""

    def __init__(self) -> None:
        super().__init__("the rules for gateways cannot be read; `magistrate forward test FILE` says what is wrong")


class ServiceUnreachable(MagistrateError):
    """Reports that nothing answers at `url`, or something that is no service of ours. A write may have been made all
    the same."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(reason)
        self.url = url


class AnswerTooSlow(ServiceUnreachable):
    """Reports that a service that had answered before did not answer a check in time."""


class AnswerTooLarge(ServiceUnreachable):
    """Reports that an answer exceeded what a client accepts."""


class RequestRefused(MagistrateError):
    """Reports that a service answered a client with an error; `message` is the service's."""

    def __init__(self, status: int, code: str, message: str, parameter: str | None, request_id: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter
        self.request_id = request_id


class TargetUnavailable(MagistrateError):
    """Reports that the database that a mirror writes to cannot be used now; nothing of the transaction was kept, or all
    of it."""


class TargetRefused(MagistrateError):
    """Reports that a mirror cannot write to a database or a table, until somebody changes it or chooses another."""
