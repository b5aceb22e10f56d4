"""Defines histories: files of JSON lines, of which the first is the header and each other one an operation.

Names are in written form: a warrant is `document:plan#viewer@group:eng#member`, an object `document:plan`, and one with
a value in its meta `mark:c1=c1.7`. Times are seconds of a monotonic clock that all processes of the history share."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

LATEST = "latest"
QUERIES = ("objects with", "subjects with")
"""Are the lists that a service makes by deciding checks, so they are as fresh as these."""
MARK = "mark"
"""Is the object type whose objects have the mark of the last write of each process as their value."""


class Outcome(StrEnum):
    """Says what a client knows of its request: that it was made, that it was not, or neither."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Header(Struct, frozen=True, tag="history", tag_field="kind"):
    """Describes a history. `base` is the token of the revision before all writes, in which there are these object types
    and no objects. A check or a query may miss what other processes have written for `stale_seconds`, unless it demands
    more."""

    base: str
    types: Mapping[str, Mapping[str, Any]]
    database: str = ""
    stale_seconds: float = 0.0


class Operation(Struct, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Is one request of one process, which makes one after the other, or one event of a stream that it reads.

    `at_least` is the token that the request demanded, or `latest`; `token` that of the answer. Without an answer,
    `end` is when the process gave up; `refusal` is the code of an answer that refuses."""

    process: str
    begin: float
    end: float
    outcome: Outcome = Outcome.ACKNOWLEDGED
    at_least: str = ""
    token: str = ""
    refusal: str = ""


class Write(Operation, tag="write"):
    """Is a write, with its answer: how much it created and deleted, and how much was there before.

    `mark` names the write. Each write has it: as the value of an object of the type `mark`, or as the description of
    the object type that it defines."""

    mark: str
    exists: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    delete_warrants: tuple[str, ...] = ()
    delete_objects: tuple[str, ...] = ()
    create_objects: tuple[str, ...] = ()
    create_warrants: tuple[str, ...] = ()
    define: Mapping[str, Mapping[str, Any]] = {}
    counts: tuple[int, int, int] | None = None


class Check(Operation, tag="check"):
    """Is a batch of checks, each with its answer."""

    warrants: tuple[str, ...]
    allowed: tuple[bool, ...] = ()
    as_of: str = ""


class Listing(Operation, tag="list"):
    """Is a list of all rows. `lists` says of what:

    - `warrants` or `objects`: those of `type`
    - `objects with`: the objects of `type` on which `subject` has `relation`
    - `subjects with`: the subjects of `type` that have `relation` on `object`"""

    lists: str
    type: str
    relation: str = ""
    subject: str = ""
    object: str = ""
    rows: tuple[str, ...] = ()
    as_of: str = ""


class Difference(Operation, tag="difference"):
    """Is the difference of `of`, such as `document#viewer@user`, between two tokens; without `until`, until now. Rows
    are `+document:plan#viewer@user:kim` for what was gained, and the same with `-` for what was lost."""

    since: str
    of: str
    until: str = ""
    rows: tuple[str, ...] = ()


class Event(Operation, tag="watch"):
    """Is an event of a watch. `event` is `begin` where a process opens a stream, whose `token` is where it goes on;
    otherwise `revision` or `checkpoint`. `types` has the marks of object types that were defined."""

    event: str
    created_objects: tuple[str, ...] = ()
    updated_objects: tuple[str, ...] = ()
    deleted_objects: tuple[str, ...] = ()
    created_warrants: tuple[str, ...] = ()
    deleted_warrants: tuple[str, ...] = ()
    types: Mapping[str, str] = {}


class AccessEvent(Operation, tag="access"):
    """Is an event of the effective feed of `of`, with `rows` as those of a difference; `event` is as in Event."""

    event: str
    of: str
    rows: tuple[str, ...] = ()


AnyOperation = Write | Check | Listing | Difference | Event | AccessEvent


def is_past(operation: AnyOperation) -> bool:
    """Returns whether an operation reads a revision that it names, however old that is."""
    match operation:
        case Check() | Listing():
            return bool(operation.as_of)
        case Difference():
            return bool(operation.until)
        case _:
            return False


def name_kind(operation: AnyOperation) -> str:
    """Returns the kind of an operation, by which the report counts."""
    if isinstance(operation, Check | Listing) and operation.as_of:
        return "as-of"
    names = {Write: "write", Check: "check", Listing: "list", Difference: "difference", Event: "watch"}
    return names.get(type(operation), "effective feed")
