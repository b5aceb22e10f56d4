"""Every error this service raises on purpose. Status codes are none of its business: see api/error_table.py.

MagistrateError
├── InvalidSetting            a flag or environment variable that cannot stand; the service does not start
├── InvalidRequest            the caller can mend it
│   ├── InvalidParameter      carries `parameter`, the name of what is wrong
│   │   └── MissingParameter  it is required and absent, empty or null
│   ├── BodyTooLarge          carries `limit`, in bytes
│   ├── BodyTooSlow           carries `limit_ms`
│   └── KeyReused             an idempotency key came back with another request
├── Unauthenticated           no key, or not one of ours
│   ├── InvalidToken          a bearer token that nobody we trust has signed for this
│   └── TokenExpired          it was good
├── Forbidden                 the caller is known, and may not ask this
├── NotFound                  carries `kind` and `key`
├── BudgetSpent               a decision would take more work than is allowed; it is not known, and never "no"
├── RevisionUnavailable       carries `revision`: collected already, or not written yet
├── StoreUnavailable          try again later; nothing of the request was kept
│   ├── SchemaMismatch        the store is reachable but not at the schema this version needs
│   ├── SigningKeysLocked     the keys of session tokens are encrypted, and not with a key that is known
│   └── OutcomeUnknown        a write was being committed when the store stopped answering
├── DeadlineExceeded          a request took longer than it may; carries `limit_ms`
├── ProviderUnavailable       whether a bearer token is good cannot be told now; try again later
├── ServiceUnreachable        a client got no answer of a service; carries `url`
│   ├── AnswerTooSlow         a service that is there did not answer a check in time
│   └── AnswerTooLarge        a client gave an answer up; a smaller page may do
└── RequestRefused            a client was refused; carries `status`, `code`, `parameter`, `request_id`
"""

UNKNOWN_WRITE = "whether it was made is not known: look, or send it again, with the same Idempotency-Key if it had one"


class MagistrateError(Exception):
    """The root; `message` is in the user's words and safe to show to the caller."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidSetting(MagistrateError):
    """Names the setting and what is wrong with its value."""


class InvalidRequest(MagistrateError):
    """The request as a whole cannot be read or makes no sense."""


class InvalidParameter(InvalidRequest):
    """One named part of the request is wrong."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter

    def within(self, prefix: str) -> "InvalidParameter":
        """The same fault, found in an element: `prefix` is put before the parameter's name."""
        return InvalidParameter(prefix + self.parameter, self.message)


class MissingParameter(InvalidParameter):
    """A required part of the request is absent, empty or null."""

    def __init__(self, parameter: str, message: str | None = None) -> None:
        super().__init__(parameter, message or f"Missing required parameter {parameter}")

    def within(self, prefix: str) -> "MissingParameter":
        return MissingParameter(prefix + self.parameter, self.message)


class BodyTooLarge(InvalidRequest):
    """The request body is above the limit; reading stopped there."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Request body must not be larger than {limit} bytes")
        self.limit = limit


class BodyTooSlow(InvalidRequest):
    """The request body was not complete in time."""

    def __init__(self, limit_ms: int) -> None:
        super().__init__(f"Request body was not complete within {limit_ms} milliseconds")
        self.limit_ms = limit_ms


class KeyReused(InvalidParameter):
    """An idempotency key came back with another method, path or body than it was first used with."""

    def __init__(self) -> None:
        super().__init__("Idempotency-Key", "was used before with another request")


class Unauthenticated(MagistrateError):
    """The request carries no key, or none that this service knows."""


class InvalidToken(Unauthenticated):
    """Which of the many things that can be wrong with a bearer token it is, is told to nobody."""

    def __init__(self) -> None:
        super().__init__("Invalid token")


class TokenExpired(Unauthenticated):
    """The bearer token was good for a time that is over."""

    def __init__(self) -> None:
        super().__init__("Token is expired.")


class Forbidden(MagistrateError):
    """The caller is known, but what the request asks for is not for this caller."""


class NotFound(MagistrateError):
    """`kind` is the type of the thing in the caller's words, `key` its identifier."""

    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f"{kind} {key} not found")
        self.kind = kind
        self.key = key


class BudgetSpent(MagistrateError):
    """`limit` is the number of nodes and warrants that one request may look at."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer needs to look at more than {limit} nodes and warrants; it is not known")
        self.limit = limit


class RevisionUnavailable(MagistrateError):
    """A read asked for a revision that is collected already, or not written yet."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"revision {revision} cannot be read: it is collected or not written yet")
        self.revision = revision


class StoreUnavailable(MagistrateError):
    """The store cannot be reached or cannot do its work now; the request can be sent again."""


class SchemaMismatch(StoreUnavailable):
    """The store answers, but its schema is not the one this version of Magistrate was written for."""


class SigningKeysLocked(StoreUnavailable):
    """The keys that session tokens are signed with are encrypted in the store, and cannot be decrypted."""

    def __init__(self, has_keys: bool) -> None:
        found = "with another secret key than those of the file" if has_keys else "and no secret key was given"
        what_to_do = "add the line with that key to the file" if has_keys else "give its file with --secret-key-file"
        super().__init__(
            f"the keys of sessions in the database are encrypted {found}; {what_to_do}, "
            "or end all sessions with `magistrate sessions revoke`"
        )


class OutcomeUnknown(StoreUnavailable):
    """The store stopped answering while a write was being committed: it was made as a whole, or not at all."""

    def __init__(self) -> None:
        super().__init__(f"the database stopped answering while the write was being committed; {UNKNOWN_WRITE}")


class DeadlineExceeded(MagistrateError):
    """The request was not answered in time. `may_have_written`: it may have been made nevertheless."""

    def __init__(self, limit_ms: int, may_have_written: bool) -> None:
        consequence = f"; {UNKNOWN_WRITE}" if may_have_written else ""
        super().__init__(f"the request was not answered within {limit_ms} milliseconds{consequence}")
        self.limit_ms = limit_ms


class ProviderUnavailable(MagistrateError):
    """The keys that a bearer token may be signed with cannot be had, so that nobody can tell whether it is good."""


class ServiceUnreachable(MagistrateError):
    """Nothing answers at `url`, or something that is no service of ours. A write may have been done nevertheless."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(reason)
        self.url = url


class AnswerTooSlow(ServiceUnreachable):
    """A service that answered before did not answer a check within the time."""


class AnswerTooLarge(ServiceUnreachable):
    """An answer went on beyond what a client takes."""


class RequestRefused(MagistrateError):
    """A service answered a client with an error; `message` is the service's."""

    def __init__(self, status: int, code: str, message: str, parameter: str | None, request_id: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter
        self.request_id = request_id
